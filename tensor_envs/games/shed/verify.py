"""A second solution of Shed, in plain NumPy, to check a table against: it shares nothing with the solver.

Positions are seen by the player to move: each card that is not in the talon is a digit, 0 in the own hand, 1 in the
other, 2 in the pile, and is an axis of length 3 of an array of booleans (the lowest card first). Every position is
worked out from all the moves that its rules allow, one by one. Wins and losses start as none and are repeated until
they stay, so that every one of them is grounded in an end of the game.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

Flags = np.ndarray[Any, np.dtype[Any]]
SEEN_BY_OTHER = np.array([1, 0, 2])  # the digits of a position for the other player
PICKED_UP = np.array([1, 0, 1])  # likewise after the player to move has picked up


def check(cards: int, values: Callable[[int], Flags]) -> None:
    """ValueError unless `values(talon)` are the game's values of the talon's quiet positions.

    talon: a bit word. The values, 1, 0, -1 for the player to move, stand in the order of the sets of the other
    player's cards, among those not in the talon the lowest first.
    """
    before: dict[int, tuple[Flags, Flags]] = {}
    for k in range(cards + 1):
        here = {}
        for chosen in combinations(range(cards), k):
            talon = sum(1 << card for card in chosen)
            win, lose = _solve(cards, talon, before)
            here[talon] = win, lose
            both = (slice(0, 2),) * (cards - k)
            found = win[both].astype(np.int8) - lose[both].astype(np.int8)
            given = (
                values(talon).reshape((2,) * (cards - k)).transpose()
            )  # its highest bit is the highest card
            if not (found == given).all():
                place = tuple(int(i) for i in np.argwhere(found != given)[0])
                rest = [card + 1 for card in range(cards) if card not in chosen]
                hands = [[c for c, p in zip(rest, place, strict=True) if p == who] for who in (0, 1)]
                raise ValueError(
                    f"wrong value {given[place]}, not {found[place]}, with hands {hands[0]} (to move) and {hands[1]}"
                )
        before = here


def _solve(cards: int, talon: int, before: dict[int, tuple[Flags, Flags]]) -> tuple[Flags, Flags]:
    """Which positions of a talon are won and which are lost, [3] * cards outside the talon each."""
    rest = [card for card in range(cards) if not talon >> card & 1]
    n = len(rest)
    win, lose = np.zeros((3,) * n, bool), np.zeros((3,) * n, bool)
    while True:
        old = win[(slice(0, 2),) * n].copy(), lose[(slice(0, 2),) * n].copy()
        for top in range(n - 1, -2, -1):  # -1: no pile
            _work_out(cards, talon, rest, top, win, lose, before)
        if (win[(slice(0, 2),) * n] == old[0]).all() and (lose[(slice(0, 2),) * n] == old[1]).all():
            return win, lose


def _work_out(
    cards: int,
    talon: int,
    rest: list[int],
    top: int,
    win: Flags,
    lose: Flags,
    before: dict[int, tuple[Flags, Flags]],
) -> None:
    """All positions with this top of the pile, from those with a higher top and from quiet ones."""
    n = len(rest)
    part = tuple(slice(0, 3) if i < top else 2 if i == top else slice(0, 2) for i in range(n))
    wins, loses = np.zeros_like(win[part]), np.ones_like(lose[part])
    if top >= 0:
        maps = [PICKED_UP if i < top else PICKED_UP[2:] if i == top else PICKED_UP[:2] for i in range(n)]
        after = np.ix_(*maps)
        wins |= lose[after].reshape(wins.shape)
        loses &= win[after].reshape(wins.shape)
    for card in range(rest[top] + 1 if top >= 0 else 0, cards):
        if card in rest:  # out of the own hand
            i = rest.index(card)
            digits = [_digits(j, top) if j != i else np.array([2]) for j in range(n)]
            places = tuple(0 if j == i else slice(None) for j in range(n) if j != top)
            shape = wins[places].shape
            wins[places] |= lose[np.ix_(*digits)].reshape(shape)
            loses[places] &= win[np.ix_(*digits)].reshape(shape)
        else:  # out of the talon
            smaller = before[talon ^ 1 << card]
            place = sum(c < card for c in rest)
            digits = [_digits(j, top) for j in range(n)]
            digits.insert(place, np.array([2]))
            wins |= smaller[1][np.ix_(*digits)].reshape(wins.shape)
            loses &= smaller[0][np.ix_(*digits)].reshape(wins.shape)
    if top < 0 and talon == 0:  # who holds all cards after picking up has lost; the other is to move
        end = (1,) * n
        wins[end], loses[end] = True, False
    win[part], lose[part] = wins, loses


def _digits(i: int, top: int) -> Flags:
    """What the other player sees at an axis."""
    return SEEN_BY_OTHER if i < top else SEEN_BY_OTHER[2:] if i == top else SEEN_BY_OTHER[:2]
