"""`python -m tensor_envs.solve`: values, best actions and errors."""

from __future__ import annotations

import re

import pytest

from tensor_envs.solve.__main__ import main
from tests.scripts.here import run_here


def solved(*arguments: str) -> dict[str, str]:
    """Return the lines of the command by their titles."""
    code, out, errors = run_here(main, arguments)
    assert (code, errors) == (0, "")
    return dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines()[1:])


def test_a_draw_is_enumerated() -> None:
    lines = solved("tic_tac_toe")
    assert lines["value"] == "a draw for the player to move"
    assert len(lines["best actions"].split(", ")) == 9
    assert lines["positions"] == "765, up to symmetry"
    assert float(lines["seconds"].split(",")[0]) > 0


def test_a_search_finds_the_value_of_the_enumeration() -> None:
    rules = "--rules", "rows=3", "columns=3", "k=3"
    enumerated, searched = solved("connect_four", *rules), solved("connect_four", *rules, "--method", "search")
    assert enumerated["value"] == searched["value"] and enumerated["best actions"] == searched["best actions"]
    assert searched["positions"].endswith(" searched")


def test_a_win_has_its_plies() -> None:
    for k, text in ((1, "1 ply"), (2, "3 plies")):
        lines = solved("hyper_tic_tac_toe", "--rules", "shape=(3, 3, 1)", f"k={k}")
        assert lines["value"] == f"a win in {text} for the player to move"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "unknown id 'nope'"),
        (["tic_tac_toe", "--rules", "q=3"], "'tic_tac_toe' has no rule field 'q'"),
        (["kuhn_poker"], "start must be of a game that hides nothing"),
        (["2048", "--method", "search"], "start must be of a game for two with zero sum, without chance"),
        (["tic_tac_toe", "--max-positions", "10"], "max_positions must be more than 10"),
        (["tic_tac_toe", "--method", "guess"], "argument --method: invalid choice: 'guess'"),
    ],
)
def test_what_cannot_be_solved_is_one_line(arguments: list[str], message: str) -> None:
    code, out, errors = run_here(main, arguments)
    assert (code, out) == (2, "") and errors.count("\n") == 1
    assert errors.startswith(f"python -m tensor_envs.solve: error: {message}")
