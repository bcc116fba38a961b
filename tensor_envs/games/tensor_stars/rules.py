"""Tensor (stars): two players, hidden cards for three shared pieces; who moves a piece onto a Star wins.

RULES.md beside this file has the rules and rulings. `data` has the rule fields, `resolution` the effect of the cards. A
turn is six placements: player 0's red, blue and yellow, then player 1's. The sixth placement resolves the turn in the
same step, up to a question of order; its answer resolves the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tensor_envs.games.tensor_stars.data import CARDS, PIECES, TURNS, StarsFields
from tensor_envs.games.tensor_stars.resolution import ALL_PLACED, EVENTS, PRINTED, REVERSED, PaddedBoard, Resolution
from tensor_envs.rules import Scalar, bit, float32, int32, nth_bit, popcount, put, select, uint32, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits, number, one_hot
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

NUM_ACTIONS = CARDS + 2
ALL_CARDS = (1 << CARDS) - 1
BOTH_ORDERS = 1 << PRINTED | 1 << REVERSED
OTHER_FEATURES = 96  # entries of an observation besides the places of the pieces
NEW_TURN: dict[str, Any] = {
    "commit": [[-1] * PIECES] * 2,
    "placed": 0,
    "scored": [False] * PIECES,
    "cursor": 0,
    "mover": -1,
    "current_player": 0,
}


@dataclass(frozen=True, repr=False)
class StarsRules(StarsFields):
    """Rules of one game; `data.StarsFields` has the rule fields."""

    @cached_property
    def spec(self) -> Spec:
        lowest = -1 if self.pieces_leave else 0  # -1: out of play
        return Spec(
            num_players=2,
            num_actions=NUM_ACTIONS,
            observation_shape=(PIECES * (self.board.size + 1) + OTHER_FEATURES,),
            observation_dtype="float32",
            fields=(
                Field("pos", (PIECES,), low=lowest, high=self.board.size - 1),
                Field("hand", (2,), high=ALL_CARDS),  # card i at bit i
                Field("commit", (2, PIECES), low=-1, high=CARDS - 1),  # -1: not placed
                Field("placed", high=ALL_PLACED),  # cards placed in this turn; all in a question of order
                Field("scored", (PIECES,), kind="bool"),  # in this turn
                Field("points", (2,), high=self.points_to_win),
                Field("turn", high=TURNS - 1),
                Field("hands", high=self.max_hands),  # hands completed
                Field("cursor", high=EVENTS - 1),  # the next card event: 2 * piece, + 1 for the second card
                Field("mover", low=-1, high=1),  # player who last moved the resolving piece, or -1
                Field("winner", low=-1, high=1),
                Field("flip", kind="bool"),  # G23: player 0 is White
            ),
            chance=self.random_colours,
            perfect_information=False,
        )

    @cached_property
    def padded(self) -> PaddedBoard:
        """Board with a margin."""
        return PaddedBoard(self.board)

    def init(self, chance: Chance) -> dict[str, Any]:
        flip = {"flip": chance.draw(0, 2) != 0} if self.random_colours else {}
        return {"pos": self.board.start_indices, "hand": [ALL_CARDS] * 2, "winner": -1, **NEW_TURN, **flip}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow the cards in hand, or both orders when the player orders a card's parts."""
        return [uint32(where(s.placed == ALL_PLACED, BOTH_ORDERS, select(s.hand, s.current_player)))]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        answered = s.placed == ALL_PLACED
        turn = Resolution(self, self.padded, self.place(s, action, answered), answered, action)
        s = self.next_turn(turn.state, turn.active)
        cut_off = turn.active & (s.hands == self.max_hands)  # G24
        return replace(Outcome.win(s, s.winner, s.winner >= 0), truncated=cut_off)

    def place(self, s: GameState, card: Scalar, answered: Scalar) -> GameState:
        """Place a card for the next piece (F4). An answer to a choice is no card, and its index places none."""
        hand = [where(s.current_player == player, cards & ~(1 << card), cards) for player, cards in enumerate(s.hand)]
        placed = where(answered, ALL_PLACED, s.placed + 1)
        return s.replace(
            hand=hand,
            commit=[put(cards, s.placed - player * PIECES, card) for player, cards in enumerate(s.commit)],
            placed=placed,
            current_player=where(placed == PIECES, 1, s.current_player),
        )

    def next_turn(self, s: GameState, done: Scalar) -> GameState:
        """Lay the cards aside once all are played; after the third turn all are in hand again (F11)."""
        hand_over = done & (s.turn == TURNS - 1)
        return s.replace(
            hand=where(hand_over, [ALL_CARDS] * 2, s.hand),
            turn=where(hand_over, 0, s.turn + done),
            hands=s.hands + hand_over,
            **{name: where(done, new, getattr(s, name)) for name, new in NEW_TURN.items()},
        )

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the position from the player's side of the table, without the opponent's face-down cards."""
        side = player ^ s.flip
        size = self.board.size
        turned = (side == 1) if self.board.is_symmetric else False
        places = [where(pos < 0, size, where(turned, size - 1 - pos, pos)) for pos in s.pos]

        mine, theirs, face_down, left = table(s, player)
        all_placed = s.placed == ALL_PLACED
        resolving = s.cursor >> 1
        over = (s.winner >= 0) | (s.hands == self.max_hands)
        asked = all_placed & ~over
        points = [float32(select(s.points, p)) * (1 / self.points_to_win) for p in (player, 1 - player)]
        shown = [where(down, -1, card) for down, card in zip(face_down, theirs, strict=True)]
        return {
            "place of each piece from the player's side, the last one off the board": [
                one_hot(place, size + 1) for place in places
            ],
            "own hand": bits(select(s.hand, player), CARDS),
            "own card on each piece": [one_hot(card, CARDS) for card in mine],
            "cards that the opponent may hold": bits(left, CARDS),
            "the opponent's open card on each piece": [one_hot(card, CARDS) for card in shown],
            "turn": one_hot(s.turn, TURNS),
            "pieces that have scored": bits(s.scored, PIECES),
            "the player places, decides, or waits": one_hot(
                where((s.current_player == player) & ~over, int32(asked), 2), 3
            ),
            "piece that is resolved": one_hot(where(asked, resolving, -1), PIECES),
            "points of the player and of the opponent, of those that win": [*map(number, points)],
            "side of the table": number(side),
            "hands played, of the most": number(float32(s.hands) * (1 / self.max_hands)),
        }

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the opponent's face-down cards and hand."""
        mine, theirs, face_down, left = table(s, player)
        first = player == 0
        dealt = list[Scalar]()
        for piece, (down, card) in enumerate(zip(face_down, theirs, strict=True)):
            new = nth_bit(left, chance.draw(piece, popcount(left)))
            dealt.append(where(down, new, card))
            left = where(down, left & ~bit(new), left)
        hand = int32(left)
        return s.replace(
            commit=where(first, [mine, dealt], [dealt, mine]), hand=where(first, [s.hand[0], hand], [hand, s.hand[1]])
        )


def table(s: GameState, player: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar], Scalar]:
    """Return a player's cards for the pieces and three facts about the opponent.

    Returns:
        The player's cards, the opponent's cards, which of these lie face down (F5), and the set of the opponent's
        hand and face-down cards.
    """
    mine, theirs = (where(player == first, *s.commit) for first in range(2))
    up = [(s.placed == ALL_PLACED) & (s.cursor >> 1 >= piece) for piece in range(PIECES)]
    face_down = [(card >= 0) & ~shown for card, shown in zip(theirs, up, strict=True)]
    down = [where(lies, bit(card & 15), 0) for lies, card in zip(face_down, theirs, strict=True)]
    return mine, theirs, face_down, union_of([uint32(select(s.hand, 1 - player)), *down])
