"""What every script shares: its arguments, its errors in one line, and a word about what takes long.

A script makes a `Parser` of its name and its docstring, which says in the first line what it is for and below that how
it is called, and hands it to `run` together with the function that does the work.
"""

from __future__ import annotations

import argparse
import atexit
import importlib
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import popen_spawn_posix
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

if "" not in sys.path and (here := os.getcwd()) not in sys.path:
    sys.path.append(here)  # where `--env module:Class` finds a user's game

PATIENCE = 2.0  # seconds after which `busy` says what is going on
GRACE = 5.0  # seconds that native code may go on after Ctrl-C
STOPPED = 130  # the exit code
MOST = 2**31 - 1  # of counts that have no other limit
# what a user, a machine or a missing package can cause; anything else is a bug and shows its traceback
EXPECTED = (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError)


class Failure(Exception):
    """The input was right, and what came out is not: exit code 1."""


class Parser(argparse.ArgumentParser):
    """Refuses bad input in one line that starts with the script's name, without the usage; exit code 2."""

    def __init__(self, prog: str, doc: str | None = None, **options: Any):
        about, _, examples = (doc or "").partition("\n")
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(prog, **({"description": about, "epilog": examples} | options))

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (\S+): must ", r"\1 must ", one_line(message))
        self.exit(2, f"{self.prog.split()[0]}: {message.removeprefix('argument ')}\n")


def run(
    parser: Parser, work: Callable[[argparse.Namespace], object], arguments: Sequence[str] | None = None
) -> int:
    """Parse and work -> the exit code: 0; 1 for a `Failure`; 2 for bad input or what is missing; 130 for Ctrl-C."""
    own = "command.first" in sys.modules and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    try:
        if own:  # the process is a script's
            _heed_ctrl_c(parser.prog)
        work(parser.parse_args(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        from tensor_envs.web.command import closed_pipe  # a script has imported the package by now

        return closed_pipe()
    except SystemExit as exit_:  # of --help, or of `Parser.error`
        return int(exit_.code or 0)
    except KeyboardInterrupt:
        code, message = STOPPED, "stopped"
    except Failure as failure:
        code, message = 1, one_line(failure)
    except EXPECTED as error:
        code, message = 2, one_line(error)
    else:
        return 0
    finally:
        if own:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending
    clear = "\r\033[K" if sys.stderr.isatty() else ""  # of a progress bar
    print(f"{clear}{parser.prog}: {message}", file=sys.stderr, flush=True)
    if own and code == STOPPED:  # Ray's libraries, put away amid their work, crash the process
        with suppress(OSError):
            sys.stdout.flush()
        atexit._run_exitfuncs()
        os._exit(STOPPED)
    return code


def _heed_ctrl_c(prog: str) -> None:
    """KeyboardInterrupt in the main thread. Where that stays in native code, as in a long rollout, the process ends."""
    heard, (read, write) = threading.Event(), os.pipe()

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        heard.set()
        raise KeyboardInterrupt

    def watch() -> None:
        while os.read(read, 1)[0] != signal.SIGINT:
            continue
        if not heard.wait(GRACE):
            os.write(2, f"{prog}: stopped\n".encode())
            os._exit(STOPPED)

    def unraisable(about: Any) -> None:
        """Where Python drops exceptions, as in a destructor, Ctrl-C comes again a moment later."""
        if about.exc_type is KeyboardInterrupt:
            main = threading.main_thread().ident
            threading.Timer(0.05, signal.pthread_kill, [main, signal.SIGINT]).start()
        else:
            sys.__unraisablehook__(about)

    def launch(process: Any, about: Any) -> None:
        """Processes that compile end with this one; amid their imports they would complain of Ctrl-C."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            plain_launch(process, about)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    plain_launch = popen_spawn_posix.Popen._launch  # type: ignore[attr-defined] # as multiprocessing's own tracker
    popen_spawn_posix.Popen._launch = launch  # type: ignore[attr-defined]
    sys.unraisablehook = unraisable
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=watch, daemon=True).start()


def one_line(message: object) -> str:
    return " ".join(str(message).split()) or type(message).__name__


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on stderr what is being done, if it takes long: "compiling ..."."""
    timer = threading.Timer(PATIENCE, lambda: print(f"{what} ...", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# *** types of arguments ***


def command_line(text: str) -> list[str]:
    """Parse a program and its arguments, quoted as in a shell."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be a command line, got {text!r}: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError(f"must be a command line, got {text!r}")
    return words


def named(text: str) -> Any:
    """A function by its name, package.module:function."""
    module, _, name = text.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"must be package.module:function, got {text!r}: {error}") from None
    if not callable(found):
        raise argparse.ArgumentTypeError(
            f"must name a function, and {text!r} is of type {type(found).__name__}"
        )
    return found


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """An integer of at least `low`, and at most `high`."""

    def integer(text: str) -> int:
        value = int(text)
        if value < low or (high is not None and value > high):
            allowed = f"at least {low}" if high is None else f"in {low}..{high}"
            raise argparse.ArgumentTypeError(f"must be {allowed}, got {value}")
        return value

    integer.__name__ = "int"  # as argparse calls it in "invalid int value"
    return integer


def real(low: float, high: float, inclusive: bool = True) -> Callable[[str], float]:
    """A number from `low` to `high`, `low` itself included or not. NaN is none."""

    def number(text: str) -> float:
        value = float(text)
        if not (low <= value <= high) or (value == low and not inclusive):
            least = "at least" if inclusive else "above"
            raise argparse.ArgumentTypeError(f"must be {least} {low:g} and at most {high:g}, got {value:g}")
        return value

    number.__name__ = "float"
    return number


def new_file(text: str) -> Path:
    """A file to write, in a folder that is there: found out before the work, not after it."""
    path = Path(text)
    if not path.resolve().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path.parent} is no directory to write {path.name} to")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file, and {text!r} is a directory")
    return path


def need(package: str, purpose: str, extra: str) -> None:
    """ImportError that says how to get a package, if it is not there."""
    try:
        __import__(package)
    except ImportError:
        known = {"PIL": "Pillow", "torch": "PyTorch", "ray": "Ray"}
        name = known.get(package, package)
        raise ImportError(f"{purpose} needs {name}: pip install 'tensor_envs[{extra}]'") from None
