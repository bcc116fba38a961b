"""A game's kernels, as on the CPU device, compiled to WebAssembly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tinygrad import dtypes

from tensor_envs._engine.batch_layout import LANES, MAX_BLOCKS, BlockGrid
from tensor_envs._runtime.wasm import webassembly
from tensor_envs.envs.env import Env
from tensor_envs.export.files import module
from tensor_envs.export.functions import Arrays, ExportC, Function, arrays, named, sizes
from tensor_envs.search.kernels import PlayoutSearch
from tensor_envs.search.memory import SearchSize, TreeArrays, num_results
from tensor_envs.search.policies import checked_exploration, exploration_table, search_config
from tensor_envs.search.runners import tree_sizes
from tensor_envs.search.selection import ProgressiveHistory
from tensor_envs.search.simulation import Result
from tensor_envs.web.batch import FUNCTIONS, batch_arrays
from tensor_envs.web.variants import LEVELS, SIMULATIONS

FEW_BLOCKS = 2  # with few blocks, indices have 32 bits
BATCH = "seed", "init", "uniform", "rollout", "sample", "step"


class Kernels(NamedTuple):
    """A WebAssembly module.

    Attributes:
        metadata: "calls", the arrays that each function takes before its numbers; "arrays", their dtypes and numbers of
            values for each game; for a single game also "initial", the initial contents of arrays.
    """

    wasm: bytes
    metadata: dict[str, Any]


def _kernels(env: Env, functions: Mapping[str, Function], arrays: Arrays, grid: BlockGrid) -> Kernels:
    """Compile functions of these arrays into a module."""
    calls = {name: function.parameters(arrays) for name, function in functions.items()}
    return Kernels(module(env, functions, arrays, grid), {"arrays": sizes(arrays), "calls": calls})


def of_batch(env: Env) -> Kernels:
    """Compile the functions of a batch of games.

    Raises:
        RuntimeError: the compiler rejects the kernels.
    """
    grid = BlockGrid(MAX_BLOCKS, LANES, gpu=False)
    return _kernels(env, {name: FUNCTIONS[name] for name in BATCH}, batch_arrays(env), grid)


def of_player(env: Env, exploration: float | None = None) -> Kernels:
    """Compile the search of a computer player, that of `te.search.playout_policy`.

    exploration: weight of the search's exploration term, a part of the module's initial contents; None is 4.
    """
    config = search_config(env, ProgressiveHistory)
    engine = env.engine
    available = arrays(env)
    size = SearchSize(SIMULATIONS)
    room = tree_sizes(engine, config, size.slots)
    table = exploration_table(checked_exploration(exploration), size.slots, env.num_actions)
    # parameters for one game with the seed 0, for each level of the computer; the table follows
    heads = {kind: SearchSize(count).params(0, 1, 1, 1, 2**31 - 1) for kind, count in LEVELS.items()}
    params = [*size.params(0, 1, 1, 1, 2**31 - 1), *memoryview(table).cast("i").tolist()]
    used = {name: available[name] for name in ("states", "keys")} | {
        "tree_states": (dtypes.uint32, room.states),
        "nodes": (dtypes.int32, room.nodes),
        "edges": (dtypes.int32, room.edges),
        "params": (dtypes.int32, len(params)),
        "action": (dtypes.int32, 1),
        "summary": (dtypes.int32, num_results(env.num_actions)),
    }
    tree = TreeArrays("tree_states", "nodes", "edges")
    result = Result("action", "summary")
    search = PlayoutSearch.Arrays(tree, "states", "keys", "params", result)
    chosen = {"search": Function(PlayoutSearch(config), search)}
    kernels = _kernels(env, chosen, used, BlockGrid(FEW_BLOCKS, 1, gpu=False, max_blocks=FEW_BLOCKS))
    return kernels._replace(metadata={**kernels.metadata, "initial": {"params": params}, "heads": heads})


def of_table(env: Env, oracle: Any) -> Kernels:
    """Compile the lookup of a position and of its actions in the table of a game's own oracle."""
    tape, used, initial = oracle.lookup(env.rules, env.engine.layout)
    wasm = webassembly(ExportC(named(tape, used)).source("judge"), ["judge"])
    return Kernels(wasm, {"arrays": sizes(used), "calls": {"judge": list(used)}, "initial": initial})
