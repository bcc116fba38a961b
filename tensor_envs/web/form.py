"""Form of a game's rule fields, and the name of a game with given rules.

The name is the call that makes the game, such as "hyper_tic_tac_toe(shape=(4, 4), k=3)". Links contain it.
The page's own Python runs this module, so it does not import NumPy.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from tensor_envs._validate import literal, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make

BEYOND = 2**63  # beyond the range of every field
# a larger game would be traced and compiled for minutes, and block all other games meanwhile
MAX_STATE, MAX_OBSERVATION = 1024, 2048  # bytes, numbers


def form_id(env: Env) -> str:
    """Return the id without fixed rule fields: the own one, or that of a preset's game."""
    return env.id if ":" in env.id else env.entry.id


def fields_of(rules: Any) -> list[dict[str, Any]]:
    """Return name, text and allowed values of each rule field, for a form."""
    form = []
    for name, value in asdict(rules).items():
        allowed = _allowed(rules, name, value)
        choices = re.findall(r"'(\w+)'", allowed) if isinstance(value, str) else []
        form.append(
            {
                "name": name,
                "text": value if isinstance(value, str) else repr(value),
                "allowed": allowed,
                "choices": ["False", "True"] if isinstance(value, bool) else choices,
            }
        )
    return form


def _allowed(rules: Any, name: str, value: Any) -> str:
    """Return the allowed values of a field, from the message with which the rules refuse a wrong one."""
    for wrong in ("",) if isinstance(value, str) else (BEYOND, -BEYOND, None):
        try:
            replace(rules, **{name: wrong})
        except (ValueError, TypeError) as error:
            message, separator, _ = str(error).partition(", got")
            if separator and message.startswith(name):
                return message.removeprefix(name).lstrip(" :")
    return ""


def name_of(id: str, texts: dict[str, str], ids: Collection[str]) -> str:
    """Return the name of the game with these rule fields.

    Raises:
        ValueError: the id is none of `ids`.
        TypeError: the rules have no such field.
    """
    defaults = _rules(id, texts, ids)
    values = {field: _value(text, defaults[field]) for field, text in texts.items()}
    changed = [f"{field}={value!r}" for field, value in values.items() if repr(value) != repr(defaults[field])]
    return f"{id}({', '.join(changed)})"


def _value(text: str, default: Any) -> Any:
    """Return the value of a field; no literal, nor an infinity, stays a text, which the rules refuse."""
    if isinstance(default, str):
        return text
    with suppress(ValueError):
        return literal(repr(literal(text.strip())))  # the repr of an infinity is no literal
    return text


def _rules(id: str, names: Collection[str], ids: Collection[str]) -> dict[str, Any]:
    """Return the default rule fields of a game, after a check of its id and of the names of fields."""
    if id not in ids:
        raise ValueError(f"the game must be {', '.join(ids)} with (field=value, ...), got {shown(id)}")
    defaults = asdict(make(id).rules)
    for name in names:
        if name not in defaults:
            allowed = ", ".join(defaults) or "none"
            raise TypeError(f"{id!r} has no rule field {shown(name)}; its fields are {allowed}")
    return defaults


def env_of(name: str, ids: Collection[str]) -> Env:
    """Return the environment of a game's name, such as "hex(size=5)".

    Raises:
        ValueError: the id is none of `ids`, or the rules refuse a value.
        TypeError: the rules have no such field, or refuse a value's type.
        NotImplementedError: the game is too large for a page.
    """
    match = re.fullmatch(r"([\w.:]+)\((.*)\)", name, re.DOTALL)
    id, arguments = match.groups() if match else (name, "")
    _rules(id, (), ids)
    try:
        with warnings.catch_warnings(action="ignore"):
            call = ast.parse(f"rules({arguments})", mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args):
            raise ValueError
        nodes = {str(keyword.arg): keyword.value for keyword in call.keywords}
        if len(nodes) < len(call.keywords):  # a field stands twice
            raise ValueError
        _rules(id, nodes, ids)
        fields = {field: literal(node) for field, node in nodes.items()}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"the rules of {id} must be field=value, ..., got {shown(arguments)}") from None
    env = make(id, **fields)
    too_large = f"{id} is too large for a page"
    for unit, size, limit in (
        ("bytes", env.state_bytes, MAX_STATE),
        ("numbers in an observation", math.prod(env.observation_shape), MAX_OBSERVATION),
    ):
        if size > limit:
            raise NotImplementedError(f"{too_large}: {size:,} {unit}, at most {limit:,}")
    if env.engine.game.has_memory:
        raise NotImplementedError(f"{too_large}: its fields are memory")
    return env
