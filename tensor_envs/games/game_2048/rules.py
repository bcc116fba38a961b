"""2048: one player slides the tiles of a 4x4 board; equal ones merge, and every slide adds a tile.

Rules and rulings: RULES.md beside this file. A cell is 0 if it is empty, else the exponent of its tile: 11 is 2048.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tensor_envs.rules import Scalar, Value, any_of, int32, nth_bit, pack_flags, popcount, put, sum_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, one_hot
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SIDE, CELLS = 4, 16
HIGHEST = CELLS + 1  # 131072: it needs a 4 beside fifteen different tiles
UP, RIGHT, DOWN, LEFT = range(4)
TILES = 10  # one new tile in TILES is a 4

Line = list[Scalar]
Board = Sequence[Sequence[Scalar]]


@dataclass(frozen=True)
class Game2048:
    """Rules of 2048, without fields."""

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=1,
            num_actions=4,
            observation_shape=(SIDE, SIDE, HIGHEST + 1),
            fields=(Field("board", (SIDE, SIDE), high=HIGHEST),),
            chance=True,
            zero_sum=False,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        board = spawned([[int32(0)] * SIDE] * SIDE, chance, 0)
        return {"board": spawned(board, chance, 1)}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the slides that move or merge a tile (T2)."""
        return slides(s.board)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        vertical = (action & 1) == 0
        backwards = (action == RIGHT) | (action == DOWN)
        lines = list[Line]()
        rewards = list[Scalar]()
        for line in turned(s.board, vertical, backwards):
            slid, merged = slide(line)
            lines.append(slid)
            rewards.append(merged)
        board = spawned(turned_back(lines, vertical, backwards), chance, s.ply + 2)
        return Outcome(s.replace(board=board), rewards=[sum_of(rewards)], terminated=~any_of(slides(board)))

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the one-hot exponent 0..17 of every cell (T6)."""
        return {"exponent of each cell, row by row": [one_hot(cell, HIGHEST + 1) for row in s.board for cell in row]}


def turned(rows: Board, vertical: Scalar, backwards: Scalar) -> list[Line]:
    """Return rows or columns, each from the side to which tiles slide."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    lines = [where(vertical, column, row) for column, row in zip(columns, rows, strict=True)]
    return [where(backwards, line[::-1], line) for line in lines]


def turned_back(lines: list[Line], vertical: Scalar, backwards: Scalar) -> list[Line]:
    """Return the rows of a board from its `turned` lines."""
    forwards = [where(backwards, line[::-1], line) for line in lines]
    return turned(forwards, vertical, int32(0) != 0)


def slide(line: Line) -> tuple[Line, Scalar]:
    """Return a line with its tiles slid to the start and merged in pairs from there (T3), and the reward (T4)."""
    line = list(line)
    for last in range(SIDE - 1, 0, -1):  # gaps move to the end
        for i in range(last):
            gap = line[i] == 0
            line[i : i + 2] = [where(gap, line[i + 1], line[i]), where(gap, 0, line[i + 1])]
    a, b, c, d = line
    ab = (a == b) & (a != 0)
    bc = (b == c) & (b != 0) & ~ab
    cd = (c == d) & (c != 0) & ~bc
    third = where(cd, c + 1, c)
    slid = [
        a + ab,
        where(ab, third, b + bc),
        where(ab, where(cd, 0, d), where(bc, d, third)),
        where(ab | bc | cd, 0, d),
    ]
    merged = ((ab, a), (bc, b), (cd, c))
    return slid, sum_of(where(pair, 2, 0) << tile for pair, tile in merged)


def slides(rows: Board) -> list[Scalar]:
    """Return for each action whether it moves or merges a tile of some pair of neighbours."""
    columns = zip(*rows, strict=True)
    moving: dict[int, list[Scalar]] = {action: [] for action in (UP, RIGHT, DOWN, LEFT)}
    for lines, to_first, to_second in ((rows, LEFT, RIGHT), (columns, UP, DOWN)):
        for line in lines:
            for first, second in pairwise(line):
                merges = (first == second) & (first != 0)
                moving[to_first].append(merges | ((first == 0) & (second != 0)))
                moving[to_second].append(merges | ((second == 0) & (first != 0)))
    return [any_of(moving[action]) for action in (UP, RIGHT, DOWN, LEFT)]


def spawned(board: Board, chance: Chance, event: Value) -> Board:
    """Return the board with a new tile in one of the empty cells (T5)."""
    [empty] = pack_flags([cell == 0 for row in board for cell in row])
    drawn = chance.draw(event, TILES * popcount(empty, CELLS))
    place = nth_bit(empty, drawn // TILES, CELLS)
    tile = where(drawn % TILES == 0, 2, 1)
    return [put(row, place - SIDE * i, tile) for i, row in enumerate(board)]
