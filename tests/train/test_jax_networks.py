"""Networks of JAX: training, runs, files and errors."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.files.arrays import read_arrays
from tensor_envs.train.__main__ import main
from tensor_envs.train.network import IMPORTED_FORMAT, load
from tensor_envs.train.run import CHECKPOINT, FORMAT
from tests.games.shared import shared_env
from tests.scripts.here import run_here
from tests.train.sizes import TRAINERS, alphazero, ppo

pytestmark = pytest.mark.extra("jax", "optax")
jax = pytest.importorskip("jax")
pytest.importorskip("optax")
functions: Any = pytest.importorskip("tests.train.jax_functions")
from tensor_envs.train.jax_network import JaxNetwork, flat, nested, onnx_model  # noqa: E402


def pair(env: te.Env, **arguments: Any) -> tuple[Any, Any]:
    return functions.apply, functions.parameters_of(env, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINERS)
def test_an_interrupted_run_equals_one_without_a_break(name: str, tmp_path: Path) -> None:
    """Bit for bit; files name the function, and `te.agents.load` plays as the trainer does."""
    env = shared_env("tic_tac_toe")
    whole = TRAINERS[name](env, pair(env), value_scale=2.0)
    before = whole.weights()
    whole.run(steps=5, folder=tmp_path / "whole")
    TRAINERS[name](env, pair(env), value_scale=2.0).run(steps=2, folder=tmp_path / "part")
    assert '[network]\nfunction = "tests.train.jax_functions:apply"\n' in (tmp_path / "part/config.toml").read_text()
    (tmp_path / "part" / "weights.safetensors").unlink()  # the checkpoint has the parameters, too
    again = type(whole).load(tmp_path / "part")
    again.run(steps=3, folder=tmp_path / "part")
    again.progress = 0.0
    whole = TRAINERS[name](env, pair(env), value_scale=2.0)
    whole.run(steps=2)
    whole.run(steps=3)
    files = [read_arrays(tmp_path / part / CHECKPOINT, FORMAT)[1] for part in ("whole", "part")]
    assert files[0].keys() == files[1].keys() and "network.layers/body/kernel" in files[0]
    after, expected = again.weights(), whole.weights()
    assert all(np.array_equal(expected[key], after[key]) for key in before)
    assert all(not np.array_equal(before[key], after[key]) for key in before)
    metadata, _ = read_arrays(tmp_path / "part" / "weights.safetensors", IMPORTED_FORMAT)
    assert metadata["network"] == {"function": "tests.train.jax_functions:apply"}
    state = te.rollout(env, "uniform", batch=16, steps=2).state
    for simulations, policy in ((0, te.agents.greedy(again.evaluate)), (4, te.agents.gumbel(again.evaluate, 4))):
        assert te.agents.load(tmp_path / "part", simulations)(state).tolist() == policy(state).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINERS)
def test_learning_is_that_of_pytorchs_network(name: str) -> None:
    """The same weights and games give the same losses in both libraries."""
    torch: Any = pytest.importorskip("torch")
    env = shared_env("tic_tac_toe")
    parameters = functions.parameters_of(env)

    class Module(torch.nn.Module):  # type: ignore[misc]
        """The same layers in PyTorch."""

        def __init__(self) -> None:
            super().__init__()
            for layer, arrays in parameters["layers"].items():
                linear = torch.nn.Linear(*arrays["kernel"].shape)
                linear.weight.data = torch.tensor(arrays["kernel"].T.copy())
                linear.bias.data = torch.tensor(arrays["bias"])
                setattr(self, layer, linear)

        def forward(self, observation: Any) -> tuple[Any, Any]:
            features = self.body(observation.flatten(1)).relu()
            return self.policy(features), self.value(features)[:, 0]

    one, other = TRAINERS[name](env, (functions.apply, parameters)), TRAINERS[name](env, Module())
    for _ in range(3):
        expected = other.step() | {"seconds": 0}
        assert one.step() | {"seconds": 0} == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_values_of_several_players() -> None:
    """The others share the negated value, as with a network of tinygrad."""
    env = te.make("tests.games.dice_race:DiceRace", goal=4)
    trainer = ppo(env, pair(env), value_scale=2.0)
    state = te.rollout(env, "uniform", batch=5, steps=3).state
    values = np.asarray(trainer.evaluate(state)[1])
    mover = state.current_player.numpy()[:, None] == np.arange(3)
    expected = 2 * np.asarray(functions.apply(trainer.network.parameters, env.observe(state).numpy())[1])
    assert np.allclose(values[mover], expected, atol=1e-6)
    assert np.allclose(values[~mover], np.repeat(-expected / 2, 2), atol=1e-6)


def test_names_of_weights() -> None:
    parameters = functions.parameters_of(shared_env("tic_tac_toe"))
    assert [*flat(parameters)][:2] == ["layers/body/kernel", "layers/body/bias"]
    assert jax.tree.structure(nested(flat(parameters))) == jax.tree.structure(parameters)


@pytest.mark.parametrize(
    ("network", "error", "message"),
    [
        ((3, {}), TypeError, r"network\[0\] must be a function, got 3"),
        ((lambda p, x: 1, [1.0]), TypeError, r"network\[1\] must be of nested dictionaries of float32 arrays, got"),
        ((lambda p, x: 1, {"a": np.zeros(3)}), TypeError, r"a must be of nested dictionaries of float32 arrays, got"),
        ((lambda p, x: 1, {}, 3), ValueError, "network must be a pair of a function and parameters, got a tuple of 3"),
        ((lambda p, x: 1, {"a": {"b": {}}}), ValueError, r"network\[1\] must be .* not empty, got one at 'a/b'"),
        ((lambda p, x: 1, {"a/b": {}}), TypeError, r"network\[1\] must be of dictionaries with keys of type str"),
        ((lambda p, x: x[:, 0], {}), TypeError, "network must return a tuple of two .*Array, logits and values, got"),
        ((lambda p, x: (x[:, 0], x), {}), ValueError, r"network must return logits \[B, A\] = \(3, 9\), got \(3, 3, 3"),
    ],
)
def test_wrong_networks(network: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        alphazero(shared_env("tic_tac_toe"), network)


def test_functions_without_a_name(tmp_path: Path) -> None:
    env = shared_env("tic_tac_toe")
    trainer = alphazero(env, (lambda p, x: functions.apply(p, x), functions.parameters_of(env)))
    with pytest.raises(ValueError, match=r"network must be named as package.module:Name, got '.*<lambda>'"):
        trainer.save(tmp_path)
    assert isinstance(trainer.network, JaxNetwork)
    trainer = alphazero(env, (functools.partial(functions.apply), functions.parameters_of(env)))
    with pytest.raises(ValueError, match=r"network\[0\] must be a function that .* name, got functools.partial"):
        trainer.save(tmp_path)
    alphazero(env, pair(env)).save(tmp_path)
    assert load(tmp_path / "weights.safetensors").network == {"function": "tests.train.jax_functions:apply"}
    text = (tmp_path / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(text.replace("function =", "functions ="))
    with pytest.raises(ValueError, match=r"there is no key 'network.functions'; the nearest is"):
        te.train.AlphaZero.load(tmp_path)


def sized(parameters: Any, observation: Any) -> Any:
    """Return what `functions.apply` does, for known numbers of games alone."""
    return functions.apply(parameters, observation.reshape(len(observation), -1))


@pytest.mark.extra("jax2onnx", "onnxruntime")
def test_onnx(tmp_path: Path) -> None:
    """The file's outputs for other numbers of games are those of the network; values are returns."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("jax2onnx")
    env = shared_env("tic_tac_toe")
    alphazero(env, pair(env), value_scale=4.0).save(tmp_path)
    code, printed, errors = run_here(main, ["export", str(tmp_path), "--to=onnx"])
    assert (code, printed) == (0, f"{tmp_path / 'network.onnx'}\n"), errors
    session = onnxruntime.InferenceSession(tmp_path / "network.onnx", providers=["CPUExecutionProvider"])
    for batch in (1, 7):
        observation = env.observe(te.rollout(env, "uniform", batch=batch, steps=2).state).numpy().astype(np.float32)
        logits, values = session.run(["logits", "values"], {"observation": observation})
        expected = functions.apply(pair(env)[1], observation)
        assert np.allclose(logits, expected[0], atol=1e-5) and np.allclose(values, 4 * expected[1], atol=1e-5)
    assert "tic_tac_toe" in session.get_modelmeta().custom_metadata_map["tensor_envs"]


@pytest.mark.extra("jax2onnx")
def test_onnx_needs_any_number_of_games() -> None:
    pytest.importorskip("jax2onnx")
    env = shared_env("tic_tac_toe")
    with pytest.raises(ValueError, match=r"of any number of games, such as `observation.shape\[0\]` where it has `len"):
        onnx_model(JaxNetwork(env, (sized, pair(env)[1]), 1.0, "CPU"))
