"""Kernels and metadata of a batch of games in a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensor_envs._engine.batch_layout import LANES
from tensor_envs._engine.kernels.step import Step
from tensor_envs.export.files import name_of, shader
from tensor_envs.export.functions import Function, arrays, functions, metadata, sizes
from tensor_envs.web.tile import tile_tables

if TYPE_CHECKING:
    from tensor_envs.env import Env

FUNCTIONS = {
    **functions(LANES),
    "uniform": Function(Step("same_step", uniform=True), Step.Arrays("states", None, "keys", "actions")),
}
ARRAYS = "states", "keys", "actions", "totals"


def batch_arrays(env: Env) -> dict[str, Any]:
    """Return the arrays of a batch by name: dtype and number of values for each game."""
    available = arrays(env)
    return {name: available[name] for name in ARRAYS}


def page_metadata(env: Env) -> dict[str, Any]:
    """Return the metadata of a game, its number of actions, its arrays and its tile."""
    more = {"actions": env.num_actions, "arrays": sizes(batch_arrays(env)), "tile": tile_tables(env)}
    return metadata(env) | more


def wgsl(env: Env, batch: int, names: Sequence[str]) -> dict[str, Any]:
    """Return functions for a browser's GPU: their shader, entry points, number of workgroups, and bytes of arrays."""
    available = batch_arrays(env)
    used = {array for name in names for array in FUNCTIONS[name].parameters(available)}
    used_arrays = {name: array for name, array in available.items() if name in used}
    return {
        "source": shader(env, {name: FUNCTIONS[name] for name in names}, used_arrays, LANES),
        "entries": {name: f"{name_of(env)}_{name}" for name in names},
        "groups": batch // LANES,
        "bytes": {name: 4 * values * batch for name, (_, values) in used_arrays.items()} | {"numbers": 16},
    }
