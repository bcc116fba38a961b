"""Networks of PyTorch: training, runs, files and errors."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import nn

import tensor_envs as te
from tensor_envs.files.arrays import read_arrays
from tensor_envs.train.__main__ import NETWORKS, main, named_network
from tensor_envs.train.network import IMPORTED_FORMAT, load, save, weights_file
from tensor_envs.train.replay import Samples
from tensor_envs.train.run import CHECKPOINT, FORMAT
from tests.games.shared import shared_env
from tests.scripts.here import run_here
from tests.train.sizes import SETTINGS, TRAINERS, alphazero, ppo

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
networks: Any = pytest.importorskip("tests.train.networks")
from tensor_envs.train import modules  # noqa: E402
from tensor_envs.train.export_network import export_network  # noqa: E402
from tensor_envs.train.torch_network import TorchNetwork, architecture_of, build  # noqa: E402
from tensor_envs.train.trainable_tinygrad import TrainableTinygrad  # noqa: E402


def small(env: te.Env, seed: int = 0, **arguments: Any) -> Any:
    """Return a network with the weights of a seed."""
    torch.manual_seed(seed)
    return networks.Small(env, **arguments)


class Interruption(Exception):
    """Error of a callback that ends a run in the middle."""


@pytest.mark.few("alphazero")
@pytest.mark.parametrize("name", TRAINERS)
def test_an_interrupted_run_equals_one_without_a_break(name: str, tmp_path: Path) -> None:
    """Bit for bit, with statistics of batches and dropout; the second run starts with other weights."""
    env = shared_env("tic_tac_toe")
    settings = {"ratings": int(name == "ppo"), "rival_simulations": 0}
    whole = TRAINERS[name](env, small(env), **settings)
    before = whole.weights()
    rating = whole.run(steps=5, folder=tmp_path / "whole")

    def interrupt(trainer: te.train.Trainer, metrics: dict[str, float]) -> None:
        if trainer.steps == 3:
            raise Interruption

    with pytest.raises(Interruption):
        TRAINERS[name](env, small(env), **settings).run(steps=5, folder=tmp_path / "part", callbacks=[interrupt])
    torch.manual_seed(77)  # runs do not depend on PyTorch's generator
    again = type(whole).load(tmp_path / "part")
    assert again.steps == 2 and again.run(steps=5, folder=tmp_path / "part") == rating
    files = [read_arrays(tmp_path / part / CHECKPOINT, FORMAT)[1] for part in ("whole", "part")]
    assert files[0].keys() == files[1].keys() and "optimizer.0.exp_avg" in files[0]
    assert all(np.array_equal(files[0][key], files[1][key]) for key in files[0])
    after = again.weights()
    assert all(not np.array_equal(before[key], after[key]) for key in before)


def test_a_run_is_played_and_continued(tmp_path: Path) -> None:
    """Files name the class and its arguments; `te.agents.load` plays as the trainer does."""
    env = shared_env("tic_tac_toe")
    trainer = alphazero(env, small(env, width=5), value_scale=2.0)
    trainer.run(steps=2, folder=tmp_path)
    text = (tmp_path / "config.toml").read_text()
    assert '[network]\nclass = "tests.train.networks:Small"\n\n[network.arguments]\nwidth = 5\ndropout = 0.25\n' in text
    metadata, arrays = read_arrays(tmp_path / "weights.safetensors", IMPORTED_FORMAT)
    assert metadata["network"] == {"class": "tests.train.networks:Small", "arguments": {"width": 5, "dropout": 0.25}}
    assert arrays["policy.weight"].dtype == np.float32 and arrays["policy.weight"].shape == (9, 5)
    state = te.rollout(env, "uniform", batch=16, steps=2).state
    for simulations, policy in ((0, te.agents.greedy(trainer.evaluate)), (4, te.agents.gumbel(trainer.evaluate, 4))):
        loaded = te.agents.load(tmp_path / "weights.safetensors", simulations)
        assert loaded(state).tolist() == policy(state).tolist()
    halves = env.init(8, device=("CPU", "CPU:1"))
    assert loaded(halves).tolist() == policy(env.init(8)).tolist()
    with pytest.raises(ValueError, match=r"has a run with the network .*'width': 5.*, got .*'width': 6"):
        alphazero(env, small(env, width=6), value_scale=2.0).run(steps=3, folder=tmp_path)
    with pytest.raises(ValueError, match=r"has a run with the network .*'width': 5.*, got None"):
        alphazero(env, value_scale=2.0).run(steps=3, folder=tmp_path)
    text = text.replace("width = 5", "width = 6")
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ValueError, match=r"it is of a run with the network .*'width': 5"):
        te.train.AlphaZero.load(tmp_path)
    (tmp_path / "config.toml").write_text(text.replace("networks:Small", "networks:Smaller"))
    with pytest.raises(ValueError, match=r"got 'tests.train.networks:Smaller': module .* has no attribute 'Smaller'"):
        te.train.AlphaZero.load(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINERS)
def test_learning_is_that_of_tinygrads_network(name: str) -> None:
    """The same weights and games give the same losses in both libraries."""
    env = shared_env("tic_tac_toe")
    tinygrad = TRAINERS[name](env)
    other = TRAINERS[name](env, modules.Dense(env, hidden=8))
    other.assign_weights(tinygrad.weights())
    for _ in range(3):
        expected = tinygrad.step() | {"seconds": 0}
        assert other.step() | {"seconds": 0} == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_values_of_several_players() -> None:
    """The others share the negated value, as with a network of tinygrad."""
    env = te.make("tests.games.dice_race:DiceRace", goal=4)
    trainer = ppo(env)
    assert isinstance(trainer.trainable, TrainableTinygrad)
    state = te.rollout(env, "uniform", batch=5, steps=3).state
    expected = trainer.evaluate(state)[1].numpy()
    mover = expected[np.arange(5), state.current_player.numpy()]

    def forward(observation: Any) -> tuple[Any, Any]:
        return torch.zeros(len(observation), env.num_actions), torch.tensor(np.resize(mover, len(observation)) / 2)

    found = TorchNetwork(env, networks.Returning(forward), 2.0, None).evaluate(state)[1]
    assert np.allclose(found.numpy(), expected, atol=1e-6)


def logits(x: Any, actions: int = 9) -> Any:
    return torch.zeros(len(x), actions)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (logits, TypeError, r"a tuple of two torch.Tensor, logits and values, got tensor"),
        (lambda x: (logits(x, 8), logits(x, 1)), ValueError, r"logits \[B, A\] = \(3, 9\), got \(3, 8\)"),
        (lambda x: (logits(x), logits(x, 1)), ValueError, r"values \[B\] = \(3,\), got \(3, 1\)"),
        (lambda x: (logits(x), x[:, 0, 0, 0].long()), TypeError, r"values \[B\] of a float dtype, got torch.int64"),
        (lambda x: (logits(x) / 0, x[:, 0, 0, 0]), ValueError, r"logits \[B, A\] that are finite, got "),
    ],
)
def test_wrong_modules(function: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^network must return .*{message}"):
        alphazero(shared_env("tic_tac_toe"), networks.Returning(function))


@pytest.mark.parametrize("name", TRAINERS)
def test_a_module_may_change_its_input_in_place(name: str) -> None:
    """It learns from the same positions as one that does not, as often as they are used."""
    env = shared_env("tic_tac_toe")
    arrays = list[dict[str, np.ndarray]]()
    for in_place in (True, False):
        torch.manual_seed(0)
        module = networks.Centred(env)
        module.in_place = in_place
        trainer = TRAINERS[name](env, module)
        for _ in range(2):
            trainer.step()
        arrays.append(trainer.weights())
    assert all(np.array_equal(arrays[0][key], arrays[1][key]) for key in arrays[0])


def test_wrong_arguments() -> None:
    env = shared_env("tic_tac_toe")
    with pytest.raises(TypeError, match=r"network must be None, a torch.nn.Module or a pair of .*, got 'resnet'"):
        alphazero(env, "resnet")
    with pytest.raises(ValueError, match=r"network must have weights of float32, got torch.float64"):
        alphazero(env, small(env).double())
    with pytest.raises(ValueError, match="network must have parameters that require a gradient, got none"):
        alphazero(env, small(env).requires_grad_(False))
    with pytest.raises(TypeError, match=r"the network's state '_extra_state' must be a torch.Tensor, got 'noted'"):
        alphazero(env, networks.Noting(env, width=5))
    diverging = small(env)
    trainer = alphazero(env, diverging)
    diverging.value.weight.data[:] = float("inf")
    with pytest.raises(ValueError, match="evaluate must give finite numbers"):
        trainer.step()


class Outer:
    """Class with an inner one, which has no name of its module."""

    class Inner(networks.Small):  # type: ignore[misc]
        """Network that cannot be imported."""


class Deep(networks.Small):  # type: ignore[misc]
    """Network without its argument."""

    def __init__(self, env: te.Env, depth: int):
        super().__init__(env)


class Wide(networks.Small):  # type: ignore[misc]
    """Network whose argument is no plain value."""

    def __init__(self, env: te.Env, body: Any):
        super().__init__(env)


def test_names_of_modules() -> None:
    env = shared_env("tic_tac_toe")
    for module, error, message in (
        (Outer.Inner(env), ValueError, "must be named as package.module:Name, got '.*:Outer.Inner': module"),
        (Deep(env, 3), ValueError, "must have its argument 'depth' as an attribute"),
        (Wide(env, None), TypeError, r"network\.body must be a number, str, bool or a list of them"),
        (torch.nn.Sequential(), ValueError, r"whose arguments have names, got 'torch.nn.modules.container:Seq"),
    ):
        with pytest.raises(error, match=message):
            architecture_of(module)
    for name, arguments, message in (
        ("no_module:Net", {}, "must be named as package.module:Name, got 'no_module:Net': No module named"),
        ("pathlib:Path", {}, "must name a class of torch.nn.Module, got 'pathlib:Path'"),
        ("tests.train.networks:Small", {"depth": 3}, "cannot be constructed for <Env tic_tac_toe.*'depth'"),
    ):
        with pytest.raises(ValueError, match=message):
            build({"class": name, "arguments": arguments}, env)


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    env = shared_env("tic_tac_toe")
    trainer = ppo(env, small(env))
    weights = trainer.weights()
    with pytest.raises(ValueError, match="weights must be those of a network with the settings' sizes"):
        trainer.assign_weights(weights | {"value.bias": np.zeros(2, np.float32)})
    trainer.assign_weights({name: array + array.dtype.type(1) for name, array in weights.items()})
    assert all(np.array_equal(trainer.weights()[name], array + 1) for name, array in weights.items())
    network = trainer.trainable
    network.inner.module.policy = torch.nn.Linear(8, 9, bias=False)  # type: ignore[attr-defined]
    network.save(tmp_path / "weights.safetensors")
    with pytest.raises(ValueError, match=r"has no weights that fit: 'policy.bias' must have shape \(9,\), got none"):
        te.agents.load(tmp_path / "weights.safetensors")


@pytest.mark.parametrize("game", ["connect_four", "kuhn_poker"])
@pytest.mark.parametrize("name", ["dense", "resnet", "transformer"])
def test_networks_of_the_package(name: str, game: str) -> None:
    """Each gives a nearly uniform policy at first, has gradients everywhere, and is constructed again from its name."""
    env = shared_env(game)
    settings = {"blocks": 1, "channels": 8} if name != "dense" else {"hidden": 8}
    architecture = named_network(name, settings)
    assert architecture is not None and not settings
    if name == "resnet" and game == "kuhn_poker":
        with pytest.raises(ValueError, match=r"must be \[planes, \.\.\., rows, columns\], got shape"):
            build(architecture, env)
        return
    module = build(architecture, env, seed=3)
    assert architecture_of(module) == architecture | {"arguments": architecture_of(module)["arguments"]}
    assert architecture["arguments"].items() <= architecture_of(module)["arguments"].items()
    TorchNetwork(env, module, 1.0, None)
    logits, values = module.train()(torch.rand(16, *env.observation_shape))
    assert logits.softmax(1).std() < 0.05
    (logits.square().sum() + values.square().sum()).backward()
    assert all((parameter.grad != 0).any() for parameter in module.parameters())
    again = build(architecture_of(module), env, seed=3)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), again.parameters(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dense", "resnet", "transformer"])
def test_they_learn(name: str) -> None:
    """Learn from positions with one mark: its cell is the action, and its kind of cell determines the value."""
    env = shared_env("tic_tac_toe")
    module = build({"class": NETWORKS[name], "arguments": {}}, env)
    settings = {"minibatch": 64, "replay_steps": 1, "updates": 100, "learning_rate": 0.002}
    trainer = alphazero(env, module, **settings)
    seen = np.eye(18, dtype=np.uint8)[:9]
    mask, weights = np.ones((9, 9), bool), np.eye(9, dtype=np.float32)
    corner, edge, centre = 0.5, 0.0, -0.5
    values = np.array([corner, edge, corner, edge, centre, edge, corner, edge, corner], np.float32)
    trainer.update(Samples(seen, mask, weights, values))
    metrics = trainer.update(Samples(seen, mask, weights, values))
    assert metrics["policy_loss"] < 0.1 and metrics["value_loss"] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", TRAINERS)
def test_the_command_trains_a_network(algorithm: str, tmp_path: Path) -> None:
    """The same command continues a run; other networks or sizes are refused."""
    sizes = [f"--{key.replace('_', '-')}={value}" for key, value in SETTINGS[algorithm].items() if key != "hidden"]
    start = [algorithm, "tic_tac_toe", f"--folder={tmp_path / 'run'}", *sizes]
    resnet = ["--network=resnet", "--blocks=1", "--channels=4"]
    assert run_here(main, [*start, *resnet, "--steps=2"])[0] == 0
    assert run_here(main, [*start, *resnet, "--steps=3"])[0] == 0
    assert run_here(main, [*start, *resnet[1:], "--steps=4"])[0] == 0
    for arguments, message in (
        (["--network=resnet", "--blocks=2"], "has a run with blocks=1, got 2: name another --folder"),
        (["--blocks=2"], "has a run with blocks=1, got 2: name another --folder"),
        (["--network=dense"], "has a run with network=tensor_envs.train.modules:ResNet, got tensor_envs.train.modu"),
    ):
        code, _, errors = run_here(main, [*start, *arguments, "--steps=5"])
        assert code == 2 and message in errors and errors.count("\n") == 1, errors
    weights = tmp_path / "run" / "weights.safetensors"
    other = [algorithm, "tic_tac_toe", f"--folder={tmp_path / 'other'}", *sizes, f"--weights={weights}", "--steps=1"]
    assert run_here(main, [*other, *resnet, "--learning-rate=0"])[0] == 0
    code, _, errors = run_here(main, [*other[:2], f"--folder={tmp_path / 'third'}", *other[3:]])
    assert code == 2 and "--weights must be of the run's network, got {'class': 'tensor_envs" in errors
    before, after = (read_arrays(path / CHECKPOINT, FORMAT)[1] for path in (tmp_path / "run", tmp_path / "other"))
    assert np.array_equal(before["network.heads.policy.0.weight"], after["network.heads.policy.0.weight"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--network=resnt"], "network must be named as package.module:Name, got 'resnt'"),
        (["--network=resnet", "--hidden=2"], "--hidden must be an argument of the network 'resnet', which has none"),
        (["--network=tests.train.networks:Small", "--tanh"], "--tanh must be an argument of the network"),
    ],
)
def test_wrong_options(options: list[str], message: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    code, _, errors = run_here(main, ["alphazero", "tic_tac_toe", "--steps=1", f"--folder={folder}", *options])
    assert code == 2 and message in errors and errors.count("\n") == 1, errors
    assert not folder.exists()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("game", "blocks", "activation"),
    [
        ("connect_four", 0, "relu"),
        ("qubic", 1, "relu"),
        ("connect_four", 0, "tanh"),
        ("connect_four", 2, "relu"),
        ("connect_four", 1, "tanh"),
        ("go", 1, "relu"),
    ],
)
def test_weights_of_tinygrad_in_pytorch(game: str, blocks: int, activation: str, tmp_path: Path) -> None:
    """An exported network has the outputs of the one that was trained."""
    env = shared_env(game)
    network = te.train.Network(env, 16, blocks, 5, activation=activation, seed=1)
    save(env, network.weights(), tmp_path / "weights.safetensors", activation)
    out = export_network(tmp_path, "safetensors")
    assert out == tmp_path / "network.safetensors"
    state = te.rollout(env, "uniform", batch=9, steps=8).state
    expected, found = (load(path).evaluator()(state) for path in (tmp_path / "weights.safetensors", out))
    legal = state.legal_action_mask.numpy()
    assert np.allclose(softmax(expected[0].numpy(), legal), softmax(found[0].numpy(), legal), atol=1e-6)
    assert np.allclose(expected[1].numpy(), found[1].numpy(), atol=1e-6)
    assert nn.state.safe_load(out)["second.weight"].shape == network.weights()["second.weight"].shape


@pytest.mark.slow
@pytest.mark.extra("onnxscript", "onnxruntime")
@pytest.mark.parametrize("name", ["tinygrad", *NETWORKS])
def test_onnx(name: str, tmp_path: Path) -> None:
    """The file's outputs for other numbers of games are those of the network; values are returns."""
    onnxruntime = pytest.importorskip("onnxruntime")
    env = shared_env("connect_four")
    network = None if name == "tinygrad" else build({"class": NETWORKS[name], "arguments": {}}, env)
    trainer = alphazero(env, network, value_scale=4.0)
    trainer.save(tmp_path)
    code, printed, errors = run_here(main, ["export", str(tmp_path), "--to=onnx"])
    assert (code, printed) == (0, f"{tmp_path / 'network.onnx'}\n"), errors
    session = onnxruntime.InferenceSession(tmp_path / "network.onnx", providers=["CPUExecutionProvider"])
    for batch in (1, 7):
        state = te.rollout(env, "uniform", batch=batch, steps=9).state
        observation = env.observe(state).numpy().astype(np.float32)
        logits, values = session.run(["logits", "values"], {"observation": observation})
        expected = load(tmp_path / "weights.safetensors").evaluator()(state)
        assert np.allclose(values, expected[1].numpy(), atol=1e-4) and values.shape == (batch,)
        legal = state.legal_action_mask.numpy()
        assert np.allclose(softmax(logits, legal), softmax(expected[0].numpy(), legal), atol=1e-5)
    assert "connect_four" in session.get_modelmeta().custom_metadata_map["tensor_envs"]


