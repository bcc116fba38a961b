"""Tensor cards: the adjacency that each allows, as bit words, and their deal."""

from __future__ import annotations

from tensor_envs.games.tensor_equilibrium.data import TYPES, Card, RuleFields
from tensor_envs.rules import Chance, Scalar, int32, maximum, minimum


def partner_word(card: Card) -> int:
    """Encode the partners of a card in one word.

    Bit 5 u + t says that a tile of type t may touch one of type u (F23). Bit 25 + t marks the free type.
    """
    partners = 0
    for a, b in card:
        partners |= 1 << TYPES * b + a | 1 << TYPES * a + b
    (free,) = set(range(TYPES)) - {t for row in card for t in row}
    return partners | 1 << TYPES * TYPES + free


def row_bits(card: Card) -> int:
    """Encode the rows of a card: bits 0 to 4 are the types of the top row, bits 5 to 9 those of the bottom row."""
    return sum(1 << TYPES * i + t for i, row in enumerate(card) for t in row)


def deal(rules: RuleFields, chance: Chance) -> list[Scalar]:
    """Return every player's card index. Player p draws one of the n - p cards that remain, by counter 1 + p (G4)."""
    if rules.fixed_cards:
        return [int32(card) for card in rules.fixed_cards]
    dealt: list[Scalar] = []
    taken: list[Scalar] = []  # `dealt`, ascending
    for p in range(rules.players):
        card = chance.draw(1 + p, len(rules.tensor_cards) - p)
        for lower in taken:
            card = card + (card >= lower)
        dealt.append(card)
        greatest = card
        for i, other in enumerate(taken):
            taken[i] = minimum(other, greatest)
            greatest = maximum(other, greatest)
        taken.append(greatest)
    return dealt
