"""Commands of the package and its scripts: help, errors, signals, closed pipes."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tensor_envs.__main__
from tensor_envs import _command
from tensor_envs.__main__ import commands
from tensor_envs._command import Failure, busy, command_parser, new_file, new_folder, real, run, whole
from tensor_envs.referee.__main__ import command_line
from tests.games import dice_race
from tests.scripts.here import SCRIPTS, complaints, run_here

ROOT = SCRIPTS.parent
# files that are run, and the modules whose `main` they are
COMMANDS = {
    "exploitability.py": "exploitability.main",
    "game_reports.py": "game_reports.main",
    "hyperdimensional_tictactoe.py": "hyperdimensional_tictactoe",
    "benchmark.py": "benchmark.main",
    "shed.py": "shed.main",
    "search_strength.py": "search_strength.main",
    "known_results.py": "known_results.main",
    "opening_table.py": "opening_table.main",
    "play.py": "play",
    "contact_sheets.py": "pictures.sheets",
    "films.py": "pictures.films",
    "first_boards.py": "pictures.first_boards",
    "documents.py": "documents.main",
    "rooms.py": "documents.rooms",
    "sample_prose.py": "documents.prose",
    "known_games.py": "documents.known_games",
    "distributed_rollout.py": "distributed_rollout.main",
    "benchmark/kernel_table.py": "benchmark.kernel_table",
    "gpu_check.py": "benchmark.card",
    "benchmark/gpu_kernels.py": "benchmark.gpu_kernels",
    "benchmark/ratios.py": "benchmark.ratios",
    "pictures/draw.py": "pictures.draw",
    "train/ppo_torch.py": "train.ppo_torch",
    "train/maskable_ppo.py": "train.maskable_ppo",
    "train/torchrl_ppo.py": "train.torchrl_ppo",
    "train/grpo.py": "train.grpo",
}


def prog(name: str) -> str:
    return "python -m tensor_envs.play" if name == "play.py" else f"python scripts/{name}"


def test_these_are_all() -> None:
    found = {path for path in SCRIPTS.rglob("*.py") if '__name__ == "__main__"' in path.read_text()}
    # a part of a benchmark, a table of a page, and a file to copy that starts with PyTorch alone
    names = "benchmark/worker.py", "documents/costs.py", "train/alphazero_torch.py"
    others = {SCRIPTS / name for name in names}
    assert found == {SCRIPTS / name for name in COMMANDS} | others
    assert {path for path in SCRIPTS.glob("*.py")} <= found
    entries = {path for path in SCRIPTS.glob("*.py") if path.stem != "hyperdimensional_tictactoe"}
    assert all(len(path.read_text().splitlines()) <= 40 for path in entries)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name: str, tmp_path: Path) -> None:
    """As its users call it, from any folder."""
    done = subprocess.run([sys.executable, str(SCRIPTS / name), "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"usage: {prog(name)} ")
    assert f"\n    python scripts/{name}" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_input_is_one_line(name: str) -> None:
    main = importlib.import_module(COMMANDS[name]).main
    code, out, errors = run_here(main, ["--no-such-option"])
    assert (code, out) == (2, "")
    assert errors.startswith(f"{prog(name)}: error: ") and errors.count("\n") == 1


# other modules that are commands or parts of one, and subcommands
MODES = [f"benchmark.{name}" for name in ("equilibrium", "network", "search", "settings", "strength", "training")]
SUBCOMMANDS = {
    "shed.main": ["solve", "value", "play", "claims", "plot"],
    "tensor_envs.train": ["alphazero", "ppo", "rate", "export"],
}
WIDTH = 80
EXTRAS = {"tensor_envs.adapters.openenv": pytest.mark.extra("openenv")}  # what commands import


# what users type, by module
TYPED = {name: prog(file) for file, name in COMMANDS.items()}
TYPED |= dict.fromkeys(MODES, "python scripts/benchmark.py")
TYPED |= {typed.split(maxsplit=2)[2].replace(" ", "."): typed for typed in ["python -m tensor_envs", *commands()]}


@pytest.mark.parametrize("name", [pytest.param(name, marks=EXTRAS.get(name, ())) for name in TYPED])
def test_help_fits_a_terminal_and_is_of_what_users_type(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    module = importlib.import_module(name)
    main = module.main if hasattr(module, "main") else importlib.import_module(f"{name}.__main__").main
    for command in ([], *([subcommand] for subcommand in SUBCOMMANDS.get(name, []))):
        code, out, errors = run_here(main, [*command, "--help"])
        typed = " ".join([TYPED[name], *command])
        assert (code, errors) == (0, "") and re.match(rf"usage: {re.escape(typed)}\s", out)
        assert not [line for line in out.splitlines() if len(line) > WIDTH], name


def test_the_benchmarks_help_names_all_measurements() -> None:
    code, out, _ = run_here(importlib.import_module("benchmark.main").main, ["--help"])
    missing = [name for name in MODES if f"--{name.removeprefix('benchmark.')}" not in out]
    assert (code, missing) == (0, [])


def test_examples_are_broken_at_options() -> None:
    doc = """Play.

    python a.py --one 1 --two "a b" --three 3  # a game
    python b.py

