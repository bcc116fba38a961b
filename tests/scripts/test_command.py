"""What all scripts share: they are found, say how they are called, and end in one line whatever goes wrong."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import command
from command import Failure, Parser, busy, command_line, new_file, real, run, whole
from tests.core import dice_race
from tests.scripts.here import SCRIPTS, complaints, run_here

# files that are run, and the modules whose `main` they are
COMMANDS = {
    "hyperdimensional_tictactoe.py": "hyperdimensional_tictactoe",
    "benchmark.py": "benchmark.main",
    "shed.py": "shed.main",
    "known_results.py": "known_results.main",
    "play.py": "play",
    "documents.py": "documents.main",
    "ray_rollout.py": "ray_rollout",
    "shard_rollout.py": "shard_rollout",
    "benchmark/kernel_table.py": "benchmark.kernel_table",
    "benchmark/gpu_kernels.py": "benchmark.gpu_kernels",
    "pictures/draw.py": "pictures.draw",
    "text_player.py": "text_player",
    "train/ppo.py": "train.ppo",
    "train/ppo_torch.py": "train.ppo_torch",
    "train/ppo_gymnasium.py": "train.ppo_gymnasium",
    "train/alphazero.py": "train.alphazero",
    "train/rate.py": "train.rate",
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


OWN = {
    "benchmark.py": ["--batch=64", "--mode=step", "--runs=1", "--seconds=0.01", "--core=-1"],
    "benchmark/kernel_table.py": ["--batch=64"],
    "train/ppo.py": ["--num-envs=8", "--steps=4", "--minibatches=2", "--updates=1", "--games=30"],
    "train/alphazero.py": [
        "--num-envs=8",
        "--steps=2",
        "--simulations=4",
        "--games=8",
        "--rival=4",
        "--seconds=1",
    ],
    "train/masked_policy.py": ["--batch=8", "--updates=1"],
    "train/monte_carlo.py": ["--games=3", "--playouts=2"],
}


@pytest.mark.few("benchmark.py")
@pytest.mark.parametrize("name", OWN)
def test_games_of_their_users(name: str, tmp_path: Path) -> None:
    """A module in the folder where the script is called, that nobody has registered."""
    (tmp_path / "my_games.py").write_text(
        Path(dice_race.__file__).read_text().replace("tests.core.", "my_games.")
    )
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / name), "--env", "my_games:DiceRace", *OWN[name]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "my_games:DiceRace" in done.stdout


LONG = {
    "hyperdimensional_tictactoe.py": ["--shape", "3", "3", "3", "3", "3", "3", "--batch", "65536"],
    "shed.py": ["solve", "18"],
    "play.py": ["--port", "0"],
    "documents.py": ["site"],
    "benchmark/kernel_table.py": [],
    "train/ppo.py": ["--updates", "100000"],
    "train/ppo_torch.py": ["--updates", "100000"],
    "train/alphazero.py": ["--seconds", "100000"],
    "train/rate.py": ["--env", "tic_tac_toe", "--games", "1000000"],
    "train/masked_policy.py": ["--updates", "100000"],
    "train/monte_carlo.py": ["--games", "100000"],
    "train/ppo_gymnasium.py": ["--updates", "100000"],
    "benchmark.py": ["--env", "tic_tac_toe", "three_will", "--runs", "1000"],
    "benchmark/gpu_kernels.py": [],
    "pictures/draw.py": ["."],
    "text_player.py": ["--command", "echo", "--games", "100000"],
    "shard_rollout.py": ["--steps", "100000000"],  # one launch of hours
    "ray_rollout.py": ["--steps", "100000000", "--workers", "2"],
}
PACKAGES = {
    "documents.py": "mkdocs",
    "train/ppo_torch.py": "torch",
    "train/ppo_gymnasium.py": "torch",
    "ray_rollout.py": "ray",
    "benchmark/gpu_kernels.py": "nvidia.cuda_nvrtc",
}


def interrupted(name: str, arguments: list[str], folder: Path, seconds: float) -> tuple[int, str]:
    """Ctrl-C, as a terminal sends it, once a script has begun to load what it needs, and some seconds later."""
    mark = f"MARK={folder}/{name}"
    process = subprocess.Popen(
        [sys.executable, str(SCRIPTS / name), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name != "PARALLEL"}  # as for users
        | dict([mark.split("=")]),
        # who runs the tests in the background has Ctrl-C ignored, which processes inherit
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while "numpy" not in Path(f"/proc/{process.pid}/maps").read_text() and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    try:
        errors = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert not running(mark), "processes are left behind"
    return process.returncode, complaints(errors)


def running(mark: str) -> list[str]:
    """The commands of processes with an environment variable, a minute from now at the latest."""
    for _ in range(600):  # those of Ray look for each other now and then
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark.encode() in (path / "environ").read_bytes().split(b"\0"):
                    found.append((path / "cmdline").read_text())
            except OSError:  # it has just ended, or is another's
                continue
        if not found:
            break
        time.sleep(0.1)
    return found


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if "gpu" not in name]
)  # which reads its arguments first
def test_ctrl_c_while_loading(name: str, tmp_path: Path) -> None:
    assert interrupted(name, LONG.get(name, ["solve"]), tmp_path, 0) == (130, f"{Path(name).name}: stopped\n")


DROPPED = """
import command.first, command, os, signal, sys, time

class Dropping:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(10**6))

def work(options):
    Dropping()
    time.sleep(30)

sys.exit(command.run(command.Parser("x.py"), work, []))
"""


def test_ctrl_c_in_a_destructor_is_not_lost() -> None:
    """Where Python itself drops exceptions."""
    done = subprocess.run(
        [sys.executable, "-c", DROPPED],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stderr) == (130, "x.py: stopped\n")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 0.5, 1, 2, 4, 8])
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c(name: str, seconds: float, tmp_path: Path) -> None:
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    assert interrupted(name, LONG[name], tmp_path, seconds) == (130, f"{Path(name).name}: stopped\n")


@pytest.mark.parametrize("program", ["print('a line\\n' * 10**6)", "print('a line')"])
def test_a_closed_pipe_ends_a_command_quietly(program: str) -> None:
    """As in `command | head -1`: no message, no traceback, whether the pipe closes during the work or at its end."""
    code = f"import sys, command; sys.exit(command.run(command.Parser('it'), lambda _: {program}, []))"
    known = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    done = subprocess.Popen(
        [sys.executable, "-c", code], env=known, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert done.stdout is not None and done.stderr is not None
    done.stdout.close()
    assert done.stderr.read() == "" and done.wait(60) == 141
    done.stderr.close()


@pytest.mark.parametrize("line, reason", [("''", ""), ("'\"'", ": No closing quotation")])
def test_a_command_line_is_checked(line: str, reason: str) -> None:
    text = line[1:-1]
    with pytest.raises(
        argparse.ArgumentTypeError, match=re.escape(f"must be a command line, got {text!r}{reason}")
    ):
        command_line(text)
