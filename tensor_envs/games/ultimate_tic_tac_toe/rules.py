"""Ultimate tic-tac-toe: a mark's place on its small board says on which board the opponent plays.

Rules and rulings: RULES.md beside this file. The grid is two sets of 81 cells, the marks of the player to move and the
opponent's, row by row from the top; three of its rows are a band of three small boards. Sets of small boards have nine
bits.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.rules import Grid, GridSet, Scalar, bit, has_bit, int32, select, uint32, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SIDE, CELLS = 9, 81  # cells of a row, and of the grid
GRID = Grid(SIDE, SIDE)
SMALL = 0b111 | 0b111 << SIDE | 0b111 << 2 * SIDE  # the first small board of a band
BOARDS = 2**9 - 1  # all small boards


@dataclass(frozen=True)
class UltimateTicTacToe:
    """Rules of ultimate tic-tac-toe, without fields."""

    cells = CELLS  # their number

    @property
    def spec(self) -> Spec:
        # marks and won small boards, of the player to move and of the opponent
        marks = (Field(name, (GRID.words,), kind="uint32") for name in ("own", "other"))
        boards = (Field(name, high=BOARDS) for name in ("own_boards", "other_boards"))
        # small boards that are closed, and those for the next mark
        sets = (Field(name, high=BOARDS) for name in ("closed", "active"))
        fields = *marks, *boards, *sets
        # all cells are legal at the start and when any board may be chosen, mostly those of one board are
        return Spec(2, CELLS, observation_shape=(5, SIDE, SIDE), fields=fields, max_legal=CELLS)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"active": BOARDS}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the empty cells of the active boards (U4)."""
        return cells_of(s.active) - s.own - s.other

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        row = action // SIDE
        column = action % SIDE
        own = GRID.cell(action) | s.own
        place = column // 3 * 3
        small, marks = (small_board(cells, row // 3, place) for cells in (own, own | s.other))
        board = bit(row // 3 * 3 + column // 3)
        cell = row % 3 * 3 + column % 3
        won = has_line(small, SIDE)  # U3
        own_boards = s.own_boards | int32(where(won, board, 0))
        closed = s.closed | int32(where(won | (marks == SMALL), board, 0))
        win = has_line(uint32(own_boards), 3)  # U5
        full = closed == BOARDS
        active = where(has_bit(uint32(closed), cell), ~closed & BOARDS, int32(bit(cell)))  # U4
        after = s.replace(
            own=s.other,
            other=own,
            own_boards=s.other_boards,
            other_boards=own_boards,
            closed=closed,
            active=where(win | full, 0, active),
            current_player=1 - s.current_player,
        )
        return Outcome.win(after, s.current_player, win).draw(full)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return marks and boards of the player, then of the opponent, and the legal cells (U7)."""
        moves = s.current_player == player
        mine, yours = ([*s.own, s.own_boards], [*s.other, s.other_boards])
        planes = []
        for one, two in ((mine, yours), (yours, mine)):
            planes.append([where(moves, a, b) for a, b in zip(one, two, strict=True)])
        marks = [plane[:-1] for plane in planes]
        boards = [cells_of(plane[-1]) for plane in planes]
        names = "own marks", "the opponent's marks", "own boards", "the opponent's boards", "legal cells"
        sets = (*marks, *boards, s.legal_action_mask)
        return {name: bits(cells, CELLS) for name, cells in zip(names, sets, strict=True)}


def cells_of(boards: Scalar) -> GridSet:
    """Return all cells of a set of small boards."""
    bands = []
    for k in range(3):
        three = uint32(boards) >> 3 * k
        firsts = three & 1 | (three & 2) << 2 | (three & 4) << 4  # the columns with which they begin
        bands.append(GRID.shift([firsts * SMALL, uint32(0), uint32(0)], 3 * k, 0))
    return union_of(bands)


def small_board(cells: GridSet, band: Scalar, column: Scalar) -> Scalar:
    """Return the marks of the small board in a band that begins with a column, in the places of the first one."""
    bands = [GRID.shift(cells, -3 * k, 0)[0] for k in range(3)]
    return select(bands, band) >> uint32(column) & SMALL


def has_line(board: Scalar, row: int) -> Scalar:
    """Return whether a 3x3 board has three in a line. `row` is the number of bits from one row to the next."""
    return Grid(3, row).lines([board], 3).any()
