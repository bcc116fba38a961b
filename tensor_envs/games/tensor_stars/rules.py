"""Tensor (stars): two players, hidden cards for three shared pieces; who moves a piece onto a Star wins.

Rules and rulings: RULES.md beside this file. `data` has the rule fields, `resolution` what the cards do. A turn is six
placements, player 0's red, blue and yellow, then player 1's; the sixth resolves the turn in the same step, or as far as
a question of order, whose answer resolves the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.memory import put, select
from tensor_envs.core.spec import Chance, Field, GameState, Mask, Outcome, Scalar, Spec
from tensor_envs.games.tensor_stars.data import CARDS, PIECES, TURNS, StarsData
from tensor_envs.games.tensor_stars.resolution import ALL_PLACED, PRINTED, REVERSED, Resolution

NUM_ACTIONS = CARDS + 2
ALL_CARDS = (1 << CARDS) - 1
BOTH_ORDERS = 1 << PRINTED | 1 << REVERSED
OTHER_FEATURES = 96  # of an observation, beside the places of the pieces


def smallest(largest: int) -> DType:
    """The dtype for -1..largest."""
    return dtypes.int8 if largest < 2**7 else dtypes.int16 if largest < 2**15 else dtypes.int32


@dataclass(frozen=True, repr=False)
class StarsRules(StarsData):
    """The rules of one game."""

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=NUM_ACTIONS,
            observation_shape=(PIECES * (self.board.size + 1) + OTHER_FEATURES,),
            observation_dtype=dtypes.float32,
            fields=(
                Field("pos", (PIECES,), smallest(self.board.size)),  # -1: out of play
                Field("hand", (2,), dtypes.uint32),  # card i at bit i
                Field("commit", (2, PIECES)),  # -1: none yet
                Field("placed"),  # cards placed in this turn; 6 in a question of order
                Field("scored", (PIECES,), dtypes.bool),  # in this turn
                Field("points", (2,), smallest(self.points_to_win)),
                Field("turn"),
                Field("hands", (), smallest(self.max_hands)),  # hands completed
                Field("cursor"),  # the next card event: 2 * piece, + 1 for the second card
                Field("mover"),  # who last moved the piece that is resolving; -1: nobody
                Field("winner"),
                Field("flip", (), dtypes.bool),  # G23: player 0 is White
            ),
            chance=self.random_colours,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        flip = {"flip": chance.draw(0, 2).ne(0)} if self.random_colours else {}
        return {
            "pos": list(self.board.start_indices),
            "hand": [ALL_CARDS] * 2,
            "commit": [-1] * ALL_PLACED,
            "mover": -1,
            "winner": -1,
            **flip,
        }

    def legal_action_mask(self, s: GameState) -> Mask:
        """Section 4.1: a card of the own hand, or one of two orders."""
        return [s.placed.eq(ALL_PLACED).where(BOTH_ORDERS, select(s.hand, s.current_player))]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        answered = s.placed.eq(ALL_PLACED)
        action = action & 15  # words are shifted by it, illegal actions too, whose outcome is discarded
        placed = self.place(s, action, answered)
        after = Resolution(self, placed, answered, action)
        won = (after.winner < 0).logical_not()
        s = placed.replace(
            scored=after.scored,
            points=after.points,
            cursor=after.cursor,
            mover=after.mover,
            winner=after.winner,
            current_player=after.player,
        )
        s, truncated = self.end_turn(s, after)
        reward = won.where(after.winner.eq(0).where(1, -1), 0)
        return Outcome(s, rewards=(reward, -reward), terminated=won, truncated=truncated)

    def place(self, s: GameState, card: Scalar, answered: Scalar) -> GameState:
        """F4: a card for the next piece. An answer places none, being beyond the cards and the places for them."""
        left = ~(s.hand[0].const_like(1) << card.cast(dtypes.uint32))
        hand = [s.current_player.eq(player).where(cards & left, cards) for player, cards in enumerate(s.hand)]
        placed = answered.where(ALL_PLACED, s.placed + 1)
        return s.replace(
            hand=hand,
            commit=put(s.commit, s.placed, card),
            placed=placed,
            current_player=placed.eq(PIECES).where(1, s.current_player),
        )

    def end_turn(self, s: GameState, after: Resolution) -> tuple[GameState, Scalar]:
        """Section 4.4, if all cards have been played without a win -> the state, whether the game is cut off (G24)."""
        done = after.going
        if self.points_to_win > 1:  # else no piece leaves the board
            if not self.reset_at_once:
                after.lift([done & scored for scored in after.scored])
            after.put_back(done, range(PIECES))
        hand_over = done & s.turn.eq(TURNS - 1)
        hands = s.hands + hand_over.cast(dtypes.int32)  # F11
        s = s.replace(
            pos=[cell - after.cells.margin for cell in after.pieces],
            hand=[hand_over.where(ALL_CARDS, cards) for cards in s.hand],
            commit=[done.where(-1, card) for card in s.commit],
            placed=done.where(0, s.placed),
            scored=[scored & done.logical_not() for scored in s.scored],
            turn=hand_over.where(0, s.turn + done.cast(dtypes.int32)),
            hands=hands,
            cursor=done.where(0, s.cursor),
            current_player=done.where(0, s.current_player),
        )
        return s, hand_over & hands.eq(self.max_hands)

    def observe(self, s: GameState, player: Tensor) -> Tensor:
        """Section 6: the player's own chair, nothing that lies face down before the opponent."""
        me = player.reshape(-1, 1)
        side = me ^ s.flip.reshape(-1, 1).cast(dtypes.int32)
        size, pos = self.board.size, s.pos.cast(dtypes.int32)
        out = pos < 0
        if self.board.is_symmetric:
            pos = side.eq(1).where(size - 1 - pos, pos)
        places = one_hot(out.where(size, pos), size + 1)

        mine = me.eq(0).unsqueeze(-1)
        commit = s.commit.cast(dtypes.int32)
        own = mine.squeeze(-1).where(commit[:, 0], commit[:, 1])
        theirs = mine.squeeze(-1).where(commit[:, 1], commit[:, 0])
        all_placed = s.placed.reshape(-1, 1).eq(ALL_PLACED)
        resolving = (s.cursor.reshape(-1, 1) // 2).cast(dtypes.int32)  # this piece's cards have been revealed
        face_up = all_placed & (Tensor.arange(PIECES) <= resolving)
        hands = s.hand.unsqueeze(-1) >> Tensor.arange(CARDS, dtype=dtypes.uint32) & 1
        hands = hands.cast(dtypes.float32)
        my_cards = me.eq(0).where(hands[:, 0], hands[:, 1])
        their_cards = me.eq(0).where(hands[:, 1], hands[:, 0])
        # F5: what lies face down counts as not played yet
        hidden = one_hot(face_up.where(-1, theirs), CARDS).reshape(-1, PIECES, CARDS).sum(1)

        over = (s.winner.reshape(-1, 1) >= 0) | s.hands.reshape(-1, 1).eq(self.max_hands)
        to_move = s.current_player.reshape(-1, 1).eq(me) & over.logical_not()
        asked = all_placed & over.logical_not()
        points = s.points.cast(dtypes.float32) / self.points_to_win
        parts = (
            places,
            my_cards,
            one_hot(own, CARDS),
            their_cards + hidden,
            one_hot(face_up.where(theirs, -1), CARDS),
            one_hot(s.turn.reshape(-1, 1), TURNS),
            s.scored,
            one_hot(to_move.where(asked.cast(dtypes.int32), 2), 3),
            one_hot(asked.where(resolving, -1), PIECES),
            me.eq(0).where(points, points.flip(1)),
            side,
            s.hands.reshape(-1, 1).cast(dtypes.float32) / self.max_hands,
        )
        first, *rest = (part.cast(dtypes.float32) for part in parts)
        return first.cat(*rest, dim=1)


def one_hot(values: Tensor, size: int) -> Tensor:
    """[B, n] -> [B, n * size], all zero for a value that is not in 0..size-1."""
    return (values.unsqueeze(-1) == Tensor.arange(size)).reshape(values.shape[0], -1)
