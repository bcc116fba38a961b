"""Leduc poker in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings L1-L7 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key, draw

FOLD, CALL, RAISE = range(3)
AMOUNTS = (2, 4)  # L3


class Reference:
    """One game."""

    num_players = 2
    num_actions = 3
    truncated = False  # L5

    def __init__(self, key: Key) -> None:
        x, deck = draw(key, 0, 120), list(range(6))  # L1
        first = x % 6
        second = (first + 1 + x // 6 % 5) % 6
        left = [card for card in deck if card not in (first, second)]
        self.cards, self.public = [first, second], left[x // 30]
        self.rounds: list[list[int]] = [[]]  # the actions of each
        self.bets = [1, 1]
        self.current_player = 0
        self.terminated = False
        self.rewards = [0.0, 0.0]

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key) -> Reference:
        game = cls(key)
        game.cards, game.public = list(state["cards"]), state["public"]
        for action in state["history"]:
            game.apply(action)
        game.rewards = [0.0, 0.0]  # of the last ply, not of the position
        return game

    def to_dict(self) -> dict[str, Any]:  # L7
        history = [action for actions in self.rounds for action in actions]
        return {"cards": self.cards, "public": self.public, "history": history}

    def legal_actions(self) -> list[int]:  # L3
        if self.terminated:
            return []
        folds = [FOLD] if self.bets[0] != self.bets[1] else []
        raises = [RAISE] if self.rounds[-1].count(RAISE) < 2 else []
        return [*folds, CALL, *raises]

    def strength(self, player: int) -> int:
        """Return the strength of a card (L5); a pair beats every rank."""
        rank = self.cards[player] // 2
        return 3 if rank == self.public // 2 else rank

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, actions = self.current_player, self.rounds[-1]
        actions.append(action)
        self.current_player = 1 - player
        if action == FOLD:
            self.end(winner=1 - player)
            return
        self.bets[player] = max(self.bets) + (AMOUNTS[len(self.rounds) - 1] if action == RAISE else 0)
        if action == CALL and len(actions) > 1:  # L4
            self.current_player = 0  # L2
            if len(self.rounds) == 1:
                self.rounds.append([])
            elif self.strength(0) == self.strength(1):
                self.terminated = True
            else:
                self.end(winner=int(self.strength(1) > self.strength(0)))

    def end(self, winner: int) -> None:
        self.terminated = True
        lost = self.bets[1 - winner]
        self.rewards = [float(lost if player == winner else -lost) for player in (0, 1)]

    def observation(self, player: int) -> list[int]:  # L6
        public = self.public if len(self.rounds) == 2 else None
        seen = [int(p == player) for p in (0, 1)]
        seen += [int(card == self.cards[player]) for card in range(6)] + [int(card == public) for card in range(6)]
        for actions in [*self.rounds, []][:2]:
            for i in range(4):
                seen += [int(actions[i : i + 1] == [kind]) for kind in (CALL, RAISE)]
        return seen
