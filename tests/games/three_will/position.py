"""Positions for the worked cases, and queries of a game, for any engine.

In a position, agents that are not named stand at set-up. A third number 1 after row and column puts an agent at the
lower level.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.games.chance import draw, game_key

Start = Callable[..., Any]
Position = dict[str, Any]

MOVE, FREE, FMOVE, CHALLENGE, OVER = range(5)
PASS, USE_FREE, EXAMINE = 24, 25, 26
NAMES = [f"{colour}{slot}" for colour in "WB" for slot in range(8)]


def position(**named: Any) -> Position:
    """Return the set-up with White to move and 4 + 4 cards, except for the named agents and fields."""
    squares = [(1, s) for s in range(8)] + [(6, 7 - s) for s in range(8)]
    state: Position = {
        "pos": [8 * row + column for row, column in squares],
        "lvl": [0] * 16,
        "ids": [*range(1, 9), *range(1, 9)],
        "ces": 0,
        "dr": [4, 4],
        "free": [0, 0],
        "die": 1,
        "phase": MOVE,
        "player": 0,
        "t": 0,
        "turns": 0,
        "challenge_left": 1,
        "declarer": -1,
        "turn_owner": -1,
        "after": -1,
        "winner": -1,
        "truncated": 0,
    }
    for name, value in named.items():
        if name in NAMES:
            row, column, *level = value
            state["pos"][NAMES.index(name)] = 8 * row + column
            state["lvl"][NAMES.index(name)] = sum(level)
        else:
            assert name in state
            state[name] = value
    return state


def seed_with_extra(wanted: Callable[[int], bool]) -> int:
    """Return a seed with a wanted extra throw in the first step from a position at t = 0."""
    return next(seed for seed in count() if wanted(1 + draw(game_key(seed, 0, 0), 67, 6)))


def double(die: int) -> int:
    return seed_with_extra(lambda face: face == die)


def no_double(die: int) -> int:
    return seed_with_extra(lambda face: face != die)


def agents(game: Any, *names: str) -> dict[str, tuple[int, int, str]]:
    """Return the row, column and standing of agents, as player 0 observes them."""
    seen, found = game.observation(0), {}
    for name in names:
        block = seen[19 * NAMES.index(name) :][:19]
        standing = ("active", "held", "locked")[list(block[16:]).index(1)]
        found[name] = (list(block[:8]).index(1), list(block[8:16]).index(1), standing)
    return found


def bank(game: Any) -> int:
    in_eighths: float = game.observation(0)[318]
    return round(8 * in_eighths)


def fields(game: Any, *names: str) -> list[Any]:
    state = game.to_dict()
    return [state[name] for name in names]


def assert_turn_passed(game: Any, player: int) -> None:
    """Assert that the first turn of the position is over and `player` moves."""
    phase, to_act, turns = fields(game, "phase", "player", "turns")
    assert (phase, to_act, game.current_player, turns) == (MOVE, player, player, 1)


def assert_won(game: Any, player: int) -> None:
    assert game.rewards == pytest.approx([1, -1] if player == 0 else [-1, 1])
    assert game.terminated and not game.truncated
    assert game.legal_actions() == []
    assert fields(game, "phase", "winner") == [OVER, player]
