"""scripts/benchmark.py --settings prints a row for the defaults and for each change, and continues from its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark import settings
from tests.scripts.here import run_here

FEW = ["--settings", "--env", "kuhn_poker", "--seconds", "0.05", "--seeds", "2", "--games", "4", "--rival", "1"]


@pytest.mark.slow
def test_rows(tmp_path: Path) -> None:
    arguments = [*FEW, "--changes", "num_simulations=2", "--folder", str(tmp_path)]
    code, out, _ = run_here(settings.main, arguments)
    assert code == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines()[4:]]
    assert [row[0] for row in rows] == ["defaults", "num_simulations=2"]
    for row in rows:
        scores = [float(x) for x in row[1].split(",")]
        assert len(scores) == 2 and f"{sum(scores) / 2:.3f}" == row[2].split(" ")[0]
    (folder,) = tmp_path.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{row[0]}-{k}" for row in rows for k in range(2))
    assert run_here(settings.main, arguments)[1] == out  # nothing is trained again
    assert run_here(settings.main, [*arguments, "--games", "6"])[0] == 0  # the same folder serves other runs


def test_wrong_changes() -> None:
    for change, error in (("hiden=3", "hiden"), ("hidden", "NAME=VALUE"), ("hidden=0", "hidden must be in 1..")):
        code, _, errors = run_here(settings.main, [*FEW, "--changes", change])
        assert code == 2 and error in errors
