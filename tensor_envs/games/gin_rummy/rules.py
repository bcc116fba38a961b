"""Gin rummy: two players arrange ten cards each in melds, and the first with little deadwood may knock.

Rules and rulings: RULES.md beside this file. Card c has the suit c // 13 and the rank c % 13; -1 is no card or no meld.
Sets of cards are words as in `melds.py`.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tensor_envs.games._kit.counts import up_to
from tensor_envs.games.gin_rummy import melds
from tensor_envs.games.gin_rummy.melds import CARDS, RANKS, SUITS, VALUES, value_of
from tensor_envs.rules import (
    WORD_BITS,
    Actions,
    Scalar,
    Value,
    int32,
    lookup,
    maximum,
    repeat,
    scalar,
    uint32,
    uint64,
    where,
)
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import any_of, nth_bit, popcount, put, set_of, sum_of
from tensor_envs.rules.observation import Observation, bits, one_hot
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

HAND = 10
DECK = 2**CARDS - 1
WALL_CARDS = 2  # cards of the stock that are never drawn
MAX_UPCARDS = 50  # the draw of an upcard that ends the game
MAX_BONUS = 1000
MAX_MELDS = 3  # of ten cards
MAX_LEGAL = 22  # a hand that is one run has 21 melds


class Phase(IntEnum):
    """What the player to move decides (G15)."""

    FIRST_UPCARD = 0
    SECOND_UPCARD = 1
    FIRST_STOCK = 2
    DRAW = 3
    DISCARD = 4
    WALL = 5
    KNOCK = 6
    MELD = 7
    LAYOFF = 8
    ANSWER = 9
    OVER = 10


@dataclass(frozen=True)
class GinRummy:
    """Rule fields of gin rummy (G12).

    Attributes:
        knock_card: the most deadwood with which a player may knock, 0..10.
        gin_bonus: points for a hand without deadwood, 0..1000.
        undercut_bonus: points for less deadwood than the player who knocked has, 0..1000.
        oklahoma: whether the first upcard's value replaces `knock_card`; that of an ace is 0.
    """

    knock_card: int = VALUES[-1]
    gin_bonus: int = 25
    undercut_bonus: int = 25
    oklahoma: bool = False

    actions = Actions(
        card=CARDS, draw_upcard=1, draw_stock=1, finish=1, knock=1, set_of_rank=RANKS * melds.SETS,
        **{f"run_of_{length}": SUITS * (RANKS + 1 - length) for length in melds.RUNS},
    )  # fmt: skip
    first_meld = actions["set_of_rank"].start

    def __post_init__(self) -> None:
        check_fields(self, knock_card=(0, VALUES[-1]), gin_bonus=(0, MAX_BONUS), undercut_bonus=(0, MAX_BONUS))
        check_fields(self, oklahoma=bool)

    @property
    def num_melds(self) -> int:
        """Number of all melds."""
        return self.actions.count - self.first_meld

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=self.actions.count,
            observation_shape=(4 + VALUES[-1] + 6 * CARDS + 2 * self.num_melds,),
            fields=(
                Field("hands", (2,), kind="uint64"),
                Field("known", (2,), kind="uint64"),  # cards of each hand that the other player knows
                Field("stock", kind="uint64"),
                Field("discards", kind="uint64"),  # without the upcard
                Field("layoffs", kind="uint64"),
                Field("laid", (2, MAX_MELDS), low=-1, high=self.num_melds - 1),
                Field("upcard", low=-1, high=CARDS - 1),
                Field("taken", low=-1, high=CARDS - 1),  # upcard that the player to move has drawn in this turn
                Field("returned", kind="bool"),  # whether the last turn has discarded the upcard that it had drawn
                Field("upcards", high=MAX_UPCARDS),  # number of upcards drawn, without the first one
                Field("knock_card", high=VALUES[-1]),
                Field("phase", high=len(Phase) - 1),
            ),
            chance=True,
            perfect_information=False,
            max_legal=MAX_LEGAL,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Deal both hands and the upcard (G2)."""
        stock = uint64(DECK)
        hands = [uint64(0), uint64(0)]
        for k in range(2 * HAND):
            card = drawn(stock, chance, k, CARDS - k)
            stock = stock & ~card_set(card)
            hands[k // HAND] = hands[k // HAND] | card_set(card)
        upcard = drawn(stock, chance, 2 * HAND, CARDS - 2 * HAND)
        by_rank = [0 if value == 1 else value for value in VALUES]
        return {
            "hands": hands,
            "stock": stock & ~card_set(upcard),
            "laid": [[-1] * MAX_MELDS] * 2,
            "upcard": upcard,
            "taken": -1,
            "knock_card": lookup(by_rank, upcard % RANKS) if self.oklahoma else self.knock_card,
        }

    def cards_of(self, action: Scalar) -> Scalar:
        """Return the cards that leave the hand with an action."""
        a = self.actions.decode(action)
        cards = where(a.card.chosen, card_set(a.card.index), 0)
        cards = where(a.set_of_rank.chosen, melds.set_cards(a.set_of_rank.index), cards)
        for length in melds.RUNS:
            run = getattr(a, f"run_of_{length}")
            cards = where(run.chosen, melds.run_cards(run.index, length), cards)
        return cards

    def can_lay_off(self, s: GameState) -> Scalar:
        """Return the cards that fit the melds of the player who knocked (G9)."""
        runs = uint64(0)
        ranks = uint64(0)
        for meld in s.laid[1 - s.current_player]:
            kind = self.actions.decode(meld + self.first_meld).set_of_rank
            ranks = ranks | where(kind.chosen, uint64(melds.COLUMN) << kind.index // melds.SETS, 0)
            runs = runs | where(kind.chosen, 0, self.cards_of(meld + self.first_meld))
        return ranks | melds.neighbours(runs | melds.neighbours(runs) & s.layoffs)

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow what the phase allows (G4 to G10)."""
        hand = s.hands[s.current_player]
        knocks = s.phase == Phase.KNOCK
        lays = s.phase == Phase.MELD
        layoffs = where(s.phase == Phase.LAYOFF, hand & self.can_lay_off(s), 0)
        found = melds.melds_in(where(in_phase(s, Phase.MELD, Phase.ANSWER), hand, 0))
        words = self.actions.mask(card=where(in_phase(s, Phase.DISCARD, Phase.KNOCK), hand, layoffs), **found)
        # Whoever has knocked discards and lays melds so that the deadwood can still be low enough (G7, G8).
        count = where(lays | knocks, sum_of(map(popcount, words)), 0)
        checked = repeat(count, [*words, *[uint32(0)] * len(words)], lambda values: self.checked(s, values))
        words = where(lays | knocks, checked[len(words) :], words)
        eleven = hand | where(s.phase == Phase.WALL, card_set(s.upcard), 0)
        can_knock = melds.can_reach(eleven, s.knock_card, discards=True)
        passes = (Phase.FIRST_UPCARD, Phase.SECOND_UPCARD, Phase.WALL, Phase.LAYOFF, Phase.ANSWER)
        others = self.actions.mask(
            draw_upcard=in_phase(s, Phase.FIRST_UPCARD, Phase.SECOND_UPCARD, Phase.DRAW),
            draw_stock=in_phase(s, Phase.FIRST_STOCK, Phase.DRAW),
            finish=in_phase(s, *passes) | lays & (value_of(hand) <= s.knock_card),
            knock=in_phase(s, Phase.DISCARD, Phase.WALL) & can_knock,
        )
        return [first | second for first, second in zip(words, others, strict=True)]

    def checked(self, s: GameState, values: list[Scalar]) -> list[Scalar]:
        """Check the lowest action of a set: return the set without it, and the set of those that passed the check."""
        half = len(values) // 2
        action = int32(0)
        found = scalar(False)
        rest = list[Scalar]()
        for k, word in enumerate(values[:half]):
            here = ~found & (word != 0)
            action = where(here, WORD_BITS * k + popcount((word & -word) - 1), action)
            rest.append(where(here, word & word - 1, word))
            found = found | here
        passes = melds.can_reach(s.hands[s.current_player] & ~self.cards_of(action), s.knock_card)
        new = set_of([where(passes, action, -1)], WORD_BITS * half)
        return rest + [old | added for old, added in zip(values[half:], new, strict=True)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        a = self.actions.decode(action)
        player = s.current_player
        phase = s.phase
        passes = a.finish.chosen
        knocks = a.knock.chosen
        draws = a.draw_stock.chosen
        takes = a.draw_upcard.chosen
        discards = a.card.chosen & (phase == Phase.DISCARD)
        lays = action >= self.first_meld
        # A hand that goes on without an end is a draw (G6).
        upcards = s.upcards + (takes & (phase == Phase.DRAW))
        returned = discards & (a.card.index == s.taken)
        tired = (upcards == MAX_UPCARDS) | returned & s.returned
        # cards that come and go
        picks = takes & ~tired | knocks & (phase == Phase.WALL)
        upcard = card_set(s.upcard)
        new = card_set(drawn(s.stock, chance, 2 * HAND + 1 + s.ply, popcount(s.stock)))
        gone = self.cards_of(action)
        hand = (s.hands[player] | where(picks, upcard, 0) | where(draws, new, 0)) & ~gone
        known = (s.known[player] | where(picks, upcard, 0)) & ~gone
        thrown = where(draws, upcard, 0) | where(phase == Phase.KNOCK, gone, 0)
        own = s.laid[player]
        count = sum_of(meld >= 0 for meld in own)
        # The result counts what neither player has laid (G11).
        over = tired | passes & in_phase(s, Phase.WALL, Phase.ANSWER)
        deadwood = [value_of(s.hands[1 - player]), value_of(hand)]
        margin = deadwood[1] - deadwood[0] + where(deadwood[0] == 0, self.gin_bonus, 0)
        margin = margin - where(margin < 0, self.undercut_bonus, 0)
        margin = where(passes & (phase == Phase.ANSWER), where(player == 1, margin, -margin), 0)
        following = where(passes, phase + 1 + ((phase == Phase.MELD) & (deadwood[1] == 0)), phase)
        following = where(a.card.chosen & (phase == Phase.KNOCK), Phase.MELD, following)
        following = where(discards, where(popcount(s.stock) == WALL_CARDS, Phase.WALL, Phase.DRAW), following)
        following = where(takes | draws, Phase.DISCARD, where(knocks, Phase.KNOCK, following))
        turns = discards | passes & in_phase(s, Phase.FIRST_UPCARD, Phase.SECOND_UPCARD, Phase.MELD)
        after = s.replace(
            hands=put(s.hands, player, hand),
            known=put(s.known, player, known),
            stock=where(draws, s.stock & ~new, s.stock),
            discards=s.discards | thrown,
            layoffs=s.layoffs | where(phase == Phase.LAYOFF, gone, 0),
            laid=put(s.laid, player, where(lays, put(own, count, action - self.first_meld), own)),
            upcard=where(discards, a.card.index, where(picks | draws, -1, s.upcard)),
            taken=where(takes & ~tired, s.upcard, -1),
            returned=where(discards, returned, s.returned),
            upcards=upcards,
            phase=where(over, Phase.OVER, following),
            current_player=where(turns, 1 - player, player),
        )
        return Outcome(after, rewards=(margin, -margin), terminated=over)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return what OpenSpiel's observation tensor has, and the known cards of the opponent (G13)."""
        hand = s.hands[player]
        return {
            "player": one_hot(player, 2),
            "own hand, in the player's row of two": [bits(where(player == p, hand, 0), CARDS) for p in (0, 1)],
            "player to move": one_hot(s.current_player, 2),
            "knock card": up_to(s.knock_card, VALUES[-1]),
            "upcard": bits(card_set(s.upcard), CARDS),
            "discard pile": bits(s.discards, CARDS),
            "size of the stock": up_to(popcount(s.stock), CARDS),
            "melds of each player": [bits(set_of(melds, self.num_melds), self.num_melds) for melds in s.laid],
            "known cards of the opponent": bits(s.known[1 - player], CARDS),
        }

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the unknown cards of the opponent's hand, unless a knock has opened it (G14)."""
        other = 1 - player
        is_open = (s.phase >= Phase.LAYOFF) | (s.phase >= Phase.KNOCK) & (s.current_player == other)
        unknown = s.hands[other] & ~s.known[other]
        pool = s.stock | unknown
        hand = s.known[other]
        for k in range(HAND + 1):
            deals = ~is_open & (popcount(unknown) > k)
            card = where(deals, card_set(drawn(pool, chance, k, popcount(pool))), 0)
            hand = hand | card
            pool = pool & ~card
        hand = where(is_open, s.hands[other], hand)
        return s.replace(hands=put(s.hands, other, hand), stock=where(is_open, s.stock, pool))


def in_phase(s: GameState, *phases: Phase) -> Scalar:
    """Return whether a game is in one of some phases."""
    return any_of(s.phase == phase for phase in phases)


def drawn(cards: Scalar, chance: Chance, counter: Value, count: Value) -> Scalar:
    """Return a random card of a set with `count` cards (G1)."""
    return nth_bit(cards, chance.draw(counter, count))


def card_set(card: Scalar) -> Scalar:
    """Return the set of a card, which is empty for -1."""
    return where(card >= 0, uint64(1) << maximum(card, 0), 0)
