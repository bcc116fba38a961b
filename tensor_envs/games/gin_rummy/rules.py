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


class HandPhase(IntEnum):
    """Phases of a hand, by what the player to move decides (G15)."""

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


LAST_PHASE = int(HandPhase.OVER)  # a constant, since a page's JavaScript cannot count the phases


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
                Field("phase", high=LAST_PHASE),
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
        card = self.actions.choice("card", action)
        cards = where(card.chosen, card_set(card.index), 0)
        of_rank = self.actions.choice("set_of_rank", action)
        cards = where(of_rank.chosen, melds.set_cards(of_rank.index), cards)
        for length in melds.RUNS:
            run = self.actions.choice(f"run_of_{length}", action)
            cards = where(run.chosen, melds.run_cards(run.index, length), cards)
        return cards

    def can_lay_off(self, s: GameState) -> Scalar:
        """Return the cards that fit the melds of the player who knocked (G9)."""
        runs = uint64(0)
        ranks = uint64(0)
        for meld in s.laid[1 - s.current_player]:
            kind = self.actions.choice("set_of_rank", meld + self.first_meld)
            ranks = ranks | where(kind.chosen, uint64(melds.COLUMN) << kind.index // melds.SETS, 0)
            runs = runs | where(kind.chosen, 0, self.cards_of(meld + self.first_meld))
        return ranks | melds.neighbours(runs | melds.neighbours(runs) & s.layoffs)

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow what the phase allows (G4 to G10)."""
        hand = s.hands[s.current_player]
        knocks = s.phase == HandPhase.KNOCK
        lays = s.phase == HandPhase.MELD
        layoffs = where(s.phase == HandPhase.LAYOFF, hand & self.can_lay_off(s), 0)
        found = melds.melds_in(where(in_phase(s, HandPhase.MELD, HandPhase.ANSWER), hand, 0))
        words = self.actions.mask(card=where(in_phase(s, HandPhase.DISCARD, HandPhase.KNOCK), hand, layoffs), **found)
        # Whoever has knocked discards and lays melds so that the deadwood can still be low enough (G7, G8).
        count = where(lays | knocks, sum_of(map(popcount, words)), 0)
        checked = repeat(count, [*words, *[uint32(0)] * len(words)], lambda values: self.checked(s, values))
        words = where(lays | knocks, checked[len(words) :], words)
        eleven = hand | where(s.phase == HandPhase.WALL, card_set(s.upcard), 0)
        can_knock = melds.can_reach(eleven, s.knock_card, discards=True)
        passes = (HandPhase.FIRST_UPCARD, HandPhase.SECOND_UPCARD, HandPhase.WALL, HandPhase.LAYOFF, HandPhase.ANSWER)
        others = self.actions.mask(
            draw_upcard=in_phase(s, HandPhase.FIRST_UPCARD, HandPhase.SECOND_UPCARD, HandPhase.DRAW),
            draw_stock=in_phase(s, HandPhase.FIRST_STOCK, HandPhase.DRAW),
            finish=in_phase(s, *passes) | lays & (value_of(hand) <= s.knock_card),
            knock=in_phase(s, HandPhase.DISCARD, HandPhase.WALL) & can_knock,
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
        draws = a.draw_stock.chosen
        takes = a.draw_upcard.chosen
        discards = a.card.chosen & (s.phase == HandPhase.DISCARD)
        lays = action >= self.first_meld
        # A hand that leads nowhere is a draw (G6).
        upcards = s.upcards + (takes & (s.phase == HandPhase.DRAW))
        returned = discards & (a.card.index == s.taken)
        nowhere = (upcards == MAX_UPCARDS) | returned & s.returned
        over = nowhere | a.finish.chosen & in_phase(s, HandPhase.WALL, HandPhase.ANSWER)
        # Cards come to the hand and leave it. A knock at the wall takes the upcard, too.
        picks = takes & ~nowhere | a.knock.chosen & (s.phase == HandPhase.WALL)
        upcard = card_set(s.upcard)
        picked = where(picks, upcard, 0)
        new = where(draws, card_set(drawn(s.stock, chance, 2 * HAND + 1 + s.ply, popcount(s.stock))), 0)
        gone = self.cards_of(action)
        hand = (s.hands[player] | picked | new) & ~gone
        # The upcard goes to the pile if it is not taken, and so does the discard of a knock (G5, G7).
        piled = where(draws, upcard, where(s.phase == HandPhase.KNOCK, gone, 0))
        own = s.laid[player]
        count = sum_of(meld >= 0 for meld in own)
        passes_on = in_phase(s, HandPhase.FIRST_UPCARD, HandPhase.SECOND_UPCARD, HandPhase.MELD)
        after = s.replace(
            hands=put(s.hands, player, hand),
            known=put(s.known, player, (s.known[player] | picked) & ~gone),
            stock=s.stock & ~new,
            discards=s.discards | piled,
            layoffs=s.layoffs | where(s.phase == HandPhase.LAYOFF, gone, 0),
            laid=put(s.laid, player, where(lays, put(own, count, action - self.first_meld), own)),
            upcard=where(discards, a.card.index, where(picks | draws, -1, s.upcard)),
            taken=where(takes & ~nowhere, s.upcard, -1),
            returned=where(discards, returned, s.returned),
            upcards=upcards,
            phase=where(over, HandPhase.OVER, self.next_phase(s, action, value_of(hand) == 0)),
            current_player=where(discards | a.finish.chosen & passes_on, 1 - player, player),
        )
        first = where(a.finish.chosen & (s.phase == HandPhase.ANSWER), self.points(s), 0)
        return Outcome(after, rewards=(first, -first), terminated=over)

    def next_phase(self, s: GameState, action: Scalar, is_gin: Scalar) -> Scalar:
        """Return the phase after an action that does not end the hand (G4 to G10)."""
        a = self.actions.decode(action)
        following = where(a.finish.chosen, s.phase + 1 + ((s.phase == HandPhase.MELD) & is_gin), s.phase)
        following = where(a.draw_upcard.chosen | a.draw_stock.chosen, HandPhase.DISCARD, following)
        after_turn = where(popcount(s.stock) == WALL_CARDS, HandPhase.WALL, HandPhase.DRAW)
        following = where(a.card.chosen & (s.phase == HandPhase.DISCARD), after_turn, following)
        following = where(a.knock.chosen, HandPhase.KNOCK, following)
        return where(a.card.chosen & (s.phase == HandPhase.KNOCK), HandPhase.MELD, following)

    def points(self, s: GameState) -> Scalar:
        """Return the points of player 0 if the player to move, who has not knocked, lays no more melds (G11)."""
        own, other = (value_of(s.hands[p]) for p in (1 - s.current_player, s.current_player))
        margin = other - own + where(own == 0, self.gin_bonus, 0)
        margin = margin - where(margin < 0, self.undercut_bonus, 0)
        return where(s.current_player == 1, margin, -margin)

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
        is_open = (s.phase >= HandPhase.LAYOFF) | (s.phase >= HandPhase.KNOCK) & (s.current_player == other)
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


def in_phase(s: GameState, *phases: HandPhase) -> Scalar:
    """Return whether a game is in one of some phases."""
    return any_of(s.phase == phase for phase in phases)


def drawn(cards: Scalar, chance: Chance, counter: Value, count: Value) -> Scalar:
    """Return a random card of a set with `count` cards (G1)."""
    return nth_bit(cards, chance.draw(counter, count))


def card_set(card: Scalar) -> Scalar:
    """Return the set of a card, which is empty for -1."""
    return where(card >= 0, uint64(1) << maximum(card, 0), 0)
