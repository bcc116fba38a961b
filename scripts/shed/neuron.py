"""A single neuron that classifies positions of Shed as won or lost: data, training, and proofs of its limits.

Positions are quiet ones, from the view of the player who has just moved. The input of a card is +1 if that player holds
it, -1 if the other player does, and 0 in the talon; the bias has input 1. The target is 1 if that player has a forced
win and 0 if the other has; drawn positions are excluded. All weights start at 0, and an epoch adds the corrections of
all positions: w += rate * (target - output) * input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import gcd, lcm
from typing import Any

import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.games.shed.lookup import DRAW, LOSS
from tensor_envs.games.shed.notation import cards_of, write
from tensor_envs.games.shed.tablebase import Tablebase

Array = np.ndarray[Any, np.dtype[Any]]
RATE = 0.1
FAR = 0.3  # an error of the output above this counts as wrong in the post's list


@dataclass(frozen=True)
class QuietPositions:
    """Quiet positions that are not drawn.

    Attributes:
        cards: the number of cards in the game.
        own: hands of the player who has just moved, as bit sets.
        other: hands of the other player, as bit sets.
        wins: whether the player who has just moved has a forced win.
        drawn: the number of excluded positions.
    """

    cards: int
    own: tuple[int, ...]
    other: tuple[int, ...]
    wins: tuple[bool, ...]
    drawn: int

    def __len__(self) -> int:
        return len(self.own)

    @cached_property
    def inputs(self) -> Array:
        """Inputs, int64 [P, cards + 1], the bias last."""
        bits = np.arange(self.cards)
        own, other = (np.array(hands, dtype=np.int64)[:, None] >> bits & 1 for hands in (self.own, self.other))
        return np.concatenate([own - other, np.ones((len(self), 1), np.int64)], axis=1)

    @cached_property
    def targets(self) -> Array:
        return np.array(self.wins, dtype=np.float64)

    def written(self, i: int) -> str:
        """Return position i as text, such as "7-2+ [] 6-3"."""
        hands = [cards_of(self.own[i]), cards_of(self.other[i])]
        return write({"hands": hands, "pile": [], "current_player": 1})

    def find(self, text: str) -> int:
        return next(i for i in range(len(self)) if self.written(i) == text)

    def without(self, text: str) -> QuietPositions:
        """Return all positions but one."""
        return self.only([i for i in range(len(self)) if self.written(i) != text])

    def only(self, rows: Sequence[int]) -> QuietPositions:
        own, other = tuple(self.own[i] for i in rows), tuple(self.other[i] for i in rows)
        return QuietPositions(self.cards, own, other, tuple(self.wins[i] for i in rows), self.drawn)


def positions(table: Tablebase, talons: Iterator[int], own_cards: int | None = None) -> QuietPositions:
    """Return the quiet positions of some talons, if given only those with `own_cards` cards of the player who moved."""
    rows, drawn = [], 0
    for talon in talons:
        values, rest = table.quiet_values(talon), [c for c in range(table.cards) if not talon >> c & 1]
        for index, value in enumerate(values):
            own = sum(1 << card for j, card in enumerate(rest) if index >> j & 1)
            if own_cards is not None and own.bit_count() != own_cards:
                continue
            if value == DRAW:
                drawn += 1
            else:
                rows.append((own, (1 << table.cards) - 1 & ~talon & ~own, bool(value == LOSS)))
    hands, others, wins = ([row[i] for row in rows] for i in range(3))
    return QuietPositions(table.cards, tuple(hands), tuple(others), tuple(map(bool, wins)), drawn)


def endgames(table: Tablebase) -> QuietPositions:
    """Return all quiet positions with an empty talon."""
    return positions(table, iter([0]))


def pattern(table: Tablebase, own: int, other: int) -> QuietPositions:
    """Return the quiet positions in which the player who moved holds `own` cards and the other player `other`."""
    talons = combinations(range(table.cards), table.cards - own - other)
    return positions(table, (sum(1 << card for card in cards) for cards in talons), own)


def draws_by_pattern(table: Tablebase) -> tuple[Array, Array]:
    """Count the drawn and all quiet positions by pattern, int64 [cards + 1, cards + 1] each.

    The first index is the number of cards of the player who has just moved, the second that of the other player.
    """
    drawn, every = np.zeros((2, table.cards + 1, table.cards + 1), np.int64)
    sizes = np.zeros(1, np.int64)  # of the sets of cards, in the order of `quiet_values`
    for _ in range(table.cards):
        sizes = np.concatenate([sizes, sizes + 1])
    for talon in range(1 << table.cards):
        held = table.cards - talon.bit_count()
        own, draws = sizes[: 1 << held], table.quiet_values(talon) == DRAW
        place = np.arange(held + 1), held - np.arange(held + 1)
        drawn[place] += np.bincount(own[draws], minlength=held + 1)
        every[place] += np.bincount(own, minlength=held + 1)
    return drawn, every


class Neuron:
    """Neuron and its training on one set of positions, on any device with float64. The last weight is the bias."""

    def __init__(self, data: QuietPositions, rate: float = RATE, device: Any = None):
        self.data, self.epochs = data, 0
        arrays = (np.zeros(data.cards + 1), data.inputs.astype(np.float64), data.targets)
        self._weights, self._inputs, self._targets = (
            Tensor(array, device=device).clone().realize() for array in arrays
        )

        def epoch(weights: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
            error = targets - (inputs * weights).sum(axis=1).sigmoid()
            return weights + rate * (inputs * error.reshape(-1, 1)).sum(axis=0)

        self._epoch = te.jit(epoch)

    def train(self, epochs: int) -> Neuron:
        for _ in range(epochs):
            self._weights = self._epoch(self._weights, self._inputs, self._targets)
        self.epochs += epochs
        return self

    def train_until_right(self, limit: int) -> int | None:
        """Train until all positions are classified correctly; return the epoch, or None at the limit."""
        while self.epochs < limit:
            if not self.train(1).wrong():
                return self.epochs
        return None

    @property
    def weights(self) -> Array:
        return self._weights.numpy()

    @property
    def outputs(self) -> Array:
        return outputs(self.weights, self.data)

    def wrong(self) -> list[int]:
        """Return the positions whose output is on the wrong side of 1/2."""
        return wrong(self.weights, self.data)

    def far(self, distance: float = FAR) -> list[int]:
        """Return the positions whose output is further than `distance` from the target."""
        return [int(i) for i in np.flatnonzero(abs(self.outputs - self.data.targets) > distance)]


def outputs(weights: Any, data: QuietPositions) -> Array:
    result: Array = 1 / (1 + np.exp(-(data.inputs @ np.asarray(weights, dtype=np.float64))))
    return result


def wrong(weights: Any, data: QuietPositions) -> list[int]:
    """Return the positions whose score has the wrong sign."""
    scores = data.inputs @ np.asarray(weights)
    right = np.where(data.wins, scores > 0, scores < 0)
    return [int(i) for i in np.flatnonzero(~right)]


def away_from_zero(weights: Array, scale: float) -> list[int]:
    """Scale and round away from zero. Sums of tenths are exact to 9 digits only, so these are rounded first."""
    scaled = np.round(weights * scale, 9)
    return [int(x) for x in np.sign(scaled) * np.ceil(abs(scaled))]


@dataclass(frozen=True)
class Separation:
    """Proof that one neuron can classify positions, or that none can, in whole numbers.

    Attributes:
        weights: weights, the bias last, with which all scores have the right sign.
        contradiction: multipliers by the number of a position. With them the inputs of the won and of the lost
            positions have the same sum, and so have their scores.
    """

    weights: list[int] | None = None
    contradiction: dict[int, int] | None = None

    def holds(self, data: QuietPositions, limits: Sequence[Sequence[int]] = ()) -> bool:
        """Return whether the proof is valid."""
        if self.weights is not None:
            limits_hold = all(int(np.dot(limit, self.weights)) >= 0 for limit in limits)
            return limits_hold and not wrong(self.weights, data)
        assert self.contradiction is not None
        rows = np.concatenate([_signed(data), np.array(limits, np.int64).reshape(-1, data.cards + 1)])
        total = np.sum([m * rows[i] for i, m in self.contradiction.items()], axis=0)
        multipliers = self.contradiction.values()
        return not total.any() and min(multipliers) > 0 and min(self.contradiction) < len(data)


def _signed(data: QuietPositions) -> Array:
    """Return the inputs, negated for lost positions, whose scores must be negative."""
    return np.where(np.array(data.wins)[:, None], data.inputs, -data.inputs)


def separate(data: QuietPositions, limits: Sequence[Sequence[int]] = ()) -> Separation:
    """Prove that one neuron can classify all the positions, or that none can.

    The proof is an exact linear programme: are there multipliers >= 0, of sum 1 over the positions, with which all
    signed inputs cancel? The simplex method with Bland's rule, which cannot cycle, solves it in fractions. If there are
    none, its prices are the weights.

    Args:
        data: the positions.
        limits: inputs whose scores must not be negative; a contradiction numbers them after the positions.
    """
    rows = np.concatenate([_signed(data), np.array(limits, np.int64).reshape(-1, data.cards + 1)])
    in_sum = (np.arange(len(rows)) < len(data)).astype(np.int64)
    columns = np.concatenate([rows, in_sum[:, None]], axis=1)  # [P, m]
    m = columns.shape[1]
    basis = [-1 - i for i in range(m)]  # negative: artificial variables, which cost 1 each
    inverse = [[Fraction(int(i == j)) for j in range(m)] for i in range(m)]
    amounts = [Fraction(0)] * (m - 1) + [Fraction(1)]
    while True:
        prices = [sum((inverse[i][j] for i in range(m) if basis[i] < 0), Fraction(0)) for j in range(m)]
        whole = _whole(prices)
        entering = np.flatnonzero(columns.astype(object) @ np.array(whole, dtype=object) > 0)
        if not len(entering):
            break
        new = int(entering[0])
        direction = [sum((row[j] * int(columns[new, j]) for j in range(m)), Fraction(0)) for row in inverse]
        leave = min((i for i in range(m) if direction[i] > 0), key=lambda i: (amounts[i] / direction[i], basis[i]))
        amount = amounts[leave] / direction[leave]
        share = [x / direction[leave] for x in inverse[leave]]
        for i in range(m):
            if i != leave and direction[i]:
                inverse[i] = [x - direction[i] * y for x, y in zip(inverse[i], share, strict=True)]
                amounts[i] -= direction[i] * amount
        inverse[leave], amounts[leave], basis[leave] = share, amount, new
    if any(b < 0 and a > 0 for b, a in zip(basis, amounts, strict=True)):
        return Separation(weights=[-w for w in _whole(prices[:-1])])
    used = {b: a for b, a in zip(basis, amounts, strict=True) if a > 0}
    return Separation(contradiction=dict(zip(used, _whole(list(used.values())), strict=True)))


def _whole(numbers: list[Fraction]) -> list[int]:
    """Return the smallest integers in the same proportion."""
    scale = lcm(*(x.denominator for x in numbers))
    scaled = [int(x * scale) for x in numbers]
    common = gcd(*scaled) or 1
    return [x // common for x in scaled]
