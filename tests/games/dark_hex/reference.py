"""Dark Hex in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings D1-D8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

Cell = tuple[int, int]
STONES = (1, -1)  # D7: of player 0 and of player 1
AROUND = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))  # D1


class Reference:
    """One game; `stones` has the cells of each player, `found` those of the stones that the opponent has found."""

    num_players = 2
    truncated = False  # D4

    def __init__(self, key: Key, *, size: int = 3, abrupt: bool = False) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not 1 <= size <= 5:  # D8
            raise ValueError(f"need a size in 1..5, got {size}")
        self.size, self.abrupt = size, abrupt
        self.num_actions = size * size
        self.stones: list[set[Cell]] = [set(), set()]
        self.found: set[Cell] = set()
        self.current_player = 0
        self.rewards = [0.0, 0.0]

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        for number, (stone, found) in enumerate(zip(state["board"], state["found"], strict=True)):
            cell = divmod(number, game.size)
            if stone:
                game.stones[STONES.index(stone)].add(cell)
            if found:
                game.found.add(cell)
        game.current_player = state["current_player"]
        return game

    def to_dict(self) -> dict[str, Any]:  # D7
        cells = [divmod(number, self.size) for number in range(self.num_actions)]
        return {
            "board": [int(cell in self.stones[0]) - int(cell in self.stones[1]) for cell in cells],
            "found": [int(cell in self.found) for cell in cells],
            "current_player": self.current_player,
        }

    def connected(self, player: int) -> bool:
        """Return whether a chain of stones leads from the player's first side to the other (D1, D4)."""
        reached = {cell for cell in self.stones[player] if cell[player] == 0}
        waiting = list(reached)
        while waiting:
            row, column = waiting.pop()
            new = {(row + down, column + right) for down, right in AROUND} & self.stones[player] - reached
            reached |= new
            waiting += new
        return any(cell[player] == self.size - 1 for cell in reached)

    @property
    def terminated(self) -> bool:
        return self.connected(0) or self.connected(1)

    def known(self, player: int) -> tuple[set[Cell], set[Cell]]:
        """Return a player's stones and those of the opponent that it has found."""
        return self.stones[player], self.stones[1 - player] & self.found

    def legal_actions(self) -> list[int]:  # D2
        if self.terminated:
            return []
        own, found = self.known(self.current_player)
        return [a for a in range(self.num_actions) if divmod(a, self.size) not in own | found]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, cell = self.current_player, divmod(action, self.size)
        if cell in self.stones[1 - player]:  # D3
            self.found.add(cell)
            if self.abrupt:
                self.current_player = 1 - player
            return
        self.stones[player].add(cell)
        self.current_player = 1 - player
        if self.connected(player):
            self.rewards = [1.0 if p == player else -1.0 for p in (0, 1)]

    def observation(self, player: int) -> list[Any]:  # D5
        sides = range(self.size)
        planes = [[[(r, c) in cells for c in sides] for r in sides] for cells in self.known(player)]
        return [*planes, [[player == 0] * self.size] * self.size]
