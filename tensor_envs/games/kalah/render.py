"""Positions of Kalah as text and as drawings."""

from typing import Any

from tensor_envs.games._kit import mancala
from tensor_envs.games.kalah.rules import Kalah
from tensor_envs.render.drawing import Drawing


def status(game: dict[str, Any]) -> str:
    """Return the status: the winner, a draw, or the player to move."""
    return mancala.status(game, over=not any(game["houses"]))


def house_names(rules: Kalah) -> list[str]:
    """Return the names of player 0's houses and of player 1's."""
    return [str(k + 1) for k in range(rules.houses)] * 2


def to_string(rules: Kalah, game: dict[str, Any]) -> str:
    """Return the board, player 0's houses below with their store at the right, and the status."""
    return "\n".join([*mancala.lines_of(rules, game, house_names(rules)), status(game)])


def draw(rules: Kalah, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click on a house with seeds of the player to move sows it."""
    own = game["houses"][rules.houses * game["current_player"] :][: rules.houses]
    actions = [] if game.get("terminated") else [k for k, seeds in enumerate(own) if seeds]
    return mancala.draw(rules, game, "Kalah", house_names(rules), actions, status(game))


tile = mancala.tile
players = mancala.players
scores = mancala.scores
reason = mancala.reason
explain = mancala.explain
