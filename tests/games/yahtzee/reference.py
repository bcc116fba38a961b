"""Yahtzee in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings Y1-Y12 are cited below.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.games.chance import Key, draw

YAHTZEE = 11


def score(dice: list[int], box: int, joker: bool) -> int:  # Y5, Y7
    counts = sorted(Counter(dice).values())
    runs = [{face + k for k in range(length)} for length in (4, 5) for face in range(1, 8 - length)]
    if box < 6:
        return sum(die for die in dice if die == box + 1)
    if box in (6, 7):
        return sum(dice) if counts[-1] >= box - 3 else 0
    if box == 8:
        return 25 if counts == [2, 3] or joker else 0
    if box in (9, 10):
        fits = any(run <= set(dice) for run in runs if len(run) == box - 5)
        return (box - 6) * 10 if fits or joker else 0
    if box == YAHTZEE:
        return 50 if counts == [5] else 0
    return sum(dice)


class Reference:
    """One game."""

    num_actions = 44
    truncated = False  # Y1

    def __init__(self, key: Key, *, players: int = 1) -> None:
        if players not in range(1, 5):  # Y12
            raise ValueError(f"need 1 to 4 players, got {players}")
        self.key, self.num_players, self.plies = key, players, 0
        self.dice = sorted(self.throw(0))
        self.rerolls = 2
        self.boxes = [[-1] * 13 for _ in range(players)]
        self.extras = [0] * players
        self.current_player = 0
        self.rewards = [0.0] * players

    def throw(self, event: int) -> list[int]:  # Y2
        x = draw(self.key, event, 7776)
        return [1 + x // 6**die % 6 for die in range(5)]

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.dice, game.rerolls = sorted(state["dice"]), state["rerolls"]
        game.boxes, game.extras = [list(row) for row in state["boxes"]], list(state["extras"])
        game.current_player = state["current_player"]
        return game

    def to_dict(self) -> dict[str, Any]:  # Y11
        names = ("dice", "rerolls", "boxes", "extras", "current_player")
        return {name: getattr(self, name) for name in names}

    @property
    def terminated(self) -> bool:
        return not any(-1 in row for row in self.boxes)

    def is_joker(self) -> bool:  # Y7
        return len(set(self.dice)) == 1 and self.boxes[self.current_player][YAHTZEE] != -1

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        row = self.boxes[self.current_player]
        boxes = [box for box in range(13) if row[box] == -1]  # Y4
        if self.is_joker():
            face = self.dice[0] - 1
            boxes = [face] if face in boxes else [box for box in boxes if box >= 6] or boxes
        return [*range(31)] * (self.rerolls > 0) + [31 + box for box in boxes]  # Y3

    def total(self, player: int) -> int:  # Y6
        row = [max(points, 0) for points in self.boxes[player]]
        return sum(row) + (35 if sum(row[:6]) >= 63 else 0) + 100 * self.extras[player]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, before = self.current_player, self.total(self.current_player)
        self.rewards = [0.0] * self.num_players
        self.plies += 1
        new = self.throw(self.plies)
        if action < 31:
            self.dice = sorted(new[die] if action + 1 >> die & 1 else self.dice[die] for die in range(5))
            self.rerolls -= 1
            return
        joker, row = self.is_joker(), self.boxes[player]
        row[action - 31] = score(self.dice, action - 31, joker)
        if joker and row[YAHTZEE] == 50:
            self.extras[player] += 1
        self.dice, self.rerolls = sorted(new), 2
        self.current_player = (player + 1) % self.num_players
        if self.num_players == 1:  # Y8
            self.rewards = [float(self.total(0) - before)]
        elif self.terminated:
            totals = [self.total(p) for p in range(self.num_players)]
            winners = totals.count(max(totals))
            win = (self.num_players / winners - 1) / (self.num_players - 1)
            self.rewards = [win if x == max(totals) else -1 / (self.num_players - 1) for x in totals]

    def observation(self, player: int) -> list[float]:  # Y10
        seen: list[float] = [int(die == face) for die in self.dice for face in range(1, 7)]
        seen += [int(self.rerolls == left) for left in range(3)]
        for turn in range(self.num_players):
            other = (player + turn) % self.num_players
            seen += [int(box < 0) for box in self.boxes[other]]
            seen += [max(box, 0) / 50 for box in self.boxes[other]]
            seen.append(self.extras[other] / 12)
        return seen
