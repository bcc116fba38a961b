"""Arrays, functions and metadata of a batch of games in a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensor_envs._engine.batch_layout import LANES
from tensor_envs._engine.kernels.step import Step
from tensor_envs.export.functions import Function, arrays, functions, metadata, sizes
from tensor_envs.web.tile import tile_tables

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env

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
