"""A game's kernels as one WebAssembly module: the same ones that the CPU device runs, written for another machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs.core.backend.wasm import c_of, webassembly
from tensor_envs.core.env import Env
from tensor_envs.core.kernels.block import LANES, Grid
from tensor_envs.core.kernels.observe import DTYPES, ObservationArrays, Observe
from tensor_envs.core.kernels.tracer import Kernel
from tensor_envs.search.kernels import Found, SearchByPlayouts
from tensor_envs.search.memory import Sizes, TreeArrays
from tensor_envs.search.tree_search import EXPLORATION, exploration_table, form_of
from tensor_envs.web.batch import KERNELS, arrays, sizes, traced_for
from tensor_envs.web.variants import SIMULATIONS


class Kernels(NamedTuple):
    """Some kernels as WebAssembly.

    about: "calls", the names of the arrays that each takes, and "arrays", of which dtype they are and of how many
    values a game, 0 of what is of no game.
    """

    wasm: bytes
    about: dict[str, Any]


def _made(
    env: Env, kernels: Mapping[str, tuple[Kernel, Any]], known: Mapping[str, tuple[DType, int]], lanes: int
) -> Kernels:
    grid, names, dtypes_ = Grid(1, lanes, gpu=False).form, list(known), [dtype for dtype, _ in known.values()]
    texts, calls = [], {}
    for name, (kernel, given) in kernels.items():
        text, used = c_of(name, traced_for(env, kernel, given, names, grid), dtypes_)
        texts.append(text)
        calls[name] = [names[place] for place in used]
    return Kernels(webassembly(texts, list(calls)), {"arrays": sizes(known), "calls": calls})


def of_batch(env: Env) -> Kernels:
    """What is done with a batch of games. RuntimeError if the compiler does not take it."""
    return _made(env, KERNELS, arrays(env), LANES)


def of_player(env: Env) -> Kernels:
    """What the computer asks of one game: a search, as `te.search.playout_policy`, and what the player to move sees."""
    form, engine = form_of(env, "playout", SIMULATIONS), env._engine
    room, table = Sizes.of(form, engine.game, engine.layout), exploration_table(EXPLORATION, form.slots)
    about = [0, 1, 1, 1, 2**31 - 1, 0, 0, *table.tolist()]  # see `memory`: one game, the seed 0
    known = {name: arrays(env)[name] for name in ("words", "rng")} | {
        "states": (dtypes.uint32, room.states),
        "nodes": (dtypes.int32, room.nodes),
        "edges": (dtypes.int32, room.edges),
        "about": (dtypes.int32, len(about)),
        "action": (dtypes.int32, 1),
        "numbers": (dtypes.int32, 3 * env.num_actions + 1),
        "observation": (DTYPES[env.spec.observation_dtype], math.prod(env.observation_shape)),
        "share": (dtypes.int32, 2),
    }
    tree, seen = TreeArrays("states", "nodes", "edges"), ObservationArrays("observation", None, None)
    search = SearchByPlayouts.Arrays(tree, "words", "rng", "about", Found("action", "numbers"))
    kernels: dict[str, tuple[Kernel, Any]] = {
        "search": (SearchByPlayouts(form), search),
        "observe": (Observe(None, 1), Observe.Arrays(seen, "words")),
    }
    made = _made(env, kernels, known, 1)
    return made._replace(about={**made.about, "about": about})
