"""Backgammon in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings B1-B12 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key, draw

Move = tuple[int, int]  # from a pip, by a number
Sides = tuple[tuple[int, ...], tuple[int, ...]]  # men of the mover and of the other on pips 0 (off) .. 25 (bar)


def single_moves(sides: Sides, number: int) -> list[Move]:
    """Return all moves of one man by one number (B5, B8)."""
    own, other = sides
    sources = [25] if own[25] else [pip for pip in range(1, 25) if own[pip]]
    found = []
    for pip in sources:
        if pip > number:
            if other[25 - (pip - number)] < 2:
                found.append((pip, number))
        elif all(own[far] == 0 for far in range(7, 26)) and (
            pip == number or all(own[far] == 0 for far in range(pip + 1, 7))
        ):
            found.append((pip, number))
    return found


def moved(sides: Sides, move: Move) -> Sides:
    """Return the men after a move (B5)."""
    own, other = map(list, sides)
    pip, number = move
    own[pip] -= 1
    own[max(pip - number, 0)] += 1
    if pip > number and other[25 - (pip - number)] == 1:
        other[25 - (pip - number)] = 0
        other[25] += 1
    return tuple(own), tuple(other)


def most(sides: Sides, dice: tuple[int, ...]) -> int:
    """Return how many of a turn's numbers can be played."""
    best = 0
    for number in set(dice):
        rest = list(dice)
        rest.remove(number)
        for move in single_moves(sides, number):
            best = max(best, 1 + most(moved(sides, move), tuple(rest)))
    return best


class Reference:
    """One game; men are counted by pips 0 (off the board) to 25 (the bar) of either player."""

    num_players = 2
    num_actions = 156

    def __init__(self, key: Key, gammons: bool = True, max_plies: int = 10_000) -> None:
        self.key, self.gammons, self.max_plies, self.plies = key, gammons, max_plies, 0
        start = {24: 2, 13: 5, 8: 3, 6: 5}  # B1
        self.men = [[start.get(pip, 0) for pip in range(26)] for _ in range(2)]
        x = draw(key, 0, 30)  # B2
        first = 1 + x // 5
        second = [number for number in range(1, 7) if number != first][x % 5]
        self.dice, self.current_player = sorted([first, second]), int(second > first)
        self.rewards, self.terminated, self.truncated = [0.0, 0.0], False, False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.men = [[15 - sum(side), *side] for side in state["men"]]
        game.dice, game.current_player = sorted(state["dice"]), state["current_player"]
        game.terminated = any(side[0] == 15 for side in game.men)
        return game

    def to_dict(self) -> dict[str, Any]:  # B12
        return {"men": [side[1:] for side in self.men], "dice": list(self.dice), "current_player": self.current_player}

    @property
    def sides(self) -> Sides:
        me = self.current_player
        return tuple(self.men[me]), tuple(self.men[1 - me])

    def legal_moves(self) -> list[Move]:
        """Return the legal moves (B6, B7)."""
        goal, dice = most(self.sides, tuple(self.dice)), self.dice
        found = []
        for number in set(dice):
            rest = list(dice)
            rest.remove(number)
            for move in single_moves(self.sides, number):
                if 1 + most(moved(self.sides, move), tuple(rest)) == goal:
                    found.append(move)
        if goal == 1 and len(set(dice)) == 2 and any(number == max(dice) for _, number in found):
            found = [move for move in found if move[1] == max(dice)]
        return found

    def legal_actions(self) -> list[int]:  # B4
        if self.terminated or self.truncated:
            return []
        return sorted(6 * (26 - pip) + number - 1 for pip, number in self.legal_moves()) or [0]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        me = self.current_player
        if action:
            move = 26 - action // 6, action % 6 + 1
            own, other = moved(self.sides, move)
            self.men[me], self.men[1 - me] = list(own), list(other)
            self.dice.remove(move[1])
        self.rewards = [0.0, 0.0]
        if self.men[me][0] == 15:  # B9
            self.terminated = True
            loser, worth = self.men[1 - me], 1
            if self.gammons and loser[0] == 0:
                worth = 3 if any(loser[19:]) else 2
            self.rewards[me], self.rewards[1 - me] = float(worth), float(-worth)
        if action == 0 or not self.dice:  # B3
            x = draw(self.key, 1 + self.plies, 36)
            one, two = 1 + x // 6, 1 + x % 6
            self.dice = [one] * 4 if one == two else sorted([one, two])
            if not self.terminated:
                self.current_player = 1 - me
        self.plies += 1
        self.truncated = not self.terminated and self.plies >= self.max_plies  # B10

    def observation(self, player: int) -> list[int]:  # B11
        own, other = self.men[player], self.men[1 - player]
        seen = [*men_seen(own[1:25]), own[25], own[0]]
        seen += [*men_seen([other[25 - pip] for pip in range(1, 25)]), other[25], other[0]]
        return [*seen, *(self.dice.count(n) for n in range(1, 7)), int(player == self.current_player)]


def men_seen(men: list[int]) -> list[int]:
    sets = [int(count >= least) for least in (1, 2, 3) for count in men]
    return sets + [max(count - 3, 0) for count in men]
