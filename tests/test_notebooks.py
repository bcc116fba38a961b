"""The notebooks under `scripts/notebooks`: every cell runs, and prints its stored output.

After a change, `jupyter nbconvert --execute --inplace scripts/notebooks/*.ipynb` updates their outputs.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tensor_envs.envs import registry

NOTEBOOKS = sorted((Path(__file__).parents[1] / "scripts" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"start", "own_game"}


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed text is compared; values are not, but their pictures must exist."""
    notebook = ModuleType("__main__")  # the notebook is the main module of its imports
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    monkeypatch.setattr(registry, "_entries", {})
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 6
    for cell in cells:
        outputs = cell["outputs"]
        assert all(output["output_type"] in ("stream", "execute_result") for output in outputs)
        shown = "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")
        printed, value = io.StringIO(), None
        code = ast.parse("".join(cell["source"]))
        with contextlib.redirect_stdout(printed):
            last = code.body[-1]
            code.body = code.body[: -isinstance(last, ast.Expr) or None]
            exec(compile(code, str(path), "exec"), vars(notebook))
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), str(path), "eval"), vars(notebook))
        assert printed.getvalue() == shown
        drawn = any("image/svg+xml" in output.get("data", {}) for output in outputs)
        assert drawn == (getattr(value, "_repr_svg_", lambda: None)() is not None)
