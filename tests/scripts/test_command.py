"""What all scripts share: they are found, say how they are called, and end in one line whatever goes wrong."""

from __future__ import annotations

import argparse
import importlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import command
from command import Failure, Parser, busy, new_file, real, run, whole
from tests.scripts.here import SCRIPTS, complaints, run_here

# files that are run, and the modules whose `main` they are
COMMANDS = {
    "hyperdimensional_tictactoe.py": "hyperdimensional_tictactoe",
    "benchmark.py": "benchmark.main",
    "shed.py": "shed.main",
    "play.py": "play.main",
    "ray_rollout.py": "ray_rollout",
    "benchmark/kernel_table.py": "benchmark.kernel_table",
    "benchmark/gpu_kernels.py": "benchmark.gpu_kernels",
    "pictures/draw.py": "pictures.draw",
    "train/ppo.py": "train.ppo",
    "train/ppo_torch.py": "train.ppo_torch",
    "train/masked_policy.py": "train.masked_policy",
    "train/monte_carlo.py": "train.monte_carlo",
}


def test_these_are_all() -> None:
    found = {path for path in SCRIPTS.rglob("*.py") if '__name__ == "__main__"' in path.read_text()}
    assert found == {SCRIPTS / name for name in COMMANDS} | {SCRIPTS / "benchmark" / "worker.py"}
    assert {path for path in SCRIPTS.glob("*.py")} <= found


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name: str, tmp_path: Path) -> None:
    """As its users call it, from any folder."""
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / name), "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"usage: {Path(name).name} ")
    assert f"\n    python scripts/{name}" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_input_is_one_line(name: str) -> None:
    main = importlib.import_module(COMMANDS[name]).main
    code, out, errors = run_here(main, ["--no-such-option"])
    assert (code, out) == (2, "")
    assert errors.startswith(f"{Path(name).name}: ") and errors.count("\n") == 1


def outcome(error: BaseException | None) -> tuple[int, str, str]:
    def work(options: argparse.Namespace) -> None:
        if error is not None:
            raise error

    return run_here(lambda arguments: run(Parser("name.py", "What it does."), work, arguments), [])


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("k must be\n  positive"), 2, "k must be positive"),
        (OSError(28, "No space left on device", "a.png"), 2, "[Errno 28] No space left on device: 'a.png'"),
        (MemoryError(), 2, "MemoryError"),
        (ImportError("torch is not here"), 2, "torch is not here"),
        (Failure("the games are wrong"), 1, "the games are wrong"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_ends_in_one_line(error: BaseException, code: int, message: str) -> None:
    assert outcome(error) == (code, "", f"name.py: {message}\n")


def test_success_and_bugs() -> None:
    assert outcome(None) == (0, "", "")
    with pytest.raises(AssertionError, match="a bug"):  # is no fault of the user's
        outcome(AssertionError("a bug"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--count", "0"], "--count must be in 1..9, got 0"),
        (["--count", "10"], "--count must be in 1..9, got 10"),
        (["--count", "1.5"], "--count: invalid int value: '1.5'"),
        (["--rate", "0"], "--rate must be above 0 and at most 1, got 0"),
        (["--rate", "nan"], "--rate must be above 0 and at most 1, got nan"),
        (["--rate", "inf"], "--rate must be above 0 and at most 1, got inf"),
        (["--rate", "x"], "--rate: invalid float value: 'x'"),
        (["--file", "/no/folder/a.png"], "--file: /no/folder is no directory to write a.png to"),
        (["--file", "/"], "--file must be a file, and '/' is a directory"),
    ],
)
def test_numbers_and_files(arguments: list[str], message: str) -> None:
    parser = Parser("name.py", "What it does.")
    parser.add_argument("--count", type=whole(1, 9))
    parser.add_argument("--rate", type=real(0, 1, inclusive=False))
    parser.add_argument("--file", type=new_file)
    found = run_here(lambda given: run(parser, lambda options: None, given), arguments)
    assert found == (2, "", f"name.py: {message}\n")


def test_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with busy("thinking"):
        pass
    monkeypatch.setattr(command, "PATIENCE", 0.01)
    with busy("compiling"):
        time.sleep(0.5)
    assert capsys.readouterr() == ("", "compiling ...\n")


def test_ctrl_c() -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPTS / "train" / "ppo.py"), "--updates", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline().startswith("tic_tac_toe: ")
    time.sleep(0.5)  # into the first compilation
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert (process.returncode, complaints(errors)) == (130, "ppo.py: stopped\n")
