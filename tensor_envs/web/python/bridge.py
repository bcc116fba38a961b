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

scenes = import_module("tensor_envs.render.scene")
names = import_module("tensor_envs.render.moves")
prompt_text = import_module("tensor_envs.render.prompt").prompt_text
# by id: module of the GameEntry, rule fields, slots of the state, whether a player has hidden cards, and the id of
# `te.make`
GAMES: dict[str, tuple[str, dict[str, Any], dict[str, Any], bool, str]] = json.loads((HERE / "games.json").read_text())


def _tupled(x: Any) -> Any:
    return tuple(map(_tupled, x)) if isinstance(x, list) else x


@cache
def game(id: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return a game's rules, notation, render, and the slots of its fields."""
    module, fields, slots, *_ = GAMES[id]
    entry = import_module(module).GAME
    rules = entry.load_rules()(**{name: _tupled(value) for name, value in fields.items()})
    return rules, entry.load("notation"), entry.load("render"), slots


def number(words: list[int], kind: str, slot: list[int]) -> int:
    """Return the number in a slot of a state's words."""
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


def position(id: str, words: list[int]) -> dict[str, Any]:
    """Return the dictionary of a game from a state's words."""
    rules, notation, _, slots = game(id)
    values = {
        field.name: nested([number(words, field.kind, slot) for slot in slots[field.name]], field.shape)
        for field in rules.spec.all_fields
    }
    flags = {name: number(words, "bool", slots[name][0]) for name in ("terminated", "truncated")}
    # pictures and texts tell the end of a game by these where the dictionary does not
    return {**notation.to_dict(rules, values | flags), **{name: True for name, is_set in flags.items() if is_set}}


def view(
    id: str,
    words: list[int],
    player: int | None,
    moves: list[str],
    actions: list[int] | None = None,
    last: tuple[list[int], int] | None = None,
    over: bool = False,
) -> dict[str, Any] | None:
    """Return what a table shows of a position, see `render/scene.py`; None for a user's game.

    Args:
        id: the game.
        words: those of the state.
        player: the viewer; with None nothing is hidden.
        moves: names of the moves so far.
        actions: legal actions to explain.
        last: the words before the last move, and its action.
        over: whether the game has ended.
    """
    if id not in GAMES:
        return None
    rules, _, render, _ = game(id)
    before = None if last is None else (position(id, last[0]), last[1])
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
    rules, _, render, slots = game(id)
    whole, mover = position(id, words), number(words, "int", slots["current_player"][0])
    player = mover if player is None else player
    shown = scenes.seen(rules, render, whole, player)
    known = names.seen_moves(rules, render, [name for _, name in moves], whole, shown, player)
    seen = [(who, name if name == now else names.HIDDEN) for (who, name), now in zip(moves, known, strict=True)]
    turn = None if whole.get("terminated") or whole.get("truncated") else mover
    text: str = prompt_text(
        GAMES[id][-1], rules.spec.num_players, player, turn, render.to_string(rules, shown).rstrip(), seen, legal
    )
    return text


def answer(name: str, arguments: str) -> str:
    """Call "module.function" of the page's Python with arguments in JSON, and return the result as JSON."""
    module, _, function = name.partition(".")
    return json.dumps(getattr(sys.modules[module], function)(*json.loads(arguments)))
