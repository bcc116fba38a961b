"""scripts/hyperdimensional_tictactoe.py, in a separate process and within this one."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from hyperdimensional_tictactoe import main
from tensor_envs import ops
from tests.scripts.here import SCRIPTS, complaints, run_here

SCRIPT = SCRIPTS / "hyperdimensional_tictactoe.py"


def run(*arguments: object, code: int = 0, env: dict[str, str] | None = None) -> str:
    """Run the script, with `env` in a separate process, and return its output or, for an exit code, its error."""
    if env is None:
        found, out, errors = run_here(main, arguments)
    else:
        command = [sys.executable, str(SCRIPT), *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, env={**os.environ, **env}, check=False
        )
        found, out, errors = done.returncode, done.stdout, complaints(done.stderr)
    assert found == code, errors
    if code:
        assert errors.startswith("python scripts/hyperdimensional_tictactoe.py: error: ") and errors.count("\n") == 1
        return errors
    assert errors == ""
    return out


def number(text: str, label: str) -> float:
    found = re.search(rf"^ *{re.escape(label)} +([\d.,]+)", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1].replace(",", ""))


@pytest.mark.slow
def test_no_arguments() -> None:
    text = run("--device", "CPU", env={})
    assert "board 3x3x3, k = 3: 27 cells, 13 directions, 49 lines" in text
    assert "rank 1: 3 directions, 27 lines" in text and "rank 3: 4 directions, 4 lines" in text
    wins = number(text, "first player (X) wins"), number(text, "second player (O) wins")
    assert sum(wins) == 4096 and wins[0] > wins[1] > 0
    assert number(text, "draws") == 0  # impossible on this board
    assert 11 < number(text, "mean plies") < 14 and number(text, "steps/s") > 0


@pytest.mark.slow
def test_statistics_of_3x3_and_a_game() -> None:
    """Compare with exact statistics (.585 first, .288 second, .127 drawn, 7.63 plies) within 4 standard errors."""
    batch = 8192
    text = run("--shape", 3, 3, "--batch", batch, "--seed", 5, "--show", 7)
    for label, share in (("first player (X) wins", 0.585), ("second player (O) wins", 0.288), ("draws", 0.127)):
        assert abs(number(text, label) / batch - share) < 4 * 0.5 / batch**0.5
    assert abs(number(text, "mean plies") - 7.63) < 0.06
    env = te.make("tic_tac_toe")
    vector = te.VectorEnv(env, 8, 5, autoreset="disabled")
    for _ in range(9):
        vector.step_uniform()
    assert text.endswith(f"\n{env.to_string(vector.state, 7)}\n")


@pytest.mark.slow
@pytest.mark.parametrize("field", ["gravity", "misere"])
def test_gravity_and_misere(field: str) -> None:
    """Winners are those that the rules pay in the same games."""
    text = run("--shape", 3, 3, "--batch", 512, "--seed", 5, f"--{field}")
    options: dict[str, Any] = {"shape": (3, 3), "k": 3, field: True}
    env = te.make("hyper_tic_tac_toe", **options)
    vector, returns = te.VectorEnv(env, 512, 5, autoreset="disabled"), np.zeros(512)
    for _ in range(9):
        vector.step_uniform()
        returns += vector.state.rewards.numpy()[:, 0]
    assert vector.state.terminated.numpy().all()
    for label, mark in (("first player (X) wins", 1), ("second player (O) wins", -1), ("draws", 0)):
        assert number(text, label) == (returns == mark).sum()
    assert "--gravity and --misere go with games" in run("--board", "random", f"--{field}", code=2)


@pytest.mark.slow
def test_rank_4_drawn(tmp_path: Path) -> None:
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    text = run("--shape", 3, 3, 3, 3, "--batch", 64, "--show", 3, "--svg", svg, "--png", png)
    assert "40 directions, 272 lines" in text and "[2, 2, :, :]" in text and "has a line of 3: (" in text
    assert svg.read_text().startswith("<svg") and png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_k_1() -> None:
    text = run("--shape", 2, 3, "--k", 1, "--batch", 10)
    assert "6 lines" in text and number(text, "first player (X) wins") == 10 and number(text, "mean plies") == 1
    assert "  first player (X): (0,2)\n" in run("--board", "random", "--shape", 3, 3, "--k", 1)


def test_one_board(tmp_path: Path) -> None:
    board = np.zeros((4, 5), dtype=np.int64)
    board[[3, 2, 1], [0, 1, 2]] = -1
    np.save(tmp_path / "board.npy", board)
    text = run("--board", tmp_path / "board.npy", "--show", 0)
    assert "board 4x5, k = 3" in text and "winner: the second player (O)" in text
    assert "lines of rank 2: 0 of the first player, 1 of the second" in text
    assert "  second player (O): (1,2) (2,1) (3,0)" in text and "2  . (O) .  .  ." in text
    np.save(tmp_path / "board.npy", board * 0)
    assert "winner: none" in run("--board", tmp_path / "board.npy")


@pytest.mark.slow
def test_batch_of_boards(tmp_path: Path) -> None:
    boards = np.zeros((2, 3, 3, 3), dtype=np.int8)  # 2 x 3 boards of 3x3
    boards[0, 1, :, 2] = 1
    boards[1, 2, 0] = -1
    boards[1, 0] = [[1, 1, 1], [0, 0, 0], [-1, -1, -1]]
    np.save(tmp_path / "boards.npy", boards)
    text = run("--board", tmp_path / "boards.npy", "--shape", 3, 3)
    assert number(text, "first player (X) wins") == number(text, "second player (O) wins") == 1
    assert number(text, "both have lines") == 1 and number(text, "no line") == 3
    assert "board 1: the first player (X)\n" in text and "board 5: the second player (O)\n" in text
    assert "board 3: the first player (X) and the second player (O), both with lines" in text
    assert "first player (X): (0,2) (1,2) (2,2)" in text


@pytest.mark.slow
def test_random_boards() -> None:
    text = run("--board", "random", "--shape", 6, 5, 4, 3, "--seed", 3)
    board = np.random.default_rng(3).integers(-1, 2, (6, 5, 4, 3), np.int8)
    counts = ops.count_lines(board, 3).numpy().sum(axis=0)
    found = re.findall(r"rank \d: ([\d,]+) of the first player, ([\d,]+) of the second", text)
    assert [sum(int(row[i].replace(",", "")) for row in found) for i in (0, 1)] == counts.tolist()
    assert "checked 50 boards" in run("--board", "random", "--shape", 3, 3, "--batch", 50)


@pytest.mark.slow
def test_random_board_of_312_million_cells() -> None:
    text = run("--shape", 50, 50, 50, 50, 50, "--k", 5, "--board", "random")
    seconds = re.search(r"checked 1 board in ([\d.]+) s", text)
    assert seconds is not None and float(seconds[1]) < 60
    assert "28,711,419,616 lines" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--shape", 3, 3, "--k", 4), "no line of k=4 fits on shape (3, 3)"),
        (("--shape", 3, 0), "shape[1] must be"),
        (("--shape", 3, -3), "shape[1] must be"),
        (("--shape", 3, "x"), "invalid int value: 'x'"),
        (("--shape",), "expected at least one argument"),
        (("--k", 0), "k must be in 1.."),
        (("--batch", 0), "batch must be in 1.."),
        (("--batch", -4), "batch must be in 1.."),
        (("--seed", -1), "seed must be"),
        (("--device", "NOPE"), "device 'NOPE' cannot be opened"),
        (("--show", 4096), "--show must be in 0..4095"),
        (("--show", -1), "--show must be in"),
        (("--svg", "/nowhere/at/all/a.svg"), "no directory"),
        (("--shape", 50, 50, 50, 50, 50, "--k", 5), "lower --batch"),
        pytest.param(
            ("--shape", 50, 50, 50, 50, 50, "--board", "random", "--show", 0),
            "too large to show",
            marks=pytest.mark.slow,
        ),
        (("--board", "random", "--seed", -1), "--seed"),
        (("--board", "random", "--batch", 0), "--batch"),
        (("--board", "random", "--device", "NOPE"), "device 'NOPE'"),
        (("--board", "no/such/file.npy"), "No such file"),
        (("--board", SCRIPT), "is no .npy file"),
        (("--bogus",), "unrecognized arguments"),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, tuple) else "",
)
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    assert message in run(*arguments, code=2)


def test_bad_input_of_a_user() -> None:
    assert "shape[1] must be" in run("--shape", 3, 0, code=2, env={})


def test_bad_boards(tmp_path: Path) -> None:
    path = tmp_path / "board.npy"
    for array, message in (
        (np.array([[0, 2, 1]] * 3), "got values from 0 to 2"),
        (np.zeros((3, 3)), "signed integer"),
        (np.zeros((3, 3), dtype=bool), "signed integer"),
        (np.full((3, 3), "a"), "signed integer"),
        (np.array([None, 1]), "no .npy file"),  # pickled, which is unsafe to load
        (np.zeros((0, 3), dtype=np.int8), "no board"),
        (np.array(1), "shape must have one or more entries"),
        (np.zeros((2, 2), dtype=np.int8), "no line of k=3 fits"),
    ):
        np.save(path, array)
        assert message in run("--board", path, code=2)
    np.save(path, np.zeros((5, 3, 3), dtype=np.int8))
    assert "does not end in" in run("--board", path, "--shape", 4, 4, code=2)
    assert "--show must be in 0..4" in run("--board", path, "--shape", 3, 3, "--show", 5, code=2)
    assert "--batch" in run("--board", path, "--batch", 5, code=2)
    path.write_bytes(b"")
    assert "no .npy file" in run("--board", path, code=2)
    np.savez(tmp_path / "boards.npz", np.zeros((3, 3), dtype=np.int8))
    assert "no .npy file" in run("--board", tmp_path / "boards.npz", code=2)


def test_a_broken_compiler() -> None:
    message = run("--device", "CPU", code=2, env={"TENSOR_ENVS_CC": sys.executable})
    assert "TENSOR_ENVS_CC" in message and "pip install ziglang" in message
