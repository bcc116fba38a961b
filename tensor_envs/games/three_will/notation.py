"""Dictionaries and action names of Three Will."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensor_envs.games.three_will.agents import packed, unpacked
from tensor_envs.games.three_will.data import (
    AGENTS,
    CHALLENGE,
    EXAMINE,
    FREE,
    NOBODY,
    OPTIONS,
    OVER,
    PASS,
    PLAYERS,
    SIDE,
    SLOTS,
    SQUARES,
    USE_FREE,
)
from tensor_envs.games.three_will.rules import ThreeWillRules
from tensor_envs.rules.plain import Limits, checked, field_limits

SAME_NAMES = ("ces", "dr", "free", "die", "phase", "turns", "declarer", "turn_owner", "winner")
# no symmetries but the identity: a half turn or a mirror would exchange colours or faces of the die, not only places
TURN = (0, SQUARES - 1)  # by player: square ^ TURN[player] is the square as that player sees it


def to_dict(rules: ThreeWillRules, s: dict[str, Any]) -> dict[str, Any]:
    """Convert the fields of a game to the names and encodings of section 3 of the rules."""
    places = unpacked(s["agents"])
    ids = [0] * AGENTS
    for player, slots in enumerate(s["bearers"]):
        for number in range(SLOTS):
            ids[SLOTS * player + (slots >> 4 * number & 0xF)] = number + 1
    return {
        "pos": [place % SQUARES ^ TURN[agent // SLOTS] for agent, place in enumerate(places)],
        "lvl": [place // SQUARES for place in places],
        "ids": ids,
        **{name: s[name] for name in SAME_NAMES},
        "challenge_left": int(s["challenge_left"]),
        "after": 1 if s["after"] else -1,
        "player": s["current_player"],
        "t": s["ply"],
        "truncated": int(s["truncated"]),
    }


def from_dict(rules: ThreeWillRules, game: dict[str, Any]) -> dict[str, Any]:
    """Convert a dictionary to the fields of a game.

    Raises:
        ValueError, TypeError: an entry of another shape, type or range, or a state that no game has.
    """
    game = _checked(rules, game)
    ids = [game["ids"][SLOTS * p :][:SLOTS] for p in range(PLAYERS)]
    squares = [pos ^ TURN[agent // SLOTS] for agent, pos in enumerate(game["pos"])]
    return {
        "agents": packed([square + SQUARES * level for square, level in zip(squares, game["lvl"], strict=True)]),
        "bearers": [sum(slot << 4 * (n - 1) for slot, n in enumerate(numbers)) for numbers in ids],
        **{name: game[name] for name in SAME_NAMES},
        "challenge_left": game["challenge_left"] == 1,
        "after": game["after"] == 1,
        "current_player": game["player"],
        "ply": game["t"],
        "terminated": game["winner"] != NOBODY,
        "truncated": game["truncated"] == 1,
    }


def _checked(rules: ThreeWillRules, entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries as lists of ints. Raise ValueError or TypeError for one that is out of range."""
    limits: dict[str, Limits] = {
        "pos": ((AGENTS,), 0, SQUARES - 1),
        "lvl": ((AGENTS,), 0, 1),
        "ids": ((AGENTS,), 1, SLOTS),
        **field_limits(rules, *SAME_NAMES),
        "player": ((), 0, PLAYERS - 1),
        "t": ((), 0, 2**30 - 1),
        "after": ((), -1, 1),
        **dict.fromkeys(("challenge_left", "truncated"), ((), 0, 1)),
    }
    game = checked(entries, limits)
    for message in _faults(rules, game):
        raise ValueError(message)
    return game


def _faults(rules: ThreeWillRules, game: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each rule of the game that a state breaks."""
    if not game["after"]:
        yield "after must be 1 or -1, got 0"
    if sum(game["dr"]) + sum(game["free"]) > rules.cards_total:  # I3
        yield f"dr and free must be at most {rules.cards_total} cards together"
    pos, lvl = game["pos"], game["lvl"]
    # Stacks: a square holds one agent on the ground, and at most one on top of it.
    for square in set(pos):  # I1, I2
        here = sorted((a for a in range(AGENTS) if pos[a] == square), key=lambda a: lvl[a])
        if [lvl[a] for a in here] not in ([0], [0, 1]):
            yield f"the agents {here} on square {square} must be one of level 0, or that and one of level 1"
        locked = [square // SIDE == (0 if a // SLOTS else SIDE - 1) for a in here]
        if rules.held_under_locked == "released" and locked == [True, False]:
            yield f"agent {here[1]} on square {square} cannot be under agent {here[0]}, which is locked"
    # The end and each phase have requirements of their own.
    phase, player = game["phase"], game["player"]
    if (phase == OVER) != (game["winner"] != NOBODY or game["truncated"] == 1):  # I5, I8
        yield f"phase must be {OVER} if and only if the game has a winner or is truncated"
    if game["winner"] != NOBODY and game["truncated"]:
        yield "a game with a winner is not truncated"
    if phase == FREE and not game["free"][player]:
        yield "player needs a Free card to be in phase FREE"
    declared = game["declarer"] == 1 - player and game["turn_owner"] != NOBODY and game["challenge_left"]
    if phase == CHALLENGE and not declared:
        yield "a challenge needs challenge_left, a turn_owner, and the player's opponent as declarer"
    # Numbers are exchanged within a colour only.
    for first in range(0, AGENTS, SLOTS):
        if sorted(game["ids"][first:][:SLOTS]) != list(range(1, SLOTS + 1)):
            yield f"ids must be 1..{SLOTS} in some order for either colour, got {game['ids']}"


def action_to_string(rules: ThreeWillRules, action: int) -> str:
    """Return an action's name: "2a" for option a of slot 2, "pass", "free card" or "examine 2"."""
    if action < PASS:
        slot, option = divmod(action, OPTIONS)
        return f"{slot}{'abc'[option]}"
    return {PASS: "pass", USE_FREE: "free card"}.get(action, f"examine {action - EXAMINE}")
