"""Entries of the games in this package."""

from typing import Any

from tensor_envs import GameEntry


def game_entry(package: str, rules: str, **fields: Any) -> GameEntry:
    """Return the entry of a game's folder, whose name is the id unless `fields` gives another.

    Args:
        package: `__name__` of the folder.
        rules: name of the rules class in the folder's module `rules`.
        **fields: further fields of `GameEntry`; `notation` and `render` are "" where the rules have their functions.
    """
    modules = {part: f"{package}.{part}" for part in ("notation", "render")}
    return GameEntry(**{"id": package.rpartition(".")[2], "rules": f"{package}.rules:{rules}", **modules, **fields})
