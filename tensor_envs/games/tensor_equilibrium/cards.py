"""Tensor cards: what each allows, as words, and their deal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.spec import Chance, Scalar
from tensor_envs.games.tensor_equilibrium.data import TYPES, Card, RuleFields


def partner_word(card: Card) -> int:
    """Bit 5 u + t: a tile of type t must touch one of type u (F23); bit 25 + t: type t is free."""
    word = 0
    for a, b in card:
        word |= 1 << TYPES * b + a | 1 << TYPES * a + b
    (free,) = set(range(TYPES)) - {t for row in card for t in row}
    return word | 1 << TYPES * TYPES + free


def row_word(card: Card) -> int:
    """Bits 0..4: the types of the top row; bits 5..9: those of the bottom row."""
    return sum(1 << TYPES * i + t for i, row in enumerate(card) for t in row)


def lookup(table: Sequence[int], index: Any, dtype: DType = dtypes.int32) -> Any:
    """table[index] at a computed index (in range), by halves."""
    values: list[Any] = [UOp.const(value, dtype) for value in table]
    bit = 0
    while len(values) > 1:
        odd = (index >> bit & 1).ne(0)
        values = [
            odd.where(values[i + 1], values[i]) if i + 1 < len(values) else values[i]
            for i in range(0, len(values), 2)
        ]
        bit += 1
    return values[0]


def deal(rules: RuleFields, chance: Chance) -> list[Scalar]:
    """The card of every seat (G4): the draw(1 + p, n - p)-th of those not dealt yet."""
    if rules.fixed_cards:
        return [UOp.const(card, dtypes.int32) for card in rules.fixed_cards]
    dealt: list[Scalar] = []
    taken: list[Scalar] = []  # ascending
    for p in range(rules.players):
        card = chance.draw(1 + p, len(rules.tensor_cards) - p)
        for other in taken:
            card = card + (card < other).where(0, 1)
        dealt.append(card)
        taken = insert(taken, card)
    return dealt


def insert(ascending: Sequence[Scalar], value: Scalar) -> list[Scalar]:
    """An ascending list with one value more."""
    found = []
    for other in ascending:
        smaller = value < other
        found.append(smaller.where(value, other))
        value = smaller.where(other, value)
    return [*found, value]
