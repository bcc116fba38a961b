"""Xiangqi: a general that cannot escape an attack, and a player without a legal move, lose.

Rules and rulings: RULES.md beside this file. A position is stored from the side of the player to move, whose soldiers
go to higher ranks: every move reverses the ranks. The kind of the piece on a square is a number of three binary digits,
each of which is a set of squares.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.games._kit.past import Change, Past
from tensor_envs.games.xiangqi.moves import (
    BOARD,
    GRID,
    KIND_DIGITS,
    PLANES,
    LegalSets,
    fields_of,
    legal_moves,
    moved,
    pieces_of,
    turned,
)
from tensor_envs.rules import Actions, Scalar, minimum, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits, constant, digits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_QUIET = 127
QUIET_DIGITS = 7
START = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR"  # X1
# plies since the last capture, each from the side of its player: squares, and the kind of the piece
PAST = Past((MAX_QUIET + 1) // 2, {"starts": 7, "ends": 7, "kinds": KIND_DIGITS}, things=32)
ACTIONS = Actions(**{f"plane_{k}": GRID.size for k in range(len(PLANES))})


@dataclass(frozen=True)
class Xiangqi:
    """Rule fields of xiangqi (X15).

    Attributes:
        quiet_plies: plies without a capture after which the game is drawn, 1..127.
    """

    quiet_plies: int = 120

    def __post_init__(self) -> None:
        check_fields(self, quiet_plies=(1, MAX_QUIET))

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=ACTIONS.count,
            # chariots and cannons 17 each, horses 8 each, advisors 4, elephants 6, the general 4, soldiers 3 each
            max_legal=4 * 17 + 2 * 8 + 4 + 6 + 4 + 5 * 3,
            observation_shape=(2 * 7 + 2 + QUIET_DIGITS, GRID.rows, GRID.columns),
            fields=(
                Field("own", (GRID.words,), kind="uint32"),
                Field("pieces", (KIND_DIGITS, GRID.words), kind="uint32"),
                Field("quiet", high=self.quiet_plies),  # plies since the last capture
                # checks that each player has given in a row until now, those of the player to move first
                Field("checks", (2,), high=PAST.plies),
                *PAST.fields,
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return fields_of(BOARD.pieces_of(START))

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the mask of all planes (X9)."""
        moves = legal_moves(pieces_of(s))
        return ACTIONS.mask(**{f"plane_{k}": plane for k, plane in enumerate(moves.planes)})

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        start, end, kind, captures, after = moved(s, action)
        moves = legal_moves(pieces_of(after))
        quiet = where(captures, 0, s.quiet + 1)
        checks = [s.checks[1], where(moves.check, minimum(s.checks[0] + 1, PAST.plies), 0)]
        checks = where(captures, [0, 0], checks)
        left = [(0, {name: start, "kinds": kind}) for name in ("starts", "ends")]
        reached = [(0, {name: end, "kinds": kind}) for name in ("starts", "ends")]
        past = PAST.after(s, {"starts": start, "ends": end, "kinds": kind}, [Change(left, reached)], ~captures)
        after = after.replace(quiet=quiet, checks=checks, current_player=1 - s.current_player, **past)
        stuck, repeated, culprit = ends(after, moves)
        # The opponent loses without a legal move; either player may lose by perpetual check.
        loser = where(stuck | (culprit == 0), 1 - s.current_player, s.current_player)
        lost = stuck | repeated & (culprit >= 0)
        return Outcome.win(after, 1 - loser, lost).draw(repeated | (quiet >= self.quiet_plies))

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return planes: the player's pieces, the opponent's, and constant ones (X13)."""
        mine = s.current_player == player
        own, other, *kinds = (where(mine, cells, turned(cells)) for cells in pieces_of(s))
        sides = where(mine, [own, other], [other, own])
        own_kinds, other_kinds = ([bits(kind & side, GRID.size) for kind in kinds] for side in sides)
        return {
            "own soldiers, advisors, elephants, horses, chariots, cannons, general": own_kinds,
            "the opponent's pieces in the same order": other_kinds,
            "the position has occurred before": constant(PAST.recurrences(s).any(), GRID.size),
            "the player is Black": constant(player == 1, GRID.size),
            "binary digits of the quiet plies": digits(s.quiet, QUIET_DIGITS, GRID.size),
        }


def ends(s: GameState, moves: LegalSets) -> tuple[Scalar, Scalar, Scalar]:
    """Return whether the player to move has no move, whether the position is the third of its kind, and the culprit.

    The culprit of a repetition loses by perpetual check: 0 for the player to move, 1 for the opponent, -1 for neither
    (X12).
    """
    stuck = ~union_of(moves.planes).any()
    same = PAST.recurrences(s)
    since = PAST.plies_since(same)
    checked = [checks >= since for checks in s.checks]
    culprit = where(checked[0] & ~checked[1], 0, where(checked[1] & ~checked[0], 1, -1))
    return stuck, (same.count() >= 2) & ~stuck, culprit
