"""Dictionaries and action names of Kalah."""

from typing import Any

from tensor_envs.games._kit import mancala
from tensor_envs.games.kalah.rules import Kalah
from tensor_envs.rules.plain import ended

SYNONYMS = ((r"(?i)\b\d+(?=\s+(?:seed|stone|counter|piece|pebble)s?\b)", ""),)  # "4 seeds", which are no house
to_dict = mancala.to_dict  # K9


def from_dict(rules: Kalah, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; a player without seeds in houses ends the game."""
    houses, stores, player = mancala.seeds_of(rules, game)
    sides = [sum(houses[: rules.houses]), sum(houses[rules.houses :])]
    if over := 0 in sides:
        stores = [store + side for store, side in zip(stores, sides, strict=True)]
        houses = [0] * len(houses)
    return {"houses": houses, "stores": stores, "current_player": player} | ended(over)


def action_to_string(rules: Kalah, action: int) -> str:
    """Return the number of the house, from 1 at the player's left (K10)."""
    return str(action + 1)
