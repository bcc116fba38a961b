"""Tensor, a game of equilibrium: rules of one game.

RULES.md beside this file has the rules and rulings; comments cite its numbers (F7, G12). A board is four sets of cells
(`board`), and counts by tile type are tallies (`tally`). `legal` has the masks, `turn` the effect of an action, `ends`
the end of a turn, a round and the game, and `view` the observation.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import EVERY_TYPE, PLANES
from tensor_envs.games.tensor_equilibrium.cards import deal, partner_word, row_bits
from tensor_envs.games.tensor_equilibrium.data import OPERATIONS, TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.ends import finish_turn
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon
from tensor_envs.games.tensor_equilibrium.legal import legal_actions
from tensor_envs.games.tensor_equilibrium.players import wrapped
from tensor_envs.games.tensor_equilibrium.turn import act
from tensor_envs.games.tensor_equilibrium.view import observation, observation_dtype, observation_size
from tensor_envs.rules import Scalar, int32, lookup, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec


@dataclass(frozen=True)
class TensorEquilibrium(RuleFields):
    """Rules of one game; `data.RuleFields` has the rule fields."""

    @cached_property
    def spec(self) -> Spec:
        players = self.players
        return Spec(
            num_players=players,
            num_actions=self.num_actions,
            observation_shape=(observation_size(self) + self.num_actions,),
            observation_dtype=observation_dtype(self),
            chance=True,
            perfect_information=True,  # the pile's counts follow from the visible tiles (I1, G44)
            fields=(
                Field("tiles", (players, PLANES), kind="uint64"),  # boards, see `board`
                # tallies by tile type, or by operation card
                Field("level", (players,), kind="uint32"),  # tokens, in steps above level_min
                Field("storage", (players,), kind="uint32"),
                Field("face_up", (players,), kind="uint32"),  # face-up tiles on the board
                Field("hand", (players,), kind="uint32"),
                Field("pile", kind="uint32"),
                Field("market", kind="uint32"),
                Field("supply", kind="uint32"),
                Field("ops", kind="uint32"),
                # Tensor cards, fixed for the game: what they allow (see `cards`), and their indices
                Field("partners", (players,), kind="uint32"),
                Field("rows", (players,), high=(1 << 2 * TYPES) - 1),
                Field("card", (players,), high=len(self.tensor_cards) - 1),
                Field("gpu", (players,), high=self.gpu_max),
                Field(
                    "pend_flip", (players,), high=EVERY_TYPE
                ),  # types of which a tile is still to be flipped, as bits
                Field("order", (players,), high=players - 1),  # players in turn order
                Field("next_order", (players,), low=-1, high=players - 1),  # in order of passing, then -1
                Field("passed", (players,), kind="bool"),
                Field("n_passed", high=players),
                Field("phase", high=Phase.OVER),
                Field("pos", high=players - 1),  # in `order`; during the set-up, the number of players that are done
                Field("pend_target", low=-1, high=players - 1),  # player who gets the pending tile, or -1
                # type of the pending tile; in ADD the removed type, then the new one; else -1
                Field("pend_type", low=-1, high=TYPES - 1),
                # bit of the cell that ADD vacated, or of the pair that MUL copies; else -1
                Field("pend_bit", low=-1, high=Hexagon(self.board_radius).bits[-1]),
                Field("pend_direction", high=len(STRIDES) - 1),  # from the first tile of that pair to the second
                Field("picks_left", high=self.market_size),
                Field("tweaks_left", high=max(self.load_tweaks, *self.op_tweaks)),
                Field("final", kind="bool"),
                Field("final_left", high=players),  # final actions not yet begun
                Field("round", high=self.max_rounds),  # completed rounds
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Return the fields before the players' set-up choices (F2 to F8). The pile is the pool for them."""
        players = range(self.players)
        first = int32(self.first_player) if self.first_player >= 0 else chance.draw(0, self.players)  # G13
        order = [wrapped(self, first + i) for i in players]  # F8
        cards = deal(self, chance)
        pool = self.tiles_per_type_per_player * self.players  # F4
        return {
            "current_player": order[0] if self.setup_order == "turn" else 0,  # G14
            "level": [tally.every(self.level_start - self.level_min)] * self.players,  # F2
            "gpu": [where(first == p, self.gpu_start_first, self.gpu_start) for p in players],  # F7
            "card": cards,
            "partners": [uint32(lookup([partner_word(c) for c in self.tensor_cards], card)) for card in cards],
            "rows": [lookup([row_bits(c) for c in self.tensor_cards], card) for card in cards],
            "order": order,
            "next_order": [-1] * self.players,
            "pile": tally.every(pool),
            "supply": tally.every(self.tiles_per_type - pool),
            "ops": tally.every(self.op_copies[self.players - 1], len(OPERATIONS)),  # F3
            "pend_target": -1,
            "pend_type": -1,
            "pend_bit": -1,
        }

    def legal_action_mask(self, s: GameState) -> Mask:
        return legal_actions(self, s)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        return finish_turn(self, *act(self, s, action, chance))

    def observe(self, s: GameState, player: Scalar) -> Observation:
        return observation(self, s, player)
