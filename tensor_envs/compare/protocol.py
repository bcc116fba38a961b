"""Protocol of another engine in `tensor_envs.compare`."""

from __future__ import annotations

from typing import Any, Protocol

from tensor_envs.envs.env import Env

Fields = dict[str, Any]  # fields of our game, as `Env.row` returns them


class OtherEngine(Protocol):
    """Another engine with one game, whose actions and players have our numbers."""

    @property
    def player(self) -> int:
        """The player to move."""

    @property
    def over(self) -> bool:
        """Whether the game has ended."""

    @property
    def returns(self) -> list[float]:
        """The rewards of each player so far."""

    def begin(self, fields: Fields, seed: int, row: int) -> None:
        """Start a game. fields: our first position, with what chance has dealt."""

    def apply(self, action: int, fields: Fields) -> None:
        """Play an action. fields: our position after it, with what chance has dealt."""

    def legal(self) -> list[int]:
        """Return the legal actions by our numbers, in any order."""


def known_name(engine: str, env: Env, names: dict[str, str]) -> str:
    """Return an engine's name for a game. ValueError if the engine cannot be compared in this game."""
    if env.id not in names:
        raise ValueError(f"{engine} can be compared in {', '.join(names)}, got {env.id!r}")
    return names[env.id]
