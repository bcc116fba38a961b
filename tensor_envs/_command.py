"""Command lines of the package and of its scripts: argument types, errors in one line, signals."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any

from tensor_envs._runtime.clang import without_compile_processes
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.progress import announced
from tensor_envs._validate import literal, repeated
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make, registered

BUSY_SECONDS = 2.0  # before `busy` prints its message
CLOSED_PIPE = 141  # exit status of a process that SIGPIPE ends
MAX_COUNT = 2**31 - 1  # upper bound of counts without another limit
# errors that a user, a machine or a missing package can cause; any other is a bug and shows its traceback
EXPECTED = (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError, FloatingPointError)

EXAMPLE = "    "  # indentation of the examples in the docstring of a command
LINE_OF_PARAGRAPH = re.compile(r"^(\S.*)\n(?=\S)", re.MULTILINE)  # a line that the next one continues
OPTION = re.compile(r" (?=--)")  # where a command may be broken

at_signal = ExitStack()  # callbacks of `_end_on_signals`, such as to remove a temporary folder


class Failure(Exception):
    """Wrong result of a command whose input is right."""


def command_parser(prog: str, doc: str | None) -> CommandParser:
    """Return a parser whose help shows a docstring: its first line, then the options, then the rest.

    prog: what a user types in a shell, such as "python -m tensor_envs.play".
    """
    description, _, epilog = (doc or "").partition("\n")
    return CommandParser(prog, description=description, epilog=epilog, formatter_class=_Help)


class _Help(argparse.HelpFormatter):
    """Help that fits the terminal: paragraphs are wrapped, and examples, which are indented, stay lines of a shell."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = [
            _example(line, width) if line.startswith(EXAMPLE) else textwrap.fill(line, width)
            for line in LINE_OF_PARAGRAPH.sub(r"\1 ", text.strip("\n")).split("\n")
        ]
        return "\n".join(paragraphs)


def _example(example: str, width: int) -> str:
    """Return an example in lines of at most `width` characters, unless a single option is longer.

    A comment moves to a line above, and the command goes on after a backslash.
    """
    if len(example) <= width:
        return example
    command, _, comment = example.partition("  # ")
    prefix = f"{EXAMPLE}# "
    lines = textwrap.wrap(comment, width, initial_indent=prefix, subsequent_indent=prefix)
    line, *options = OPTION.split(command.rstrip())
    for option in options:
        # two characters are for the backslash
        if len(line) + len(option) + 3 > width:
            lines.append(f"{line} \\")
            line = 2 * EXAMPLE + option
        else:
            line += f" {option}"
    return "\n".join([*lines, line])


class CommandParser(argparse.ArgumentParser):
    """Parser in which options of several values add up when they are given twice, also in subcommands.

    Each of the values is given once, since commands do something with each; those of the action "sequence" may repeat.
    """

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        for name in (None, "store"):
            self.register("action", name, _StoreDistinct)
        self.register("action", "sequence", _Store)


class _Store(argparse.Action):
    """Store a value, or add to the values that an option has got already."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest, self.default)
        if option is not None and self.nargs in ("+", "*") and before is not self.default:
            values = [*before, *values]
        setattr(namespace, self.dest, values)


class _StoreDistinct(_Store):
    """Store a value, or several that differ."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        super().__call__(parser, namespace, values, option)
        if self.nargs not in ("+", "*"):
            return
        if twice := repeated(getattr(namespace, self.dest)):
            raise argparse.ArgumentError(self, f"{twice[0]} is given twice")


class _StoreRules(_Store):
    """Store rule fields, each of which is given once."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        super().__call__(parser, namespace, values, option)
        given = dict[str, Any]()
        for name, value in getattr(namespace, self.dest):
            if name in given:
                raise argparse.ArgumentError(self, f"{name} is given twice, as {given[name]!r} and {value!r}")
            given[name] = value


def run(
    parser: argparse.ArgumentParser,
    work: Callable[[argparse.Namespace], object],
    arguments: Sequence[str] | None = None,
) -> None:
    """Parse arguments and call `work` with them.

    arguments: None is the command line of this process, whose signals then end the command (`_end_on_signals`).

    Raises:
        SystemExit: 1 for a `Failure`, 2 for `EXPECTED` errors and wrong arguments, 141 for a closed output.
    """
    if arguments is None:
        without_compile_processes()  # their semaphores would be left behind when a signal ends this one
        sys.path += [] if os.getcwd() in sys.path or "" in sys.path else [os.getcwd()]  # custom games
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # nothing is lost at a signal
        _end_on_signals()
    try:
        try:
            work(parser.parse_args(arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # as in `command | head -1`; https://docs.python.org/3/library/signal.html#note-on-sigpipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED_PIPE)
    except Failure as error:
        parser.exit(1, f"{parser.prog}: error: {_one_line(error)}\n")
    except EXPECTED as error:
        parser.exit(2, f"{parser.prog}: error: {_one_line(error)}\n")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def say_at_signal(message: str) -> None:
    """Print a line when a signal ends this process, such as how to continue its work."""
    at_signal.callback(print, f"\n{message}", flush=True)


def _end_on_signals() -> None:
    """Make SIGINT and SIGTERM end this process and its children at once.

    Their default actions do not end children, and SIGINT's does not interrupt native code. A thread waits for them
    instead, so no exception is raised amid other code.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # SIGINT is ignored in background jobs
            signal.signal(number, lambda *_: None)

    def end() -> None:
        while (number := os.read(read, 1)[0]) not in (signal.SIGINT, signal.SIGTERM):
            continue
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a compiler that starts from now on would report a broken pipe
        for process in _descendants(os.getpid()):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        try:
            at_signal.close()
        finally:
            os._exit(128 + number)

    threading.Thread(target=end, daemon=True).start()


