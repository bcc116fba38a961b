"""scripts/train/ppo.py and ppo_torch.py: rollouts against a plain-Python reference, and learning."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import nn

import tensor_envs as te
from tensor_envs import registry
from tensor_envs.train.network import Network, load, look, save
from tests.games import dice_race
from tests.scripts.here import SCRIPTS, complaints, status
from tests.test_learning import Steps, reference
from text_player import main as text_player
from train import ppo, ppo_torch, training
from train.ppo import ppo_parser
from train.training import check_options, evaluate, has_only_wins

COMMANDS: dict[str, Any] = {"ppo": ppo, "ppo_torch": ppo_torch}
LEARNER_CLASSES: dict[str, Any] = {"ppo": ppo.PPO, "ppo_torch": ppo_torch.TorchPPO}
LEARNERS = pytest.mark.parametrize("name", ["ppo", pytest.param("ppo_torch", marks=pytest.mark.extra("torch"))])
SMALL = {"num-envs": 8, "steps": 4, "hidden": 8, "minibatches": 2, "epochs": 1, "updates": 3, "games": 30}
RACE = ["--env", "dice_race", "--rules", "goal=4", *(f"--{name}={value}" for name, value in SMALL.items())]


@pytest.fixture
def race() -> Iterator[None]:
    """Register a game of three players with chance."""
    te.register(dice_race.GAME)
    yield
    del registry._entries["dice_race"]


def race_options() -> Any:
    options = ppo_parser("ppo.py", "", "CPU").parse_args(RACE)
    check_options(options)
    return options


def movers(now: dict[str, np.ndarray]) -> np.ndarray:
    return np.equal.outer(now["current_player"], np.arange(3)) & now["legal_action_mask"].any(1, keepdims=True)


def check_rollout(steps: Steps, mover: Any, value: Any, advantage: Any, known: Any) -> None:
    expected = reference(steps, mover, value, 1.0, 0.95)
    assert np.allclose(advantage, expected[0], atol=1e-4) and (known == expected[1]).all()
    assert 0 < known.mean() < 1 and sum(step[3].sum() for step in steps) > 0


@pytest.mark.slow
def test_rollouts_of_ppo(race: None) -> None:
    """Compare the first call, the capture and the replay with the same actions step by step."""
    options = race_options()
    learner = ppo.PPO(options)
    env, state = learner.env, learner.env.init(8, options.seed)
    for _ in range(3):
        learner.state, minibatches = learner.rollout(learner.state)
        columns = zip(*minibatches, strict=True)
        joined = [np.concatenate([part.numpy().reshape(4, 4, -1) for part in column]) for column in columns]
        _, mask, chosen, old, value, advantage, known = (part.swapaxes(0, 1).squeeze() for part in joined)
        steps: Steps = []
        for t in range(4):
            now = state.numpy()
            assert (now["legal_action_mask"] == mask[t]).all() and (chosen[t] <= mask[t]).all()
            after = env.step(state, chosen[t].argmax(1))
            then = after.numpy()
            steps.append((then["rewards"], movers(now), value[t], then["terminated"], then["truncated"]))
            if t == 0:
                logs = learner.network(*look(env, state))[0].numpy()
                assert np.allclose((logs * chosen[t]).sum(1), old[t], atol=1e-5)
            state = env.reset(after)
        next_value = learner.network(*look(env, state))[1].numpy()
        check_rollout(steps, movers(state.numpy()), next_value, advantage, known)
    for remaining in (0.0, 1.0, 0.0):  # the captured optimiser uses the rate of each update
        before = learner.network.first.weight.numpy()
        learner.update(remaining)
        assert (learner.network.first.weight.numpy() == before).all() == (remaining == 0)


@pytest.mark.extra("torch")
def test_rollouts_of_ppo_torch(race: None) -> None:
    torch = pytest.importorskip("torch")
    options = race_options()
    learner = ppo_torch.TorchPPO(options)
    vector = te.VectorEnv(learner.env, 8, options.seed, "CPU", autoreset="next_step")
    for _ in range(3):
        with torch.no_grad():
            data = [part.numpy() for part in learner.rollout()]
            _, mask, action, old, value, advantage, known = data
            steps: Steps = []
            for t in range(4):
                now = vector.state.numpy()
                assert (now["legal_action_mask"] == mask[t]).all()
                if t == 0:
                    logs = learner.evaluate(*learner.look(vector.state))[0].numpy()
                    assert np.allclose(np.take_along_axis(logs, action[t], 1)[:, 0], old[t], atol=1e-5)
                vector.step(action[t, :, 0].astype(np.int32))
                then = vector.state.numpy()
                steps.append((then["rewards"], movers(now), value[t], then["terminated"], then["truncated"]))
            next_value = learner.evaluate(*learner.look(vector.state))[1].numpy()
        check_rollout(steps, movers(vector.state.numpy()), next_value, advantage, known)


@pytest.mark.few("ppo_torch")
@pytest.mark.extra("matplotlib")
@LEARNERS
def test_a_few_updates(name: str, race: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "curve.png"
    assert status(COMMANDS[name].main, [*RACE, "--ratings=2", "--plot", str(picture)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "dice_race: 3 updates, 8 games x 4 decisions a round, self-play on CPU"
    rows = [line.split() for line in said[2:4]]
    assert all(len(row) == 2 + 3 and all(0 <= float(rate) <= 1 for rate in row[2:]) for row in rows)
    assert [int(row[0]) for row in rows] == [64, 96] or name == "ppo_torch"
    assert re.fullmatch(r"95% in every seat (was not reached|after .* s of training) \(.*\)", said[4])
    assert re.fullmatch(r"[\d,]+ decisions/s of processor time played and learned from, after .*", said[5])
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size < 60_000


@pytest.mark.slow
@LEARNERS
def test_what_is_measured_and_saved(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check mean returns of a game of chips, and that saved weights of either command play like the learner."""
    path, made = tmp_path / "weights.safetensors", []
    arguments = ["--env=kuhn_poker", *RACE[4:], "--save", str(path)]

    def learner(options: Any) -> Any:
        made.append(LEARNER_CLASSES[name](options))
        return made[0]

    parser = ppo_parser(f"{name}.py", "", "CPU")
    assert status(training.main, parser, learner, arguments) == 0
    said = capsys.readouterr().out
    assert "mean return against the uniform player, by seat" in said and "mean return by seat at most " in said
    env = te.make("kuhn_poker")
    assert not has_only_wins(env) and has_only_wins(te.make("tic_tac_toe"))
    state = env.init(64, seed=1)
    weights, kept = made[0].weights(), nn.state.safe_load(path)
    assert weights.keys() == kept.keys() and len(kept) == 8
    assert all((weights[key].numpy().astype(np.float16) == kept[key].numpy()).all() for key in kept)
    assert (te.agents.load(path, 0)(state).numpy() == made[0].choose(state)).all()
    before = load(path)[1]["policy.bias"]
    again = COMMANDS[name].main([*arguments, "--updates=1", "--resume", str(path)])
    assert again == 0
    assert (load(path)[1]["policy.bias"] != before).any()
    assert status(text_player.main, ["--env=kuhn_poker", "--command=echo 0", f"--against={path}", "--games=2"]) == 0
    assert f" against {path}: " in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [path]


