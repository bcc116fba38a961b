"""How far the end is under perfect play: a second solution of Shed, in plain NumPy, that a table is checked against.

It shares nothing with the solver.

Positions are seen by the player to move: each card that is not in the talon is a digit, 0 in the own hand, 1 in the
other, 2 in the pile, and is an axis of length 3 of an array (the lowest card first). Every position is worked out from
all the moves that its rules allow, one by one. The arrays say how far away a forced win is, and a forced loss: never
at first, and then repeated until they stay, so that every one of them is grounded in an end of the game.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from tensor_envs._validate import instance, integer, one_of
from tensor_envs.games.shed.rules import Shed
from tensor_envs.state import State

Counts = np.ndarray[Any, np.dtype[np.int16]]
MOST_CARDS = 13  # of which the arrays take 300 MB
NEVER = 2**14
SEEN_BY_OTHER = np.array([1, 0, 2])  # the digits of a position for the other player
PICKED_UP = np.array([1, 0, 1])  # likewise after the player to move has picked up
# by what is counted: what it takes to play a card, and to pick up
UNITS = {"moves": (1, 1), "tricks": (0, 1)}


class Distances:
    """How long perfect play goes on in every position of a game of Shed: the winner hurries, the loser does not."""

    def __init__(self, cards: int, unit: str = "moves"):
        """cards: 1..13; 10 take some seconds, 12 two minutes. unit: "moves", or "tricks", which end by a pick-up.

        TypeError, ValueError for others.
        """
        self.cards = integer("cards", cards, 1, MOST_CARDS)
        self.unit = one_of("unit", unit, tuple(UNITS))
        self.tables: dict[int, tuple[Counts, Counts]] = {}  # by the talon, a bit word: to a win, to a loss
        for k in range(cards + 1):
            for chosen in combinations(range(cards), k):
                talon = sum(1 << card for card in chosen)
                self.tables[talon] = _solve(cards, talon, self.tables, UNITS[unit])

    def of(self, state: State) -> np.ndarray[Any, np.dtype[np.int32]]:
        """int32 [B]: to the end of every game, -1 of a draw. ValueError for a state of another game."""
        instance("state", state, State)
        if not isinstance(state.env.rules, Shed) or state.env.rules.cards != self.cards:
            raise ValueError(f"the distances are of {self.cards} cards, the state is of {state.env!r}")
        now = state.numpy()
        found = np.full(state.batch, -1, np.int32)
        for row, sets in enumerate(
            zip(*(now[name].tolist() for name in ("own", "other", "pile")), strict=True)
        ):
            where = [[k for k in range(3) if sets[k] >> card & 1] for card in range(self.cards)]
            talon = sum(1 << card for card, places in enumerate(where) if not places)
            place = tuple(places[0] for places in where if places)
            nearest = min(int(table[place]) for table in self.tables[talon])
            found[row] = nearest if nearest < NEVER else -1
        return found

    def longest(self) -> int:
        """Of all positions without a pile."""
        quiet = [table[(slice(0, 2),) * table.ndim] for tables in self.tables.values() for table in tables]
        return max(int(table[table < NEVER].max(initial=0)) for table in quiet)


def check(cards: int, values: Callable[[int], np.ndarray[Any, Any]]) -> None:
    """ValueError unless `values(talon)` are the game's values of the talon's quiet positions.

    talon: a bit word. The values, 1, 0, -1 for the player to move, stand in the order of the sets of the other
    player's cards, among those not in the talon the lowest first.
    """
    for talon, (win, lose) in Distances(cards).tables.items():
        rest = [card + 1 for card in range(cards) if not talon >> card & 1]
        both = (slice(0, 2),) * len(rest)
        found = (win[both] < NEVER).astype(np.int8) - (lose[both] < NEVER).astype(np.int8)
        given = values(talon).reshape((2,) * len(rest)).transpose()  # its highest bit is the highest card
        if not (found == given).all():
            place = tuple(int(i) for i in np.argwhere(found != given)[0])
            hands = [[c for c, p in zip(rest, place, strict=True) if p == who] for who in (0, 1)]
            raise ValueError(
                f"wrong value {given[place]}, not {found[place]}, with hands {hands[0]} (to move) and {hands[1]}"
            )


def _solve(
    cards: int, talon: int, before: dict[int, tuple[Counts, Counts]], costs: tuple[int, int]
) -> tuple[Counts, Counts]:
    """How far a win and a loss are in the positions of a talon, [3] * cards outside the talon each."""
    rest = [card for card in range(cards) if not talon >> card & 1]
    n = len(rest)
    win, lose = (np.full((3,) * n, NEVER, np.int16) for _ in range(2))
    while True:
        old = win.copy(), lose.copy()
        for top in range(n - 1, -2, -1):  # -1: no pile
            _work_out(cards, talon, rest, top, win, lose, before, costs)
        if (win == old[0]).all() and (lose == old[1]).all():
            return win, lose


def _work_out(
    cards: int,
    talon: int,
    rest: list[int],
    top: int,
    win: Counts,
    lose: Counts,
    before: dict[int, tuple[Counts, Counts]],
    costs: tuple[int, int],
) -> None:
    """All positions with this top of the pile, from those with a higher top and from quiet ones."""
    n, (play, pick_up) = len(rest), costs
    part = tuple(slice(0, 3) if i < top else 2 if i == top else slice(0, 2) for i in range(n))
    wins, loses = np.full_like(win[part], NEVER), np.zeros_like(lose[part])

    def moved(at: Any, wins_then: Counts, loses_then: Counts, cost: int) -> None:
        """One more move at some of the positions: the best of all wins, and no loss unless all lose."""
        shape = wins[at].shape
        wins[at] = np.minimum(wins[at], np.minimum(loses_then.reshape(shape) + cost, NEVER))
        loses[at] = np.maximum(loses[at], np.minimum(wins_then.reshape(shape) + cost, NEVER))

    if top >= 0:
        maps = [PICKED_UP if i < top else PICKED_UP[2:] if i == top else PICKED_UP[:2] for i in range(n)]
        after = np.ix_(*maps)
        moved(..., win[after], lose[after], pick_up)
    for card in range(rest[top] + 1 if top >= 0 else 0, cards):
        if card in rest:  # out of the own hand
            i = rest.index(card)
            digits = [_digits(j, top) if j != i else np.array([2]) for j in range(n)]
            places = tuple(0 if j == i else slice(None) for j in range(n) if j != top)
            after = np.ix_(*digits)
            moved(places, win[after], lose[after], play)
        else:  # out of the talon
            smaller = before[talon ^ 1 << card]
            place = sum(c < card for c in rest)
            digits = [_digits(j, top) for j in range(n)]
            digits.insert(place, np.array([2]))
            after = np.ix_(*digits)
            moved(..., smaller[0][after], smaller[1][after], play)
    if top < 0 and talon == 0:  # who holds all cards after picking up has lost; the other is to move
        end = (1,) * n
        wins[end], loses[end] = 0, NEVER
    win[part], lose[part] = wins, loses


def _digits(i: int, top: int) -> np.ndarray[Any, Any]:
    """What the other player sees at an axis."""
    return SEEN_BY_OTHER if i < top else SEEN_BY_OTHER[2:] if i == top else SEEN_BY_OTHER[:2]
