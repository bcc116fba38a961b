"""Pictures and texts of positions in a page, from the words of their states.

It runs in Pyodide, without NumPy and most of the package. Stand-ins replace modules that notation and render import.
"""

from __future__ import annotations

import json
import struct
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent


def _stand_in(name: str, **names: Any) -> None:
    """Put a module of these names in place of an import."""
    sys.modules[name] = module = ModuleType(name)
    vars(module).update(names)


def _empty_type(name: str) -> type:
    """Return a type without instances."""
    return type(name, (), {})


def _single(x: float) -> float:
    """Round to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def stand_in_for_package(name: str) -> None:
    """Replace a package by one whose `__init__` imports nothing."""
    _stand_in(name, __path__=[str(HERE / name.replace(".", "/"))])


KINDS = "bool_", "floating", "generic", "integer", "int8", "int32", "uint32", "uint64", "ndarray"
_stand_in("numpy", float32=_single, **{name: _empty_type(name) for name in KINDS})
stand_in_for_package("tensor_envs")
stand_in_for_package("tensor_envs.ops")
sys.modules["tensor_envs"].GameEntry = import_module("tensor_envs._engine.entry").GameEntry  # type: ignore[attr-defined]

Layout = import_module("tensor_envs._engine.layout").Layout
scenes = import_module("tensor_envs.render.scene")
moves_for = import_module("tensor_envs.render.moves").moves_for
prompt_text = import_module("tensor_envs.render.prompt").prompt_text
# by id: module of the GameEntry, rule fields, whether a player has hidden cards, and the id of `te.make`
GAMES: dict[str, tuple[str, dict[str, Any], bool, str]] = json.loads((HERE / "games.json").read_text())


def _tupled(x: Any) -> Any:
    return tuple(map(_tupled, x)) if isinstance(x, list) else x


@cache
def game(id: str) -> tuple[Any, Any, Any, Any]:
    """Return a game's rules, notation, render, and the layout of its states."""
    module, fields, *_ = GAMES[id]
    entry = import_module(module).GAME
    rules = entry.load_rules()(**{name: _tupled(value) for name, value in fields.items()})
    return rules, entry.load("notation"), entry.load("render"), Layout(rules.spec)


def position(id: str, words: list[int]) -> dict[str, Any]:
    """Return the dictionary of a game from a state's words."""
    rules, notation, _, layout = game(id)
    values = layout.plain(words)
    # pictures and texts tell the end of a game by these where the dictionary does not
    ends = {name: True for name in ("terminated", "truncated") if values[name]}
    return {**notation.to_dict(rules, values), **ends}


def view(
    id: str,
    words: list[int],
    player: int | None,
    moves: list[str],
    actions: list[int] | None = None,
    past: list[tuple[list[int], int]] | None = None,
    over: bool = False,
) -> dict[str, Any] | None:
    """Return what a table shows of a position, see `render/scene.py`; None for a user's game.

    Args:
        id: the game.
        words: those of the state.
        player: the viewer; with None nothing is hidden.
        moves: names of the moves so far.
        actions: legal actions to explain.
        past: the words before the latest moves, and their actions.
        over: whether the game has ended.
    """
    if id not in GAMES:
        return None
    rules, _, render, _ = game(id)
    needed = (past or [])[None if getattr(render, "SPOKEN", False) else -1 :]
    before = [(position(id, words), action) for words, action in needed]
    shown: dict[str, Any] = scenes.scene(rules, render, position(id, words), player, moves, actions or (), before, over)
    return shown


def prompt(id: str, words: list[int], player: int | None, moves: list[tuple[int, str]], legal: list[str]) -> str:
    """Return a position as text for a player, as `te.text.prompt` does.

    Args:
        id, words: as for `view`.
        player: the one who is asked; None: the player to move.
        moves: players and names of the moves so far.
        legal: names of the legal moves.
    """
    rules, _, render, layout = game(id)
    whole = position(id, words)
    mover = layout.plain(words)["current_player"]
    player = mover if player is None else player
    shown = scenes.seen(rules, render, whole, player)
    seen = moves_for(rules, render, moves, whole, shown, player)
    turn = None if whole.get("terminated") or whole.get("truncated") else mover
    text: str = prompt_text(
        GAMES[id][-1],
        scenes.names_of(rules, render, whole),
        player,
        turn,
        render.to_string(rules, shown).rstrip(),
        seen,
        legal,
    )
    return text


def answer(name: str, arguments: str) -> str:
    """Call "module.function" of the page's Python with arguments in JSON, and return the result as JSON."""
    module, _, function = name.partition(".")
    return json.dumps(getattr(sys.modules[module], function)(*json.loads(arguments)))
