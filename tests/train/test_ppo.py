"""PPO: rollouts compared with a plain-Python reference, and learning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.envs import registry
from tensor_envs.train.network import network_inputs
from tensor_envs.train.ppo import ppo_loss
from tests.games import dice_race
from tests.games.shared import shared_env
from tests.test_learning import Steps, reference
from tests.train.sizes import alphazero, ppo


@pytest.fixture
def race() -> Iterator[te.Env]:
    """Register a game of three players with chance."""
    te.register(dice_race.GAME)
    yield te.make("dice_race", goal=4)
    del registry._entries["dice_race"]


def movers(now: dict[str, np.ndarray]) -> np.ndarray:
    """Return the players to move as one-hot rows, all 0 for finished games."""
    return np.equal.outer(now["current_player"], np.arange(3)) & now["legal_action_mask"].any(1, keepdims=True)


def check_rollout(steps: Steps, player: Any, value: Any, advantage: Any, valid: Any) -> None:
    expected = reference(steps, player, value, 1.0, 0.95)
    assert np.allclose(advantage, expected[0], atol=1e-4) and (valid == expected[1]).all()
    assert 0 < valid.mean() < 1 and sum(step[3].sum() for step in steps) > 0


@pytest.mark.slow
def test_rollouts(race: te.Env) -> None:
    """Compare the first call, the capture and the replay with the same actions step by step."""
    trainer = ppo(race)
    env, state = trainer.env, trainer.env.init(8, 0)
    for step in range(3):
        minibatches = trainer.play(step)
        columns = zip(*minibatches, strict=True)
        joined = [np.concatenate([part.numpy().reshape(4, 4, -1) for part in column]) for column in columns]
        _, mask, chosen, old, value, advantage, valid = (part.swapaxes(0, 1).squeeze() for part in joined)
        steps: Steps = []
        for t in range(4):
            now = state.numpy()
            assert (now["legal_action_mask"] == mask[t]).all() and (chosen[t] <= mask[t]).all()
            after = env.step(state, chosen[t].argmax(1))
            then = after.numpy()
            steps.append((then["rewards"], movers(now), value[t], then["terminated"], then["truncated"]))
            if t == 0:
                logs = trainer.network(*network_inputs(env, state))[0].numpy()
                assert np.allclose((logs * chosen[t]).sum(1), old[t], atol=1e-5)
            state = env.reset(after)
        next_value = trainer.network(*network_inputs(env, state))[1].numpy()
        check_rollout(steps, movers(state.numpy()), next_value, advantage, valid)
    for progress in (1.0, 0.0, 1.0):  # the captured optimiser uses the rate of each update
        before, trainer.progress = trainer.network.layers["first"].matrix.numpy(), progress
        trainer.step()
        assert (trainer.network.layers["first"].matrix.numpy() == before).all() == (progress == 1)


@pytest.mark.slow
def test_it_learns_tic_tac_toe() -> None:
    """Require .9 of the points against the uniform player, whose own games as either player have .5 on average."""
    trainer = te.train.PPO(shared_env("tic_tac_toe"), te.train.PPOConfig(seed=1, ratings=1, rating_games=8192))
    before = trainer.rate()["score"]
    after = trainer.run(steps=100)
    assert before < 0.75 and after["score"] > 0.9 and after["mean_return"] == pytest.approx(2 * after["score"] - 1)


def test_the_divergence_is_that_from_the_rollouts_policy() -> None:
    """Weigh every action by its old probability: then the loss is the divergence itself, in closed form."""
    old, new = (np.random.default_rng(seed).dirichlet([1.0] * 5) for seed in (1, 2))
    zeros = Tensor.zeros(5)
    logs = Tensor(np.log(np.tile(new, (5, 1))))
    arguments = logs, Tensor(np.log(new)), zeros, Tensor(np.log(old)), zeros, zeros, Tensor(old)
    with_it, without = (ppo_loss(*arguments, clip=0.2, entropy=0.1, kl=kl)[0].item() for kl in (2.0, 0.0))
    assert with_it - without == pytest.approx(2 * (new * np.log(new / old)).sum(), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("make", [ppo, alphazero])
def test_ratings_have_exact_exploitability(make: Any) -> None:
    """At first the network plays nearly uniformly, in Kuhn poker with an exploitability of 11/24."""
    trainer = make(shared_env("kuhn_poker"), exploitability=True)
    found = trainer.rate()
    alone = found["exploitability" if make is ppo else "network_exploitability"]
    assert alone == te.exploitability(trainer.env, trainer.probabilities) == pytest.approx(11 / 24, abs=0.1)
    if make is alphazero:
        assert 0.05 < found["exploitability"] < 1 and found["exploitability"] != alone
    assert "exploitability" not in make(trainer.env).rate()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"kl": 10.0, "clip": 0.8}], ids=["ppo", "mmd"])
def test_it_learns_kuhn_poker(settings: dict[str, float]) -> None:
    """Require an exploitability of .1, of which uniform play has .458."""
    config = te.train.PPOConfig(entropy=0.1, learning_rate=1e-3, ratings=1, exploitability=True, **settings)  # type: ignore[arg-type]
    assert te.train.PPO(shared_env("kuhn_poker"), config).run(steps=400)["exploitability"] < 0.1
