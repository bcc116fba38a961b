"""Scripts run within the tests' process, which has tinygrad and compiled kernels at hand."""

import importlib
import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from unittest.mock import patch


def module(script: Path) -> ModuleType:
    """A script as a module, imported once; its folder is on the path for what it imports, as when it is run."""
    with patch.object(sys, "path", [str(script.parent), *sys.path]):
        return importlib.import_module(script.stem)


def run_here(script: Path, arguments: Sequence[object], typed: str = "") -> tuple[int, str, str]:
    """Exit code, output and errors of a script's `main`."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors), patch.object(sys, "stdin", io.StringIO(typed)):
        try:
            code = module(script).main([str(argument) for argument in arguments])
        except SystemExit as left:
            code = left.code
    return code, out.getvalue(), errors.getvalue()
