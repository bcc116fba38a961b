"""Dictionaries, and names of cards, melds and actions, of gin rummy."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from tensor_envs._validate import instance, one_of
from tensor_envs.games.gin_rummy.melds import CARDS, RANKS, SUITS
from tensor_envs.games.gin_rummy.rules import (
    ANSWER, DECK, DISCARD, HAND, KNOCK, LAYOFF, MAX_MELDS, MELD, OVER, PHASES, GinRummy,
)  # fmt: skip
from tensor_envs.rules import int32
from tensor_envs.rules.plain import checked, ended, field_limits

RANK_NAMES = "A23456789TJQK"
SUIT_NAMES = "scdh"
WORDS = ("Draw upcard", "Draw stock", "Pass", "Knock")


def cards_in(cards: int) -> list[int]:
    """Return the cards of a set in the order of their numbers."""
    return [card for card in range(CARDS) if cards >> card & 1]


def card_name(card: int) -> str:
    """Return a card's rank and suit, such as "Td"; "" for no card (G1)."""
    return RANK_NAMES[card % RANKS] + SUIT_NAMES[card // RANKS] if card >= 0 else ""


def names_of(cards: int) -> list[str]:
    """Return the names of the cards of a set."""
    return [card_name(card) for card in cards_in(cards)]


def action_to_string(rules: GinRummy, action: int) -> str:
    """Return OpenSpiel's name of an action: "Td", "Draw upcard", "AsAcAd" (G3)."""
    if CARDS <= action < rules.first_meld:
        return WORDS[action - CARDS]
    return "".join(names_of(int(rules.cards_of(int32(action)).value)))


def to_dict(rules: GinRummy, s: dict[str, Any]) -> dict[str, Any]:
    return s


def from_dict(rules: GinRummy, game: dict[str, Any]) -> dict[str, Any]:
    return game
