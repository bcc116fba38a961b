"""Kuhn poker: two players, three cards, one bet.

Rules and rulings: RULES.md beside this file. Cards are 0 (jack), 1 (queen), 2 (king); bit i of `bets` says whether the
i-th action was a bet.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.rules import Chance, Field, GameState, Mask, Observation, Outcome, Scalar, Spec, bits, one_hot, where

CARDS, MAX_PLIES = 3, 3
PASS, BET = 0, 1


@dataclass(frozen=True)
class KuhnPoker:
    """Rules of Kuhn poker, without fields."""

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=2,
            observation_shape=(2 + CARDS + 2 * MAX_PLIES,),
            fields=(Field("cards", (2,), high=CARDS - 1), Field("bets", high=2**MAX_PLIES - 1)),
            chance=True,
            perfect_information=False,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Deal; the six deals are equally likely (K1)."""
        deal = chance.draw(0, CARDS * (CARDS - 1))
        first = deal % CARDS
        return {"cards": [first, another(first, deal // CARDS)]}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow to pass and to bet, always (K2)."""
        return [True, True]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        # answers: the action answers a bet
        bet = action == BET
        answers = s.bets != 0
        over = answers | ((s.ply == 1) & ~bet)  # K3
        first_is_higher = s.cards[0] > s.cards[1]
        first_wins = where(answers & ~bet, s.current_player == 1, first_is_higher)
        stake = where(answers & bet, 2, 1)
        first = where(over, where(first_wins, stake, -stake), 0)  # K4
        bets = s.bets | where(bet, 1, 0) << s.ply
        after = s.replace(bets=bets, current_player=1 - s.current_player)
        return Outcome(after, rewards=(first, -first), terminated=over)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player, its card, and for each ply whether the action was a pass and whether it was a bet (K5)."""
        card = where(player == 0, s.cards[0], s.cards[1])
        plies = range(MAX_PLIES)
        actions = [(s.ply > i) & ((s.bets >> i & 1) == kind) for i in plies for kind in (PASS, BET)]
        return {
            "player": one_hot(player, 2),
            "own card": one_hot(card, CARDS),
            "pass and bet at each ply": bits(actions, 2 * MAX_PLIES),
        }

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the opponent's card from those that the player does not hold."""
        own = where(player == 0, s.cards[0], s.cards[1])
        other = another(own, chance.draw(0, CARDS - 1))
        return s.replace(cards=where(player == 0, [own, other], [other, own]))


def another(card: Scalar, which: Scalar) -> Scalar:
    """Return one of the other two cards, by a number from 0."""
    return (card + 1 + which) % CARDS
