"""Dictionaries, action names and symmetries of oware."""

from collections.abc import Iterator
from itertools import pairwise
from string import ascii_uppercase
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import mancala
from tensor_envs.games.oware.rules import Oware, code_of, playable
from tensor_envs.ops.fields import ended
from tensor_envs.render.grids import rows_of
from tensor_envs.rules import Symmetry, scalar, unpack


def to_dict(rules: Oware, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"houses": ..., "stores": ..., "current_player": 0 or 1, "history": earlier houses, flat} (W11)."""
    history = list[int]()
    for plies, code in enumerate(list(zip(*s["history"], strict=True))[: s["quiet"]], 1):
        ones = [-1, *unpack(code, 64)]
        houses = [b - a - 1 for a, b in pairwise(ones)]
        history = mancala.from_player_0(houses, (s["current_player"] + plies) % 2) + history
    return mancala.to_dict(rules, s) | {"history": history}


def from_dict(rules: Oware, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; a decided game, and one without a legal action, are over."""
    houses, stores, player = mancala.seeds_of(rules, game)
    flat = nested("history", game["history"], (None,), 0, rules.total)
    past = [[*row] for row in rows_of(flat, 2 * rules.houses)][::-1]
    if len(past) >= rules.quiet_plies or any(len(row) != len(houses) or sum(row) != sum(houses) for row in past):
        raise ValueError(
            f"history must be fewer than {rules.quiet_plies} positions of {len(houses)} houses, each with as many "
            f"seeds as the present ones, {sum(houses)}, got {game['history']}"
        )
    if over := is_over(rules, houses, stores) or game["houses"] in past[1::2]:
        stores = [store + sum(row) for store, row in zip(stores, rows_of(houses, rules.houses), strict=True)]
        houses, past = [0] * len(houses), []
    codes = [code_of(mancala.from_player_0(row, (player + plies) % 2)) for plies, row in enumerate(past, 1)]
    history = [[code[k].value for code in codes] + [0] * (rules.quiet_plies - len(past)) for k in range(2)]
    fields = {"houses": houses, "stores": stores, "quiet": len(past), "history": history}
    return fields | {"current_player": player} | ended(over)


def is_over(rules: Oware, houses: list[int], stores: list[int]) -> bool:
    """Return whether stores decide the game, or the player to move has no legal action (W6, W7)."""
    half = rules.total // 2
    return max(stores) > half or min(stores) == half or not legal(houses)


def legal(houses: list[int]) -> list[int]:
    """Return the actions of the player to move, whose houses are the first ones."""
    return [house for house, may in enumerate(playable([scalar(n) for n in houses])) if may.value]


def action_to_string(rules: Oware, action: int) -> str:
    """Return the letter of the house, from A at the player's left (W12)."""
    return ascii_uppercase[action]


def symmetries(rules: Oware) -> Iterator[Symmetry]:
    """Yield the identity (W13)."""
    yield mancala.identity(rules)
