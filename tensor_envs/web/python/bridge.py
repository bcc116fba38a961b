"""In a page: a position's picture and text by the package's own Python, from the words of its state.

It runs in Pyodide, without NumPy and so without most of the package: what a game's notation and pictures need is here.
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
    sys.modules[name] = module = ModuleType(name)
    vars(module).update(names)


def _nobody(name: str) -> type:
    """A type that nothing is of."""
    return type(name, (), {})


def _single(x: float) -> float:
    return struct.unpack("f", struct.pack("f", x))[0]


_stand_in(
    "numpy",
    float32=_single,
    **{name: _nobody(name) for name in ("bool_", "floating", "generic", "integer", "int8", "ndarray")},
)
# packages without what their own first module imports
_stand_in("tensor_envs", __path__=[str(HERE / "tensor_envs")])
_stand_in("tensor_envs.ops", __path__=[str(HERE / "tensor_envs" / "ops")])
sys.modules["tensor_envs"].GameEntry = import_module("tensor_envs.core.entry").GameEntry  # type: ignore[attr-defined]

told = import_module("tensor_envs.render.moves").told
# of each id the module of its GameEntry, and the fields of its rules
GAMES: dict[str, tuple[str, dict[str, Any]]] = json.loads((HERE / "games.json").read_text())


def _tupled(x: Any) -> Any:
    return tuple(map(_tupled, x)) if isinstance(x, list) else x


@cache
def game(id: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Rules, notation, pictures, and where the fields lie."""
    module, fields = GAMES[id]
    entry = import_module(module).GAME
    rules = entry.load_rules()(**{name: _tupled(value) for name, value in fields.items()})
    slots = json.loads((HERE / f"{id}.json").read_text())
    return rules, entry.load("notation"), entry.load("render"), slots


def number(words: list[int], kind: str, slot: list[int]) -> int:
    """What a slot of a state's words holds."""
    word, shift, width, low = slot
    if width == 64:
        return words[word] | words[word + 1] << 32
    x = (words[word] >> shift & (1 << width) - 1) + low
    if kind == "bool":
        return bool(x)
    return x - 2**32 if kind == "int" and x >= 2**31 else x


def nested(numbers: list[int], shape: tuple[int, ...]) -> Any:
    if not shape:
        return numbers[0]
    part = len(numbers) // shape[0]
    return [nested(numbers[k * part : (k + 1) * part], shape[1:]) for k in range(shape[0])]


def view(id: str, words: str, player: int, moves: str) -> str:
    """JSON of a position's picture and text, and of the names of the moves that led there, as a player knows them.

    -1 knows everything. null for a user's game.
    """
    if id not in GAMES:
        return "null"
    rules, notation, render, slots = game(id)
    found = json.loads(words)
    values = {
        field.name: nested([number(found, field.kind, slot) for slot in slots[field.name]], field.shape)
        for field in rules.spec.all_fields
    }
    values |= {name: number(found, "bool", slots[name][0]) for name in ("terminated", "truncated")}
    whole = shown = notation.to_dict(rules, values)
    if player >= 0 and hasattr(render, "seen_by"):
        shown = render.seen_by(rules, whole, player)
    names = told(json.loads(moves), whole, shown)
    return json.dumps(
        {"svg": render.to_svg(rules, shown), "text": render.to_string(rules, shown), "moves": names}
    )
