"""Texts and pictures of games in which a king must not be taken."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.moves import Game
from tensor_envs.render.status import outcome, to_move
from tensor_envs.render.tile import Pixel, Tile

Ends = Mapping[int, tuple[int | None, int | None]]  # squares where actions begin and end


class Ending(NamedTuple):
    """Check and end of a position.

    Attributes:
        check: whether the player to move is in check.
        winner: the player who has won; None for a draw.
        reason: why the game has ended, "" while it goes on.
    """

    check: bool
    winner: int | None = None
    reason: str = ""


def status_of(names: Sequence[str], game: Game, player: int, ending: Ending) -> str:
    """Return the status: the player to move, or how the game has ended."""
    if ending.reason:
        return outcome(names, ending.winner, ending.reason)
    return to_move(game, names[player], "to move, in check" if ending.check else "to move")


def missing(start: str, placed: str, letters: str) -> str:
    """Return the letters of the pieces of a first position that a position has lost."""
    return "".join(letter * max(0, start.count(letter) - placed.count(letter)) for letter in letters)


def draw_choices(picture: Drawing, corners: Sequence[Point], square: int, ends: Ends) -> None:
    """Make a square an area that stands for the actions which begin and end there."""
    if here := [action for action, squares in ends.items() if square in squares]:
        picture.area(corners, *here, targets=[action for action in here if ends[action][1] == square])


def tile_of(rows: int, columns: int, pixel: Callable[[int, int, int], Pixel]) -> Tile:
    """Return a small picture for each player to move; a square is three pixels wide and high.

    Args:
        rows, columns: squares of the board.
        pixel: function of a pixel's row and column and of the player to move.
    """
    places = [(y, x) for y in range(3 * rows) for x in range(3 * columns)]
    return Tile(3 * columns, tuple([pixel(y, x, player) for y, x in places] for player in (0, 1)))
