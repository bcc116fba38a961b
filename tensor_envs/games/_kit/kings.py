"""Texts and pictures of games in which a king must not be taken."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tensor_envs.games._kit.fen import PieceBoard
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.moves import Game
from tensor_envs.render.status import outcome, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile

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


def king_texts(
    names: Sequence[str],
    ending: Callable[[Any, dict[str, Any]], Ending],
    from_dict: Callable[[Any, Game], dict[str, Any]],
) -> tuple[Callable[[Any, Game], str], Callable[[Any, Game, dict[str, Any]], str]]:
    """Return the function `reason` of a game, and its function `status` of a position whose fields are known.

    Args:
        names: names of both players.
        ending, from_dict: functions of the game's render and notation modules.
    """

    def reason(rules: Any, game: Game) -> str:
        """Return why the game has ended."""
        return ending(rules, from_dict(rules, game)).reason

    def status(rules: Any, game: Game, fields: dict[str, Any]) -> str:
        """Return the status: the player to move, or how the game has ended."""
        end = ending(rules, fields)
        if end.reason:
            return outcome(names, end.winner, end.reason)
        return to_move(game, names[fields["current_player"]], "to move, in check" if end.check else "to move")

    return reason, status


def repeated(count: int) -> list[str]:
    """Return a line with the number of earlier occurrences of the position, or none if it is the first one."""
    return [f"earlier occurrences of this position: {count}"] if count else []


def missing(start: str, placed: str, letters: str) -> str:
    """Return the letters of the pieces of a first position that a position has lost."""
    return "".join(letter * max(0, start.count(letter) - placed.count(letter)) for letter in letters)


def draw_choices(picture: Drawing, corners: Sequence[Point], square: int, ends: Ends) -> None:
    """Make a square an area that stands for the actions which begin and end there."""
    if here := [action for action, squares in ends.items() if square in squares]:
        picture.area(corners, *here, targets=[action for action in here if ends[action][1] == square])


def draw_labels(picture: Drawing, grid: SquareGrid, board: PieceBoard, viewer: Any, left: float, gap: float) -> None:
    """Draw the names of columns above a board, and those of rows with their middle at `left`, as a viewer sees them."""
    step = -1 if viewer else 1
    for x, name in enumerate(board.columns[::step]):
        picture.text((grid.centre(0, x)[0], grid.top - gap), name, 12, INK)
    for y, name in enumerate(board.lines[::step]):
        picture.text((left, grid.centre(y, 0)[1]), name, 12, INK)


def tile_of(board: PieceBoard, sets: Sequence[tuple[str, int]], colour: Callable[[int, int, int, int], str]) -> Tile:
    """Return a small picture for each player to move; a square is three pixels wide and high.

    Args:
        board: squares.
        sets: fields that are sets of squares, and the number of the first word of each.
        colour: function of a pixel's row and column, of the player to move, and of the bits that its square has in the
            sets, the first set's the lowest.
    """

    def pixel(y: int, x: int, player: int) -> Pixel:
        """Return a pixel, which looks up its colour by those bits."""
        square = board.number_for(player, board.rows[y // 3][x // 3])
        colours = tuple(colour(y, x, player, key) for key in range(1 << len(sets)))
        return Pixel(colours, tuple(StateBits(field, word, square, 1) for field, word in sets))

    places = [(y, x) for y in range(3 * len(board.lines)) for x in range(3 * len(board.columns))]
    return Tile(3 * len(board.columns), tuple([pixel(y, x, player) for y, x in places] for player in (0, 1)))
