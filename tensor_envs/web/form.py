"""The rules of a game as a form: their fields, and the game of their values.

A game is called as it would be made, such as "hyper_tic_tac_toe(shape=(4, 4), k=3)": that is its name in links, too.
This is a part of the page's Python as well, so there is no NumPy in it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

from tensor_envs._validate import shown
from tensor_envs.env import Env
from tensor_envs.registry import make

BEYOND = 2**63  # of every field's range
# what is larger would be traced and compiled for minutes, and nothing else be played meanwhile
MOST_STATE, MOST_OBSERVATION = 1024, 2048  # bytes, numbers


def form_id(env: Env) -> str:
    """The id that has all rule fields, a preset's game, say."""
    return env.id if ":" in env.id else env.entry.id


def fields_of(rules: Any) -> list[dict[str, Any]]:
    """The fields of rules with their present values as text, and what they may be."""
    told = []
    for name, value in asdict(rules).items():
        allowed = _allowed(rules, name, value)
        choices = re.findall(r"'(\w+)'", allowed) if isinstance(value, str) else []
        told.append(
            {
                "name": name,
                "text": value if isinstance(value, str) else repr(value),
                "allowed": allowed,
                "choices": ["False", "True"] if isinstance(value, bool) else choices,
            }
        )
    return told


def _allowed(rules: Any, name: str, now: Any) -> str:
    """What a field may be, as the rules themselves refuse something else."""
    for wrong in ("",) if isinstance(now, str) else (BEYOND, -BEYOND, None):
        try:
            replace(rules, **{name: wrong})
        except (ValueError, TypeError) as error:
            said, refused, _ = str(error).partition(", got")
            if refused and said.startswith(name):
                return said.removeprefix(name).lstrip(" :")
    return ""


def name_of(id: str, texts: dict[str, str], known: Collection[str]) -> str:
    """The name of the game that a form says. ValueError: none of the known ids."""
    usual = asdict(make(_checked(id, known)).rules)
    given = {field: _read(text, usual.get(field)) for field, text in texts.items()}
    changed = [f"{field}={value!r}" for field, value in given.items() if value != usual.get(field, BEYOND)]
    return f"{id}({', '.join(changed)})"


def _read(text: str, now: Any) -> Any:
    """A value as it was written; what is none is left to the rules to refuse."""
    if isinstance(now, str):
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def _checked(id: str, known: Collection[str]) -> str:
    if id not in known:
        raise ValueError(f"the game must be {', '.join(known)} with (field=value, ...), got {shown(id)}")
    return id


def env_of(name: str, known: Collection[str]) -> Env:
    """The environment of a name that begins with one of the known ids.

    ValueError, TypeError or NotImplementedError: there is none, its rules refuse a value, or it is too large.
    """
    called = re.fullmatch(r"([\w.:]+)\((.*)\)", name, re.DOTALL)
    id, given = called.groups() if called else (name, "")
    _checked(id, known)
    try:
        match ast.parse(f"rules({given})", mode="eval").body:
            case ast.Call(ast.Name(), [], keywords):
                fields = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
            case _:
                raise ValueError
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"the rules of {id} must be field=value, ..., got {shown(given)}") from None
    env, too = make(id, **fields), f"{id} is too large for a page"
    for what, size, most in (
        ("bytes", env.state_bytes, MOST_STATE),
        ("numbers in an observation", math.prod(env.observation_shape), MOST_OBSERVATION),
    ):
        if size > most:
            raise NotImplementedError(f"{too}: {size:,} {what}, at most {most:,}")
    if env.engine.game.has_memory:
        raise NotImplementedError(f"{too}: its fields are memory")
    return env