def softmax(logits: np.ndarray, legal: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - np.where(legal, logits, -np.inf).max(1, keepdims=True)) * legal
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("name", ["weights.safetensors", "checkpoint.safetensors", "config.toml"])
def test_an_export_replaces_no_file_of_a_run(name: str, tmp_path: Path) -> None:
    weights = tmp_path / "weights.safetensors"
    shutil.copy(weights_file(Path("tic_tac_toe")), weights)
    before = weights.read_bytes()
    for run in (tmp_path, weights):
        code, _, errors = run_here(main, ["export", str(run), "--to=safetensors", f"--out={tmp_path / name}"])
        assert code == 2 and "out must be another file than those of the run, got " in errors
        assert weights.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_export_of_what_is_not_there(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, "has no weights.safetensors; the comm"),
        (tmp_path / "x", "no file .*; games whose"),
    ):
        code, _, errors = run_here(main, ["export", str(path), "--to=onnx"])
        assert code == 2 and re.search(message, errors) and errors.count("\n") == 1, errors


@pytest.mark.slow
@pytest.mark.extra("ray")
def test_actors_play_with_copies(tmp_path: Path) -> None:
    """The learner's statistics of batches reach the actors with its weights."""
    pytest.importorskip("ray")
    env = shared_env("kuhn_poker")
    config = te.train.PPOConfig(**SETTINGS["ppo"])
    te.train.distributed(env, config, steps=3, num_actors=1, folder=tmp_path, network=small(env))
    trainer = te.train.PPO.load(tmp_path)
    assert trainer.steps == 3 and trainer.weights()["body.2.num_batches_tracked"] == 3 * 2
