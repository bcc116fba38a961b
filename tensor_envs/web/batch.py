"""A batch of games in a page: its functions, and the metadata that the page reads games by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_envs._engine.batch_layout import LANES
from tensor_envs._engine.kernels.step import Step
from tensor_envs.env import Env
from tensor_envs.export.files import name_of, shader
from tensor_envs.export.functions import Function, arrays, functions, metadata, sizes
from tensor_envs.web.tile import tile_tables

FUNCTIONS = {
    **functions(LANES),
    "uniform": Function(Step("same_step", uniform=True), Step.Arrays("states", None, "keys", "actions")),
}
ARRAYS = "states", "keys", "actions", "totals"


def batch_arrays(env: Env) -> dict[str, Any]:
    """Return dtype and values a game of the arrays of a batch, by name."""
    known = arrays(env)
    return {name: known[name] for name in ARRAYS}


def described(env: Env) -> dict[str, Any]:
    """Return the metadata of a game, its arrays and its tile."""
    return metadata(env) | {"arrays": sizes(batch_arrays(env)), "tile": tile_tables(env)}


def wgsl(env: Env, games: int, names: Sequence[str]) -> dict[str, Any]:
    """Return functions for a browser's GPU: their shader and entry points, workgroups, and the bytes of the arrays."""
    known = batch_arrays(env)
    used = {array for name in names for array in FUNCTIONS[name].parameters(known)}
    known = {name: array for name, array in known.items() if name in used}
    return {
        "source": shader(env, {name: FUNCTIONS[name] for name in names}, known, LANES),
        "entries": {name: f"{name_of(env)}_{name}" for name in names},
        "groups": games // LANES,
        "bytes": {name: 4 * values * games for name, (_, values) in known.items()} | {"numbers": 16},
    }
