"""Names of players and status lines, the same in pictures, texts and prompts.

A player has the name that a game's `players` gives, such as "Black". A text in which the player's pieces have another
sign adds the sign: "Black (X) to move".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensor_envs.render.moves import Game


def seats(count: int) -> list[str]:
    """Return the names of seats that a game gives no names: "Player 1" and so on, or "Player" for the only one."""
    return ["Player"] if count == 1 else [f"Player {player + 1}" for player in range(count)]


def seat_names(*names: str) -> Callable[[Any, Game | None], list[str]]:
    """Return the function `players` of a game whose seats always have the same names."""

    def players(rules: Any, game: Game | None) -> list[str]:
        """Return the names of the seats."""
        return list(names)

    return players


def signed(names: Sequence[str], signs: str = "XO") -> list[str]:
    """Return the names with the signs of the players' pieces in a text, where these differ: "Black (X)"."""
    return [name if name == sign else f"{name} ({sign})" for name, sign in zip(names, signs, strict=True)]


def to_move(game: Game, name: str, task: str = "to move") -> str:
    """Return the status of a game without a result: the player's task, or the author of an illegal action."""
    return f"over by an illegal action of {name}" if game.get("terminated") else f"{name} {task}"


def outcome(names: Sequence[str], winner: int | None, why: str = "") -> str:
    """Return the status of a game that has ended: "White wins: checkmate", or "a draw" if there is no winner."""
    result = "a draw" if winner is None else f"{names[winner]} wins"
    return f"{result}: {why}" if why else result


def shared_win(names: Sequence[str]) -> str:
    """Return the status of a game with one winner or more: "Player 1 wins", "Player 1 and Player 3 share the win"."""
    *others, last = names
    return f"{', '.join(others)} and {last} share the win" if others else f"{last} wins"


def number_texts(
    numbers: Callable[[Game], Sequence[int]], noun: str, plural: str = ""
) -> tuple[Callable[[Any, Game], list[str]], Callable[[Any, Game], str]]:
    """Return the functions `scores` and `reason` of a game that is decided by the players' numbers of things."""

    def scores(rules: Any, game: Game) -> list[str]:
        """Return the numbers of things."""
        return [counted(number, noun, plural) for number in numbers(game)]

    def reason(rules: Any, game: Game) -> str:
        """Return the numbers of things at the end, the highest first."""
        return compared(numbers(game), noun, plural)

    return scores, reason


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number of things, such as "1 seed" and "2 seeds"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def compared(numbers: Sequence[int], noun: str, plural: str = "") -> str:
    """Return the numbers of things of all players, the highest first, such as "26 seeds to 22"."""
    highest, *others = sorted(numbers, reverse=True)
    return " to ".join([counted(highest, noun, plural), *map(str, others)])
