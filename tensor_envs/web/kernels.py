"""A game's kernels as one WebAssembly module: the same ones that the CPU device runs, written for another machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tinygrad import UOp, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.backend.wasm import c_of, webassembly
from tensor_envs.core.env import Env
from tensor_envs.core.kernels.block import LANES, Grid
from tensor_envs.core.kernels.observe import DTYPES, ObservationArrays, Observe
from tensor_envs.core.kernels.tracer import Kernel
from tensor_envs.games.shed.layers import first_bytes, result_bytes
from tensor_envs.games.shed.lookup import judge
from tensor_envs.search.kernels import Found, SearchByPlayouts
from tensor_envs.search.memory import Sizes, TreeArrays
from tensor_envs.search.tree_search import EXPLORATION, exploration_table, form_of
from tensor_envs.web.batch import KERNELS, arrays, sizes, traced, traced_for
from tensor_envs.web.variants import SIMULATIONS

FAST = {"rollout"}  # what plays as many steps as it can


class Kernels(NamedTuple):
    """Some kernels as WebAssembly.

    about: "calls", the names of the arrays that each takes, and "arrays", of which dtype they are and of how many
    values a game, 0 of what is of no game; of a player's, "initial", what stands in some arrays from the beginning.
    """

    wasm: bytes
    about: dict[str, Any]


def _made(bodies: Mapping[str, Callable[..., UOp]], known: Mapping[str, tuple[DType, int]]) -> Kernels:
    names, dtypes_ = list(known), [dtype for dtype, _ in known.values()]
    texts, calls = {}, {}
    for name, body in bodies.items():
        texts[name], used = c_of(name, body, dtypes_)
        calls[name] = [names[place] for place in used]
    return Kernels(webassembly(texts, FAST), {"arrays": sizes(known), "calls": calls})


def of_batch(env: Env) -> Kernels:
    """What is done with a batch of games. RuntimeError if the compiler does not take it."""
    grid = Grid(1, LANES, gpu=False).form
    return _made({name: traced(env, name, grid) for name in KERNELS}, arrays(env))


def of_player(env: Env) -> Kernels:
    """What the computer asks of one game: a search, as `te.search.playout_policy`, and what the player to move sees."""
    form, engine = form_of(env, "playout", SIMULATIONS), env._engine
    room, table = Sizes.of(form, engine.game, engine.layout), exploration_table(EXPLORATION, form.slots)
    # see `memory`: one game, the seed 0
    about = [0, 1, 1, 1, 2**31 - 1, 0, 0, *memoryview(table).cast("i").tolist()]
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
    grid = Grid(1, 1, gpu=False).form
    bodies = {name: traced_for(env, *kernel, list(known), grid) for name, kernel in kernels.items()}
    made = _made(bodies, known)
    return made._replace(about={**made.about, "initial": {"share": [0, 1], "about": about}})


def of_table(env: Env) -> Kernels:
    """What one game of Shed is worth, and each of its actions, by a table that comes with it."""
    cards, results = env.rules.cards, (dtypes.uint8, result_bytes(env.rules.cards))
    known = {
        "values": (dtypes.int32, cards + 2),
        "tricks": (dtypes.int8, 1 << cards),
        "words": arrays(env)["words"],
        "a_to_move": results,
        "b_to_move": results,
        "first_bytes": (dtypes.int32, 1 << cards),
    }
    made = _made({"judge": judge(cards, env._engine.layout, Grid(1, 1, gpu=False))}, known)
    return made._replace(about={**made.about, "initial": {"first_bytes": first_bytes(cards).tolist()}})
