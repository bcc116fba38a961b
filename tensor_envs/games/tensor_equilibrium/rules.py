"""Tensor, a game of equilibrium: one game, branch-free.

Rules and rulings: RULES.md beside this file, whose numbers (F7, G12) the comments cite; components: `data`. The state
is kept in words: a board as four sets of cells (`board`), counts by tile type as tallies (`tally`), seats in two bits
each. `legal` holds the masks, `turn` what an action does, `ends` what follows the end of a turn, a round, the game.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tinygrad import Tensor, UOp, dtypes

from tensor_envs.core.spec import Chance, Field, GameState, Mask, Outcome, Scalar, Spec
from tensor_envs.games.tensor_equilibrium import cards, tally
from tensor_envs.games.tensor_equilibrium.board import HALVES, PLANES, with_boards, with_halves
from tensor_envs.games.tensor_equilibrium.data import OPERATIONS, TYPES, Act, RuleFields
from tensor_envs.games.tensor_equilibrium.ends import go_on
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES
from tensor_envs.games.tensor_equilibrium.legal import legal_actions
from tensor_envs.games.tensor_equilibrium.players import SEAT_BITS, wrapped
from tensor_envs.games.tensor_equilibrium.turn import act
from tensor_envs.games.tensor_equilibrium.view import observation, observation_dtype, observation_size


def number(value: int) -> Scalar:
    return UOp.const(value, dtypes.int32)


def every(count: int, slots: int = TYPES) -> Scalar:
    """A tally with the same count in every slot."""
    return UOp.const(tally.pack([count] * slots), dtypes.uint32)


@dataclass(frozen=True)
class TensorEquilibrium(RuleFields):
    """The fields are those of `data.RuleFields`."""

    @cached_property
    def num_actions(self) -> int:
        """The EDGE actions are the last: three directions from every cell."""
        return Act.CELL + (1 + len(STRIDES)) * self.cells

    @cached_property
    def spec(self) -> Spec:
        players = self.players
        return Spec(
            num_players=players,
            num_actions=self.num_actions,
            observation_shape=(observation_size(self) + self.num_actions,),
            observation_dtype=observation_dtype(self),
            chance=True,
            fields=(
                # boards, see `board`; 32-bit halves, since a CPU then has twice the lanes for all that is narrow
                Field("tiles", (players, PLANES, HALVES), dtypes.uint32),
                # tallies by tile type, or by operation card
                Field("level", (players,), dtypes.uint32),  # tokens, in steps above level_min
                Field("storage", (players,), dtypes.uint32),
                Field("face_up", (players,), dtypes.uint32),  # face-up tiles on the board
                Field("hand", (players,), dtypes.uint32),
                Field("pile", (), dtypes.uint32),
                Field("market", (), dtypes.uint32),
                Field("supply", (), dtypes.uint32),
                Field("ops", (), dtypes.uint32),
                # Tensor cards: what they allow as words (see `cards`), fixed for the game, and which they are
                Field("partners", (players,), dtypes.uint32),
                Field("rows", (players,), dtypes.int16),
                Field("card", (players,), dtypes.int8),
                Field("gpu", (players,), dtypes.int8),
                Field("pend_flip", (players,), dtypes.int8),  # types still to flip a tile of, as bits
                # seats, two bits each
                Field("order", (), dtypes.uint8),  # in turn order
                Field("next_order", (), dtypes.uint8),  # in order of passing
                Field("passed", (), dtypes.uint8),  # a bit a seat
                Field("n_passed"),
                Field("phase"),
                Field("pos"),  # in `order`; during the set-up, players that are done
                Field("pend_target"),  # seat that a tile is on its way to, else -1
                Field("pend_type"),  # of a tile on its way; ADD: removed type, then new type; else -1
                Field(
                    "pend_bit"
                ),  # of the cell that ADD has vacated, or of the pair that MUL copies; else -1
                Field("pend_direction"),  # from the first of that pair to the second
                Field("picks_left"),
                Field("tweaks_left"),
                Field("final", (), dtypes.bool),
                Field("final_left"),  # final actions not yet begun
                Field("round", (), dtypes.int16),  # completed rounds
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Set-up up to the players' choices (F2 to F8); the pile is the pool that they choose from."""
        players = range(self.players)
        first = number(self.first_player) if self.first_player >= 0 else chance.draw(0, self.players)  # G13
        seats = [wrapped(self, first + i) for i in players]  # F8
        card = cards.deal(self, chance)
        partners = [cards.partner_word(c) for c in self.tensor_cards]
        rows = [cards.row_word(c) for c in self.tensor_cards]
        pool = self.tiles_per_type_per_player * self.players  # F4
        return {
            "current_player": seats[0] if self.setup_order == "turn" else number(0),  # G14
            "level": [every(self.level_start - self.level_min)] * self.players,  # F2
            "gpu": [first.eq(p).where(number(self.gpu_start_first), self.gpu_start) for p in players],  # F7
            "card": card,
            "partners": [cards.lookup(partners, index, dtypes.uint32) for index in card],
            "rows": [cards.lookup(rows, index) for index in card],
            "order": sum((seat << SEAT_BITS * i for i, seat in enumerate(seats)), start=number(0)),
            "pile": every(pool),
            "supply": every(self.tiles_per_type - pool),
            "ops": every(self.op_copies[self.players - 1], len(OPERATIONS)),  # F3
            "pend_target": number(-1),
            "pend_type": number(-1),
            "pend_bit": number(-1),
        }

    def legal_action_mask(self, s: GameState) -> Mask:
        return legal_actions(self, with_boards(s))

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        outcome = go_on(self, *act(self, with_boards(s), action, chance))
        return replace(outcome, state=with_halves(outcome.state))

    def observe(self, s: GameState, player: Tensor) -> Tensor:
        return observation(self, s, player)
