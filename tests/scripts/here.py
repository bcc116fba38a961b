"""Scripts run within the tests' process, which has tinygrad and compiled kernels at hand."""

import io
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

SCRIPTS = Path(__file__).parents[2] / "scripts"


def run_here(
    main: Callable[[Sequence[str]], int], arguments: Sequence[object], typed: str = ""
) -> tuple[int, str, str]:
    """Exit code, output and complaints of a script's `main`."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors), patch.object(sys, "stdin", io.StringIO(typed)):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), complaints(errors.getvalue())


def complaints(errors: str) -> str:
    """What a script wrote to stderr, without its lines about work that takes long: on a busy machine there are some."""
    return "".join(line for line in errors.splitlines(keepends=True) if not line.endswith(" ...\n"))
