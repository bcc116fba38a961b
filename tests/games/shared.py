"""Environments made once for all tests: each traces and compiles kernels of its own, one a task and batch size."""

from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

import tensor_envs as te

_made: dict[str, te.Env] = {}
_observers: dict[te.Env, Callable[[te.State, Tensor], Tensor]] = {}


def shared_env(game: str, **config: Any) -> te.Env:
    """`te.make`, with one environment for all who ask for the same."""
    what = f"{game} {sorted(config.items())}"
    if what not in _made:
        _made[what] = te.make(game, **config)
    return _made[what]


def observe(state: te.State, player: int) -> Any:
    """What a player sees in every game, as an array: one capture for all seats."""
    env = state.env
    if env not in _observers:
        _observers[env] = te.jit(env.observe)
    seats = Tensor([player] * state.batch, dtype="int32", device=state.device).realize()
    return _observers[env](state, seats).numpy()
