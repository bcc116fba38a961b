"""`python -m tensor_envs.train`: runs, errors in one line, custom games, ratings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.train import __main__ as command
from tensor_envs.train import network
from tensor_envs.train.__main__ import main
from tests.games import dice_race
from tests.games.shared import shared_env
from tests.scripts.here import run_here
from tests.train.sizes import ALPHAZERO

ROOT = Path(__file__).parents[2]
SMALL = [f"--{name.replace('_', '-')}={value}" for name, value in ALPHAZERO.items()]


@pytest.mark.slow
def test_the_same_command_continues_a_run(tmp_path: Path) -> None:
    command = ["alphazero", "kuhn_poker", f"--folder={tmp_path / 'run'}"]
    code, out, errors = run_here(main, [*command, *SMALL, "--steps=2"])
    assert (code, errors) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"kuhn_poker: 2 steps, 8 games x 4 decisions a step, on CPU, in {tmp_path / 'run'}"
    assert re.fullmatch(r"[\d,]+ positions per second of processor time, compiling included", lines[-1])
    assert run_here(main, [*command, "--steps=3"])[0] == 0  # settings that are not given are those of the run
    assert te.train.AlphaZero.load(tmp_path / "run").steps == 3
    for changed, message in (
        (["alphazero", "kuhn_poker", "--hidden=9"], "has a run with hidden=8, got 9: name another --folder"),
        (["alphazero", "tic_tac_toe"], "has a run of <Env kuhn_poker-v0>, got <Env tic_tac_toe-v0"),
        (["ppo", "kuhn_poker"], "algorithm must be 'ppo', got 'alphazero'"),
    ):
        code, _, errors = run_here(main, [*changed, command[-1], "--steps=4"])
        assert code == 2 and errors.startswith("python -m tensor_envs.train: error: ") and message in errors, errors
        assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alphazero", "tic_tac_toe"], "one of the arguments --minutes --steps is required"),
        (["alphazero", "tic_tac_to", "--steps=1"], "unknown id 'tic_tac_to'; did you mean 'tic_tac_toe'"),
        (["alphazero", "tic_tac_toe", "--steps=0"], "argument --steps: must be in 1..2147483647, got 0"),
        (["alphazero", "kuhn_poker", "--steps=1", "--blocks=1"], "blocks must be 0 for"),
        (["alphazero", "kuhn_poker", "--steps=1", "--blocks=-1"], "argument --blocks: must be in 0..64, got -1"),
        (["ppo", "tic_tac_toe", "--steps=1", "--minibatches=3"], "minibatches must divide num_envs, got 3 and 256"),
        (["ppo", "tic_tac_toe", "--steps=1", "--weights=no"], "no file 'no'"),
        (["ppo", "tic_tac_toe", "--steps=1", "--num-actors=2"], "--num-actors needs --ray, got 2 without it"),
        (["rate", "liars_dice", "--rules", "players=3"], "the game must be for one or two, <Env liars_dice-v0"),
        (["rate", "tic_tac_toe", "--games=3"], "--games must be even, got 3"),
        (["dqn", "tic_tac_toe"], "argument COMMAND: invalid choice: 'dqn'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    folder = [] if arguments[0] in ("rate", "dqn") else [f"--folder={tmp_path / 'run'}"]
    code, out, errors = run_here(main, [*arguments, *folder])
    assert (code, out) == (2, "") and message in errors and errors.count("\n") == 1, errors
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["alphazero", "ppo", "rate"])
def test_help_shows_defaults(command: str) -> None:
    code, out, errors = run_here(main, [command, "--help"])
    assert (code, errors) == (0, "") and "default: " in out


@pytest.mark.slow
def test_weights_to_start_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = te.make("kuhn_poker")
    start, run = tmp_path / "start", tmp_path / "run"
    te.train.AlphaZero(env, te.train.AlphaZeroConfig(**ALPHAZERO)).run(steps=2, folder=start)
    path, still = start / "weights.safetensors", ["--learning-rate=0", f"--folder={run}", "--steps=1"]
    code, _, errors = run_here(main, ["alphazero", "kuhn_poker", *SMALL, *still, f"--weights={path}"])
    assert (code, errors) == (0, "")
    before, after = (te.train.AlphaZero.load(folder).weights() for folder in (start, run))
    assert all(np.allclose(before[name], after[name], atol=1e-3) for name in before)
    whole = (run / "weights.safetensors").read_bytes()
    for lost in ("checkpoint.safetensors", "weights.safetensors"):  # as if the run was killed before them
        (run / lost).unlink()
    # weights by their folder; the id with its version is the same game
    same = ["alphazero", "kuhn_poker-v0", *still, f"--weights={start}"]
    code, out, _ = run_here(main, same)
    assert (code, "goes on" in out) == (0, False) and (run / "weights.safetensors").read_bytes() == whole
    assert f"the run goes on from its own weights, not from {start}" in run_here(main, same)[1]
    (run / "weights.safetensors").unlink()  # of a run that is complete
    assert f"{run} has no weights.safetensors: it is written anew, to fit the checkpoint\n" in run_here(main, same)[1]
    assert (run / "weights.safetensors").read_bytes() == whole
    started = list[dict[str, np.ndarray]]()
    monkeypatch.setattr(command, "distributed", lambda *_, weights, **__: started.append(weights))
    at_first = [
        "alphazero",
        "kuhn_poker",
        *SMALL,
        f"--folder={tmp_path / 'y'}",
        "--steps=1",
        f"--weights={path}",
        "--ray",
    ]
    assert run_here(main, at_first)[0] == 0
    kept = network.load(path).weights
    assert all(np.array_equal(array, kept[name]) for name, array in started[0].items())
    code, _, errors = run_here(
        main, ["alphazero", "tic_tac_toe", f"--folder={tmp_path / 'x'}", "--steps=1", f"--weights={path}"]
    )
    assert code == 2 and "--weights must be weights for <Env tic_tac_toe-v0" in errors


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["alphazero", "ppo"])
def test_custom_games(algorithm: str, tmp_path: Path) -> None:
    """Train on a module in the folder where the command is called, that nobody has registered."""
    (tmp_path / "my_games.py").write_text(Path(dice_race.__file__).read_text().replace("tests.games.", "my_games."))
    command = [sys.executable, "-m", "tensor_envs.train", algorithm, "my_games:DiceRace", "--rules", "goal=4"]
    command += ["--steps=2", "--num-envs=8", "--rollout-length=4", "--hidden=8", "--ratings=1", "--rating-games=30"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("my_games:DiceRace: 2 steps") and ": score " in done.stdout
    assert (tmp_path / "runs" / f"{algorithm}-my_games-DiceRace" / "weights.safetensors").is_file()


@pytest.mark.slow
def test_ratings() -> None:
    small = ["--games=8", "--rivals", "4", "--simulations", "0", "4", "--regret"]
    code, out, errors = run_here(main, ["rate", "tic_tac_toe", *small])
    assert (code, errors) == (0, "")
    assert out.startswith("tic_tac_toe on CPU, 8 games of each pair after 2 random plies, weights of tic_tac_toe\n")
    share = r"keeps the value in \d+ of \d+ critical positions"
    assert re.search(rf"playout search of 4: mean exact regret 0\.\d{{5}}, {share}\n", out)
    assert re.search(rf"trained, 4 simulations: mean exact regret 0\.\d{{5}}, {share}\n$", out)


@pytest.mark.parametrize(
    ("game", "plies"), [("kuhn_poker", 0), ("backgammon", 0), ("tic_tac_toe", 2), ("phantom_tic_tac_toe", 2)]
)
def test_random_plies_make_games_differ_that_begin_alike(game: str, plies: int) -> None:
    assert command.default_opening(shared_env(game)) == plies


@pytest.mark.slow
def test_ratings_of_a_game_of_chips() -> None:
    small = ["rate", "kuhn_poker", "--games=8", "--rivals", "4", "--simulations"]
    code, out, errors = run_here(main, small)
    assert (code, errors) == (0, "")
    assert out.startswith("kuhn_poker on CPU, 8 games of each pair, weights of kuhn_poker\nplayer")
    assert re.search(r"^uniform +[+-][\d.]+ \+- [\d.]+ +[+-]\d+ \+- +\d+ ", out, re.MULTILINE)
    out = run_here(main, [*small, "--opening=1"])[1]
    assert out.startswith("kuhn_poker on CPU, 8 games of each pair after 1 random plies, weights")


@pytest.mark.slow
def test_ratings_of_a_game_for_one() -> None:
    code, out, errors = run_here(main, ["rate", "yahtzee", "--games=8", "--rivals", "4", "--simulations", "0"])
    assert (code, errors) == (0, "")
    players = re.findall(r"^(.+): mean return ([\d.]+) \+- [\d.]+$", out, re.MULTILINE)
    assert [name for name, _ in players] == ["uniform", "playout search of 4", "trained, 0 simulations"]
    assert float(players[-1][1]) > 2 * float(players[0][1])