def _descendants(process: int) -> list[int]:
    """Return the ids of a process's descendants, where the system has /proc. Others end when their pipes close."""
    children = list[int]()
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # the thread or the process has ended
            children += map(int, path.read_text().split())
    return children + [child for parent in children for child in _descendants(parent)]


def busy(message: str) -> AbstractContextManager[None]:
    """Print a message, such as "compiling ...", on stderr if the block takes long."""
    return announced(message, BUSY_SECONDS)


def device_of(device: str | None = None) -> str:
    """Return the canonical name of a device; None is tinygrad's default."""
    return str(open_device(device))


# *** types of arguments ***


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """Return the type of integers of at least `low` and at most `high`."""

    def integer(text: str) -> int:
        if not text.isascii():
            raise ValueError  # Python reads digits of all scripts
        value = int(text)
        if value < low or (high is not None and value > high):
            allowed = f"at least {low}" if high is None else f"in {low}..{high}"
            raise argparse.ArgumentTypeError(f"must be {allowed}, got {value}")
        return value

    integer.__name__ = "int"  # argparse's message is "invalid int value"
    return integer


def real(low: float, high: float, inclusive: bool = True) -> Callable[[str], float]:
    """Return the type of finite numbers from `low`, which is included or not, to `high`."""

    def number(text: str) -> float:
        if not text.isascii():
            raise ValueError
        value = float(text)
        if not (low <= value <= high) or (value == low and not inclusive):
            least = "at least" if inclusive else "above"
            raise argparse.ArgumentTypeError(f"must be {least} {low:g} and at most {high:g}, got {value:g}")
        return value

    number.__name__ = "float"
    return number


def new_file(text: str) -> Path:
    """Parse the path of a file to write, which exists or can be made."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file, and {text!r} is a directory")
    if not path.exists():
        try:
            with tempfile.TemporaryFile(dir=path.resolve().parent):
                pass
        except OSError:
            raise argparse.ArgumentTypeError(f"{path.parent} is no directory to write {path.name} to") from None
    return path


def new_folder(text: str) -> Path:
    """Parse the path of a folder to write, which exists or can be made."""
    if not text:
        raise argparse.ArgumentTypeError("must name a folder, got ''")
    path = Path(text)
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise argparse.ArgumentTypeError(f"must be a folder, and {str(nearest)!r} is a file")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError:
        raise argparse.ArgumentTypeError(f"{nearest} is no folder to write to") from None
    return path


# *** games ***


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add --rules."""
    text = "fields of the game's rules, such as players=3"
    parser.add_argument(
        "--rules", action=_StoreRules, nargs="*", type=_rule, default=[], metavar="FIELD=VALUE", help=text
    )


def _rule(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, literal(value)
    except ValueError:
        message = f"must be FIELD=VALUE with a plain Python value, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None


def add_game(parser: argparse.ArgumentParser, default: str = "tic_tac_toe") -> None:
    """Add --env and --rules, the arguments of `game_of`."""
    text = "a registered game, or package.module:Class for a custom one; default: %(default)s"
    parser.add_argument("--env", default=default, metavar="ID", help=text)
    add_rules(parser)


def add_games(parser: argparse.ArgumentParser) -> None:
    """Add --env for several games."""
    text = "registered games, or package.module:Class for custom ones; default: all that are registered"
    parser.add_argument("--env", nargs="+", type=_game_id, default=registered(), metavar="ID", help=text)


def _game_id(name: str) -> str:
    try:
        make(name)
    except (ValueError, TypeError, ImportError) as error:
        raise argparse.ArgumentTypeError(f"must name a game: {error}") from None
    return name


def game_of(options: argparse.Namespace) -> Env:
    """Return the environment of --env and --rules."""
    return make(options.env, **dict(options.rules))