def test_evaluation_is_fair() -> None:
    """Compare with the exact figures of the uniform player: 71.2 % of games not lost first, 41.5 % second."""
    env = te.make("tic_tac_toe")
    rates = evaluate(env, lambda state: te.agents.uniform(state).numpy(), 8192, 3)
    assert np.allclose(rates, [1 - 121 / 420, 1 - 737 / 1260], atol=4 * (0.25 / 4096) ** 0.5)
    illegal = evaluate(env, lambda state: np.full(state.batch, -1, np.int32), 64, 3)
    assert illegal == [0, 0]


def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--minibatches", "3"], "--minibatches must divide --num-envs, got 3 and 256"),
        (["--steps", "0"], "argument --steps: must be in 1..2147483647, got 0"),
        (["--updates", "-1"], "argument --updates: must be in 1..2147483647, got -1"),
        (["--rate", "nan"], "argument --rate: must be above 0 and at most 1, got nan"),
        (["--gamma", "1.5"], "argument --gamma: must be at least 0 and at most 1, got 1.5"),
        (["--games", "1"], "--games must be in 2..2147483647, got 1"),
        (["--rules", "k"], "argument --rules: must be FIELD=VALUE with a plain Python value, got 'k'"),
        (
            ["--plot", str(tmp_path / "no" / "x.png")],
            f"argument --plot: {tmp_path / 'no'} is no directory to write x.png to",
        ),
    ):
        assert status(ppo.main, arguments) == 2
        assert complaints(capsys.readouterr().err).strip() == f"ppo.py: error: {message}"
    assert status(ppo.main, ["--env", "tic_tac_to"]) == 2
    assert "tic_tac_toe" in capsys.readouterr().err


@pytest.mark.extra("torch")
def test_pytorch_has_no_tower(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env, path = te.make("tic_tac_toe"), tmp_path / "weights.safetensors"
    save(env, nn.state.get_state_dict(Network(env, 8, blocks=1, channels=4)), path)
    assert status(ppo_torch.main, ["--resume", str(path)]) == 2
    assert "--resume must be weights of two hidden layers" in capsys.readouterr().err
    assert status(ppo_torch.main, ["--blocks=1"]) == 2
    assert "unrecognized arguments: --blocks=1" in capsys.readouterr().err


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert status(ppo_torch.main, []) == 2
    message = "ppo_torch.py: error: this script needs PyTorch: pip install 'tensor_envs[torch]'"
    assert complaints(capsys.readouterr().err).strip() == message


@pytest.mark.slow
@LEARNERS
def test_it_learns_tic_tac_toe(name: str) -> None:
    """Require that 95 % of 8,192 games are not lost to the uniform player, in either seat."""
    command = [sys.executable, str(SCRIPTS / "train" / f"{name}.py"), "--games", "16384", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = (float(rate) for rate in done.stdout.splitlines()[-3].split()[2:])
    assert min(first, second) >= 0.95 and "95% in every seat after" in done.stdout, done.stdout
