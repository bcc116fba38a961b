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
from tensor_envs.core.kernels.rollout import Rollout
from tensor_envs.core.kernels.states import Init, Seed
from tensor_envs.core.kernels.step import Sample, Step
from tensor_envs.core.kernels.tracer import Kernel, Tracer
from tensor_envs.core.layout import RNG_WORDS
from tensor_envs.search.kernels import Found, SearchByPlayouts
from tensor_envs.search.memory import Sizes, TreeArrays
from tensor_envs.search.tree_search import EXPLORATION, exploration_table, form_of
from tensor_envs.web.variants import SIMULATIONS


class Kernels(NamedTuple):
    """Some kernels as WebAssembly.

    about: "calls", the names of the arrays that each takes, and "arrays", of which dtype they are and of how many
    values a game, 0 of what is of no game.
    """

    wasm: bytes
    about: dict[str, Any]


# what a page does with its games: the arrays of a kernel by the names that `arrays` has, a state being changed in place
KERNELS: dict[str, tuple[Kernel, Any]] = {
    "seed": (Seed(), Seed.Arrays("rng", "scalars")),
    "init": (Init(), Init.Arrays("words", "rng")),
    "uniform": (Step("same_step", uniform=True), Step.Arrays("words", None, "rng", "actions")),
    "rollout": (Rollout("same_step"), Rollout.Arrays("words", "words", "rng", "totals", "scalars")),
    "sample": (Sample(), Sample.Arrays("words", "rng", "actions")),
    "step": (Step(), Step.Arrays("words", None, "rng", "actions")),
}


def arrays(env: Env) -> dict[str, tuple[DType, int]]:
    """What the kernels of a game read and write: dtype, and values a game; 0 of what is of no game."""
    return {
        "words": (dtypes.uint32, env._engine.layout.words),
        "rng": (dtypes.uint32, RNG_WORDS),
        "actions": (dtypes.int32, 1),
        "totals": (dtypes.float32, 2 * env.num_players),
        "scalars": (dtypes.int32, 0),  # the seed's words and the first row; a rollout's steps
        "share": (dtypes.int32, 0),  # the first block to play, and how many
    }


def traced(env: Env, name: str, grid: Grid) -> Callable[..., UOp]:
    """What traces a kernel for games cut so, from parameters of the arrays in the order of `arrays`."""
    return _traced(env, *KERNELS[name], list(arrays(env)), grid)


def _traced(env: Env, kernel: Kernel, given: Any, names: list[str], grid: Grid) -> Callable[..., UOp]:
    """given: the kernel's arrays by their names; None for one that is not there."""

    def body(*parameters: UOp) -> UOp:
        place = dict(zip(names, parameters, strict=True))

        def passed(name: Any) -> Any:
            return type(name)(*map(passed, name)) if isinstance(name, tuple) else place.get(name)

        tracer = Tracer(env._engine.game, env._engine.layout, grid, None if grid.gpu else place["share"])
        return kernel.trace(tracer, passed(given))

    return body


def _made(
    env: Env, kernels: Mapping[str, tuple[Kernel, Any]], known: Mapping[str, tuple[DType, int]], lanes: int
) -> Kernels:
    grid, names, dtypes_ = Grid(1, lanes, gpu=False).form, list(known), [dtype for dtype, _ in known.values()]
    texts, calls = [], {}
    for name, (kernel, given) in kernels.items():
        text, used = c_of(name, _traced(env, kernel, given, names, grid), dtypes_)
        texts.append(text)
        calls[name] = [names[place] for place in used]
    sizes = {name: [str(dtype).removeprefix("dtypes."), values] for name, (dtype, values) in known.items()}
    return Kernels(webassembly(texts, list(calls)), {"arrays": sizes, "calls": calls})


def of_batch(env: Env) -> Kernels:
    """What is done with a batch of games. RuntimeError if the compiler does not take it."""
    return _made(env, KERNELS, arrays(env), LANES)


def of_player(env: Env) -> Kernels:
    """What the computer asks of one game: a search, as `te.search.playout_policy`, and what the player to move sees."""
    form, engine = form_of(env, "playout", SIMULATIONS), env._engine
    sizes, table = Sizes.of(form, engine.game, engine.layout), exploration_table(EXPLORATION, form.slots)
    about = [0, 1, 1, 1, 2**31 - 1, 0, 0, *table.tolist()]  # see `memory`: one game, the seed 0
    known = {name: arrays(env)[name] for name in ("words", "rng")} | {
        "states": (dtypes.uint32, sizes.states),
        "nodes": (dtypes.int32, sizes.nodes),
        "edges": (dtypes.int32, sizes.edges),
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


def described(env: Env) -> dict[str, Any]:
    """What a page must know of a game besides its kernels: names of actions, and where things lie."""
    layout = env._engine.layout
    return {
        "id": env.id,
        "players": env.num_players,
        "actions": [env.action_to_string(action) for action in range(env.num_actions)],
        "rewards": layout.rewards,
        "mask": layout.mask,
        "slots": {name: [list(slot) for slot in slots] for name, slots in layout.slots.items()},
    }
