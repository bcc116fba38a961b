"""Functions for notation and render modules: checks of positions, and rules evaluated on plain numbers."""

from collections.abc import Mapping, Set
from typing import Any

from tensor_envs._validate import instance, integer
from tensor_envs._validate import nested as nested_entry
from tensor_envs.rules import GameState, scalar, unpack
from tensor_envs.rules.lists import flat, nested

Limits = tuple[tuple[int | None, ...], int, int]  # lengths of nested lists, least and greatest value
# allowed values of a rule field: least and greatest int, a set of ints, nested lists of ints, or bools
Allowed = tuple[int, int] | Set[int] | Limits | type[bool]


def checked(game: Mapping[str, Any], limits: Mapping[str, Limits]) -> dict[str, Any]:
    """Return the entries of a dictionary that `limits` names. TypeError or ValueError if they break a limit."""
    return {name: nested_entry(name, game[name], *allowed) for name, allowed in limits.items()}


def field_limits(rules: Any, *names: str) -> dict[str, Limits]:
    """Return the shapes and bounds of int32 fields, by name, for `checked`."""
    fields = {field.name: field for field in rules.spec.all_fields}
    return {name: (fields[name].shape, fields[name].low or 0, fields[name].high or 0) for name in names}


def check_fields(rules: Any, **allowed: Allowed) -> None:
    """Check fields of frozen rules and convert them in place to plain ints, bools or tuples.

    TypeError or ValueError if a value is not allowed.
    """
    for name, limits in allowed.items():
        value = getattr(rules, name)
        if isinstance(limits, type):
            instance(name, value, limits)
        elif isinstance(limits, Set):
            *others, highest = sorted(limits)
            if integer(name, value, min(limits), highest) not in limits:
                raise ValueError(f"{name} must be {', '.join(map(str, others))} or {highest}, got {value}")
            value = int(value)
        else:
            value = nested_entry(name, value, *(limits if len(limits) == 3 else ((), *limits)))
        object.__setattr__(rules, name, tuple(value) if isinstance(value, list) else value)


def ended(terminated: bool) -> dict[str, bool]:
    """Return the flags `terminated` and `truncated` of a game that is not truncated."""
    return {"terminated": terminated, "truncated": False}


def state_of(rules: Any, fields: Mapping[str, Any]) -> GameState:
    """Return a state with these fields, plain numbers or scalars, for functions of the rules; other fields are 0."""
    values = {}
    for field in rules.spec.all_fields:
        numbers = flat(fields.get(field.name, [field.kind != "bool" and 0] * field.size))
        values[field.name] = nested([scalar(x, field.dtype) for x in numbers], field.shape)
    return GameState(values)


def values_of(scalars: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of plain scalars as numbers and nested lists."""

    def value(x: Any) -> Any:
        return [value(entry) for entry in x] if isinstance(x, list) else x.value

    return {name: value(x) for name, x in scalars.items()}


def legal_actions(rules: Any, fields: Mapping[str, Any]) -> list[int]:
    """Return the legal actions, ascending; `fields` must have the fields on which the mask depends."""
    mask = [int(scalar(part).value) for part in rules.legal_action_mask(state_of(rules, fields))]
    count = rules.spec.num_actions
    return [a for a in range(count) if mask[a]] if len(mask) == count else unpack(mask, count)


def open_actions(rules: Any, game: Mapping[str, Any], fields: Mapping[str, Any]) -> list[int]:
    """Return the legal actions of a position, given its dictionary and fields; none once the game is over."""
    return [] if fields["terminated"] or game.get("terminated") else legal_actions(rules, fields)
