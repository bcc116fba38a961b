"""Positions of oware as text and as drawings."""

from string import ascii_lowercase, ascii_uppercase
from typing import Any

from tensor_envs.games._kit import mancala
from tensor_envs.games.oware.notation import legal
from tensor_envs.games.oware.rules import Oware
from tensor_envs.render.drawing import Drawing


def actions_of(rules: Oware, game: dict[str, Any]) -> list[int]:
    """Return the legal actions, none once the game is over."""
    return [] if game.get("terminated") else legal(mancala.from_player_0(game["houses"], game["current_player"]))


def status(rules: Oware, game: dict[str, Any]) -> str:
    """Return the status: the winner, a draw, or the player to move."""
    return mancala.status(game, over=not actions_of(rules, game) and not game.get("terminated"))


def house_names(rules: Oware) -> list[str]:
    """Return the names of player 0's houses and of player 1's."""
    return [*ascii_uppercase[: rules.houses], *ascii_lowercase[: rules.houses]]


def to_string(rules: Oware, game: dict[str, Any]) -> str:
    """Return the board, player 0's houses below with their store at the right, the quiet plies, and the status."""
    quiet = len(game["history"]) // len(game["houses"])
    count = f"plies without a capture: {quiet} of {rules.quiet_plies}"
    return "\n".join([*mancala.lines_of(rules, game, house_names(rules)), count, status(rules, game)])


def draw(rules: Oware, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click on a house that may be sown sows it."""
    return mancala.draw(rules, game, "Oware", house_names(rules), actions_of(rules, game), status(rules, game))


tile = mancala.tile
players = mancala.players
scores = mancala.scores
reason = mancala.reason
explain = mancala.explain
