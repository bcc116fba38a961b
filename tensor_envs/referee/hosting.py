"""Games and players that a client of a server may choose."""

from __future__ import annotations

from typing import Any

from tensor_envs._validate import shown
from tensor_envs.env import Env
from tensor_envs.referee.players import Participant, function, is_function, packaged
from tensor_envs.registry import make


def hosted_game(game: str, rules: dict[str, Any], custom: bool) -> Env:
    """Return the environment of a client's game, whose illegal actions lose.

    Args:
        game: an id or, if `custom`, "package.module:Name".
        rules: rule fields as JSON has them.
        custom: whether games of modules are allowed.

    Raises:
        ValueError, TypeError: another game or other fields.
    """
    if not custom and ":" in game:
        raise ValueError(f"game must be one of the package, got {shown(game)}; --custom of the server allows it")
    if "illegal" in rules:
        raise ValueError("rules must be rule fields, got 'illegal', which the server decides")
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in rules.items()}
    return make(game, **fields)


def hosted_player(name: str, env: Env, seed: int, custom: bool) -> Participant:
    """Return a client's opponent: a packaged player or, if `custom`, also a file's or a function's.

    Raises:
        ValueError: another player.
    """
    if not custom and (is_function(name) or name.endswith(".safetensors")):
        raise ValueError(f"opponent must be one of the package, got {shown(name)}; --custom of the server allows it")
    return function(name) if is_function(name) else packaged(name, env, seed)
