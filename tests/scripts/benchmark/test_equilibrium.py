"""scripts/benchmark.py --equilibrium prints a row for each game."""

from __future__ import annotations

import pytest

from benchmark import equilibrium
from tests.scripts.here import run_here

FEW = ["--equilibrium", "--game", "kuhn_poker", "liars_dice=2", "--runs", "1", "--seconds", "0.01"]


@pytest.mark.slow
def test_rows() -> None:
    code, out, errors = run_here(equilibrium.main, FEW)
    assert (code, errors) == (0, "")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines()[4:]]
    assert [row[:3] for row in rows] == [["kuhn_poker", "54", "12"], ["liars_dice=2", "124", "32"]]
    assert all(float(row[5].replace(",", "")) > 10 for row in rows)
    for wrong, message in ((["--game", "liars_dice=x"], "invalid literal"), (["--seconds", "nan"], "must be above 0")):
        code, out, errors = run_here(equilibrium.main, ["--equilibrium", *wrong])
        assert (code, out) == (2, "") and message in errors


@pytest.mark.extra("pyspiel")
def test_peers() -> None:
    code, out, _ = run_here(equilibrium.main, [*FEW, "--peers"])
    assert code == 0 and out.count("x (") == 2
