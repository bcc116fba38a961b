"""A command of the package: what it complains of is one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

CLOSED_PIPE = 141  # the exit code, as a shell's for SIGPIPE


class Parser(argparse.ArgumentParser):
    """Refuses bad input in one line."""

    def __init__(self, prog: str, doc: str | None):
        """doc: what the command is for, in the first line; then how it is called."""
        about, _, examples = (doc or "").partition("\n")
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, description=about, epilog=examples, formatter_class=formatter)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def closed_pipe() -> int:
    """Discard further output, whose reader has gone (`command | head -1`), and return the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes what is left at its end
    return CLOSED_PIPE


def run(parser: Parser, work: Callable[[argparse.Namespace], object], arguments: Sequence[str] | None) -> int:
    """Parse and work -> the exit code: 0, 2 for bad input, 130 for Ctrl-C."""
    try:
        work(parser.parse_args(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        return closed_pipe()
    except SystemExit as exit_:
        return int(exit_.code or 0)
    except KeyboardInterrupt:
        code, message = 130, "stopped"
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, NotImplementedError) as error:
        code, message = 2, " ".join(str(error).split()) or type(error).__name__
    else:
        return 0
    print(f"{parser.prog}: {message}", file=sys.stderr)
    return code
