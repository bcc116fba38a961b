"""Values in other units than returns: the same learning, and weights whose values are returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.games.kuhn_poker.rules import KuhnPoker
from tensor_envs.rules import Chance, GameState, Outcome, Scalar
from tensor_envs.train.network import save
from tests.games.shared import shared_env
from tests.train.sizes import TRAINERS

SCALE = 64  # a power of two, by which floats are multiplied exactly


@dataclass(frozen=True)
class HighStakes(KuhnPoker):
    """Kuhn poker for stakes that are `SCALE` times as high."""

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        after = super().step(s, action, chance)
        return replace(after, rewards=[SCALE * reward for reward in after.rewards])


def high_stakes() -> te.Env:
    return te.Env(te.GameEntry("high_stakes", HighStakes), HighStakes(), "high_stakes")


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINERS)
def test_higher_stakes_are_learned_alike(name: str) -> None:
    """If rewards and `value_scale` are multiplied alike, losses and policies stay, and values are multiplied."""
    env, costly = shared_env("kuhn_poker"), high_stakes()
    plain, scaled = TRAINERS[name](env), TRAINERS[name](costly, value_scale=SCALE)
    for _ in range(3):
        losses = scaled.step() | {"seconds": 0}
        assert plain.step() | {"seconds": 0} == pytest.approx(losses, rel=1e-4)
    for (key, one), other in zip(plain.weights().items(), scaled.weights().values(), strict=True):
        factor = SCALE if key.startswith("value.") else 1
        assert np.allclose(one * factor, other, rtol=1e-3, atol=1e-5 * factor), key
    values = [trainer.evaluate(trainer.env.init(6))[1].numpy() for trainer in (plain, scaled)]
    assert np.allclose(SCALE * values[0], values[1], rtol=1e-3, atol=1e-3) and values[1].std() > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINERS)
def test_weights_are_those_of_returns(name: str) -> None:
    """A network with the weights of a trainer estimates returns, and a trainer can start from them."""
    env = shared_env("kuhn_poker")
    trainer, other = TRAINERS[name](env, value_scale=SCALE), TRAINERS[name](env, value_scale=SCALE, seed=5)
    trainer.step()
    weights = trainer.weights()
    network, state = te.train.Network(env, weights=weights), env.init(6)
    value = trainer.evaluate(state)[1].numpy()
    assert np.allclose(te.train.evaluator(env, network)(state)[1].numpy(), value, rtol=1e-5)
    assert not np.allclose(other.evaluate(state)[1].numpy(), value, rtol=1e-2)
    other.assign_weights(weights)
    assert np.allclose(other.evaluate(state)[1].numpy(), value, rtol=1e-5)
    halves = {key: array.astype(np.float16) for key, array in weights.items()}
    other.assign_weights(halves)
    assert np.allclose(other.weights()["value.weight"], halves["value.weight"], rtol=1e-6)


def test_half_precision_is_not_exceeded(tmp_path: Path) -> None:
    env = shared_env("kuhn_poker")
    weights = te.train.Network(env, hidden=4).weights() | {"value.bias": Tensor([7e4])}
    with pytest.raises(ValueError, match=r"weights must be in \+-65504, .* got others in \['value.bias'\]"):
        save(env, weights, tmp_path / "weights.safetensors")
