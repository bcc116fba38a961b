"""Reference engine of Shed in plain Python.

Cards 1..n of one suit are all open. A player who picks up the pile and then holds all n cards loses. Source: the game's
rules file, whose facts F1-F6 and rulings G1-G4 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key


class Reference:
    """Game of Shed; `cards` has no default because the rules name none."""

    num_players = 2

    def __init__(self, key: Key, *, cards: int, max_plies: int | None = None) -> None:
        """Start a game. `key` belongs to the common interface: the game has no chance (G3)."""
        if not 1 <= cards <= 32:  # G2
            raise ValueError(f"need 1 to 32 cards, got {cards}")
        self.cards = cards
        self.max_plies = 100 * cards if max_plies is None else max_plies  # G1
        if self.max_plies < 1:
            raise ValueError(f"need max_plies >= 1, got {max_plies}")
        self.num_actions = cards + 1
        self.hands: list[list[int]] = [[], []]
        self.pile: list[int] = []
        self.talon = list(range(1, cards + 1))  # F1
        self.current_player = 0
        self.plies = 0
        self.rewards = [0.0, 0.0]
        self.terminated = self.truncated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        """Return the game of a dictionary, which does not hold the count of plies (G1): it starts at 0."""
        game = cls(key, **config)
        game.hands = [sorted(hand) for hand in state["hands"]]
        game.pile, game.talon = sorted(state["pile"]), sorted(state["talon"])
        game.current_player = state["current_player"]
        # Only the other player, who has just picked up, can have lost (F4); the player to move plays on (F6).
        game.terminated = len(game.hands[1 - game.current_player]) == game.cards
        return game

    def to_dict(self) -> dict[str, Any]:  # G4
        hands = [list(hand) for hand in self.hands]
        return {
            "hands": hands,
            "pile": list(self.pile),
            "talon": list(self.talon),
            "current_player": self.current_player,
        }

    def legal_actions(self) -> list[int]:
        if self.terminated or self.truncated:
            return []
        playable = self.hands[self.current_player] + self.talon
        actions = [card - 1 for card in sorted(playable) if card > max(self.pile, default=0)]  # F2
        return [*actions, self.cards] if self.pile else actions  # F3, G2

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        mover, hand = self.current_player, self.hands[self.current_player]
        if action == self.cards:
            self.hands[mover] = sorted(hand + self.pile)
            self.pile = []
            self.terminated = len(self.hands[mover]) == self.cards  # F4
        else:
            card = action + 1
            (hand if card in hand else self.talon).remove(card)
            self.pile.append(card)  # the highest card comes last, so the pile stays sorted
        self.current_player = 1 - mover
        self.plies += 1
        self.truncated = not self.terminated and self.plies == self.max_plies  # G1: a draw
        self.rewards = [0.0, 0.0]
        if self.terminated:  # G3
            self.rewards[mover], self.rewards[1 - mover] = -1.0, 1.0

    def observation(self, player: int) -> list[list[bool]]:
        """Return four rows of n: own hand, other hand, pile, talon (G3)."""
        places = (self.hands[player], self.hands[1 - player], self.pile, self.talon)
        return [[card in place for card in range(1, self.cards + 1)] for place in places]

    def check(self, before: Reference | None) -> None:
        """Assert what holds of every position reached from the start, and of the last ply."""
        places = [*self.hands, self.pile, self.talon]
        assert sorted(card for place in places for card in place) == list(
            range(1, self.cards + 1)
        )  # F1: every card in one place
        assert all(place == sorted(place) for place in places)  # G4
        holds_all = [len(hand) == self.cards for hand in self.hands]
        assert not holds_all[self.current_player]  # F6
        assert self.terminated == holds_all[1 - self.current_player]  # F4
        assert not (self.terminated and self.truncated)
        assert self.plies <= self.max_plies and self.current_player == self.plies % 2
        assert self.truncated == (self.plies == self.max_plies and not self.terminated)  # G1
        assert self.rewards == [1.0 * (holds_all[1 - p] - holds_all[p]) for p in (0, 1)]  # G3
        assert bool(self.legal_actions()) == (not self.terminated and not self.truncated)  # F3
        if before is not None:
            assert not before.terminated and not before.truncated
            assert self.current_player == 1 - before.current_player and self.plies == before.plies + 1
            mover = before.current_player
            assert self.hands[1 - mover] == before.hands[1 - mover]
            if self.pile:  # F2: one higher card on the pile
                *rest, card = self.pile
                assert rest == before.pile and card > max(rest, default=0)
                assert {card} == set(before.hands[mover] + before.talon) - set(self.hands[mover] + self.talon)
            else:  # F2, F3: the whole of a pile picked up
                assert before.pile and self.talon == before.talon
                assert self.hands[mover] == sorted(before.hands[mover] + before.pile)
