"""Hanabi: all players build fireworks together, and each sees every hand but the own one.

Rules and rulings: RULES.md beside this file. Card c has the colour c // ranks and the rank c % ranks; the number after
the last card is no card. `deck` and `discards` are sets of copies: bit k stands for copy k of the sorted deck, and a
set has the first copies of each card. `hints` has a number for each card in a hand, 0 for none:

    colors + ranks + 1   colors + ranks   colors + ranks - 1 ... colors   colors - 1 ... 0
        rank told         colour told              possible ranks         possible colours
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from tensor_envs.games._kit.counts import up_to
from tensor_envs.rules import Actions, Scalar, int32, uint32, uint64, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import any_of, bit, has_bit, nth_bit, popcount, put, select, sum_of, union_of
from tensor_envs.rules.observation import Observation, Part, bits, one_hot
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec, next_player

COPIES = (3, 2, 2, 2, 1)  # copies of each rank, from the lowest; the last number is for the highest of several ranks


@dataclass(frozen=True)
class Hanabi:
    """Rule fields of Hanabi (H10).

    Attributes:
        players: 2..5.
        colors, ranks: numbers of colours and ranks of the cards, 1..5 each, and not 1 both.
        hand_size: cards of a player, 1..5; default: 5 for two or three players, 4 for more.
        information_tokens: number at the start, which is also the largest, 0..31.
        life_tokens: failed plays that end the game, 1..31.
        keep_score: whether the score counts although no life token is left.
    """

    players: int = 2
    colors: int = 5
    ranks: int = 5
    hand_size: int | None = None
    information_tokens: int = 8
    life_tokens: int = 3
    keep_score: bool = False

    def __post_init__(self) -> None:
        if self.hand_size is None:
            object.__setattr__(self, "hand_size", 5 if self.players in (2, 3) else 4)
        check_fields(self, players=(2, 5), colors=(1, 5), ranks=(1, 5), hand_size=(1, 5), keep_score=bool)
        check_fields(self, information_tokens=(0, 31), life_tokens=(1, 31))
        if self.cards == 1:
            raise ValueError("colors and ranks must give two different cards or more, got one of each")
        if self.players * self.size > self.deck_size:
            raise ValueError(f"hand_size must be at most {self.deck_size // self.players} here, got {self.size}")

    @cached_property
    def size(self) -> int:
        """Cards of a whole hand."""
        return self.hand_size or 0

    @cached_property
    def copies(self) -> tuple[int, ...]:
        """Copies of each rank of a colour."""
        return (*COPIES[: self.ranks - 1], COPIES[-1]) if self.ranks > 1 else COPIES[:1]

    @cached_property
    def first_copies(self) -> tuple[int, ...]:
        """Place of the first copy of each rank among the cards of a colour."""
        return tuple(sum(self.copies[:rank]) for rank in range(self.ranks))

    @cached_property
    def deck_size(self) -> int:
        """Number of copies of all cards."""
        return self.colors * sum(self.copies)

    @cached_property
    def cards(self) -> int:
        """Number of different cards, and the number that stands for no card."""
        return self.colors * self.ranks

    @cached_property
    def unknown(self) -> int:
        """Entry of `hints` for a card that no hint was about."""
        return (1 << self.colors + self.ranks) - 1

    @cached_property
    def actions(self) -> Actions:
        """Discards and plays by position, then hints of colours and of ranks by player (H3)."""
        others = self.players - 1
        return Actions(discard=self.size, play=self.size, color=others * self.colors, rank=others * self.ranks)

    @property
    def spec(self) -> Spec:
        cards = self.players * self.size
        of_hands = self.players + cards * (2 * self.cards + self.colors + self.ranks) - self.size * self.cards
        of_table = 2 * self.deck_size - cards + self.cards + self.information_tokens + self.life_tokens
        of_action = 2 * self.players + 4 + self.colors + self.ranks + 2 * self.size + self.cards + 2
        return Spec(
            num_players=self.players,
            num_actions=self.actions.count,
            observation_shape=(of_hands + of_table + of_action,),
            fields=(
                Field("hands", (self.players, self.size), high=self.cards),
                Field("hints", (self.players, self.size), high=4 * self.unknown + 3),
                Field("fireworks", (self.colors,), high=self.ranks),  # cards of each colour that were played
                Field("deck", kind="uint64"),
                Field("discards", kind="uint64"),
                Field("information_tokens", high=self.information_tokens),
                Field("life_tokens", high=self.life_tokens),
                Field("turns", high=self.players),  # turns left once the deck is empty
                Field("last_action", low=-1, high=self.actions.count - 1),
                Field("last_card", high=self.cards),  # card that the last action has played or discarded
                Field("scored", kind="bool"),  # whether the last action was a play that scored
                Field("regained", kind="bool"),  # whether it gave an information token back
            ),
            chance=True,
            zero_sum=False,
            perfect_information=False,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Deal the hands (H1, H2)."""
        deck = uint64(2**self.deck_size - 1)
        dealt = list[Scalar]()
        for k in range(self.players * self.size):
            card, deck = self.drawn(deck, chance.draw(k, self.deck_size - k))
            dealt.append(card)
        return {
            "hands": [dealt[player * self.size :][: self.size] for player in range(self.players)],
            "hints": [[self.unknown] * self.size] * self.players,
            "deck": deck,
            **{name: getattr(self, name) for name in ("information_tokens", "life_tokens")},
            "turns": self.players,
            "last_action": -1,
            "last_card": self.cards,
        }

    # *** sets of copies ***

    def copies_of(self, card: Scalar) -> Scalar:
        """Return the set of all copies of a card."""
        sets = [2**count - 1 << first for count, first in zip(self.copies, self.first_copies, strict=True)]
        return uint64(select(sets, card % self.ranks)) << card // self.ranks * sum(self.copies)

    def added(self, copies: Scalar, card: Scalar) -> Scalar:
        """Return a set with one more copy of a card, the first that is not in it."""
        free = self.copies_of(card) & ~copies
        return copies | free & -free

    def drawn(self, copies: Scalar, x: Scalar) -> tuple[Scalar, Scalar]:
        """Return the card of the x-th copy in a set, from 0, and the set with one copy of the card less (H1)."""
        copy = nth_bit(copies, x)
        rank = sum_of(copy % sum(self.copies) >= first for first in self.first_copies[1:])
        card = copy // sum(self.copies) * self.ranks + rank
        return card, self.removed(copies, card)

    def removed(self, copies: Scalar, card: Scalar) -> Scalar:
        """Return a set of copies with one copy of a card less: the last one."""
        same = copies & self.copies_of(card)
        return copies & ~(same & ~(same >> 1))

    # *** a turn ***

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow plays, discards if a token is spent, and hints that touch a card if a token is left (H3)."""
        held = [card < self.cards for card in s.hands[s.current_player]]
        can_hint = s.information_tokens > 0
        by_seat = [where(can_hint, union_of(map(self.hints_of, hand)), 0) for hand in s.hands]
        others = [select(by_seat, (s.current_player + turn) % self.players) for turn in range(1, self.players)]
        return self.actions.mask(
            discard=[here & (s.information_tokens < self.information_tokens) for here in held],
            play=held,
            color=union_of((hints & 2**self.colors - 1) << k * self.colors for k, hints in enumerate(others)),
            rank=union_of(hints >> self.colors << k * self.ranks for k, hints in enumerate(others)),
        )

    def hint_of(self, action: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return the turns from a hint's giver to its receiver, its bit in `hints`, and whether it tells a colour."""
        a = self.actions.decode(action)
        turns = 1 + where(a.color.chosen, a.color.index // self.colors, a.rank.index // self.ranks)
        value = where(a.color.chosen, a.color.index % self.colors, self.colors + a.rank.index % self.ranks)
        return turns, value, a.color.chosen

    def hints_of(self, card: Scalar) -> Scalar:
        """Return the bits of the two hints that touch a card: its colour and its rank."""
        return where(card < self.cards, bit(card // self.ranks) | bit(self.colors + card % self.ranks), 0)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        a = self.actions.decode(action)
        hints = ~(a.play.chosen | a.discard.chosen)
        # A hint is about the cards of its receiver, any other action about the own ones.
        turns, value, tells_color = self.hint_of(action)
        owner = where(hints, (s.current_player + turns) % self.players, s.current_player)
        hand = s.hands[owner]
        # The card that leaves the hand scores or is discarded (H4, H5).
        position = where(a.play.chosen, a.play.index, a.discard.index)
        card = hand[position]
        followers = [where(height < self.ranks, c * self.ranks + height, -1) for c, height in enumerate(s.fireworks)]
        fits = [a.play.chosen & (card == follower) for follower in followers]
        scored = any_of(fits)
        fails = a.play.chosen & ~scored
        fireworks = [height + fit for height, fit in zip(s.fireworks, fits, strict=True)]
        regained = scored & (card % self.ranks == self.ranks - 1) & (s.information_tokens < self.information_tokens)
        # The end comes before a card is drawn (H6, H8, H9).
        lost = fails & (s.life_tokens == 1)
        decided = lost | (sum_of(fireworks) == self.cards)
        turns_left = s.turns - (s.deck == 0)
        reward = scored - where(lost, 0 if self.keep_score else sum_of(fireworks), 0)
        draws = ~(hints | decided) & (s.deck != 0)
        new, deck = self.drawn(s.deck, chance.draw(self.players * self.size + s.ply, popcount(s.deck)))
        # The cards after the one that left move down, and what is known of them with them (H6).
        next_hand = moved_down(hand, position, where(draws, new, self.cards))
        next_hints = moved_down(s.hints[owner], position, where(draws, self.unknown, 0))
        # A hint sets the possible colours, or ranks, of cards that it touches to one, and excludes it for others (H7).
        kind = where(tells_color, 2**self.colors - 1, self.unknown + 1 - 2**self.colors)
        told = 1 << value | where(tells_color, 1, 2) << self.colors + self.ranks
        touched = [has_bit(self.hints_of(held), value) for held in hand]
        known = zip(s.hints[owner], touched, strict=True)
        hinted = [where(touches, old & ~kind | told, old & ~(1 << value)) for old, touches in known]
        after = s.replace(
            hands=put(s.hands, owner, where(hints, hand, next_hand)),
            hints=put(s.hints, owner, where(hints, hinted, next_hints)),
            fireworks=fireworks,
            deck=where(draws, deck, s.deck),
            discards=where(fails | a.discard.chosen, self.added(s.discards, card), s.discards),
            information_tokens=s.information_tokens + (a.discard.chosen | regained) - hints,
            life_tokens=s.life_tokens - fails,
            turns=turns_left,
            last_action=action,
            last_card=where(hints, self.cards, card),
            scored=scored,
            regained=regained,
            current_player=next_player(s),
        )
        return Outcome(after, [reward] * self.players, terminated=decided | (turns_left == 0))

    # *** what a player sees ***

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return OpenSpiel's observation, with the seats in the order of turns from the player's on (H11)."""
        seats = [(player + turn) % self.players for turn in range(self.players)]
        hands = [s.hands[seat] for seat in seats]
        parts = dict[str, Part | list[Part]]()
        for turn, hand in enumerate(hands[1:], 1):
            parts[f"cards of player +{turn}"] = [one_hot(card, self.cards) for card in hand]
        parts["players with a card less"] = bits([hand[-1] == self.cards for hand in hands], self.players)
        parts["cards in the deck"] = up_to(popcount(s.deck), self.deck_size - self.players * self.size)
        parts["fireworks"] = [one_hot(height - 1, self.ranks) for height in s.fireworks]
        parts["information tokens"] = up_to(s.information_tokens, self.information_tokens)
        parts["life tokens"] = up_to(s.life_tokens, self.life_tokens)
        parts["discards"] = bits(s.discards, self.deck_size)
        parts["last action"] = self.last_action(s, player)
        for turn, seat in enumerate(seats):
            parts[f"hints to player +{turn}"] = [self.known(hint) for hint in s.hints[seat]]
        return parts

    def last_action(self, s: GameState, player: Scalar) -> list[Part]:
        """Return the last action's player and kind, the hint and the cards it touches, and the card that was moved."""
        a = self.actions.decode(s.last_action)
        kinds = [(s.last_action >= 0) & kind.chosen for kind in (a.play, a.discard, a.color, a.rank)]
        turns, value, tells_color = self.hint_of(s.last_action)
        hints = kinds[2] | kinds[3]
        moves = kinds[0] | kinds[1]
        actor = s.current_player - 1 + 2 * self.players  # a multiple of `players` is added: dividends are not negative
        touched = [has_bit(self.hints_of(card), value) for card in s.hands[(actor + turns) % self.players]]
        return [
            one_hot(where(hints | moves, (actor - player) % self.players, -1), self.players),
            bits(kinds, len(kinds)),
            one_hot(where(hints, (actor + turns - player) % self.players, -1), self.players),
            one_hot(where(hints & tells_color, value, -1), self.colors),
            one_hot(where(hints, value - self.colors, -1), self.ranks),
            bits([hints & touches for touches in touched], self.size),
            one_hot(where(moves, where(kinds[0], a.play.index, a.discard.index), -1), self.size),
            one_hot(s.last_card, self.cards),
            bits([s.scored, s.regained], 2),
        ]

    def known(self, hint: Scalar) -> Part:
        """Return the cards that an entry of `hints` allows, and the colour and the rank that it tells."""
        colors, ranks = (has_bit(hint, self.colors + self.ranks + k) for k in (0, 1))
        told = where(colors, hint & 2**self.colors - 1, 0) | where(ranks, hint & self.unknown - 2**self.colors + 1, 0)
        seen = uint64(self.possible(hint)) | uint64(told) << self.cards
        return bits(seen, self.cards + self.colors + self.ranks)

    def possible(self, hint: Scalar) -> Scalar:
        """Return the set of cards that an entry of `hints` allows."""
        ranks = uint32(hint >> self.colors & 2**self.ranks - 1)
        return union_of(where(has_bit(hint, c), ranks << c * self.ranks, 0) for c in range(self.colors))

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the own hand, and with it the deck: all hands that the hints allow are equally likely (H12).

        The hints of each position allow a set of the hidden copies. The number of ways to fill the later positions
        depends on which of their sets contain the copy drawn here. So copies that are in the same sets form a group: a
        group is drawn in proportion to its number of hands, and then a copy of the group.
        """
        hidden = s.deck
        for card in s.hands[player]:
            hidden = self.added(hidden, card)  # "no card" adds a bit beyond those of the deck
        sets = [self.allowed(hint) for hint in s.hints[player]]
        hand = list[Scalar]()
        for k in range(self.size):
            later = sets[k + 1 :]
            groups = [hidden & sets[k]]
            for other in later:
                groups = [part for group in groups for part in (group & other, group & ~other)]
            # ways to fill the later positions, once a copy of the group is drawn
            remaining = [hidden & ~(group & -group) for group in groups]
            choices = [ways([copies & other for other in later]) for copies in remaining]
            # cumulative numbers of hands: the drawn number is below that of its group
            ends = [*accumulate(popcount(group) * n for group, n in zip(groups, choices, strict=True))]
            x = chance.draw(2 * k, ends[-1])
            chosen = groups[0]
            for end, group in zip(ends, groups[1:], strict=False):
                chosen = where(x >= end, group, chosen)
            card, _ = self.drawn(chosen, chance.draw(2 * k + 1, popcount(chosen)))
            hidden = self.removed(hidden, card)
            hand.append(card)
        return s.replace(hands=put(s.hands, player, hand), deck=hidden)

    def allowed(self, hint: Scalar) -> Scalar:
        """Return the set of copies of the cards that an entry of `hints` allows; that of no card for 0."""
        possible = self.possible(hint)
        none = where(hint == 0, uint64(1 << self.deck_size), 0)
        sets = [where(has_bit(possible, card), self.copies_of(int32(card)), 0) for card in range(self.cards)]
        return union_of([none, *sets])


def moved_down(values: Sequence[Scalar], position: Scalar, new: Scalar) -> list[Scalar]:
    """Return values without the one at a position: those after it move down, and a new one comes last."""
    below = [*values[1:], new]
    return [where(position <= k, below[k], value) for k, value in enumerate(values)]


def ways(sets: Sequence[Scalar]) -> Scalar:
    """Return the number of ways to choose a member of each set, all different."""
    if not sets:
        return int32(1)
    *others, last = sets
    count = popcount(last) * ways(others)
    # subtract the choices in which the last member is also the member of another set
    for k, other in enumerate(others):
        count = count - ways([*others[:k], other & last, *others[k + 1 :]])
    return count