A paragraph of two
lines.
"""
    assert (
        _command._Help("a.py")._fill_text(doc, 32, "")
        == """Play.

    # a game
    python a.py --one 1 \\
        --two "a b" --three 3
    python b.py

A paragraph of two lines."""
    )


def test_the_package_lists_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    code, out, errors = run_here(tensor_envs.__main__.main, [])
    assert (code, errors) == (0, "") and not [line for line in out.splitlines() if len(line) > WIDTH]
    assert "\npython -m tensor_envs.referee judge\n    Compute the regret of every move in files of games" in out
    assert "python -m tensor_envs.solve\n    Solve a game: its value" in out
    # one for each module that parses options, and nothing else
    found = [path for path in (ROOT / "tensor_envs").rglob("*.py") if "\n    run(parser, " in path.read_text()]
    assert len(found) == len(commands()) == len(re.findall(r"^python -m ", out, re.MULTILINE))


def test_alphazero_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError")
    command = [sys.executable, str(SCRIPTS / "train/alphazero_torch.py"), "--help"]
    without = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(command, env=without, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "this script needs PyTorch: pip install 'tensor_envs[torch]'\n")


def outcome(error: BaseException | None) -> tuple[int, str, str]:
    def work(options: argparse.Namespace) -> None:
        if error is not None:
            raise error

    return run_here(lambda arguments: run(command_parser("name.py", "What it does."), work, arguments), [])


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("k must be\n  positive"), 2, "k must be positive"),
        (OSError(28, "No space left on device", "a.png"), 2, "[Errno 28] No space left on device: 'a.png'"),
        (MemoryError(), 2, "MemoryError"),
        (ImportError("torch is not here"), 2, "torch is not here"),
        (Failure("the games are wrong"), 1, "the games are wrong"),
    ],
)
def test_ends_in_one_line(error: BaseException, code: int, message: str) -> None:
    assert outcome(error) == (code, "", f"name.py: error: {message}\n")


def test_success_and_bugs() -> None:
    assert outcome(None) == (0, "", "")
    with pytest.raises(AssertionError, match="a bug"):  # is no fault of the user's
        outcome(AssertionError("a bug"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--count", "0"], "argument --count: must be in 1..9, got 0"),
        (["--count", "10"], "argument --count: must be in 1..9, got 10"),
        (["--count", "1.5"], "argument --count: invalid int value: '1.5'"),
        (["--rate", "0"], "argument --rate: must be above 0 and at most 1, got 0"),
        (["--rate", "nan"], "argument --rate: must be above 0 and at most 1, got nan"),
        (["--rate", "inf"], "argument --rate: must be above 0 and at most 1, got inf"),
        (["--rate", "x"], "argument --rate: invalid float value: 'x'"),
        (["--file", "/no/folder/a.png"], "argument --file: /no/folder is no directory to write a.png to"),
        (["--file", "/proc/a.png"], "argument --file: /proc is no directory to write a.png to"),
        (["--file", "/"], "argument --file: must be a file, and '/' is a directory"),
        (["--folder", ""], "argument --folder: must name a folder, got ''"),
        (["--folder", f"{__file__}"], f"argument --folder: must be a folder, and {__file__!r} is a file"),
        (["--folder", f"{__file__}/a/b"], f"argument --folder: must be a folder, and {__file__!r} is a file"),
        (["--folder", "/proc/a/b"], "argument --folder: /proc is no folder to write to"),
    ],
)
def test_numbers_and_files(arguments: list[str], message: str) -> None:
    parser = command_parser("name.py", "What it does.")
    parser.add_argument("--count", type=whole(1, 9))
    parser.add_argument("--rate", type=real(0, 1, inclusive=False))
    parser.add_argument("--file", type=new_file)
    parser.add_argument("--folder", type=new_folder)
    found = run_here(lambda given: run(parser, lambda options: None, given), arguments)
    assert found == (2, "", f"name.py: error: {message}\n")


def test_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with busy("thinking"):
        pass
    monkeypatch.setattr(_command, "BUSY_SECONDS", 0.01)
    with busy("compiling"):
        time.sleep(0.5)
    assert capsys.readouterr() == ("", "compiling ...\n")


OWN = {
    "benchmark.py": ["--batch=64", "--mode=step", "--runs=1", "--seconds=0.01", "--core=-1"],
    "benchmark/kernel_table.py": ["--batch=64"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_games_of_their_users(name: str, tmp_path: Path) -> None:
    """A module in the folder where the script is called, that nobody has registered."""
    (tmp_path / "my_games.py").write_text(Path(dice_race.__file__).read_text().replace("tests.games.", "my_games."))
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
    "train/ppo_torch.py": ["--steps", "100000"],
    "benchmark.py": ["--env", "tic_tac_toe", "three_will", "--runs", "1000"],
    "benchmark/gpu_kernels.py": [],
    "pictures/draw.py": ["."],
    "distributed_rollout.py": ["--steps", "100000000", "--workers", "2"],  # one launch of hours
}
PACKAGES = {"documents.py": "mkdocs", "train/ppo_torch.py": "torch", "benchmark/gpu_kernels.py": "nvidia.cuda_nvrtc"}


MODULES = {
    "tensor_envs.play": ["--port", "0"],
    "tensor_envs.train": ["alphazero", "tic_tac_toe", "--minutes", "1000"],
    "tensor_envs.web": ["build", "site"],
    "tensor_envs.referee": ["tic_tac_toe", "--player", "uniform", "--command", "echo", "--games", "100000"],
    "tensor_envs.export": ["chess", "--to", "wasm", "game.wasm"],
    "tensor_envs.compare": ["chess", "--with", "reference", "--games", "100000"],
    "tensor_envs.solve": ["chess"],
}


def descendants(process: int) -> list[int]:
    return [id for id in _command._descendants(process) if running(id)]


def running(process: int) -> bool:
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())  # a zombie has none
    except OSError:
        return False


def handles_signals(process: int) -> bool:
    """Return whether a process has a handler for SIGTERM: `run` has installed it."""
    caught = re.search(r"SigCgt:\s(\w+)", Path(f"/proc/{process}/status").read_text())
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def wait(condition: Iterator[bool], seconds: float) -> bool:
    """Return whether a condition becomes true in time."""
    end = time.monotonic() + seconds
    for value in condition:
        if value or time.monotonic() > end:
            return value
        time.sleep(0.01)
    return False


def end(name: str, folder: Path, number: signal.Signals, seconds: float) -> None:
    """Start a command with empty caches, send it a signal some seconds after it has begun to work, and check its end.

    SIGINT goes to the group of processes, as from a terminal; SIGTERM to the command alone.
    """
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    called = ["-m", name, *MODULES[name]] if name in MODULES else [str(SCRIPTS / name), *LONG[name]]
    environment = {key: value for key, value in os.environ.items() if key != "PARALLEL"}
    environment |= {"TENSOR_ENVS_CACHE": str(folder), "CACHEDB": str(folder / "kernels.db")}
    process = subprocess.Popen(
        [sys.executable, *called],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # ignored in the background
    )
    try:
        assert wait((handles_signals(process.pid) for _ in iter(process.poll, 0)), 60)
        time.sleep(seconds)
        children = descendants(process.pid)
        assert process.poll() is None, complaints(process.communicate()[1])
        start = time.monotonic()
        (os.kill if number == signal.SIGTERM else os.killpg)(process.pid, number)
        errors = complaints(process.communicate(timeout=60)[1])
        assert wait((not any(map(running, children)) for _ in iter(int, 1)), 2), "children go on"
        assert time.monotonic() - start < 2
        if name != "benchmark/gpu_kernels.py":  # NVRTC (12.9) handles signals itself while it compiles: status 4
            assert (process.returncode, errors) == (128 + number, "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.few("play.py-15")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", [*LONG, *MODULES])
def test_a_signal_ends_a_command_and_its_children(name: str, number: signal.Signals, tmp_path: Path) -> None:
    end(name, tmp_path, number, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 0.5, 3, 8])
@pytest.mark.parametrize("name", [*LONG, *MODULES])
def test_a_signal_at_any_time(name: str, seconds: float, tmp_path: Path) -> None:
    end(name, tmp_path, signal.SIGINT, seconds)


def test_sigint_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """As for a job that a shell script starts in the background."""
    code = (
        "import os, signal; from tensor_envs._command import *; parser = command_parser('x.py', '');"
        "run(parser, lambda _: os.kill(os.getpid(), signal.SIGINT))"
    )
    ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    done = subprocess.run([sys.executable, "-c", code], preexec_fn=ignore, check=False)
    assert done.returncode == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("program", ["print('a line\\n' * 10**6)", "print('a line')"])
def test_a_closed_pipe_ends_a_command_quietly(program: str) -> None:
    """As in `command | head -1`: no message, no traceback, whether the pipe closes during the work or at its end."""
    code = f"from tensor_envs._command import *; run(command_parser('it', ''), lambda _: {program})"
    known = os.environ | {"PYTHONPATH": str(ROOT)}
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
    with pytest.raises(argparse.ArgumentTypeError, match=re.escape(f"must be a command line, got {text!r}{reason}")):
        command_line(text)


def test_options_that_are_given_twice_add_up() -> None:
    parser = command_parser("a", "A.")
    parser.add_argument("--names", nargs="+", default=["x"])
    parser.add_argument("--numbers", nargs="*", type=whole(0), default=())
    parser.add_argument("--one", default="y")
    _command.add_rules(parser)
    options = parser.parse_args(["--names", "a", "--rules", "b=1", "--names", "b", "c", "--rules", "c=2", "--one", "z"])
    assert options.names == ["a", "b", "c"] and options.rules == [("b", 1), ("c", 2)] and options.one == "z"
    assert options.numbers == () and parser.parse_args(["--numbers", "3"]).numbers == [3]
    assert parser.parse_args([]).names == parser.parse_args([]).names == ["x"]
    inner = parser.add_subparsers().add_parser("inner")
    inner.add_argument("--letters", nargs="+")
    assert parser.parse_args(["inner", "--letters", "a", "--letters", "b"]).letters == ["a", "b"]


@pytest.mark.parametrize("numbers", [["2", "1", "2"], ["2", "1", "--numbers", "02"]])
def test_values_of_an_option_differ(numbers: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A command would do the work of a value that stands twice twice; sides of a board may be equal."""
    parser = command_parser("a", "A.")
    parser.add_argument("--numbers", nargs="+", type=whole(0), default=[5, 5])
    parser.add_argument("--shape", action="sequence", nargs="+", type=whole(0))
    parser.add_argument("files", nargs="*")
    with pytest.raises(SystemExit) as end:
        parser.parse_args(["--numbers", *numbers])
    assert end.value.code == 2 and "argument --numbers: 2 is given twice" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        parser.parse_args(["x", "y", "x"])
    assert end.value.code == 2 and "argument files: x is given twice" in capsys.readouterr().err
    options = parser.parse_args(["x", "y", "--shape", "3", "3", "--shape", "3"])
    assert (options.numbers, options.shape, options.files) == ([5, 5], [3, 3, 3], ["x", "y"])


