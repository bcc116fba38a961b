"""A game's kernels as one WebAssembly module: the same ones that the CPU device runs, written for another machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.backend.wasm import c_of, webassembly
from tensor_envs.core.env import Env
from tensor_envs.core.kernels.block import LANES, Grid
from tensor_envs.core.kernels.rollout import Rollout
from tensor_envs.core.kernels.states import Init, Seed
from tensor_envs.core.kernels.step import Sample, Step
from tensor_envs.core.kernels.tracer import Kernel, Tracer
from tensor_envs.core.layout import RNG_WORDS

# what a page does with its games: the arrays of a kernel by the names that `arrays` has, a state being changed in place
KERNELS: dict[str, tuple[Kernel, tuple[str | None, ...]]] = {
    "seed": (Seed(), ("rng", "scalars")),
    "init": (Init(), ("words", "rng")),
    "uniform": (Step("same_step", uniform=True), ("words", None, "rng", "actions")),
    "rollout": (Rollout("same_step"), ("words", "words", "rng", "totals", "scalars")),
    "sample": (Sample(), ("words", "rng", "actions")),
    "step": (Step(), ("words", None, "rng", "actions")),
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
    kernel, given = KERNELS[name]
    places = {array: place for place, array in enumerate(arrays(env))}

    def body(*parameters: UOp) -> UOp:
        share = None if grid.gpu else parameters[places["share"]]
        tracer = Tracer(env._engine.game, env._engine.layout, grid, share)
        passed = [None if array is None else parameters[places[array]] for array in given]
        return kernel.trace(tracer, type(kernel).Arrays(*passed))  # type: ignore[attr-defined]

    return body


def source(env: Env, name: str) -> tuple[str, list[str]]:
    """A kernel in C, and the names of its arrays in the order of its parameters."""
    known, grid = arrays(env), Grid(1, LANES, gpu=False).form
    text, used = c_of(name, traced(env, name, grid), [dtype for dtype, _ in known.values()])
    return text, [list(known)[place] for place in used]


def module(env: Env) -> tuple[bytes, dict[str, list[str]]]:
    """All kernels of a game as a WebAssembly module, and the names of the arrays that each takes.

    RuntimeError if the compiler does not take them.
    """
    sources = {name: source(env, name) for name in KERNELS}
    return webassembly([text for text, _ in sources.values()], list(sources)), {
        name: names for name, (_, names) in sources.items()
    }


def described(env: Env) -> dict[str, Any]:
    """What a page must know of a game besides its kernels: names of actions, sizes of arrays, and where things lie."""
    layout = env._engine.layout
    return {
        "id": env.id,
        "players": env.num_players,
        "actions": [env.action_to_string(action) for action in range(env.num_actions)],
        "arrays": {name: values for name, (_, values) in arrays(env).items()},
        "rewards": layout.rewards,
        "mask": layout.mask,
        "slots": {name: [list(slot) for slot in slots] for name, slots in layout.slots.items()},
    }
