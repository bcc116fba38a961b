"""Spaces of observations, and pictures of games, for Gymnasium and PettingZoo."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium import spaces

from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.rules import Spec

Info = dict[str, Any]
MaskedObservation = dict[str, np.ndarray]  # "observation" and "action_mask"


def observation_space(spec: Spec) -> spaces.Box:
    """Return the space of one observation: int8 0..1 for bool, otherwise the range of the dtype."""
    shape = spec.observation_shape
    dtype = np.dtype(spec.observation_dtype)
    if dtype == np.bool_:
        return spaces.Box(0, 1, shape, np.int8)
    limits: Any = np.iinfo(dtype) if dtype.kind == "i" else SimpleNamespace(min=-np.inf, max=np.inf)
    return spaces.Box(limits.min, limits.max, shape, dtype.type)


def _pixels(env: Env, state: State, i: int) -> np.ndarray:
    """Return a picture of one game as uint8 [height, width, 3]."""
    draw = getattr(env.entry.load("render"), "draw", None)
    if draw is None:
        raise ValueError(f"{env.id!r} has no pictures in pixels; render_mode may be 'ansi' or 'svg'")
    return np.asarray(draw(env.rules, env.state_to_dict(state, i)).image(scale=1))


FRAMES: dict[str, Callable[[Env, State, int], Any]] = {
    "ansi": Env.to_string,
    "svg": Env.render,
    "rgb_array": _pixels,  # needs Pillow, extra `draw`
}
