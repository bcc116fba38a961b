"""Runs in folders: interrupted runs equal those without a break; files, budgets, callbacks and errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tinygrad import Tensor, nn

import tensor_envs as te
from tensor_envs.files.arrays import read_arrays
from tensor_envs.train import network
from tensor_envs.train.run import CHECKPOINT, FORMAT, RunFolder, train
from tests.games.shared import shared_env
from tests.train.sizes import TRAINERS, alphazero, ppo

ROOT = Path(__file__).parents[2]


class Interruption(Exception):
    """Error of a callback that ends a run in the middle."""


def lines_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def timeless(lines: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "steps", "stops"), [("alphazero", 3, [2]), *((name, 5, [1, 3]) for name in TRAINERS)])
def test_an_interrupted_run_equals_one_without_a_break(name: str, steps: int, stops: list[int], tmp_path: Path) -> None:
    """Bit for bit, whether the interruption is at a checkpoint or not, and whatever a killed process left."""
    env = shared_env("kuhn_poker")  # a game with chance
    settings = {"ratings": 1}
    whole = TRAINERS[name](env, **settings)
    rating = whole.run(steps=steps, folder=tmp_path / "whole")
    assert "score" in rating and [line["step"] for line in lines_of(tmp_path / "whole")] == [*range(1, steps + 1)]
    for stop in stops:

        def interrupt(trainer: te.train.Trainer, metrics: dict[str, float], stop: int = stop) -> None:
            if trainer.steps == stop:
                raise Interruption

        with pytest.raises(Interruption):
            TRAINERS[name](env, **settings).run(steps=steps, folder=tmp_path / "part", callbacks=[interrupt])
        with open(tmp_path / "part" / "metrics.jsonl", "a") as file:
            file.write('{"step": 4, "posi')
    again = TRAINERS[name](env, **settings)
    assert again.run(steps=steps, folder=tmp_path / "part") == rating
    expected, found = whole.weights(), again.weights()
    assert all(np.array_equal(expected[name], found[name]) for name in expected)
    assert timeless(lines_of(tmp_path / "part")) == timeless(lines_of(tmp_path / "whole"))
    ended = type(whole).load(tmp_path / "part")
    assert ended.run(steps=steps, folder=tmp_path / "part") == {} and ended.steps == steps


KILLED = """
import sys, tensor_envs as te
from tests.train.sizes import TRAINERS
te.set_num_threads(1)
TRAINERS[sys.argv[1]](te.make("tic_tac_toe"), checkpoint_steps=1).run(steps=int(sys.argv[3]), folder=sys.argv[2])
"""


def start(name: str, folder: Path, steps: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", KILLED, name, str(folder), str(steps)]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINERS)
def test_a_killed_run_goes_on(name: str, tmp_path: Path) -> None:
    """SIGKILL at random moments, and then to the end: the weights are those of a run without a break."""
    steps, kills = 30, 0
    assert start(name, tmp_path / "whole", steps).wait() == 0
    moments = np.random.default_rng(0)
    while True:
        process = start(name, tmp_path / "part", steps)
        deadline = time.monotonic() + 60
        before = (tmp_path / "part" / CHECKPOINT).stat().st_mtime_ns if kills else 0
        while process.poll() is None and time.monotonic() < deadline:  # until it goes on, so that the run ends once
            with_checkpoint = tmp_path / "part" / CHECKPOINT
            if with_checkpoint.exists() and with_checkpoint.stat().st_mtime_ns != before:
                break
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        kills += 1
    assert kills >= 2
    arrays = [read_arrays(tmp_path / part / CHECKPOINT, FORMAT)[1] for part in ("whole", "part")]
    assert arrays[0].keys() == arrays[1].keys()
    assert all(np.array_equal(arrays[0][key], arrays[1][key]) for key in arrays[0])
    assert timeless(lines_of(tmp_path / "whole")) == timeless(lines_of(tmp_path / "part"))


@pytest.mark.slow
def test_what_a_folder_has(tmp_path: Path) -> None:
    """Weights in float32 with optimiser and replay; a network that te.agents plays; curves; whole metrics."""
    env, seen = shared_env("kuhn_poker"), list[dict[str, float]]()
    trainer = alphazero(env, ratings=2)
    trainer.run(steps=4, folder=tmp_path, callbacks=[lambda _, metrics: seen.append(metrics)])
    names = {"config.toml", "metrics.jsonl", "checkpoint.safetensors", "weights.safetensors", "curves.svg"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert lines_of(tmp_path) == seen and [line["positions"] for line in seen] == [32, 64, 96, 128]
    rated = {"score", "score_interval", "mean_return", "network_score"}
    assert [rated <= line.keys() for line in seen] == [False, True, False, True]
    _, arrays = read_arrays(tmp_path / CHECKPOINT, FORMAT)
    assert arrays["network.policy.matrix"].dtype == np.float32
    assert {name.split(".")[0] for name in arrays} == {"network", "optimizer", "state", "replay"}
    assert arrays["replay.value"].shape == (3, 32) and "optimizer.m.0" in arrays
    kept = nn.state.safe_load(tmp_path / "weights.safetensors")
    assert all(np.allclose(kept[name].numpy(), array, atol=1e-2) for name, array in trainer.weights().items())
    assert te.agents.load(tmp_path / "weights.safetensors", 2)(env.init(3)).shape == (3,)
    picture = ElementTree.fromstring((tmp_path / "curves.svg").read_text())
    words = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"score", "network score", "loss of the policy", "128 positions"} <= words


@pytest.mark.slow
def test_a_game_for_one_is_rated_by_its_return(tmp_path: Path) -> None:
    trainer = ppo(shared_env("yahtzee"), ratings=1)
    rating = trainer.run(steps=1, folder=tmp_path)
    assert rating.keys() == {"mean_return"} and rating["mean_return"] > 0
    picture = ElementTree.fromstring((tmp_path / "curves.svg").read_text())
    words = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert "mean return" in words and "score" not in words


@pytest.mark.slow
def test_a_folder_of_another_run(tmp_path: Path) -> None:
    env = shared_env("kuhn_poker")
    ahead = alphazero(env)
    ahead.run(steps=2, folder=tmp_path)
    for trainer, message in (
        (alphazero(env, learning_rate=0.5), "has a run with learning_rate=0.004, got 0.5"),
        (alphazero(shared_env("tic_tac_toe")), "has a run of <Env kuhn_poker-v0>, got <Env tic_tac_toe-v0"),
        (ppo(env), "algorithm must be 'ppo', got 'alphazero'"),
    ):
        with pytest.raises(ValueError, match=message):
            trainer.run(steps=2, folder=tmp_path)
    with pytest.raises(ValueError, match="algorithm must be 'ppo', got 'alphazero'"):
        te.train.PPO.load(tmp_path)
    ahead.step()
    with pytest.raises(ValueError, match="has a checkpoint of step 2, got a trainer at step 3"):
        ahead.run(steps=4, folder=tmp_path)

    with pytest.raises(ValueError, match="has a run of <Env kuhn_poker-v0>, got <Env tic_tac_toe-v0"):
        alphazero(shared_env("tic_tac_toe")).save(tmp_path)
    assert te.train.AlphaZero.load(tmp_path).steps == 2


def saved(folder: Path, steps: int) -> te.train.PPO:
    """Return a trainer whose run of some steps is in a folder, without training it."""
    trainer = ppo(shared_env("kuhn_poker"))
    trainer.steps = steps
    trainer.save(folder)
    lines = ("{" + f'"step": {step}' + "}\n" for step in range(1, steps + 1))
    (folder / "metrics.jsonl").write_text("".join(lines))
    return trainer


def opened(folder: Path) -> RunFolder:
    return RunFolder(folder, ppo(shared_env("kuhn_poker")))


def test_two_runs_at_once(tmp_path: Path) -> None:
    first = opened(tmp_path)
    with pytest.raises(ValueError, match=r"folder must have no run in progress, got .*, which has one"):
        opened(tmp_path)
    first.close()
    opened(tmp_path).close()


@pytest.mark.slow
def test_files_that_are_lost_or_older(tmp_path: Path) -> None:
    """Weights are those of the checkpoint, whenever a process was killed; without it nothing is overwritten."""
    saved(tmp_path, steps=2)
    weights = tmp_path / "weights.safetensors"
    whole = weights.read_bytes()
    for older in (None, b"of an earlier checkpoint"):
        weights.unlink() if older is None else weights.write_bytes(older)
        opened(tmp_path).close()
        assert weights.read_bytes() == whole
    (tmp_path / CHECKPOINT).unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"has weights of a run, but not its checkpoint.safetensors"):
        opened(tmp_path)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_files_of_a_checkpoint_that_are_missing(tmp_path: Path) -> None:
    """A player without weights says what is missing, and a run without its checkpoint does not start anew."""
    trainer = saved(tmp_path, steps=3)
    (tmp_path / "weights.safetensors").unlink()
    for path in (tmp_path, tmp_path / "weights.safetensors"):
        with pytest.raises(FileNotFoundError, match=rf"'{tmp_path}' has no weights.safetensors; the command of a run"):
            te.agents.load(path)
    (tmp_path / CHECKPOINT).unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"has metrics of 3 steps of a run, but neither its checkpoint.safetensors"):
        opened(tmp_path)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    # A run that is killed before its first checkpoint starts anew.
    (tmp_path / "config.toml").unlink()
    RunFolder(tmp_path, ppo(trainer.env, checkpoint_steps=3)).close()
    assert not lines_of(tmp_path)


@pytest.mark.few(1)
@pytest.mark.parametrize("damage", ['{"step": 2, "posi', "", "5", "{}", "\udcff\udcfe"])
def test_damaged_metrics(damage: str, tmp_path: Path) -> None:
    """Damage in the last line is that of a killed process; before good lines nothing is dropped without a word."""
    saved(tmp_path, steps=3)
    path = tmp_path / "metrics.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], damage, lines[2]]), errors="surrogateescape")
    with pytest.raises(ValueError, match=r"metrics.jsonl' is damaged: line 2 has no metrics"):
        opened(tmp_path)
    path.write_text("\n".join([*lines, damage]), errors="surrogateescape")
    opened(tmp_path).close()
    assert lines_of(tmp_path) == [{"step": step} for step in (1, 2, 3)]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([3, 2, 1], "line 2 is of step 2, behind one of step 3"),
        ([1, 3, 4], "line 2 is of step 3, behind one of step 1"),
        ([1, 1, 2, 3, 4], "line 2 is of step 1, behind one of step 1"),
        ([1, 2, 2, 3, 4], "line 3 is of step 2, behind one of step 2"),
        ([1, 2], "it ends with step 2, and the checkpoint is of step 4"),
        ([9, 2, 3, 4], "line 1 is of step 9, and the checkpoint of step 4"),
    ],
)
def test_metrics_are_those_of_one_step_after_another(order: list[int], message: str, tmp_path: Path) -> None:
    saved(tmp_path, steps=4)
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"step": {step}}}\n' for step in order))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"metrics.jsonl' is damaged: {message}; to go on without it"):
        opened(tmp_path)
    assert path.read_bytes() == before


def test_saving_in_the_folder_of_a_run_keeps_its_metrics_known(tmp_path: Path) -> None:
    """Metrics that are missing are noticed also behind a checkpoint that `Trainer.save` wrote."""
    trainer = saved(tmp_path, steps=2)
    trainer.save(tmp_path)
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(ValueError, match=r"metrics.jsonl' is damaged: its lines until step 2 are not those"):
        RunFolder(tmp_path, trainer)
    path.write_bytes(whole)
    RunFolder(tmp_path, trainer).close()


def test_lost_settings_do_not_become_others(tmp_path: Path) -> None:
    """A trainer of other settings is refused before it writes any."""
    env = shared_env("kuhn_poker")
    trainer, other = ppo(env), ppo(env, seed=5)
    trainer.save(tmp_path)
    path = tmp_path / "config.toml"
    text = path.read_text()
    path.unlink()
    for refused in (lambda: other.save(tmp_path), lambda: RunFolder(tmp_path, other)):
        with pytest.raises(ValueError, match=r"checkpoint.safetensors' has no checkpoint that fits: .* seed=0, and"):
            refused()
        assert not path.exists()
    trainer.save(tmp_path)
    assert path.read_text() == text


@pytest.mark.slow
def test_metrics_are_those_that_the_run_wrote(tmp_path: Path) -> None:
    """Every changed digit, and lines missing from the start or altogether, are noticed once a run has a checkpoint."""
    env = shared_env("kuhn_poker")
    ppo(env, ratings=0).run(steps=3, folder=tmp_path)
    path = tmp_path / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    digit = lines[1].index('"positions": ') + len('"positions": ')
    changed = lines[1][:digit] + str((int(lines[1][digit]) + 1) % 9 + 1) + lines[1][digit + 1 :]
    for damaged in ([lines[0], changed, lines[2]], lines[1:], []):
        path.write_text("".join(damaged))
        with pytest.raises(ValueError, match=r"metrics.jsonl' is damaged: its lines until step 3 are not those"):
            ppo(env, ratings=0).run(steps=4, folder=tmp_path)
        assert path.read_text() == "".join(damaged)
    path.write_text("".join(lines))
    ppo(env, ratings=0).run(steps=4, folder=tmp_path)
    assert [line["step"] for line in lines_of(tmp_path)] == [1, 2, 3, 4]
    te.train.PPO.load(tmp_path).run(steps=5, folder=tmp_path / "elsewhere")
    assert [line["step"] for line in lines_of(tmp_path / "elsewhere")] == [5]
    te.train.PPO.load(tmp_path / "elsewhere").run(steps=6, folder=tmp_path / "elsewhere")
    assert [line["step"] for line in lines_of(tmp_path / "elsewhere")] == [5, 6]


@pytest.mark.slow
def test_settings_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    """Whatever byte of the settings is lost or changed, they load as they were or not at all."""
    env = te.make("hex", size=3)
    trainer = ppo(env)
    trainer.save(tmp_path)
    path = tmp_path / "config.toml"
    text, loaded = path.read_text(), 0
    damages = [text[:length] for length in range(0, len(text), 7)]
    for at in (at for at, letter in enumerate(text) if letter.isdigit()):
        damages.append(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")
    for damage in damages:
        path.write_text(damage)
        try:
            again = te.train.PPO.load(tmp_path)
        except ValueError as error:
            assert "config.toml" in str(error) or "checkpoint.safetensors' has no checkpoint that fits" in str(error)
            continue
        loaded += 1
        assert again.config == trainer.config and again.env.rules == env.rules
    assert loaded < 5 and len(damages) > 60
    path.write_text(text.replace("learning_rate = 0.005", "learning_rate = 0.006"))
    with pytest.raises(ValueError, match=r"a run with learning_rate=0\.005, and the settings say 0\.006"):
        te.train.PPO.load(tmp_path)


def test_a_run_that_diverges_keeps_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = saved(tmp_path, steps=1)
    before = (tmp_path / CHECKPOINT).read_bytes()
    monkeypatch.setattr(trainer, "play", lambda step: None)
    monkeypatch.setattr(trainer, "learn", lambda data: {"policy_loss": float("nan"), "value_loss": 0.0})
    with pytest.raises(FloatingPointError, match=r"diverged in step 2: \{'policy_loss': nan\}"):
        trainer.run(steps=2, folder=tmp_path)
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    broken = {name: np.full(array.shape, np.nan) for name, array in trainer.weights().items()}
    with pytest.raises(ValueError, match="weights must be finite numbers, got others in"):
        trainer.assign_weights(broken)
    with pytest.raises(ValueError, match="the range of half precision, got others in"):
        network.save(trainer.env, {name: Tensor(array) for name, array in broken.items()}, tmp_path / "nan.safetensors")


def test_damaged_checkpoints(tmp_path: Path) -> None:
    env = shared_env("kuhn_poker")
    trainer = alphazero(env)
    trainer.save(tmp_path)
    path = tmp_path / CHECKPOINT
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"checkpoint.safetensors' is damaged"):
        te.train.AlphaZero.load(tmp_path)
    path.write_bytes(whole)
    config = tmp_path / "config.toml"
    config.write_text(config.read_text().replace("hidden = 8", "hidden = 9"))
    with pytest.raises(ValueError, match=r"safetensors' has no checkpoint that fits: it is of a run with hidden=8"):
        te.train.AlphaZero.load(tmp_path)


@pytest.mark.slow
def test_budgets() -> None:
    trainer = alphazero(shared_env("kuhn_poker"))
    for budget in ({}, {"steps": 1, "seconds": 1.0}):
        with pytest.raises(ValueError, match="give a budget of either steps or seconds, got steps="):
            trainer.run(**budget)  # type: ignore[arg-type]
    for wrong in (print, [5]):
        with pytest.raises(TypeError, match="callbacks"):
            trainer.run(steps=1, callbacks=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="steps must be in 0"):
        trainer.run(steps=-1)
    with pytest.raises(ValueError, match="seconds must be in 0"):
        trainer.run(seconds=-1)
    rates = list[float]()
    trainer.run(steps=4, callbacks=[lambda _, metrics: rates.append(metrics["learning_rate"])])
    assert np.allclose(rates, trainer.config.learning_rate * np.array([1, 0.75, 0.5, 0.25]))  # type: ignore[attr-defined]
    trainer.run(seconds=trainer.seconds / 2)
    assert trainer.steps == 4
    trainer.run(seconds=trainer.seconds + 1e-9)
    assert trainer.steps == 5 and trainer.progress == 1


def test_as_many_ratings_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a share of the budget times their number is a little less than a whole number."""
    trainer, rated = ppo(shared_env("kuhn_poker"), ratings=100), list[int]()

    def step() -> dict[str, float]:
        trainer.steps += 1
        return {}

    def rate() -> dict[str, float]:
        rated.append(trainer.steps)
        return {}

    monkeypatch.setattr(trainer, "rate", rate)
    train(trainer, step, 100, None, None, [])
    assert rated == [*range(1, 101)]


