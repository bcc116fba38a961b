"""`scripts/benchmark/gpu_model.py` counts what machine code does, and `gpu_kernels.py --model` says what follows."""

import os
import struct
import subprocess
import sys

import pytest

import tensor_envs as te
from benchmark.gpu_model import BRANCH, CARDS, LOAD, NOP, SIZE, STORE, Work, row, work_of
from tests.scripts.here import SCRIPTS

ADD = 0x210


def branch(to: int) -> tuple[int, int]:
    """A jump over so many instructions, from the one after it."""
    offset = to * SIZE // 4 % 2**56
    return BRANCH | (offset & 0xFF) << 16 | (offset >> 8) % 2**30 << 34, offset >> 38


def text(*code: int | tuple[int, int]) -> bytes:
    return b"".join(struct.pack("<QQ", *(x if isinstance(x, tuple) else (x, 4 << 9))) for x in code)


END: list[int | tuple[int, int]] = [branch(-1), NOP, NOP]  # to itself, and nothing


@pytest.mark.parametrize(
    ("code", "rounds", "expected"),
    [
        ([LOAD, ADD, STORE], [], Work(8, 4, 0)),
        ([(LOAD, 6 << 9), (STORE, 0)], [], Work(17, 3, 0)),
        ([LOAD, ADD, branch(-3), ADD], [5], Work(20, 5 * 3 + 1 + 1, 0)),
        ([ADD, branch(2), ADD, STORE, ADD], [], Work(4, 6, 2)),
        ([ADD, branch(3), ADD, LOAD, branch(-3), ADD], [7], Work(28, 1 + 1 + 7 * 3 + 1 + 1, 7 * 3)),
        # steps, of which one counts: jumped over by a game that is over, with a loop and a branch in them
        ([ADD, branch(5), ADD, STORE, branch(-2), branch(0), branch(-5), ADD], [None, 3], Work(12, 9, 0)),
    ],
)
def test_code_is_counted(code: list[int | tuple[int, int]], rounds: list[int | None], expected: Work) -> None:
    assert work_of(text(*code, *END), rounds) == expected


def test_loops_that_were_not_written() -> None:
    with pytest.raises(ValueError, match="1 loops were compiled, 2 written"):
        work_of(text(ADD, branch(-2), *END), [2, 3])


def test_a_row_says_what_binds() -> None:
    assert row(CARDS["H100"], "x", "step", Work(335, 1675, 5)).endswith(
        "| 335 | 1,675 | 5 | 10 | 10 | arithmetic |"
    )
    assert row(CARDS["H100"], "x", "step", Work(0, 1675, 5)).endswith(
        "| 0 | 1,675 | 5 |  | 10 | arithmetic |"
    )
    assert row(CARDS["H100"], "x", "step", Work(67, 167.5, 0)).endswith("| 50 | 100 | memory |")


@pytest.mark.parametrize(
    ("game", "least", "most", "binds"),
    [
        ("tic_tac_toe", 100, 250, "memory"),
        ("go", 1000, 3000, "arithmetic"),
    ],  # go has loops that end by themselves
)
def test_a_game(game: str, least: int, most: int, binds: str) -> None:
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    command = [sys.executable, str(SCRIPTS / "benchmark" / "gpu_kernels.py"), "--model", "H100"]
    done = subprocess.run(
        [*command, "--env", game, "--kernel", "uniform"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert "compiled for CUDA:sm_90, run nowhere\n\nA model: H100 SXM5: 3.35 TB/s" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("| `")]
    name, kernel, moved, instructions, branched, *_, by = [cell.strip() for cell in line.split("|")[1:-1]]
    # the state twice, but for the rewards, which are not read; an action, the policy's key
    layout = te.make(game).engine.layout
    assert int(moved) == 4 * (2 * layout.words - 2 + 1 + 2)
    assert (name, kernel, by) == (f"`{game}`", "uniform", binds)
    assert int(branched) <= (0 if game == "tic_tac_toe" else 20), "loops that may be skipped"
    assert least < int(instructions.replace(",", "")) < most
