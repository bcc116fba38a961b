"""Tensor cards: what each allows, as words, and their deal."""

from __future__ import annotations

from tensor_envs.games.tensor_equilibrium.data import TYPES, Card, RuleFields
from tensor_envs.rules import Chance, Scalar, integer, maximum, minimum


def partner_word(card: Card) -> int:
    """Bit 5 u + t: a tile of type t must touch one of type u (F23); bit 25 + t: type t is free."""
    found = 0
    for a, b in card:
        found |= 1 << TYPES * b + a | 1 << TYPES * a + b
    (free,) = set(range(TYPES)) - {t for row in card for t in row}
    return found | 1 << TYPES * TYPES + free


def row_bits(card: Card) -> int:
    """Bits 0..4: the types of the top row; bits 5..9: those of the bottom row."""
    return sum(1 << TYPES * i + t for i, row in enumerate(card) for t in row)


def deal(rules: RuleFields, chance: Chance) -> list[Scalar]:
    """The card of every player (G4): the draw(1 + p, n - p)-th of those not dealt yet."""
    if rules.fixed_cards:
        return [integer(card) for card in rules.fixed_cards]
    dealt: list[Scalar] = []
    taken: list[Scalar] = []  # the same, ascending
    for p in range(rules.players):
        card = chance.draw(1 + p, len(rules.tensor_cards) - p)
        for lower in taken:
            card = card + (card >= lower)
        dealt.append(card)
        greatest = card
        for i, other in enumerate(taken):
            taken[i], greatest = minimum(other, greatest), maximum(other, greatest)
        taken.append(greatest)
    return dealt
