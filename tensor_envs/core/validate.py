"""Arguments that users get wrong: clear errors that name the argument, what came and what is allowed."""

from __future__ import annotations

import operator
from typing import Any


def integer(name: str, value: Any, low: int, high: int) -> int:
    """An int, NumPy's included, in low..high. TypeError if it is none (a bool is none), ValueError out of range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an int, got {value!r} of type {type(value).__name__}")
    number = operator.index(value)
    if not low <= number <= high:
        raise ValueError(f"{name} must be in {low}..{high}, got {number}")
    return number


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """A string among those allowed, else ValueError."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return str(value)


def instance(name: str, value: Any, kind: type) -> None:
    """TypeError unless the value is of a kind."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} must be of type {kind.__name__}, got {value!r} of type {type(value).__name__}"
        )
