"""English draughts: captures are compulsory, and a player without a move loses.

Rules and rulings: RULES.md beside this file. The 32 dark squares are the bits of a word, square 1 the lowest.
"""

from dataclasses import dataclass
from itertools import chain
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs.games._kit.sets import ALL, moved_by
from tensor_envs.rules import (
    Chance,
    Field,
    GameState,
    Mask,
    Observation,
    Outcome,
    Scalar,
    Spec,
    bit,
    bits,
    select,
    union_of,
    where,
    word,
    word64,
)

SIDE, SQUARES = 8, 32
JUMP = 4 * SQUARES  # the first action that is a jump (D8)
MEN = (0xFFF, 0xFFF00000)  # of Black, player 0, and of White at the start (D1)
KINGS_ROWS = (0xF0000000, 0xF)  # where men of either player become kings
# Rows whose squares are in columns 2, 4, 6, 8 and in columns 1, 3, 5, 7; squares at the right and the left edge.
EVEN, ODD, RIGHT, LEFT = 0x0F0F0F0F, 0xF0F0F0F0, 0x08080808, 0x10101010
# For each direction the squares that have a neighbour there, and the step to it.
WAYS = (
    ((EVEN, -4), (ODD & ~LEFT, -5)),
    ((EVEN & ~RIGHT, -3), (ODD, -4)),
    ((EVEN & ~RIGHT, 5), (ODD, 4)),
    ((EVEN, 4), (ODD & ~LEFT, 3)),
)
DIRECTIONS = ("up-left", "up-right", "down-right", "down-left")
SPREAD = (0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF, 0x0F0F0F0F0F0F0F0F, 0x3333333333333333, 0x5555555555555555)
EVEN_ROWS, BOARD = 0x00FF00FF00FF00FF, 2**64 - 1  # of 64 squares


@dataclass(frozen=True)
class Checkers:
    """Rule fields of English draughts (D13).

    Attributes:
        quiet_plies: plies without a capture or a man's step after which the game is drawn, 1..100.
    """

    quiet_plies: int = 80

    def __post_init__(self) -> None:
        object.__setattr__(self, "quiet_plies", checked("quiet_plies", self.quiet_plies, 1, 100))

    @property
    def spec(self) -> Spec:
        # pieces of the player to move, the opponent's, kings of both, the piece that must go on jumping; plies since a
        # capture or a man's step
        sets = tuple(Field(name, kind="word") for name in ("own", "other", "kings", "jumper"))
        quiet = Field("quiet", high=self.quiet_plies)
        return Spec(2, 2 * JUMP, observation_shape=(13, SIDE, SIDE), fields=(*sets, quiet))

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"own": word(MEN[0]), "other": word(MEN[1])}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the squares of each direction's steps, none if a piece can jump, then those of its jumps (D3, D4)."""
        steps, jumps = moves(s)
        must_jump = union_of(jumps) != 0
        return [*(where(must_jump, 0, squares) for squares in steps), *jumps]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        jumps, start = action >= JUMP, bit(action % SQUARES)
        near = [neighbours(start, way) for way in WAYS]
        steps, leaps = (select(ends, action // SQUARES % len(WAYS)) for ends in (near, [*map(neighbours, near, WAYS)]))
        end, taken = where(jumps, leaps, steps), where(jumps, steps, 0)
        is_king = (s.kings & start) != 0
        crowned = ~is_king & ((end & where(s.current_player == 0, *map(word, KINGS_ROWS))) != 0)
        kings = s.kings & ~(start | taken) | where(is_king | crowned, end, 0)
        own, other = s.own & ~start | end, s.other & ~taken
        quiet = where(jumps | ~is_king, 0, s.quiet + 1)
        same = s.replace(own=own, other=other, kings=kings, jumper=end, quiet=quiet)
        again = jumps & ~crowned & (union_of(moves(same)[1]) != 0)  # D4, D5
        turned = {"own": other, "other": own, "jumper": 0, "current_player": 1 - s.current_player}
        after = same.replace(**{name: where(again, getattr(same, name), value) for name, value in turned.items()})
        won = union_of(chain(*moves(after))) == 0  # D6
        return Outcome.win(after, s.current_player, won).draw(quiet >= self.quiet_plies)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return men and kings of both players, the piece that must go on, and constant planes (D10)."""
        sides = where(s.current_player == player, [s.own, s.other], [s.other, s.own])
        facts = [player == 0, *((s.quiet >> k & 1) != 0 for k in range(7))]
        black, *quiet = (bits(where(fact, word64(BOARD), 0), SIDE * SIDE) for fact in facts)
        own, other = ([bits(spread(side & kind), SIDE * SIDE) for kind in (~s.kings, s.kings)] for side in sides)
        return {
            "own men, own kings": own,
            "the opponent's men, the opponent's kings": other,
            "piece that must go on jumping": bits(spread(s.jumper), SIDE * SIDE),
            "the player is Black": black,
            "binary digits of the quiet plies": quiet,
        }


def neighbours(squares: Scalar, way: tuple[tuple[int, int], ...]) -> Scalar:
    """Return the neighbours of some squares in a direction; those beyond the board are dropped."""
    return union_of(moved_by(squares & rows, step) for rows, step in way)


def moves(s: GameState) -> tuple[list[Scalar], list[Scalar]]:
    """Return for each direction the squares from which the player to move can step, and those of jumps."""
    free, steps, jumps = ~(s.own | s.other), [], []
    movers = where(s.jumper == 0, s.own, s.jumper)  # D4
    for k in range(len(WAYS)):
        back, is_forward = WAYS[(k + 2) % len(WAYS)], s.current_player == (k < 2)
        able = movers & (s.kings | where(is_forward, word(ALL), 0))  # D2
        behind = neighbours(free, back)
        steps.append(able & behind)
        jumps.append(able & neighbours(s.other & behind, back))
    return steps, jumps


def spread(squares: Scalar) -> Scalar:
    """Return the dark squares as a set of all 64 squares, row by row from the top."""
    board = word64(squares)
    for k, mask in enumerate(SPREAD):
        by = SQUARES // 2 >> k
        board = (board | board << by) & mask  # which opens gaps between runs of half the length
    return (board & EVEN_ROWS) << 1 | board & ~word64(EVEN_ROWS)
