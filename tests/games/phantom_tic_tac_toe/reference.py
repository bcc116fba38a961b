"""Phantom tic-tac-toe in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings P1-P8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

MARKS = (1, -1)  # P7: of player 0 and of player 1
LINES = [  # P4
    *([(row, column) for column in range(3)] for row in range(3)),
    *([(row, column) for row in range(3)] for column in range(3)),
    [(k, k) for k in range(3)],
    [(k, 2 - k) for k in range(3)],
]


class Reference:
    """One game; `marks` has the owner of each marked cell, `known` the cells on which each player knows a mark."""

    num_players = 2
    num_actions = 9
    truncated = False  # P4

    def __init__(self, key: Key, *, abrupt: bool = False) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.abrupt = abrupt
        self.marks: dict[tuple[int, int], int] = {}
        self.known: list[set[tuple[int, int]]] = [set(), set()]
        self.current_player = 0
        self.rewards = [0.0, 0.0]

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        for cell, (mark, found) in enumerate(zip(state["board"], state["found"], strict=True)):
            if mark:
                owner = MARKS.index(mark)
                game.marks[divmod(cell, 3)] = owner
                for player in (0, 1) if found else (owner,):
                    game.known[player].add(divmod(cell, 3))
        game.current_player = state["current_player"]
        return game

    def to_dict(self) -> dict[str, Any]:  # P7
        cells = [divmod(cell, 3) for cell in range(9)]
        return {
            "board": [MARKS[self.marks[cell]] if cell in self.marks else 0 for cell in cells],
            "found": [int(all(cell in known for known in self.known)) for cell in cells],
            "current_player": self.current_player,
        }

    def winner(self) -> int | None:  # P4
        for line in LINES:
            owners = {self.marks.get(cell) for cell in line}
            if len(owners) == 1 and None not in owners:
                return owners.pop()
        return None

    @property
    def terminated(self) -> bool:  # P4
        return self.winner() is not None or len(self.marks) == 9

    def legal_actions(self) -> list[int]:  # P2
        if self.terminated:
            return []
        return [cell for cell in range(9) if divmod(cell, 3) not in self.known[self.current_player]]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, cell = self.current_player, divmod(action, 3)
        self.known[player].add(cell)
        if cell in self.marks:  # P3
            self.current_player = 1 - player if self.abrupt else player
            return
        self.marks[cell] = player
        self.current_player = 1 - player
        if self.winner() == player:
            self.rewards = [1.0 if p == player else -1.0 for p in (0, 1)]

    def observation(self, player: int) -> list[Any]:  # P5
        planes = [
            [[self.marks.get((r, c)) == owner and (r, c) in self.known[player] for c in range(3)] for r in range(3)]
            for owner in (player, 1 - player)
        ]
        return [*planes, [[player == 0] * 3] * 3]
