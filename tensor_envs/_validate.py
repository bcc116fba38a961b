"""Checks of arguments and of optional packages. Errors name the argument, the value that came and what is allowed."""

from __future__ import annotations

import ast
import functools
import importlib
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")
SHOWN = 80  # characters of a value in a message


def shown(value: Any) -> str:
    """Return the repr of a value for a message, truncated."""
    try:
        text = repr(value)
    except Exception:  # an int of too many digits, or an object that is only partly initialised
        text = f"<{type(value).__name__}>"
    return shortened(" ".join(text.split()))


def shortened(text: str) -> str:
    """Return a text for a message, truncated."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def repeated(values: Sequence[Any]) -> list[Any]:
    """Return the values that stand earlier in the list, too."""
    return [value for k, value in enumerate(values) if value in values[:k]]


def literal(text: str | ast.expr) -> Any:
    """Return the value of a Python literal that a user wrote, without Python's warnings about its spelling.

    Raises:
        ValueError: the text is no literal.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"must be a plain Python value, got {shown(text)}") from None


def plain(value: Any) -> Any:
    """Return a value with NumPy's arrays and numbers, also within dictionaries and lists, as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(entry) for name, entry in value.items()}
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def renames(**before: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function whose arguments had other names in version 0.2: old name, new name. They end with 0.4."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> T:
            for old in before.keys() & named.keys():
                warnings.warn(f"write {before[old]}=, not {old}=", DeprecationWarning, stacklevel=2)
                named[before[old]] = named.pop(old)
            return function(*args, **named)

        return call

    return decorated


def wrong_type(name: str, wanted: str, value: Any) -> TypeError:
    return TypeError(f"{name} must be {wanted}, got {shown(value)} of type {type(value).__name__}")


@contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Name a place in the ValueErrors of a block."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Return an int, NumPy's included. TypeError for other types and bools, ValueError outside low..high."""
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise wrong_type(name, "an int", value) from None
    if not low <= whole <= high:
        raise ValueError(f"{name} must be in {low}..{high}, got {shown(whole)}")
    return whole


def number(name: str, value: Any, low: float, high: float) -> float:
    """Return an int or a finite float. TypeError for other types, ValueError outside low..high."""
    if isinstance(value, (np.integer, np.floating)):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(name, "a number", value)
    if not low <= value <= high or not math.isfinite(value):
        raise ValueError(f"{name} must be in {low:g}..{high:g}, got {shown(value)}")
    return value


def integers(name: str, value: Any, low: int, high: int) -> tuple[int, ...]:
    """Return one or more ints in low..high as a tuple."""
    if not isinstance(value, (tuple, list, range)):
        raise wrong_type(name, "a tuple of ints", value)
    if not value:
        raise ValueError(f"{name} must have one or more entries, got {shown(value)}")
    return tuple(integer(f"{name}[{i}]", entry, low, high) for i, entry in enumerate(value))


def nested(name: str, value: Any, shape: tuple[int | None, ...], low: int, high: int) -> Any:
    """Return nested lists of ints in low..high; `shape` has their lengths, None for any, and () for an int."""
    if not shape:
        return integer(name, value, low, high)
    length, *rest = shape
    if not isinstance(value, (list, tuple)):
        raise wrong_type(name, "a list", value)
    if length not in (None, len(value)):
        raise ValueError(f"{name} must have {length} entries, got {len(value)}")
    return [nested(f"{name}[{i}]", entry, (*rest,), low, high) for i, entry in enumerate(value)]


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return a string. TypeError or ValueError unless it is among those allowed."""
    instance(name, value, str)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}")
    return str(value)


def instance(name: str, value: Any, kind: type) -> None:
    """Raise TypeError unless a value is an instance of a type."""
    if not isinstance(value, kind):
        raise wrong_type(name, f"of type {kind.__name__}", value)


def function(name: str, value: Any) -> Callable[..., Any]:
    """Return a callable. TypeError for anything else."""
    if not callable(value):
        raise wrong_type(name, "a function", value)
    checked: Callable[..., Any] = value
    return checked


def file_path(name: str, value: Any) -> Path:
    """Return a path. TypeError if it is neither str nor Path, ValueError for an impossible name."""
    if not isinstance(value, (str, Path)):
        raise wrong_type(name, "a str or a Path", value)
    if not str(value) or "\0" in str(value):
        raise ValueError(f"{name} must name a file, got {shown(value)}")
    return Path(value)


def need(package: str, purpose: str, extra: str) -> Any:
    """Import an optional package.

    Raises:
        ImportError: it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = {"PIL": "Pillow", "torch": "PyTorch", "ray": "Ray"}.get(package, package)
        raise ImportError(f"{purpose} needs {name}: pip install 'tensor_envs[{extra}]'") from None
