"""Environments made once for all tests: each traces and compiles kernels of its own, one a task and batch size."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te

# every registered id; those that are the rules of another on another board are slow, and two that compile for a minute
SLOW = (
    "hyper_tic_tac_toe", "qubic", "gomoku", "tensor_equilibrium", "backgammon", "chess", "gardner_chess", "shogi",
    "minishogi", "xiangqi",
)  # fmt: skip
GAMES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in te.registered()]


def reference(game: str) -> Any:
    """The class of a game's reference engine. A folder is no number: that of "2048" is game_2048."""
    folder = game if game.isidentifier() else f"game_{game}"
    return importlib.import_module(f"tests.games.{folder}.reference").Reference


_asked: dict[tuple[str, str], te.Env] = {}
_made: dict[tuple[Any, ...], te.Env] = {}
_observers: dict[te.Env, Callable[..., Tensor]] = {}


def shared_env(game: str, **config: Any) -> te.Env:
    """`te.make`, with one environment for all who ask for the same rules."""
    key = game, repr(config)
    if key not in _asked:
        env = te.make(game, **config)
        # Several arguments lead to the same rules, such as a field's default and no value.
        _asked[key] = _made.setdefault((env.id, env.rules, env.illegal), env)
    return _asked[key]


def observe(state: te.State, player: int | None) -> np.ndarray:
    """What a player (None: each game's player to move) sees, as an array; captured once for all seats."""
    env = state.env
    if env not in _observers:
        _observers[env] = te.jit(env.observe)
    seats = None if player is None else Tensor([player] * state.batch, dtype=dtypes.int32).realize()
    seen: np.ndarray = _observers[env](state, seats).numpy()
    return seen
