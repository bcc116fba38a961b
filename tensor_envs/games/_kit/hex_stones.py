"""Stones on boards of six-sided cells on which both players have the same goals: rules, notation and pictures.

The board is a part of a grid of rows and columns, so that actions are numbers of the grid's cells, row by row from the
top; those beside the board are never legal.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import permutations
from typing import Any

from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.hex_boards import (
    ACROSS,
    COLOURS,
    FOOT,
    FREE,
    GRID,
    MARGIN,
    MIN_WIDTH,
    NAMES,
    RADIUS,
    STEPS,
    corners_of,
    draw_cell,
)
from tensor_envs.games._kit.stones import SIGNS, STONES, adjacent, regions
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.grids import INK, cell_name
from tensor_envs.render.moves import Game
from tensor_envs.render.status import outcome, signed, to_move
from tensor_envs.render.tile import Pixel, Tile, stone_pixel
from tensor_envs.rules import Grid, GridSet, Scalar, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.grid import Step
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import ended, open_actions
from tensor_envs.rules.spec import Field, GameState, Mask, Spec, Symmetry


class HexStones:
    """Game in which two players place stones on six-sided cells; a subclass is a dataclass with `step` and `winning`.

    Attributes:
        title: title of pictures.
        steps: rows and columns to the neighbours of a cell.
        lean: cells by which a row is further to the right than the row above it, 1/2 or -1/2.
    """

    title: str
    steps: tuple[Step, ...] = STEPS
    lean: float = 0.5

    @property
    def side(self) -> int:
        """Number of rows and of columns of the grid."""
        raise NotImplementedError

    @property
    def inside(self) -> list[int]:
        """Cells on the board, in order."""
        raise NotImplementedError

    @property
    def memory(self) -> tuple[Field, ...]:
        """Fields beside the stones: planes of the groups' numbers, see `games._kit.sets`."""
        return ()

    def winning(self, board: list[int]) -> tuple[set[int], str]:
        """Return the stones that have won, and why; no stones while the game goes on."""
        raise NotImplementedError

    # *** rules ***

    @property
    def cells(self) -> int:
        """Number of cells of the grid."""
        return self.grid.size

    @cached_property
    def grid(self) -> Grid:
        """Rows and columns of which the board is a part."""
        return Grid(self.side, self.side)

    @cached_property
    def board(self) -> GridSet:
        """Set of the cells on the board."""
        return self.grid.of(self.inside)

    @property
    def spec(self) -> Spec:
        sets = tuple(Field(name, (self.grid.words,), kind="uint32") for name in ("own", "other"))
        return Spec(2, self.cells, (3, self.side, self.side), sets + self.memory)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the empty cells."""
        return self.board - s.own - s.other

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's stones, the opponent's, and the empty cells."""
        moves = s.current_player == player
        own = where(moves, s.own, s.other)
        other = where(moves, s.other, s.own)
        empty = self.board - s.own - s.other
        planes = {"own stones": own, "the opponent's stones": other, "empty cells": empty}
        return {name: bits(cells, self.cells) for name, cells in planes.items()}

    # *** notation ***

    to_dict = stones.to_dict

    def from_dict(self, game: Game) -> Game:
        """Return the fields of a dictionary; winning stones or a full board end the game."""
        board, player = stones.board_and_player(game, self.cells)
        for cell in set(range(self.cells)) - set(self.inside):
            if board[cell]:
                raise ValueError(f"board[{cell}] must be 0, since it is not on the board, got {board[cell]}")
        own, other = stones.to_sets(board, player)
        over = bool(self.winning(board)[0]) or self.is_full(board)
        fields = {"own": own, "other": other, "current_player": player} | ended(over)
        for planes in self.memory:
            fields[planes.name] = stones.group_planes(self.groups_of(board), planes.shape[0], self.cells, self.number)
        return fields

    def number(self, cell: Any) -> Any:
        """Return the number of a cell, a plain number or a scalar, for that of its group."""
        return cell + 1

    def is_full(self, board: list[int]) -> bool:
        """Return whether all cells have stones."""
        return all(board[cell] for cell in self.inside)

    def groups_of(self, board: list[int]) -> list[set[int]]:
        """Return the sets of connected stones of one player."""
        occupied = (cell for cell, stone in enumerate(board) if stone)
        return [group for group, _ in regions(board, occupied, self.neighbours)]

    @cached_property
    def neighbours(self) -> Callable[[int], list[int]]:
        """Function of a cell's neighbours on the grid."""
        return adjacent(self.side, self.steps)

    def action_to_string(self, action: int) -> str:
        """Return a column's letter and a row's number from the top, "f6"."""
        return cell_name(action, self.side)

    def symmetries(self) -> Iterator[Symmetry]:
        """Yield the rotations and reflections of the board, the identity first."""
        places = self.places()
        cell_at = {place: cell for cell, place in places.items()}
        maps = dict[tuple[int, ...], None]()
        for sign in (1, -1):
            for order in permutations(range(3)):
                images = {cell: tuple(sign * place[k] for k in order) for cell, place in places.items()}
                if {*images.values()} == {*cell_at}:  # cells beside the board stay where they are
                    maps[tuple(cell_at[images[c]] if c in images else c for c in range(self.cells))] = None
        for cells in maps:
            yield kit.of_cells(cells, 3, derived=[field.name for field in self.memory])

    def places(self) -> dict[int, tuple[int, ...]]:
        """Return three coordinates of each cell on the board, along its three axes.

        They are counted from the middle of the board, in small parts of a cell, and their sum is 0.
        """
        axes = dict[int, tuple[int, int]]()
        for cell in self.inside:
            row, column = divmod(cell, self.side)
            axes[cell] = (column if self.lean > 0 else column - row, row)
        first, second = (sum(axis) for axis in zip(*axes.values(), strict=True))
        count = len(axes)
        places = {cell: (count * x - first, count * y - second) for cell, (x, y) in axes.items()}
        return {cell: (x, y, -x - y) for cell, (x, y) in places.items()}

    # *** pictures ***

    def players(self, game: Game | None) -> list[str]:
        """Return the names of the seats."""
        return list(NAMES)

    def reason(self, game: Game) -> str:
        """Return why the game was won."""
        return self.winning(game["board"])[1]

    def status(self, game: Game, names: tuple[str, ...] | list[str] = NAMES) -> str:
        """Return the status: the winner or a draw, or the player to move."""
        marked, why = self.winning(game["board"])
        if marked:
            return outcome(names, STONES.index(game["board"][min(marked)]), why)
        return outcome(names, None) if self.is_full(game["board"]) else to_move(game, names[game["current_player"]])

    @cached_property
    def tops(self) -> dict[int, int]:
        """First row of each column."""
        return {cell % self.side: cell // self.side for cell in reversed(self.inside)}

    @cached_property
    def firsts(self) -> dict[int, int]:
        """First column of each row."""
        return {cell // self.side: cell % self.side for cell in reversed(self.inside)}

    def shift(self, row: int) -> int:
        """Return by how many halves of a cell a row is further to the right than row 0."""
        return round(2 * self.lean * row)

    @cached_property
    def span(self) -> tuple[int, int]:
        """First and last half of a cell, from left to right."""
        halves = [2 * (cell % self.side) + self.shift(cell // self.side) for cell in self.inside]
        return min(halves), max(halves) + 1

    def to_string(self, game: Game) -> str:
        """Return rows of X, O and ".", the number of a row before it, a column's letter above it, and the status."""
        first, last = self.span
        lines = [[" "] * (last - first + 5) for _ in range(self.side + 1)]

        def write(row: int, column: int, text: str, before: int = 0) -> None:
            """Write a text in a cell, or some characters before it."""
            start = 2 * column + self.shift(row) - first + 3 - before
            for k, letter in enumerate(text):
                lines[row + 1][start + k] = letter

        for cell in self.inside:
            write(*divmod(cell, self.side), SIGNS[game["board"][cell]])
        for row, column in self.firsts.items():
            write(row, column, f"{row + 1:>2}", before=3)
        for column, row in self.tops.items():
            write(row - 1, column, cell_name(column, self.side)[0])
        return "\n".join([*("".join(line).rstrip() for line in lines), self.status(game, signed(NAMES))])

    def draw(self, game: Game) -> Drawing:
        """Draw the board; a click on a cell plays there."""
        first, last = self.span
        wide = ACROSS * (last - first + 1) / 2
        high = RADIUS * (1.5 * self.side + 0.5)
        picture = Drawing(max(wide + 2 * MARGIN, MIN_WIDTH), high + 2 * MARGIN + FOOT, title=self.title)
        left = (picture.width - wide - ACROSS * first) / 2

        def corners(row: int, column: int) -> list[Point]:
            return corners_of(left, row, column, self.lean)

        board = game["board"]
        marked = self.winning(board)[0]
        legal = open_actions(self, game, self.from_dict(game))
        for cell in self.inside:
            shape = corners(*divmod(cell, self.side))
            draw_cell(picture, shape, board[cell], marked=cell in marked)
            if cell in legal:
                picture.area(shape, cell)
        for row, column in self.firsts.items():
            x, y = corners(row, column)[0]
            picture.text((x - ACROSS / 2 - 18, y + RADIUS), str(row + 1), 12, INK)
        for column, row in self.tops.items():
            x, y = corners(row - 1, column)[0]
            picture.text((x, y + RADIUS), cell_name(column, self.side)[0], 12, INK)
        picture.text((picture.width / 2, picture.height - 24), self.status(game), 14, INK)
        return picture

    def tile(self) -> Tile:
        """Return the board as a small picture; a cell is two pixels wide and high."""
        first, last = self.span
        rows = [[Pixel((GRID,))] * (last - first + 1) for _ in range(self.side)]
        for cell in self.inside:
            row, column = divmod(cell, self.side)
            start = 2 * column + self.shift(row) - first
            rows[row][start : start + 2] = [stone_pixel(cell, FREE, COLOURS[1], COLOURS[-1])] * 2
        return Tile(last - first + 1, ([pixel for row in rows for _ in (0, 1) for pixel in row],))
