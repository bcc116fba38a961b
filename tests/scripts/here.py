"""Scripts run within the tests' process, which has tinygrad and compiled kernels at hand."""

import io
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

SCRIPTS = Path(__file__).parents[2] / "scripts"


def status(main: Callable[..., None], *arguments: object) -> int:
    """Return the exit status of a command."""
    try:
        main(*arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def run_here(
    main: Callable[[Sequence[str]], None], arguments: Sequence[object], typed: str = ""
) -> tuple[int, str, str]:
    """Return exit status, output and errors of a command that runs in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors), patch.object(sys, "stdin", io.StringIO(typed)):
        code = status(main, [str(argument) for argument in arguments])
    return code, out.getvalue(), complaints(errors.getvalue())


def complaints(errors: str) -> str:
    """Return what a command wrote to stderr, without argparse's usage and the lines of `busy`."""
    lines = re.sub(r"^usage: (.|\n)*?(?=^[^ ].*?: error: )", "", errors, flags=re.MULTILINE).splitlines(keepends=True)
    return "".join(line for line in lines if not line.endswith(" ...\n"))
