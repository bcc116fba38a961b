"""Dictionaries and action names of oware."""

from itertools import pairwise
from string import ascii_uppercase
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import mancala
from tensor_envs.games.oware.rules import Oware, moved, playable, unpacked
from tensor_envs.render.grids import rows_of
from tensor_envs.rules import scalar
from tensor_envs.rules.plain import ended, values_of

SYNONYMS = ((r"\ba(?=\s+[A-Za-z])", ""),)  # the article, which is no house: "a capture from C"


def to_dict(rules: Oware, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"houses": ..., "stores": ..., "current_player": 0 or 1, "history": earlier houses, flat} (W11)."""
    houses = unpacked(s["start"], 2 * rules.houses)
    history = list[int]()
    for back in range(s["quiet"])[::-1]:
        history += mancala.from_player_0([int(n.value) for n in houses], (s["current_player"] + back + 1) % 2)
        houses, _ = moved(houses, rules.action_at(s["history"], scalar(back)))
    return mancala.to_dict(rules, s) | {"history": history}


def from_dict(rules: Oware, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; a decided game, and one without a legal action, are over."""
    houses, stores, player = mancala.seeds_of(rules, game)
    flat = nested("history", game["history"], (None,), 0, rules.total)
    past = [[*row] for row in rows_of(flat, len(houses))]
    positions = [mancala.from_player_0(row, (player + len(past) - k) % 2) for k, row in enumerate(past)] + [houses]
    actions = [action for pair in pairwise(positions) for action in quiet_actions(*pair)]
    if not len(past) == len(actions) < rules.quiet_plies:
        raise ValueError(
            f"history must be fewer than {rules.quiet_plies} positions of {len(houses)} houses, from each of which an "
            f"action without a capture leads to the next, and to the present one at last, got {game['history']}"
        )
    if over := is_over(rules, houses, stores) or houses in positions[-3::-2]:
        stores = [store + sum(row) for store, row in zip(stores, rows_of(houses, rules.houses), strict=True)]
        positions = [[0] * len(houses)]
        actions = []
    fields = {"houses": positions[-1], "stores": stores, "quiet": len(actions), "current_player": player}
    return fields | values_of(rules.remembered(positions, actions)) | ended(over)


def quiet_actions(houses: list[int], after: list[int]) -> list[int]:
    """Return the action without a capture that leads from a position to another, if there is one."""
    actions = legal(houses) if len(houses) == len(after) else []
    plies = [(action, *moved([scalar(n) for n in houses], scalar(action))) for action in actions]
    return [action for action, reached, gain in plies if not gain.value and [n.value for n in reached] == after]


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
