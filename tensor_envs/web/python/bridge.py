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
stand_in_for_package("tensor_envs.web")
sys.modules["tensor_envs"].GameEntry = import_module("tensor_envs._engine.entry").GameEntry  # type: ignore[attr-defined]

Layout = import_module("tensor_envs._engine.layout").Layout
views_of = import_module("tensor_envs.web.views").views_of
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


@cache
def views(id: str) -> dict[str, Any]:
    """Return the functions of a game's positions, see `views.py`."""
    found: dict[str, Any] = views_of(GAMES[id][-1], *game(id))
    return found


def view(id: str, *arguments: Any) -> dict[str, Any]:
    """Return what a table shows of a position of a game."""
    shown: dict[str, Any] = views(id)["view"](*arguments)
    return shown


def names(id: str, *arguments: Any) -> list[str]:
    """Return the names of legal actions of a game."""
    listed: list[str] = views(id)["names"](*arguments)
    return listed


def written(id: str, *arguments: Any) -> str:
    """Return a move of a game as its own notation has it in lists of moves."""
    text: str = views(id)["written"](*arguments)
    return text


def prompt(id: str, *arguments: Any) -> str:
    """Return a position of a game as text for a player, as `te.text.prompt` does."""
    text: str = views(id)["prompt"](*arguments)
    return text


def answer(name: str, arguments: str) -> str:
    """Call "module.function" of the page's Python with arguments in JSON, and return the result as JSON."""
    module, _, function = name.partition(".")
    return json.dumps(getattr(sys.modules[module], function)(*json.loads(arguments)))
