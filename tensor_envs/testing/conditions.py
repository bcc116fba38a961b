"""Conditions that checks require, and the games that they play."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tensor_envs._runtime.devices import DeviceName
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State
from tensor_envs.rules import spec as rules_spec

BATCH, SEED = 6, 11
MANY = 512  # games of checks that compare games with each other
MAX_STEPS = 20_000  # steps after which a check stops waiting for an event
Values = dict[str, np.ndarray]
Check = Callable[[Env, int, Any], str]


class ConformanceError(AssertionError):
    """A property that an environment lacks, or that a check could not observe."""


class Skipped(Exception):
    """A check that does not apply to a game."""


def require(condition: Any, what: str) -> None:
    """Raise ConformanceError unless the condition holds."""
    if not condition:
        raise ConformanceError(what)


def require_equal(a: Values, b: Values, what: str, rows: Any = slice(None)) -> None:
    """Raise ConformanceError unless the values of these rows are equal."""
    for name in a:
        differs = np.zeros(len(a[name]), bool)
        differs[rows] = (a[name] != b[name]).reshape(len(differs), -1).any(1)[rows]
        for row in np.flatnonzero(differs):
            raise ConformanceError(
                f"{what}: {name} differs in row {row}: {shown_values(a[name][row])}, {shown_values(b[name][row])}"
            )


def shown_values(values: Any) -> str:
    """Return values as text of one line."""
    return np.array2string(np.ravel(values), threshold=40, separator=", ", max_line_width=10_000)


def line_of(env: Env, method: str) -> str:
    """Return the file and line where the author of a game defines a method of the rules."""
    for kind in type(env.rules).__mro__:
        code = getattr(vars(kind).get(method), "__code__", None)
        if code is not None and code.co_filename != rules_spec.__file__:  # where `max_plies` wraps `step`
            return f"{code.co_filename}:{code.co_firstlineno}"
    return method


@contextmanager
def playing_at(place: str) -> Iterator[None]:
    """Name the place in a game at which rules raise an error."""
    try:
        yield
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConformanceError(f"{place}: {error}") from error


def over(values: Values) -> np.ndarray:
    """Return which games are over, bool [B]."""
    return np.asarray(values["terminated"] | values["truncated"])


@functools.lru_cache(4)
def short(env: Env) -> Env:
    """Return the environment with the `short` rule fields. It is cached, so that checks share its kernels."""
    if not env.entry.short:
        return env
    rules = dataclasses.replace(env.rules, **env.entry.short)
    return Env(env.entry, rules, env.id, env.illegal)


def waiting(steps: int, what: str) -> Iterator[int]:
    """Count steps. Raise ConformanceError if there are too many."""
    yield from range(max(steps, MAX_STEPS))
    raise ConformanceError(f"{what} in {max(steps, MAX_STEPS)} steps: give the GameEntry `short` rule fields")


def playing(env: Env, steps: int, device: DeviceName | None) -> State:
    """Return games after some uniformly random actions."""
    state = env.init(BATCH, SEED, device)
    for _ in range(steps):
        state = env.step(state, uniform(state))
    return state