@pytest.mark.parametrize("rules", [["k=4", "k=5"], ["k=4", "--rules", "k=5"], ["k=4", "misere=True", "k=4"]])
def test_a_rule_field_is_given_once(rules: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    parser = command_parser("a", "A.")
    _command.add_rules(parser)
    with pytest.raises(SystemExit) as end:
        parser.parse_args(["--rules", *rules])
    assert end.value.code == 2 and "--rules: k is given twice, as 4 and " in capsys.readouterr().err


def test_digits_are_those_of_ascii() -> None:
    for read in (whole(0), real(0, 9)):
        with pytest.raises(ValueError, match=r"^$"):  # argparse says what came
            read("\N{ARABIC-INDIC DIGIT ONE}")
    for arguments in (["solve", "\N{ARABIC-INDIC DIGIT ONE}"], ["play", "\N{FULLWIDTH DIGIT THREE}"]):
        code, _, errors = run_here(importlib.import_module("shed.main").main, arguments)
        assert code == 2 and "argument cards: invalid int value" in errors


def test_rules_of_two_options_make_one_game(tmp_path: Path) -> None:
    main = importlib.import_module("tensor_envs.export.__main__").main
    path = tmp_path / "kalah.c"
    code, _, errors = run_here(
        main, ["kalah", "--rules", "houses=3", "--rules", "seeds=8", "--to", "c", str(path), "--lanes", "1"]
    )
    assert (code, errors) == (0, "") and "houses=3, seeds=8" in path.read_text()[:400]


def test_a_benchmark_of_searches_names_an_unknown_game() -> None:
    code, out, errors = run_here(importlib.import_module("benchmark.search").main, ["--search", "--env", "nope"])
    assert (code, out) == (2, "") and "unknown id 'nope'" in errors
