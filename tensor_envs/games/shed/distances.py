"""Distance to the end of Shed under perfect play: an independent solution in plain NumPy, to check tables against.

A position is seen by the player to move. Each card outside the talon is a digit: 0 in the own hand, 1 in the other
hand, 2 in the pile. Its axis in an array has length 3, the lowest card first. Every position is computed from all moves
that the rules allow. The arrays hold the distances to a forced win and to a forced loss. They start at NEVER and are
updated until nothing changes, so every distance leads to an end of the game.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensor_envs._validate import instance, integer, one_of
from tensor_envs.envs.state import State
from tensor_envs.games.shed.rules import Shed

Counts = np.ndarray[Any, np.dtype[np.int16]]
Digits = np.ndarray[Any, np.dtype[np.int_]]
Tables = dict[int, tuple[Counts, Counts]]  # by the talon, a bit word: distances to a win, to a loss
MAX_CARDS = 13  # the arrays of 13 cards take 300 MB
NEVER = 2**14
SEEN_BY_OTHER = np.array([1, 0, 2])  # the digits of a position for the other player
PICKED_UP = np.array([1, 0, 1])  # the digits for the other player after a pick-up
# by unit: the cost of a play, and of a pick-up
UNITS = {"moves": (1, 1), "tricks": (0, 1)}


class Distances:
    """Number of moves or tricks until the end in every position of Shed, if the winner hurries and the loser delays.

    Args:
        cards: 1..13; 10 take seconds, 12 minutes.
        unit: "moves", or "tricks", which end by a pick-up.

    Raises:
        TypeError, ValueError: other arguments.

    Examples:
        >>> distances = Distances(3)
        >>> distances.of(te.make("shed", cards=3).init(1)).tolist(), distances.longest()
        ([13], 13)
    """

    def __init__(self, cards: int, unit: str = "moves"):
        self.cards = integer("cards", cards, 1, MAX_CARDS)
        self.unit = one_of("unit", unit, tuple(UNITS))
        self.tables: Tables = {}
        for talon in sorted(range(1 << cards), key=int.bit_count):
            self._solve(talon)

    def of(self, state: State) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Return the distance to the end of every game.

        Args:
            state: state of Shed with as many cards.

        Returns:
            int32 [B], -1 for a draw.

        Raises:
            ValueError, TypeError: a state of another game, or no State.
        """
        instance("state", state, State)
        if not isinstance(state.env.rules, Shed) or state.env.rules.cards != self.cards:
            raise ValueError(f"the distances are of {self.cards} cards, the state is of {state.env!r}")
        fields = state.numpy()
        distances = np.full(state.batch, -1, np.int32)
        places = [fields[name].tolist() for name in ("own", "other", "pile")]
        for row, sets in enumerate(zip(*places, strict=True)):
            digits = [[k for k in range(3) if sets[k] >> card & 1] for card in range(self.cards)]
            talon = sum(1 << card for card, digit in enumerate(digits) if not digit)
            place = tuple(digit[0] for digit in digits if digit)
            nearest = min(int(table[place]) for table in self.tables[talon])
            distances[row] = nearest if nearest < NEVER else -1
        return distances

    def longest(self) -> int:
        """Return the longest distance from a position without a pile."""
        quiet = [table[(slice(0, 2),) * table.ndim] for tables in self.tables.values() for table in tables]
        return max(int(table[table < NEVER].max(initial=0)) for table in quiet)

    def _solve(self, talon: int) -> None:
        """Compute the distances in the positions of a talon, int16 [3, 3, ...]."""
        n = self.cards - talon.bit_count()
        tables = self.tables[talon] = np.full((3,) * n, NEVER, np.int16), np.full((3,) * n, NEVER, np.int16)
        changed = True
        while changed:
            old = [table.copy() for table in tables]
            for top in range(n - 1, -2, -1):  # -1: no pile
                self._update(talon, top)
            changed = not all(map(np.array_equal, old, tables))

    def _update(self, talon: int, top: int) -> None:
        """Update the positions with one top of the pile from those with a higher top and from quiet ones."""
        win, lose = self.tables[talon]
        play, pick_up = UNITS[self.unit]
        rest = [card for card in range(self.cards) if not talon >> card & 1]
        n = len(rest)
        part = tuple(slice(0, 3) if i < top else 2 if i == top else slice(0, 2) for i in range(n))
        wins = np.full_like(win[part], NEVER)
        loses = np.zeros_like(lose[part])

        def moved(at: Any, wins_then: Counts, loses_then: Counts, cost: int) -> None:
            """Add a move at some positions: the nearest win counts, and the farthest loss if all moves lose."""
            shape = wins[at].shape
            wins[at] = np.minimum(wins[at], np.minimum(loses_then.reshape(shape) + cost, NEVER))
            loses[at] = np.maximum(loses[at], np.minimum(wins_then.reshape(shape) + cost, NEVER))

        # Picking up changes the sets' digits: the pile's cards join the mover's hand, and the other player moves.
        if top >= 0:
            after = np.ix_(*(_digits(PICKED_UP, i, top) for i in range(n)))
            moved(..., win[after], lose[after], pick_up)
        at: Any
        for card in range(rest[top] + 1 if top >= 0 else 0, self.cards):
            # After a card is played the other player moves, so the digits are seen from the other side.
            digits = [_digits(SEEN_BY_OTHER, i, top) for i in range(n)]
            if card in rest:  # out of the own hand
                i = rest.index(card)
                tables = (win, lose)
                digits[i] = np.array([2])
                at = tuple(0 if j == i else slice(None) for j in range(n) if j != top)
            else:  # out of the talon
                at = ...
                tables = self.tables[talon ^ 1 << card]
                digits.insert(sum(c < card for c in rest), np.array([2]))
            after = np.ix_(*digits)
            moved(at, tables[0][after], tables[1][after], play)
        if top < 0 and talon == 0:  # the player who holds all cards after picking up has lost
            end = (1,) * n
            wins[end], loses[end] = 0, NEVER
        # The results are written last, since moves read positions of the same arrays.
        win[part], lose[part] = wins, loses


def check(cards: int, values: Callable[[int], np.ndarray[Any, Any]]) -> None:
    """Check values against the distances.

    Args:
        cards: number of cards.
        values: function from a talon, a bit word, to the values of its quiet positions, as `Tablebase.quiet_values`
            returns them.

    Raises:
        ValueError: a value is wrong; the message names the position.
    """
    for talon, (win, lose) in Distances(cards).tables.items():
        rest = [card + 1 for card in range(cards) if not talon >> card & 1]
        both = (slice(0, 2),) * len(rest)
        computed = (win[both] < NEVER).astype(np.int8) - (lose[both] < NEVER).astype(np.int8)
        claimed = values(talon).reshape((2,) * len(rest)).transpose()  # its highest bit is the highest card
        if not (computed == claimed).all():
            place = tuple(int(i) for i in np.argwhere(computed != claimed)[0])
            hands = [[c for c, p in zip(rest, place, strict=True) if p == owner] for owner in (0, 1)]
            raise ValueError(
                f"wrong value {claimed[place]}, not {computed[place]}, with hands {hands[0]} (to move) and {hands[1]}"
            )


def _digits(digits: Digits, i: int, top: int) -> Digits:
    """Return the entries of `digits` for the digits that axis i has with this top of the pile."""
    return digits if i < top else digits[2:] if i == top else digits[:2]
