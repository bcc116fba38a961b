"""Leduc poker: two players, six cards, two rounds of betting, and a public card between them.

Rules and rulings: RULES.md beside this file. Cards are 0..5, of rank card // 2. `history` is a set of bits: the i-th
action of round r is bit 8 * r + 2 * i if it was a call, the next bit if it was a raise, and none if it was a fold.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.rules import Scalar, int32, maximum, minimum, nth_missing, sort, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits, one_hot
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

CARDS, PAIR = 6, 3  # a pair's strength exceeds every rank
FOLD = 0
CALL = 1
RAISE = 2
# raises a round at most, and their amount in each round
ANTE = 1
RAISES = 2
AMOUNTS = (2, 4)
MAX_BET = ANTE + RAISES * sum(AMOUNTS)  # largest bet of a player in a game
ROUND_BITS = 2 * (RAISES + 2)  # bits of `history` for a round: a call, all raises, a call
DEALS = CARDS * (CARDS - 1) * (CARDS - 2)


@dataclass(frozen=True)
class LeducPoker:
    """Rules of Leduc poker, without fields."""

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=3,
            observation_shape=(2 + 2 * CARDS + 2 * ROUND_BITS,),
            fields=(
                Field("cards", (2,), high=CARDS - 1),
                Field("public", high=CARDS - 1),  # lies face down in the first round
                Field("bets", (2,), high=MAX_BET),
                Field("round", high=1),
                Field("actions", high=RAISES + 2),  # in this round
                Field("raises", high=RAISES),  # in this round
                Field("history", high=2 ** (2 * ROUND_BITS) - 1),
            ),
            chance=True,
            perfect_information=False,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Deal; all deals are equally likely (L1)."""
        deal = chance.draw(0, DEALS)
        first = deal % CARDS
        second = (first + 1 + deal // CARDS % (CARDS - 1)) % CARDS
        public = nth_missing(sort([first, second]), deal // (CARDS * (CARDS - 1)))
        return {"cards": [first, second], "public": public, "bets": [ANTE, ANTE]}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow a fold after a raise, a call, and a raise unless there were two (L3)."""
        return [s.bets[0] != s.bets[1], True, s.raises < RAISES]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        folds = action == FOLD
        raises = action == RAISE
        player = s.current_player
        amount = where(s.round == 0, *AMOUNTS)
        bet = where(folds, where(player == 0, *s.bets), maximum(*s.bets) + where(raises, amount, 0))
        bets = where(player == 0, [bet, s.bets[1]], [s.bets[0], bet])
        closes = (action == CALL) & (s.actions > 0)  # L4
        over = folds | (closes & (s.round == 1))
        strengths = [where(card // 2 == s.public // 2, PAIR, card // 2) for card in s.cards]
        shown = int32(strengths[0] > strengths[1]) - int32(strengths[0] < strengths[1])
        result = where(folds, where(player == 0, -1, 1), shown)
        first = where(over, result * minimum(*bets), 0)  # L5
        mark = where(folds, 0, where(raises, 2, 1)) << ROUND_BITS * s.round + 2 * s.actions
        after = s.replace(
            bets=bets,
            history=s.history | mark,
            round=where(closes, 1, s.round),
            actions=where(closes, 0, s.actions + 1),
            raises=where(closes, 0, s.raises + raises),
            current_player=where(closes, 0, 1 - player),
        )
        return Outcome(after, rewards=(first, -first), terminated=over)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player, its card, the public card once it is open, and all calls and raises (L6)."""
        public = where(s.round == 0, -1, s.public)
        return {
            "player": one_hot(player, 2),
            "own card": one_hot(where(player == 0, *s.cards), CARDS),
            "public card": one_hot(public, CARDS),
            "calls and raises of both rounds": bits(uint32(s.history), 2 * ROUND_BITS),
        }

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the opponent's card and, in the first round, the public card."""
        own = where(player == 0, *s.cards)
        deal = chance.draw(0, (CARDS - 1) * (CARDS - 2))
        # Five cards are hidden in the first round, and four in the second one, where the public card is known.
        in_first_round = (own + 1 + deal % (CARDS - 1)) % CARDS
        in_second_round = nth_missing(sort([own, s.public]), deal % (CARDS - 2))
        other = where(s.round == 0, in_first_round, in_second_round)
        public = where(s.round == 0, nth_missing(sort([own, other]), deal // (CARDS - 1)), s.public)
        return s.replace(cards=where(player == 0, [own, other], [other, own]), public=public)
