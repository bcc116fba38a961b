"""Modules of the package that a warm `env.step` enters, and the locks that it takes.

It watches the package that is first on the path, of this version or another; `rooms.py` prints its figures.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import tensor_envs as te

WARM = 4  # steps before the one that is watched


class Entered(NamedTuple):
    """Modules that a call has entered, and locks that it has taken.

    Attributes:
        modules: calls of functions by module.
        locks: number of times that the package's lock was taken.
    """

    modules: dict[str, int]
    locks: int


class CountingLock:
    """A lock that counts how often it is taken."""

    def __init__(self, lock: Any):
        self.lock, self.count = lock, 0

    def __enter__(self) -> None:
        self.count += 1
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lock, name)


def watched(call: Callable[[], object]) -> Entered:
    """Make a call and return what it has entered of the package."""
    root, entered = Path(te.__file__).parent, Counter[str]()
    holders = [m for name, m in sys.modules.items() if name.startswith("tensor_envs.") and hasattr(m, "LOCK")]
    lock = CountingLock(holders[0].LOCK)

    def profile(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(root):
            entered[".".join(path.relative_to(root).with_suffix("").parts)] += 1

    for module in holders:
        module.LOCK = lock  # type: ignore[attr-defined]
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        for module in holders:
            module.LOCK = lock.lock  # type: ignore[attr-defined]
    return Entered(dict(entered.most_common()), lock.count)


def warm_step() -> Entered:
    """Return what one step of 64 games of tic-tac-toe enters, after others."""
    env = te.make("tic_tac_toe")
    state = env.init(64)
    for action in range(WARM):
        state = env.step(state, np.full(64, action, np.int32))
    actions = np.full(64, WARM, np.int32)
    return watched(lambda: env.step(state, actions))


def line() -> str:
    """Return the figures in a line."""
    entered = warm_step()
    calls = ", ".join(f"{name} {count}" for name, count in entered.modules.items())
    return (
        f"a warm env.step takes {entered.locks} locks, and enters {len(entered.modules)} modules by "
        f"{sum(entered.modules.values())} calls\n  {calls}"
    )
