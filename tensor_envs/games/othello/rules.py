"""Othello: a disc flips the lines of opposing discs that it outflanks; more discs at the end win.

Rules and rulings: RULES.md beside this file. The board is two sets of 64 squares, the discs of the player to move and
the opponent's; squares are numbered row by row from the top.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.games._kit.sets import moved_by
from tensor_envs.rules import Scalar, halves, popcount, sum_of, uint32, uint64, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SIDE, SQUARES = 8, 64
PASS = SQUARES
START = (1 << 28 | 1 << 35, 1 << 27 | 1 << 36)  # discs of black, player 0, and of white (O1)
BOARD = (1 << SQUARES) - 1
INNER = sum(0b01111110 << row for row in range(0, SQUARES, SIDE))  # all columns but the first and the last
# steps between neighbours on a line, and the squares that can lie between the ends of such lines
LINES = ((1, INNER), (SIDE - 1, INNER), (SIDE, BOARD), (SIDE + 1, INNER))
WAYS = [(step * sign, between) for step, between in LINES for sign in (1, -1)]


@dataclass(frozen=True)
class Othello:
    """Rules of Othello, without fields."""

    @property
    def spec(self) -> Spec:
        # discs of the player to move, the opponent's, and the squares of legal discs
        fields = tuple(Field(name, kind="uint64") for name in ("own", "other", "moves"))
        return Spec(2, SQUARES + 1, observation_shape=(2, SIDE, SIDE), fields=fields, max_legal=SQUARES)

    def init(self, chance: Chance) -> dict[str, Any]:
        own, other = map(uint64, START)
        return {"own": own, "other": other, "moves": moves(own, other)}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the squares from which discs are outflanked (O3), or a pass if there is none (O4)."""
        return [*halves(s.moves), uint32(s.moves == 0)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        disc = where(action == PASS, uint64(0), uint64(1) << action % SQUARES)
        turned = outflanked(disc, s.own, s.other)
        own = s.own | disc | turned
        other = s.other & ~turned
        answers = moves(other, own)
        over = (answers | moves(own, other)) == 0  # O5
        counts = popcount(own), popcount(other)
        scores = where(s.current_player == 0, counts, counts[::-1])
        after = s.replace(own=other, other=own, moves=answers, current_player=1 - s.current_player)
        return Outcome.scores(after, scores, over)  # O6

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's discs, then the opponent's (O7)."""
        own, other = where(s.current_player == player, [s.own, s.other], [s.other, s.own])
        return {"own discs": bits(own, SQUARES), "the opponent's discs": bits(other, SQUARES)}


def runs(start: Scalar, discs: Scalar, step: int) -> Scalar:
    """Return the runs of up to six discs that follow the squares of `start`, by parallel prefix."""
    run = discs & moved_by(start, step)
    run |= discs & moved_by(run, step)
    pairs = discs & moved_by(discs, step)
    for _ in range(2):
        run |= pairs & moved_by(run, 2 * step)
    return run


def moves(own: Scalar, other: Scalar) -> Scalar:
    """Return the empty squares from which a disc would outflank opposing ones (O2, O3)."""
    ends = uint64(0)
    for step, between in WAYS:
        ends |= moved_by(runs(own, other & between, step), step)
    return ends & ~(own | other)


def outflanked(disc: Scalar, own: Scalar, other: Scalar) -> Scalar:
    """Return the opposing discs in line between a new disc and an own one (O2)."""
    lines = ((runs(disc, other & between, step), step) for step, between in WAYS)
    return sum_of(where((moved_by(line, step) & own) != 0, line, 0) for line, step in lines)
