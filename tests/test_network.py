"""Networks of trained players: comparison with a NumPy reference, and their files."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, nn
from tinygrad.helpers import Context

import tensor_envs as te
from tensor_envs.envs.registry import env_metadata
from tensor_envs.evaluation import agents
from tensor_envs.files.arrays import write_arrays
from tensor_envs.train import fused
from tensor_envs.train.network import Network, load, network_inputs, save
from tests.games.shared import shared_env

HIDDEN, BLOCKS, CHANNELS = 8, 2, 4
ROOT = Path(__file__).parents[1]


@functools.cache
def shapes(env: te.Env) -> dict[str, Any]:
    return {name: tensor.shape for name, tensor in Network(env, HIDDEN, BLOCKS, CHANNELS).weights().items()}


def random_weights(env: te.Env, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {name: random.normal(0, 0.4, shape).astype(np.float16) for name, shape in shapes(env).items()}


def convolved(x: np.ndarray, weights: dict[str, Any], name: str) -> np.ndarray:
    """Convolve images [B, planes, rows, columns] cell by cell."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    weight, bias = (weights[f"{name}.{kind}"].astype(float) for kind in ("weight", "bias"))
    result = np.zeros((len(x), len(bias), *x.shape[2:]))
    for row, column in np.ndindex(*x.shape[2:]):
        result[:, :, row, column] = np.einsum("bprc,oprc->bo", padded[:, :, row : row + 3, column : column + 3], weight)
    return result + bias[:, None, None]


