"""Hanabi in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings H1-H13 are cited below.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

from tests.games.chance import Key, draw

Card = tuple[int, int]  # colour and rank, from 0


class Held:
    """A card in a hand, with what hints have told of it (H7)."""

    def __init__(self, card: Card, colors: int, ranks: int) -> None:
        self.card = card
        self.possible = [set(range(colors)), set(range(ranks))]
        self.named = [False, False]

    def hear(self, kind: int, value: int) -> None:
        """Take a hint of a colour (kind 0) or a rank (kind 1) to the card's owner."""
        if self.card[kind] == value:
            self.possible[kind] = {value}
            self.named[kind] = True
        else:
            self.possible[kind].discard(value)

    def allows(self, card: Card) -> bool:
        return card[0] in self.possible[0] and card[1] in self.possible[1]


class Reference:
    """One game."""

    truncated = False  # H9

    def __init__(
        self,
        key: Key,
        *,
        players: int = 2,
        colors: int = 5,
        ranks: int = 5,
        hand_size: int | None = None,
        information_tokens: int = 8,
        life_tokens: int = 3,
        keep_score: bool = False,
    ) -> None:
        self.key, self.num_players, self.colors, self.ranks = key, players, colors, ranks
        self.size = hand_size or {2: 5, 3: 5}.get(players, 4)  # H10
        self.max_information, self.max_lives, self.keep_score = information_tokens, life_tokens, keep_score
        self.deck = self.all_copies()
        self.hands: list[list[Held]] = [[] for _ in range(players)]
        for hand in self.hands:  # H2
            for _ in range(self.size):
                self.deal(hand, players * self.size - self.missing())
        self.fireworks = [0] * colors
        self.discards: list[Card] = []
        self.information, self.lives, self.turns = information_tokens, life_tokens, players
        self.current_player = self.ply = 0
        self.last_action = -1
        self.last_card: Card | None = None
        self.last_touched: list[int] = []
        self.scored = self.regained = self.terminated = False
        self.rewards = [0.0] * players

    def copies(self, rank: int) -> int:  # H1
        return 3 if rank == 0 else 1 if rank == self.ranks - 1 else 2

    def all_cards(self) -> list[Card]:
        return [(color, rank) for color in range(self.colors) for rank in range(self.ranks)]

    def all_copies(self) -> list[Card]:
        return [card for card in self.all_cards() for _ in range(self.copies(card[1]))]

    def missing(self) -> int:
        return sum(self.size - len(hand) for hand in self.hands)

    def deal(self, hand: list[Held], counter: int) -> None:  # H1
        card = self.deck.pop(draw(self.key, counter, len(self.deck)))
        hand.append(Held(card, self.colors, self.ranks))

    def kinds(self) -> list[tuple[str, int, int]]:
        """Return every action: a name, a position or the turns to a player, and a colour or rank (H3)."""
        moves = [(kind, k, 0) for kind in ("discard", "play") for k in range(self.size)]
        others = range(1, self.num_players)
        hints = [("color", turns, value) for turns in others for value in range(self.colors)]
        return [*moves, *hints, *(("rank", turns, value) for turns in others for value in range(self.ranks))]

    def is_legal(self, kind: str, where: int, value: int) -> bool:  # H3
        if kind in ("color", "rank"):
            hand = self.hands[(self.current_player + where) % self.num_players]
            return self.information > 0 and any(held.card[kind == "rank"] == value for held in hand)
        there = where < len(self.hands[self.current_player])
        return there and (kind == "play" or self.information < self.max_information)

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else [a for a, kind in enumerate(self.kinds()) if self.is_legal(*kind)]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        kind, where, value = self.kinds()[action]
        deck_was_empty = not self.deck
        before = sum(self.fireworks)
        self.last_action, self.last_card, self.last_touched = action, None, []
        self.scored = self.regained = False
        if kind in ("color", "rank"):  # H7
            self.information -= 1
            for position, held in enumerate(self.hands[(self.current_player + where) % self.num_players]):
                held.hear(int(kind == "rank"), value)
                if held.card[kind == "rank"] == value:
                    self.last_touched.append(position)
        else:
            hand = self.hands[self.current_player]
            card = self.last_card = hand.pop(where).card
            if kind == "discard":  # H4
                self.discards.append(card)
                self.information += 1
            else:
                self.play(card)
            if self.deck and not self.is_decided():  # H6
                self.deal(hand, self.num_players * self.size + self.ply)
        self.ply += 1
        self.turns -= deck_was_empty  # H9
        self.current_player = (self.current_player + 1) % self.num_players
        self.terminated = self.is_decided() or self.turns == 0
        lost = self.lives == 0 and not self.keep_score
        self.rewards = [float(-before if lost else sum(self.fireworks) - before)] * self.num_players

    def play(self, card: Card) -> None:  # H5
        color, rank = card
        if self.fireworks[color] != rank:
            self.discards.append(card)
            self.lives -= 1
            return
        self.fireworks[color] += 1
        self.scored = True
        if rank == self.ranks - 1 and self.information < self.max_information:
            self.regained = True
            self.information += 1

    def is_decided(self) -> bool:  # H8
        return self.lives == 0 or sum(self.fireworks) == self.colors * self.ranks

    # *** H11 ***

    def observation(self, player: int) -> list[int]:
        seats = [(player + turns) % self.num_players for turns in range(self.num_players)]
        cards, seen = self.all_cards(), list[int]()
        for seat in seats[1:]:
            hand: list[Held | None] = [*self.hands[seat]]
            for held in hand + [None] * (self.size - len(hand)):
                seen += [int(held is not None and held.card == card) for card in cards]
        seen += [int(len(self.hands[seat]) < self.size) for seat in seats]
        seen += thermometer(len(self.deck), len(self.all_copies()) - self.num_players * self.size)
        for height in self.fireworks:
            seen += one_hot(height - 1, self.ranks)
        seen += thermometer(self.information, self.max_information) + thermometer(self.lives, self.max_lives)
        for card in cards:
            seen += thermometer(self.discards.count(card), self.copies(card[1]))
        seen += self.last(player)
        for seat in seats:
            about = [self.told(held) for held in self.hands[seat]]
            empty = [0] * (len(cards) + self.colors + self.ranks)
            seen += [bit for one in about + [empty] * (self.size - len(about)) for bit in one]
        return seen

    def last(self, player: int) -> list[int]:
        kind, where, value = self.kinds()[self.last_action] if self.last_action >= 0 else ("", 0, 0)
        actor = self.current_player - 1
        hints = kind in ("color", "rank")
        moves = kind in ("discard", "play")
        seen = one_hot((actor - player) % self.num_players if kind else -1, self.num_players)
        seen += [int(kind == one) for one in ("play", "discard", "color", "rank")]
        seen += one_hot((actor + where - player) % self.num_players if hints else -1, self.num_players)
        seen += one_hot(value if kind == "color" else -1, self.colors)
        seen += one_hot(value if kind == "rank" else -1, self.ranks)
        seen += [int(position in self.last_touched) for position in range(self.size)]
        seen += one_hot(where if moves else -1, self.size)
        seen += [int(card == self.last_card) for card in self.all_cards()]
        return [*seen, int(self.scored), int(self.regained)]

    def told(self, held: Held) -> list[int]:
        seen = [int(held.allows(card)) for card in self.all_cards()]
        for kind, size in ((0, self.colors), (1, self.ranks)):
            seen += [int(held.named[kind] and value in held.possible[kind]) for value in range(size)]
        return seen

    # *** H12 ***

    def possible_hands(self, player: int) -> list[tuple[Card, ...]]:
        """Return the hands that a player may have, one for each way to deal copies that the player does not see."""
        hand = self.hands[player]
        hidden = self.deck + [held.card for held in hand]
        deals = permutations(range(len(hidden)), len(hand))
        hands = [tuple(hidden[copy] for copy in deal) for deal in deals]
        return [cards for cards in hands if all(held.allows(card) for held, card in zip(hand, cards, strict=True))]

    # *** H13 ***

    def name(self, card: Card) -> str:
        return "RYGWB"[card[0]] + str(card[1] + 1)

    def text(self, held: Held) -> str:
        letters = ["".join("RYGWB"[c] for c in sorted(held.possible[0]))]
        letters.append("".join(str(r + 1) for r in sorted(held.possible[1])))
        named = [one if named else "X" for one, named in zip(letters, held.named, strict=True)]
        return f"{self.name(held.card)} || {''.join(named)}|{''.join(letters)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "hands": [[self.text(held) for held in hand] for hand in self.hands],
            "fireworks": self.fireworks,
            "discards": [self.name(card) for card in sorted(self.discards)],
            "information_tokens": self.information,
            "life_tokens": self.lives,
            "turns": self.turns,
            "current_player": self.current_player,
            "last_action": self.last_action,
            "last_card": self.name(self.last_card) if self.last_card else "",
            "scored": self.scored,
            "regained": self.regained,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.fireworks = list(state["fireworks"])
        game.discards = [game.card(name) for name in state["discards"]]
        game.hands = [[game.held(text) for text in hand] for hand in state["hands"]]
        gone = game.discards + [held.card for hand in game.hands for held in hand]
        gone += [(color, rank) for color, height in enumerate(game.fireworks) for rank in range(height)]
        game.deck = game.all_copies()
        for card in gone:
            game.deck.remove(card)
        game.information, game.lives = state["information_tokens"], state["life_tokens"]
        game.turns, game.current_player = state["turns"], state["current_player"]
        game.last_action, game.scored, game.regained = state["last_action"], state["scored"], state["regained"]
        game.last_card = game.card(state["last_card"]) if state["last_card"] else None
        game.ply = state.get("ply", 0)
        kind, turns, value = game.kinds()[game.last_action] if game.last_action >= 0 else ("", 0, 0)
        if kind in ("color", "rank"):
            hand = game.hands[(game.current_player - 1 + turns) % game.num_players]
            game.last_touched = [k for k, held in enumerate(hand) if held.card[kind == "rank"] == value]
        game.terminated = game.is_decided() or game.turns == 0
        return game

    def card(self, name: str) -> Card:
        return "RYGWB".index(name[0]), int(name[1]) - 1

    def held(self, text: str) -> Held:
        name, about = text.split(" || ")
        named, possible = about.split("|")
        held = Held(self.card(name), self.colors, self.ranks)
        held.possible = [{k for k, one in enumerate(letters) if one in possible} for letters in ("RYGWB", "12345")]
        held.named = [one != "X" for one in named]
        return held


def one_hot(value: int, size: int) -> list[int]:
    return [int(k == value) for k in range(size)]


def thermometer(count: int, size: int) -> list[int]:
    return [int(k < count) for k in range(size)]
