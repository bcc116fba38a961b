"""Texas hold'em for two players, limit and no-limit.

Rules and rulings: RULES.md beside this file. Card c has rank c // suits and suit c % suits. `bets` are the chips that
each player has put into the pot in the whole game, and `history` has every action + 1, 0 from the present ply on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.games.texas_holdem.hands import MAX_CARDS, RANKS, strength
from tensor_envs.rules import Scalar, Value, float32, int32, maximum, minimum, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import lookup, nth_missing, put, set_of, sort
from tensor_envs.rules.observation import Observation, bits, number, one_hot
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SUITS = 4
MAX_STACK = 100_000
MAX_PERCENT = 1000
MAX_PLIES = 256
MAX_STREETS = 4
FOLD = 0
CALL = 1
RAISE = 2  # the first raise


@dataclass(frozen=True)
class TexasHoldem:
    """Rule fields of Texas hold'em (T10).

    Attributes:
        stacks: chips of each player at the start, more than the big blind.
        small_blind, big_blind: chips that player 1, the button, and player 0 put into the pot before the deal.
        raises: no-limit raises in percent of the pot after a call, beside the raise of all chips.
        limit: raise of each street, for limit hold'em; () is no-limit.
        max_raises: raises of each street at most, () for no bound.
        streets: cards that the board gets before each round of betting.
        hole_cards: cards of a player, 1 or 2.
        ranks, suits: size of the deck: the highest 2..13 ranks, 1..4 suits.
    """

    stacks: tuple[int, int] = (200, 200)
    small_blind: int = 1
    big_blind: int = 2
    raises: tuple[int, ...] = (50, 100)
    limit: tuple[int, ...] = ()
    max_raises: tuple[int, ...] = ()
    streets: tuple[int, ...] = (0, 3, 1, 1)
    hole_cards: int = 2
    ranks: int = RANKS
    suits: int = SUITS

    def __post_init__(self) -> None:
        big = integer("big_blind", self.big_blind, 1, MAX_STACK - 1)
        count = len(nested("streets", self.streets, (None,), 0, MAX_CARDS - 2))
        check_fields(
            self,
            streets=((None,), 0, MAX_CARDS - 2),
            stacks=((2,), big + 1, MAX_STACK),
            small_blind=(0, big),
            raises=((None,), 1, MAX_PERCENT),
            limit=((count if self.limit else 0,), big, MAX_STACK),
            max_raises=((count if self.max_raises else 0,), 0, MAX_PLIES),
            hole_cards=(1, 2),
            ranks=(2, RANKS),
            suits=(1, SUITS),
        )
        if not 1 <= count <= MAX_STREETS or 0 in self.streets[1:] or self.board_cards > MAX_CARDS - 2:
            raise ValueError(f"streets must be 1 to 4, with cards after the first, at most five, got {self.streets}")
        needed = 2 * self.hole_cards + self.board_cards
        if needed > self.deck:
            raise ValueError(f"ranks and suits must give the {needed} cards of a deal, got {self.deck}")
        integer("the number of plies that stacks, raises and max_raises allow", self.longest, 1, MAX_PLIES)

    @cached_property
    def deck(self) -> int:
        """Number of cards."""
        return self.ranks * self.suits

    @cached_property
    def board_cards(self) -> int:
        """Number of cards on the whole board."""
        return sum(self.streets)

    @cached_property
    def street_of(self) -> list[int]:
        """Street that opens each card of the board."""
        return [street for street, count in enumerate(self.streets) for _ in range(count)]

    @cached_property
    def num_actions(self) -> int:
        """Number of actions: a fold, a call, and the raises."""
        return RAISE + (1 if self.limit else len(self.raises) + 1)

    @cached_property
    def longest(self) -> int:
        """Upper bound for the number of actions: two that do not raise for each street, and all raises (T6)."""
        least = min(self.raises, default=MAX_STACK)
        count = 0
        top = self.big_blind
        while top < max(self.stacks):
            top += min(self.limit) if self.limit else max(self.big_blind, top * least // 50)
            count += 1
        return 2 * len(self.streets) + min(count, sum(self.max_raises) if self.max_raises else count)

    @property
    def spec(self) -> Spec:
        streets = len(self.streets)
        return Spec(
            num_players=2,
            num_actions=self.num_actions,
            observation_shape=(2 + 2 * self.deck + streets + 2 + self.longest * self.num_actions,),
            observation_dtype="float32",
            fields=(
                Field("hands", (2, self.hole_cards), high=self.deck - 1),
                *([Field("board", (self.board_cards,), high=self.deck - 1)] if self.board_cards else []),
                Field("street", high=streets - 1),
                Field("bets", (2,), high=max(self.stacks)),
                Field("raise_by", high=max(self.stacks)),  # the last raise of this street, or the big blind
                Field("raise_count", high=self.longest),  # in this street
                Field("acted", kind="bool"),  # whether the street has had an action
                Field("history", (self.longest,), high=self.num_actions),
            ),
            chance=True,
            perfect_information=False,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Deal and post the blinds (T1, T2)."""
        cards = self.deal(chance, [], [(0, False)] * (2 * self.hole_cards + self.board_cards))
        first, second, *board = self.grouped(cards, (self.hole_cards,) * 2 + self.streets)
        return {
            "hands": [first, second],
            **self.board_field(board),
            "bets": [self.big_blind, self.small_blind],
            "raise_by": self.big_blind,
            "current_player": int(self.streets[0] == 0),
        }

    def grouped(self, cards: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
        """Split cards into groups, each in ascending order."""
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        return [sort(cards[at : at + size]) for at, size in zip(starts, sizes, strict=True)]

    def board_field(self, board: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Return the field of a board by streets; none for a board without cards."""
        return {"board": [card for cards in board for card in cards]} if self.board_cards else {}

    def board(self, s: GameState) -> list[tuple[Scalar, Scalar]]:
        """Return every card of the board, and whether it is open."""
        return [(s.board[k], s.street >= street) for k, street in enumerate(self.street_of)]

    def raised_to(self, s: GameState) -> list[tuple[Scalar, Scalar]]:
        """Return each raise: the chips that the player will have put in, and whether the amount is allowed (T4, T5)."""
        top = maximum(*s.bets)
        stack = where(s.current_player == 0, *self.stacks)
        if self.limit:
            return [(minimum(top + lookup(self.limit, s.street), stack), top >= 0)]
        amounts = [top * percent // 50 for percent in self.raises]
        sized = [(top + amount, (amount >= s.raise_by) & (top + amount < stack)) for amount in amounts]
        return [*sized, (stack, top >= 0)]

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow a fold of an unmatched bet, a call, and raises while both players have chips for them (T3 to T5)."""
        player = s.current_player
        top = maximum(*s.bets)
        own, other = where(player == 0, self.stacks, self.stacks[::-1])
        can_raise = (own > top) & (other > s.bets[1 - player])
        if self.max_raises:
            can_raise = can_raise & (s.raise_count < lookup(self.max_raises, s.street))
        return [s.bets[0] != s.bets[1], True, *(can_raise & allowed for _, allowed in self.raised_to(s))]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        player = s.current_player
        top = maximum(*s.bets)
        folds = action == FOLD
        called = minimum(top, where(player == 0, *self.stacks))
        bet = lookup([s.bets[player], called, *(chips for chips, _ in self.raised_to(s))], action)
        bets = where(player == 0, [bet, s.bets[1]], [s.bets[0], bet])
        raises = action >= RAISE
        closes = (action == CALL) & s.acted  # T3
        last = len(self.streets) - 1
        all_in = (bets[0] == self.stacks[0]) | (bets[1] == self.stacks[1])
        shows = closes & (all_in | (s.street == last))  # T7
        over = folds | shows
        board = [card for card, _ in self.board(s)]
        hands = [strength([*board, *hand], self.ranks, self.suits) for hand in s.hands]
        shown = int32(hands[0] > hands[1]) - int32(hands[0] < hands[1])
        result = where(folds, where(player == 0, -1, 1), shown)
        first = where(over, result * minimum(*bets), 0)  # T7, T9
        after = s.replace(
            street=where(shows, last, s.street + (closes & ~shows)),
            bets=bets,
            raise_by=where(closes, self.big_blind, where(raises, bet - top, s.raise_by)),
            raise_count=where(closes, 0, s.raise_count + raises),
            acted=~closes,
            history=put(s.history, s.ply, action + 1),
            current_player=where(closes, 0, 1 - player),
        )
        return Outcome(after, rewards=(first, -first), terminated=over)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player, its cards, the open board, the street, the chips in the pot and all actions (T11)."""
        board = [where(is_open, card, -1) for card, is_open in self.board(s)]
        chips = [float32(bet) * (1 / max(self.stacks)) for bet in (s.bets[player], s.bets[1 - player])]
        return {
            "player": one_hot(player, 2),
            "own cards": bits(set_of(s.hands[player], self.deck), self.deck),
            "open board": bits(set_of(board, self.deck), self.deck),
            "street": one_hot(s.street, len(self.streets)),
            "own and the opponent's chips in the pot": [number(share) for share in chips],
            "action at each ply": [one_hot(action - 1, self.num_actions) for action in s.history],
        }

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the board's closed cards and the opponent's hand, in this order."""
        own = s.hands[player]
        cards = self.deal(chance, own, [*self.board(s), *[(0, False)] * self.hole_cards])
        *board, other = self.grouped(cards, (*self.streets, self.hole_cards))
        return s.replace(hands=where(player == 0, [own, other], [other, own]), **self.board_field(board))

    def deal(self, chance: Chance, own: Sequence[Value], places: Sequence[tuple[Value, Value]]) -> list[Scalar]:
        """Return a card for each place: the open one, or a random card that is neither open nor own.

        Args:
            places: the card of each place, and whether it is open; open places come first.
        """
        # the size of the deck stands for no card
        taken = sort([*own, *(where(is_open, card, self.deck) for card, is_open in places)])
        cards = list[Scalar]()
        for k, (card, is_open) in enumerate(places):
            drawn = nth_missing(taken, chance.draw(k, self.deck - len(own) - k))
            taken = where(is_open, taken, sort([*taken[:-1], drawn]))
            cards.append(where(is_open, card, drawn))
        return cards
