"""Dictionaries and action names of Tensor (stars)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensor_envs.games.tensor_stars.data import CARDS, PIECES
from tensor_envs.games.tensor_stars.resolution import ALL_PLACED
from tensor_envs.games.tensor_stars.rules import StarsRules
from tensor_envs.rules.plain import Limits, checked, field_limits

# no symmetries but the identity: a half turn would exchange the players, and player 0 is the first to place
COMMIT, ORDER, OVER = range(3)  # phases
ORDERS = ("PRINTED", "REVERSED")
# entries that are fields
LISTS = ("pos", "commit", "points")
COUNTERS = ("turn", "hands", "cursor", "mover", "winner")


def to_dict(rules: StarsRules, s: dict[str, Any]) -> dict[str, Any]:
    """Convert the fields of a game to the names and encodings of section 3 of the rules."""
    over = s["terminated"] or s["truncated"]
    return {
        "pos": s["pos"],
        "hand": [[cards >> card & 1 for card in range(CARDS)] for cards in s["hand"]],
        "commit": s["commit"],
        "scored": [int(scored) for scored in s["scored"]],
        "points": s["points"],
        **{name: s[name] for name in COUNTERS},
        "phase": OVER if over else ORDER if s["placed"] == ALL_PLACED else COMMIT,
        "player": s["current_player"],
        "truncated": int(s["truncated"]),
        "flip": int(s["flip"]),
    }


def from_dict(rules: StarsRules, game: dict[str, Any]) -> dict[str, Any]:
    """Convert a dictionary to the fields of a game.

    Raises:
        ValueError, TypeError: an entry of another shape, type or range, or a state that no rules of the game allow.
    """
    limits: dict[str, Limits] = {
        **field_limits(rules, *LISTS, *COUNTERS),
        "hand": ((2, CARDS), 0, 1),
        "scored": ((PIECES,), 0, 1),
        "phase": ((), COMMIT, OVER),
        **dict.fromkeys(("player", "truncated", "flip"), ((), 0, 1)),
    }
    game = checked(game, limits)
    for message in _faults(rules, game):
        raise ValueError(message)
    over = game["phase"] == OVER
    return {
        **{name: game[name] for name in (*LISTS, *COUNTERS)},
        "hand": [sum(held << card for card, held in enumerate(cards)) for cards in game["hand"]],
        "placed": sum(card >= 0 for cards in game["commit"] for card in cards),
        "scored": [scored == 1 for scored in game["scored"]],
        "flip": game["flip"] == 1,
        "current_player": game["player"],
        "terminated": over and not game["truncated"],
        "truncated": game["truncated"] == 1,
    }


def _faults(rules: StarsRules, game: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each rule of the game that a state breaks."""
    # Pieces and cards: each is in one place.
    in_play = [space for space in game["pos"] if space >= 0]
    if not rules.board.spaces.issuperset(in_play) or len(set(in_play)) < len(in_play):  # I1
        yield f"pos must be different spaces of the board, got {game['pos']}"
    left = CARDS - PIECES * game["turn"]
    for hand, commit in zip(game["hand"], game["commit"], strict=True):
        placed = [card for card in commit if card >= 0]
        if len(set(placed)) < len(placed) or any(hand[card] for card in placed):  # I2
            yield f"a card is placed twice or is still in hand: commit {commit}, hand {hand}"
        if commit != placed + [-1] * (PIECES - len(placed)):  # F4
            yield f"cards must be placed for red, blue and yellow in this order, got {commit}"
        if sum(hand) + len(placed) != left:  # I2
            yield f"hand and commit must hold {left} cards of a player in turn {game['turn']}"
    # Each phase requires its own number of placed cards.
    phase, player = game["phase"], game["player"]
    counts = [sum(card >= 0 for card in cards) for cards in game["commit"]]
    if sum(counts) != ALL_PLACED and game["mover"] != -1:
        yield "mover must be -1 unless all six cards are placed"
    if phase == COMMIT and (game["cursor"] or any(game["scored"])):  # I3
        yield "cursor and scored must be 0 while cards are being placed"
    if phase == COMMIT and (counts[1 - player] != PIECES * player or counts[player] == PIECES):  # I3
        yield f"player {player} cannot be to place with {counts} cards placed"
    if phase == ORDER and sum(counts) != ALL_PLACED:
        yield f"all six cards must be placed when an order is asked for, got {game['commit']}"
    if phase == ORDER and not rules.deck[game["commit"][player][game["cursor"] // 2]].either:  # I7
        yield f"player {player} is asked for an order, but the card at the cursor has none"
    # The end: the phase, the winner and the points must agree.
    if phase != OVER and (game["winner"] >= 0 or game["truncated"] or game["hands"] == rules.max_hands):  # I4
        yield f"phase must be {OVER} when the game is over"
    for owner, points in enumerate(game["points"]):
        if (points == rules.points_to_win) != (owner == game["winner"]):
            yield f"points must be {rules.points_to_win} for the winner alone, got {game['points']}"


def action_to_string(rules: StarsRules, action: int) -> str:
    """Return an action's name (section 4.1): "PLACE(4)" for card 4, "PRINTED" or "REVERSED"."""
    return f"PLACE({action})" if action < CARDS else ORDERS[action - CARDS]
