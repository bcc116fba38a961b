"""Shed: two players play ever higher cards on one pile or pick it up; the player who then holds all cards has lost.

RULES.md beside this file has the rules and rulings. The hands of the player to move and of the opponent, and the pile,
are sets of cards as bit words, card c at bit c - 1. Every other card lies in the talon.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.rules import WORD_BITS, Scalar, bit, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_CARDS = WORD_BITS  # a set of cards is one word
PLIES_A_CARD = 100  # default of the limit (G1)


@dataclass(frozen=True)
class Shed:
    """Rules of one game.

    Attributes:
        cards: number of cards, 1..32 (G2).
        max_plies: length at which an episode is a draw; default: 100 * cards (G1).

    Raises:
        ValueError, TypeError: another value.
    """

    cards: int = 10
    max_plies: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, cards=(1, MAX_CARDS))
        if self.max_plies is None:
            object.__setattr__(self, "max_plies", PLIES_A_CARD * self.cards)
        check_fields(self, max_plies=(1, 2**31 - 1))

    @cached_property
    def all_cards(self) -> int:
        """Set of all cards."""
        return (1 << self.cards) - 1

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=self.cards + 1,
            observation_shape=(4, self.cards),
            # the hand of the player to move, the other hand, the pile
            fields=tuple(Field(name, kind="uint32") for name in ("own", "other", "pile")),
            max_plies=self.max_plies,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Return no fields: all cards lie in the talon (F1)."""
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the cards of hand and talon above the whole pile (F2), and whether there is a pile to pick up (F3)."""
        playable = ~(s.other | self.up_to_top(s.pile)) & self.all_cards
        pick_up = uint32(s.pile != 0)
        return [playable | pick_up << self.cards] if self.cards < WORD_BITS else [playable, pick_up]

    def up_to_top(self, pile: Scalar) -> Scalar:
        """Return the highest card of the pile and all cards below it."""
        length = 1
        while length < self.cards:
            pile = pile | pile >> length
            length = 2 * length
        return pile

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        picks_up = action == self.cards
        card = bit(action & WORD_BITS - 1)  # the mask keeps action 32, a pick-up, within a word
        hand = where(picks_up, s.own | s.pile, s.own & ~card)  # a card of the talon is not in the hand
        pile = where(picks_up, 0, s.pile | card)
        lost = hand == self.all_cards  # F4; never after a card has been played
        after = s.replace(own=s.other, other=hand, pile=pile, current_player=1 - s.current_player)
        return Outcome.win(after, after.current_player, lost)  # G3

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the own hand, the other hand, the pile and the talon (G3)."""
        moves = s.current_player == player
        own, other = where(moves, [s.own, s.other], [s.other, s.own])
        sets = {"own hand": own, "other hand": other, "pile": s.pile, "talon": ~(s.own | s.other | s.pile)}
        return {name: bits(cards, self.cards) for name, cards in sets.items()}