@pytest.mark.few("ppo")
@pytest.mark.parametrize("name", TRAINERS)
def test_wrong_arguments(name: str) -> None:
    kind: Any = type(TRAINERS[name](shared_env("kuhn_poker")))
    with pytest.raises(TypeError, match="env must be of type Env, got 'kuhn_poker'"):
        kind("kuhn_poker")
    with pytest.raises(TypeError, match=f"config must be of type {kind.Config.__name__}"):
        kind(shared_env("kuhn_poker"), {"seed": 3})
    with pytest.raises(ValueError, match=r"rating_games must be in 2..\d+, got 1"):
        kind(shared_env("kuhn_poker"), kind.Config(rating_games=1))
    with pytest.raises(ValueError, match="blocks must be 0 for"):
        kind(shared_env("kuhn_poker"), kind.Config(blocks=1))
    trainer = kind(shared_env("kuhn_poker"))
    with pytest.raises(ValueError, match="weights must be those of a network with the settings' sizes"):
        trainer.assign_weights({"first.weight": np.zeros((3, 3), np.float32)})


@pytest.mark.extra("tensorboardX")
def test_tensorboard(tmp_path: Path) -> None:
    """Read the scalars back with the package's own protocol."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    trainer = alphazero(shared_env("kuhn_poker"))
    trainer.run(steps=3, callbacks=[te.train.TensorBoard(tmp_path)])
    (path,) = tmp_path.iterdir()
    data, found = path.read_bytes(), list[tuple[str, int, float]]()
    while data:  # length, its checksum, an event, its checksum
        length = int.from_bytes(data[:8], "little")
        event = event_pb2.Event.FromString(data[12 : 12 + length])
        found += [(value.tag, event.step, value.simple_value) for value in event.summary.value]
        data = data[16 + length :]
    assert [(tag, step) for tag, step, value in found if tag == "positions" and value == 32 * step] == [
        ("positions", 1),
        ("positions", 2),
        ("positions", 3),
    ]
    assert sum(tag == "policy_loss" for tag, *_ in found) == 3


def test_missing_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package, call in (
        ("tensorboardX", lambda: te.train.TensorBoard(tmp_path)),
        ("wandb", lambda: te.train.WandB(project="games")),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=rf"needs {package}: pip install 'tensor_envs\[train\]'"):
            call()
