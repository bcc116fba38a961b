"""Networks of trained players: comparison with a NumPy reference, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, nn

import tensor_envs as te
from tensor_envs import agents
from tensor_envs.train.network import Network, load, look, save
from tests.games.shared import shared_env

HIDDEN, BLOCKS, CHANNELS = 8, 2, 4


def random_weights(env: te.Env, seed: int = 0) -> dict[str, np.ndarray]:
    random, own = np.random.default_rng(seed), nn.state.get_state_dict(Network(env, HIDDEN, BLOCKS, CHANNELS))
    return {name: random.normal(0, 0.4, tensor.shape).astype(np.float16) for name, tensor in own.items()}


def convolved(x: np.ndarray, weights: dict[str, Any], name: str) -> np.ndarray:
    """Convolve images [B, planes, rows, columns] cell by cell."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    weight, bias = (weights[f"{name}.{kind}"].astype(float) for kind in ("weight", "bias"))
    result = np.zeros((len(x), len(bias), *x.shape[2:]))
    for row, column in np.ndindex(*x.shape[2:]):
        result[:, :, row, column] = np.einsum("bprc,oprc->bo", padded[:, :, row : row + 3, column : column + 3], weight)
    return result + bias[:, None, None]


def reference(env: te.Env, weights: dict[str, Any], observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and values of the network in NumPy."""

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].astype(float).T + weights[f"{name}.bias"]

    x = np.tanh(convolved(observation.reshape(-1, *env.observation_shape), weights, "first"))
    for block in range(BLOCKS):
        inner = np.maximum(convolved(x, weights, f"tower.{2 * block}"), 0)
        x = np.maximum(x + convolved(inner, weights, f"tower.{2 * block + 1}"), 0)
    x = np.tanh(linear(x.reshape(len(x), -1), "second"))
    return linear(x, "policy"), linear(x, "value")[:, 0]


def test_a_tower_by_reference() -> None:
    env = shared_env("connect_four")
    state = te.rollout(env, "uniform", batch=5, steps=9).state
    weights = random_weights(env)
    seen, mask = look(env, state)
    logs, values = (x.numpy() for x in Network(env, weights=weights)(seen, mask))
    logits, expected = reference(env, weights, seen.numpy())
    legal = np.where(mask.numpy(), np.exp(logits), 0)
    assert np.allclose(np.exp(logs), legal / legal.sum(1, keepdims=True), atol=1e-5)
    assert np.allclose(values, expected, atol=1e-4) and expected.std() > 0.1


def test_a_tower_is_saved_and_played(tmp_path: Path) -> None:
    env, path = shared_env("tic_tac_toe"), tmp_path / "weights.safetensors"
    weights = random_weights(env)
    save(env, {name: Tensor(array) for name, array in weights.items()}, path)
    again = load(path)[1]
    assert again.keys() == weights.keys() and all((again[name] == weights[name]).all() for name in weights)
    state = env.step(env.init(3), [0, 4, 8])
    logits = Network(env, weights=weights)(*look(env, state))[0].numpy()
    assert (agents.load(path, 0)(state).numpy() == logits.argmax(1)).all()
    actions = agents.load(path, 4)(state).numpy()
    assert state.legal_action_mask.numpy()[range(3), actions].all()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("first.weight", (4, 2, 3, 4)),
        ("first.bias", (5,)),
        ("tower.3.weight", None),
        ("tower.3.bias", (3,)),
        ("tower.4.weight", (4, 4, 3, 3)),
        ("second.weight", (8, 35)),
        ("second.bias", (0,)),
        ("second.bias", ()),
        ("policy.weight", (9, 7)),
        ("value.bias", None),
    ],
)
def test_weights_that_do_not_fit(name: str, shape: tuple[int, ...] | None, tmp_path: Path) -> None:
    env, path = shared_env("tic_tac_toe"), tmp_path / "weights.safetensors"
    weights = {key: Tensor(array) for key, array in random_weights(env).items()}
    if shape is None:
        del weights[name]
    else:
        weights[name] = Tensor.zeros(shape)
    save(env, weights, path)
    with pytest.raises(ValueError, match=r"weights.safetensors' has no weights that fit: "):
        agents.load(path)


def test_a_tower_needs_a_board(tmp_path: Path) -> None:
    env, path = shared_env("kuhn_poker"), tmp_path / "weights.safetensors"
    with pytest.raises(ValueError, match=r"blocks must be 0 where .* are not observed, got 1 for <Env kuhn"):
        Network(env, blocks=1)
    save(env, {k: Tensor(w) for k, w in random_weights(shared_env("tic_tac_toe")).items()}, path)
    with pytest.raises(ValueError, match="no weights that fit: blocks must be 0 where"):
        agents.load(path)
