"""Comparison with OpenSpiel: its `shogi` has the same moves, drops and promotions, by the same names, and ends.

It also ends a game by entering kings, which S11 leaves out: a player wins whose king has reached the last three ranks
with enough pieces, and two kings there are a draw. Games are compared up to there, or up to ply 512, at which S11
truncates them. A repetition is perpetual check there after six checks in a row, whatever came before, while S11 asks
for checks since the first occurrence. All earlier positions count there, so `window` is the longest here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.shogi import notation
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = [pytest.mark.extra("pyspiel"), pytest.mark.slow]
FIELDS = ("own", "other", "current_player")  # by which moves have names
CAMPS = {"K": range(3), "k": range(6, 9)}  # rows of SFEN that a king enters


def legal_names(rules: Any, now: dict[str, np.ndarray], row: int) -> dict[str, int]:
    """Return the legal actions of a row by their names."""
    fields = {name: now[name][row].tolist() for name in FIELDS}
    legal = np.flatnonzero(now["legal_action_mask"][row]).tolist()
    return {notation.move_to_string(rules, action, fields): action for action in legal}


def king_is_in(sfen: str, king: str) -> bool:
    """Return whether a king has reached the last three ranks."""
    (row,) = (k for k, text in enumerate(sfen.split()[0].split("/")) if king in text)
    return row in CAMPS[king]


def end_of(now: dict[str, np.ndarray], row: int, other: Any) -> str:
    """Return how a game has ended, "" if it goes on. Both engines must end it alike, but for entering kings."""
    if now["terminated"][row]:
        assert other.is_terminal() and now["rewards"][row].tolist() == other.returns(), str(other)
        if now["repeats"][row] < 3:
            return "mate"
        return "perpetual check" if now["rewards"][row].any() else "repetition"
    if other.is_terminal():
        moved = "kK"[other.move_number() % 2]
        assert king_is_in(str(other), moved), str(other)
        if any(other.returns()):
            assert other.returns()["Kk".index(moved)] == 1
            return "a king entered"
        assert king_is_in(str(other), "K") and king_is_in(str(other), "k"), str(other)
        return "both kings entered"
    return "long" if now["truncated"][row] else ""


def play_beside(batch: int, seed: int, first_row: int) -> Counter[str]:
    """Play random games in both engines; return how they ended. At every ply moves, players and results must agree."""
    env = shared_env("shogi", window=513)
    game = pyspiel.load_game("shogi")
    state = env.init(batch, seed, first_row=first_row)
    others = [game.new_initial_state() for _ in range(batch)]
    ends = Counter[str]()
    live = set(range(batch))
    while live:
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        for row in sorted(live):
            other = others[row]
            if end := end_of(now, row, other):
                ends[end] += 1
                live.remove(row)
                continue
            assert now["current_player"][row] == other.current_player()
            ours = legal_names(env.rules, now, row)
            theirs = {other.action_to_string(action): action for action in other.legal_actions()}
            assert ours.keys() == theirs.keys(), (str(other), ours.keys() ^ theirs.keys())
            (played,) = (name for name, action in ours.items() if action == actions[row])
            other.apply_action(theirs[played])
        state = env.step(state, actions)
    return ends


@pytest.mark.parametrize("part", range(10))
def test_a_thousand_random_games_agree(part: int) -> None:
    ends = play_beside(batch=100, seed=1, first_row=100 * part)
    assert ends["mate"] > 40 and ends["long"] > 20 and ends["both kings entered"] + ends["a king entered"] < 10, ends


ROOK = "4k4/R8/9/9/9/9/9/9/4K4 b - 1"
ASIDE = 2 * "9b8b 5a4a 8b9b 4a5a "  # without a check
# a position, moves after which it occurs for the fourth time, the returns, and OpenSpiel's
REPEATED = {
    "rooks": (
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", 3 * "2h3h 8b7b 3h2h 7b8b ", [0, 0], [0, 0],
    ),
    "Black checks": (ROOK, 3 * "9b9a 5a5b 9a9b 5b5a ", [-1, 1], [-1, 1]),
    "White checks": ("4k4/9/9/9/9/9/9/r8/4K4 w - 1", 3 * "9h9i 5i5h 9i9h 5h5i ", [1, -1], [1, -1]),
    "first moves aside, then six checks": (
        ROOK, ASIDE + "9b9a 5a5b 9a9b 5b4a 9b9a 4a5b 9a9b 5b4a 9b9a 4a5b 9a9b 5b5a", [0, 0], [-1, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REPEATED)
def test_repetitions_agree_but_for_the_known_difference(case: str) -> None:
    sfen, moves, returns, theirs = REPEATED[case]
    env = shared_env("shogi", window=513)
    other = pyspiel.load_game("shogi").new_initial_state(sfen)
    state = env.state_from_dicts([{"sfen": sfen}])
    for name in moves.split():
        assert not state.terminated.item() and not other.is_terminal()
        legal = {other.action_to_string(action): action for action in other.legal_actions()}
        other.apply_action(legal[name])
        state = env.step(state, [env.string_to_action(name, state)])
    assert state.terminated.item() and other.is_terminal()
    assert state.rewards.tolist() == [returns] and other.returns() == theirs