def reference(
    env: te.Env, weights: dict[str, Any], observation: np.ndarray, activation: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and values of the network in NumPy."""
    activated: Any = np.tanh if activation == "tanh" else partial(np.maximum, 0)

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].astype(float).T + weights[f"{name}.bias"]

    x = activated(convolved(observation.reshape(-1, *env.observation_shape), weights, "first"))
    for block in range(BLOCKS):
        inner = np.maximum(convolved(x, weights, f"tower.{2 * block}"), 0)
        x = np.maximum(x + convolved(inner, weights, f"tower.{2 * block + 1}"), 0)
    hidden = activated(linear(x.reshape(len(x), -1), "second"))
    logits = linear(hidden, "policy")
    if "local.weight" in weights:
        weight = weights["local.weight"].astype(float)[:, :, 0, 0]
        local = np.einsum("bcij,kc->bkij", x, weight) + weights["local.bias"][:, None, None]
        logits[:, : local[0].size] += local.reshape(len(x), -1)
    return logits, linear(hidden, "value")[:, 0]


@pytest.mark.parametrize(("game", "activation"), [("connect_four", "tanh"), ("othello", "relu")])
def test_a_tower_by_reference(game: str, activation: str) -> None:
    """In othello the local policy scores the squares; the last action is to pass. Connect four has none."""
    env = shared_env(game)
    state = te.rollout(env, "uniform", batch=5, steps=9).state
    weights = random_weights(env)
    seen, mask = network_inputs(env, state)
    logs, values = (x.numpy() for x in Network(env, weights=weights, activation=activation)(seen, mask))
    logits, expected = reference(env, weights, seen.numpy(), activation)
    legal = np.where(mask.numpy(), np.exp(logits), 0)
    assert np.allclose(np.exp(logs), legal / legal.sum(1, keepdims=True), atol=1e-5)
    assert np.allclose(values, expected, atol=1e-4) and expected.std() > 0.1


@pytest.mark.slow
def test_a_tower_is_saved_and_played(tmp_path: Path) -> None:
    env, path = shared_env("tic_tac_toe"), tmp_path / "weights.safetensors"
    weights = random_weights(env)
    save(env, {name: Tensor(array) for name, array in weights.items()}, path)
    assert load(path).activation == "relu"
    again = load(path).weights
    assert again.keys() == weights.keys() and all((again[name] == weights[name]).all() for name in weights)
    state = env.step(env.init(3), [0, 4, 8])
    logits = Network(env, weights=weights)(*network_inputs(env, state))[0].numpy()
    assert (agents.load(path, 0)(state).numpy() == logits.argmax(1)).all()
    actions = agents.load(path, 4)(state).numpy()
    assert state.legal_action_mask.numpy()[range(3), actions].all()


@pytest.mark.few(3)
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
        ("local.weight", (1, 3, 1, 1)),
        ("local.bias", (2,)),
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


def test_a_local_policy_scores_no_more_actions_than_there_are(tmp_path: Path) -> None:
    """Two planes of nine cells would be written behind the logits of nine actions."""
    env, path = shared_env("tic_tac_toe"), tmp_path / "weights.safetensors"
    weights = random_weights(env)
    weights |= {"local.weight": weights["local.weight"].repeat(2, 0), "local.bias": weights["local.bias"].repeat(2)}
    save(env, weights, path)
    with pytest.raises(ValueError, match=r"action_planes must be in 0\.\.1 for 9 actions and 9 cells, got 2"):
        agents.load(path)


def test_a_tower_needs_a_board(tmp_path: Path) -> None:
    env, path = shared_env("kuhn_poker"), tmp_path / "weights.safetensors"
    with pytest.raises(
        ValueError, match=r"blocks must be 0 for <Env kuhn_poker-v0>, got 1: observations must be \[planes"
    ):
        Network(env, blocks=1)
    save(env, {k: Tensor(w) for k, w in random_weights(shared_env("tic_tac_toe")).items()}, path)
    with pytest.raises(ValueError, match="no weights that fit: blocks must be 0 for"):
        agents.load(path)


@pytest.mark.slow
def test_random_weights_depend_on_the_seed() -> None:
    env = shared_env("tic_tac_toe")
    networks = (Network(env, 8, seed=seed).weights() for seed in (3, 3, 4, None))
    first, same, other, unseeded = ({k: x.numpy() for k, x in weights.items()} for weights in networks)
    for name, values in first.items():
        inputs = first[f"{name.partition('.')[0]}.weight"].shape[1]
        assert 0 < abs(values).max() <= 1 / np.sqrt(inputs)
        assert (values == same[name]).all()
        assert not (values == other[name]).any() and not (values == unseeded[name]).any()
    for wrong, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="seed must be"):
            Network(env, 8, seed=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_file_without_an_activation_is_of_tanh(tmp_path: Path) -> None:
    """Files of the first format are read, and play as they did."""
    env, path = shared_env("tic_tac_toe"), tmp_path / "weights.safetensors"
    network = Network(env, 8, activation="tanh")
    weights = {name: array.numpy().astype(np.float16) for name, array in network.weights().items()}
    write_arrays(path, "tensor_envs network 1", env_metadata(env), weights)
    player = load(path)
    assert player.activation == "tanh"
    save(env, network.weights(), path, "tanh")
    assert load(path).activation == "tanh" and load(path).weights.keys() == weights.keys()
    state = env.step(env.init(3), [0, 4, 8])
    logits = Network(env, weights=weights, activation="tanh")(*network_inputs(env, state))[0].numpy()
    assert (agents.load(path, 0)(state).numpy() == logits.argmax(1)).all()
    for wrong, error in (("gelu", ValueError), (1, TypeError)):
        with pytest.raises(error, match="activation must be"):
            Network(env, activation=wrong)  # type: ignore[arg-type]
        with pytest.raises(error, match="activation must be"):
            save(env, network.weights(), path, wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "activation"), [(0, "relu"), (1, "tanh")])
def test_learning_agrees_with_tinygrad(blocks: int, activation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of Adam in a capture change the weights alike with the fused kernels and with tinygrad's.

    In go an action is no cell of the board, so the bias of the local policy has a gradient.
    """
    env, learned = shared_env("go", size=3), []
    state = te.rollout(env, "uniform", batch=40, steps=4).state
    seen, mask = network_inputs(env, state)
    random = np.random.default_rng(0)
    targets, values = Tensor(random.random((40, 10), np.float32)) * mask, Tensor(random.random(40, np.float32))
    Tensor.realize(targets, values)
    weights = {k: w.numpy() for k, w in Network(env, 12, blocks, 6).weights().items()}
    for fused_too in (True, False):
        if not fused_too:
            monkeypatch.setattr(fused, "is_fused", lambda *_: False)
        network = Network(env, weights=weights, activation=activation)
        optimiser = nn.optim.Adam(nn.state.get_parameters(network), lr=0.01)

        def learn(network: Network = network, optimiser: Any = optimiser) -> Tensor:
            logs, value = network(seen, mask)
            loss = -(targets * logs).sum(1).mean() + (value - values).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            return loss.realize()

        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            losses = [jitted().item() for jitted in [te.jit(learn)] * 5]
        assert losses[-1] < losses[0]
        learned.append({k: w.numpy() for k, w in network.weights().items()})
    assert all(np.abs(learned[0][k] - w).max() < 1e-4 for k, w in learned[1].items())
    assert all((learned[0][k] != w).any() for k, w in weights.items())


@pytest.mark.slow
def test_networks_on_other_devices() -> None:
    """Kernels of GPUs evaluate them on OpenCL, tinygrad on a CPU whose kernels LLVM compiles, in another process."""
    check = """
import sys
import numpy as np
import tensor_envs as te
from tensor_envs.train import fused
from tensor_envs.train.network import Network, network_inputs
env = te.make("connect_four")
weights = {k: np.load(sys.argv[1])[k] for k in np.load(sys.argv[1])}
state = te.rollout(env, "uniform", batch=5, steps=9, device=sys.argv[2]).state
logs, values = Network(env, weights=weights, device=sys.argv[2])(*network_inputs(env, state))
assert not fused.is_fused(None, network_inputs(env, state)[0])
np.savez(sys.argv[1], logs=logs.numpy(), values=values.numpy())
"""
    env, weights = shared_env("connect_four"), random_weights(shared_env("connect_four"))
    state = te.rollout(env, "uniform", batch=5, steps=9, device="CPU").state
    expected = [x.numpy() for x in Network(env, weights=weights, device="CPU")(*network_inputs(env, state))]
    for device, setting in (("CL", "CL"), ("CPU", "CPU:LLVM")):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "arrays.npz")
            np.savez(file, **weights)  # type: ignore[arg-type]
            done = subprocess.run(
                [sys.executable, "-c", check, str(file), device],
                env=os.environ | {"DEV": setting},
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            if "cannot be opened here" in done.stderr:
                continue
            assert done.returncode == 0, done.stderr
            found = np.load(file)
            assert np.abs(found["logs"] - expected[0]).max() < 1e-4
            assert np.abs(found["values"] - expected[1]).max() < 1e-4
