"""Gin rummy in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings G1-G15 are cited below.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

from tests.games.chance import Key, draw

Card = tuple[int, int]  # suit and rank, from 0
Cards = frozenset[Card]

UPCARD, STOCK, PASS, KNOCK, FIRST_MELD = range(52, 57)
NEXT = {"first upcard": "second upcard", "second upcard": "first stock", "layoff": "answer"}  # after a pass


def name(card: Card) -> str:  # G1
    return "A23456789TJQK"[card[1]] + "scdh"[card[0]]


def card_of(text: str) -> Card:
    return "scdh".index(text[1]), "A23456789TJQK".index(text[0])


def number(card: Card) -> int:
    return 13 * card[0] + card[1]


def value(cards: Any) -> int:
    return sum(min(rank + 1, 10) for _, rank in cards)


def all_melds() -> list[Cards]:  # G3
    melds = list[Cards]()
    for rank in range(13):
        four = [(suit, rank) for suit in range(4)]
        melds += [frozenset(card for card in four if card != missing) for missing in four]
        melds.append(frozenset(four))
    for length in (3, 4, 5):
        for suit in range(4):
            melds += [frozenset((suit, low + k) for k in range(length)) for low in range(14 - length)]
    return melds


MELDS = all_melds()


@cache
def deadwood(cards: Cards) -> int:
    """Return the least deadwood: the first card is in no meld, or in one of the melds that have it."""
    possible = [meld for meld in MELDS if meld <= cards]
    if not possible:
        return value(cards)
    first = min(min(meld) for meld in possible)
    with_it = [deadwood(cards - meld) for meld in possible if first in meld]
    return min([value([first]) + deadwood(cards - {first}), *with_it])


class Reference:
    """One hand."""

    num_players = 2
    truncated = False  # G11

    def __init__(
        self, key: Key, *, knock_card: int = 10, gin_bonus: int = 25, undercut_bonus: int = 25, oklahoma: bool = False
    ) -> None:
        self.key, self.gin_bonus, self.undercut_bonus = key, gin_bonus, undercut_bonus
        self.stock = {(suit, rank) for suit in range(4) for rank in range(13)}
        self.hands: list[set[Card]] = [set(), set()]
        for k in range(20):  # G2
            self.hands[k // 10].add(self.drawn(k))
        self.upcard: Card | None = self.drawn(20)
        self.knock_card = knock_card
        if oklahoma:  # G12
            points = value([self.upcard])
            self.knock_card = 0 if points == 1 else points
        self.known: list[set[Card]] = [set(), set()]
        self.discards = set[Card]()
        self.laid: list[list[int]] = [[], []]
        self.layoffs = list[Card]()
        self.phase = "first upcard"
        self.taken: Card | None = None
        self.returned = False
        self.upcards = self.current_player = self.ply = 0
        self.rewards = [0.0, 0.0]

    @property
    def terminated(self) -> bool:
        return self.phase == "over"

    def drawn(self, counter: int) -> Card:  # G1
        card = sorted(self.stock)[draw(self.key, counter, len(self.stock))]
        self.stock.remove(card)
        return card

    def low(self, cards: set[Card]) -> bool:
        return deadwood(frozenset(cards)) <= self.knock_card

    def legal_actions(self) -> list[int]:
        hand = self.hands[self.current_player]
        if self.phase in ("first upcard", "second upcard"):  # G4
            return [UPCARD, PASS]
        if self.phase == "first stock":
            return [STOCK]
        if self.phase == "draw":  # G5
            return [UPCARD, STOCK]
        if self.phase == "discard":
            return sorted(map(number, hand)) + [KNOCK] * self.may_knock(hand)
        if self.phase == "wall":  # G6
            assert self.upcard is not None
            return [PASS] + [KNOCK] * self.may_knock(hand | {self.upcard})
        if self.phase == "knock":  # G7
            return sorted(number(card) for card in hand if self.low(hand - {card}))
        if self.phase == "layoff":  # G9
            return [*sorted(number(card) for card in hand if self.fits(card)), PASS]
        melds = [m for m, meld in enumerate(MELDS) if meld <= hand]
        if self.phase == "meld":  # G8
            ends = [PASS] * (value(hand) <= self.knock_card)
            return ends + [FIRST_MELD + m for m in melds if self.low(hand - MELDS[m])]
        if self.phase == "answer":  # G10
            return [PASS] + [FIRST_MELD + m for m in melds]
        return []

    def may_knock(self, cards: set[Card]) -> bool:  # G7
        return any(self.low(cards - {card}) for card in cards)

    def fits(self, card: Card) -> bool:  # G9
        for meld in (MELDS[m] for m in self.laid[1 - self.current_player]):
            suits = {suit for suit, _ in meld}
            if len(suits) > 1:
                if card[1] in {rank for _, rank in meld}:
                    return True
            else:
                run = set(meld)
                run |= {other for other in self.layoffs if beside(other, meld)}
                if beside(card, run):
                    return True
        return False

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, phase = self.current_player, self.phase
        self.rewards = [0.0, 0.0]
        if action == UPCARD:
            self.upcards += phase == "draw"
            if self.upcards == 50:  # G6
                self.phase = "over"
            else:
                self.taken = self.upcard
                self.take_upcard()
                self.phase = "discard"
        elif action == STOCK:
            assert self.upcard is not None
            self.discards.add(self.upcard)
            self.upcard = None
            self.hands[player].add(self.drawn(21 + self.ply))
            self.phase = "discard"
        elif action == KNOCK:
            if phase == "wall":
                self.take_upcard()
            self.taken = None
            self.phase = "knock"
        elif action == PASS:
            self.finish()
        elif action >= FIRST_MELD:
            self.laid[player].append(action - FIRST_MELD)
            self.remove(MELDS[action - FIRST_MELD])
        else:
            self.play(divmod(action, 13))
        self.ply += 1

    def take_upcard(self) -> None:
        assert self.upcard is not None
        self.hands[self.current_player].add(self.upcard)
        self.known[self.current_player].add(self.upcard)
        self.upcard = None

    def remove(self, cards: Any) -> None:
        self.hands[self.current_player] -= set(cards)
        self.known[self.current_player] -= set(cards)

    def play(self, card: Card) -> None:
        self.remove([card])
        if self.phase == "knock":  # G7
            self.discards.add(card)
            self.phase = "meld"
        elif self.phase == "layoff":
            self.layoffs.append(card)
        else:  # G5
            returned = card == self.taken
            self.upcard = card
            self.phase = "wall" if len(self.stock) == 2 else "draw"
            if returned and self.returned:  # G6
                self.phase = "over"
            self.returned, self.taken = returned, None
            self.current_player = 1 - self.current_player

    def finish(self) -> None:
        """Pass."""
        if self.phase in ("wall", "answer"):
            if self.phase == "answer":
                self.score()
            self.phase = "over"
            return
        if self.phase == "meld":
            gin = value(self.hands[self.current_player]) == 0
            self.phase = "answer" if gin else "layoff"
            self.current_player = 1 - self.current_player
            return
        if self.phase != "layoff":
            self.current_player = 1 - self.current_player
        self.phase = NEXT[self.phase]

    def score(self) -> None:  # G11
        knocker = 1 - self.current_player
        own, other = (value(self.hands[seat]) for seat in (knocker, self.current_player))
        points = other - own + (self.gin_bonus if own == 0 else 0)
        points -= self.undercut_bonus if points < 0 else 0
        self.rewards[knocker], self.rewards[1 - knocker] = float(points), float(-points)

    # *** G13 ***

    def observation(self, player: int) -> list[int]:
        seen = one_hot([player], 2)
        for seat in (0, 1):
            seen += one_hot(map(number, self.hands[player] if seat == player else ()), 52)
        seen += one_hot([self.current_player], 2) + one_hot(range(self.knock_card), 10)
        seen += one_hot([number(self.upcard)] if self.upcard else [], 52)
        seen += one_hot(map(number, self.discards), 52) + one_hot(range(len(self.stock)), 52)
        for melds in self.laid:
            seen += one_hot(melds, len(MELDS))
        return seen + one_hot(map(number, self.known[1 - player]), 52)

    # *** G14 ***

    def possible_hands(self, player: int) -> list[Cards]:
        """Return the hands that a player may have, as the other sees it."""
        known = self.known[player]
        hidden = self.hands[player] - known
        return [frozenset(known | {*cards}) for cards in combinations(sorted(self.stock | hidden), len(hidden))]

    # *** G15 ***

    def to_dict(self) -> dict[str, Any]:
        return {
            "hands": [[name(card) for card in sorted(hand)] for hand in self.hands],
            "known": [[name(card) for card in sorted(cards)] for cards in self.known],
            "upcard": name(self.upcard) if self.upcard else "",
            "discards": [name(card) for card in sorted(self.discards)],
            "laid": [["".join(name(card) for card in sorted(MELDS[m])) for m in melds] for melds in self.laid],
            "layoffs": [name(card) for card in sorted(self.layoffs)],
            "phase": self.phase,
            "current_player": self.current_player,
            "taken": name(self.taken) if self.taken else "",
            "returned": self.returned,
            "upcards": self.upcards,
            "knock_card": self.knock_card,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.hands = [{*map(card_of, hand)} for hand in state["hands"]]
        game.known = [{*map(card_of, cards)} for cards in state["known"]]
        game.upcard = card_of(state["upcard"]) if state["upcard"] else None
        game.taken = card_of(state["taken"]) if state["taken"] else None
        game.discards = {*map(card_of, state["discards"])}
        game.layoffs = [*map(card_of, state["layoffs"])]
        names = ["".join(name(card) for card in sorted(meld)) for meld in MELDS]
        game.laid = [[names.index(meld) for meld in melds] for melds in state["laid"]]
        gone = {*game.hands[0], *game.hands[1], *game.discards, *game.layoffs, game.upcard}
        gone |= {card for melds in game.laid for m in melds for card in MELDS[m]}
        game.stock = {(suit, rank) for suit in range(4) for rank in range(13)} - gone
        for field in ("phase", "current_player", "returned", "upcards", "knock_card"):
            setattr(game, field, state[field])
        game.ply = state.get("ply", 0)
        return game


def beside(card: Card, run: Any) -> bool:
    """Return whether a card is next to another of its suit."""
    return any(card[0] == suit and abs(card[1] - rank) == 1 for suit, rank in run)


def one_hot(members: Any, size: int) -> list[int]:
    chosen = {*members}
    return [int(k in chosen) for k in range(size)]
