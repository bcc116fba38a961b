"""What a page does with a batch of games, and what it must know of one, whichever machine its kernels are for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.backend.wgsl import wgsl_of
from tensor_envs.core.env import Env
from tensor_envs.core.kernels.block import LANES, Grid
from tensor_envs.core.kernels.rollout import Rollout
from tensor_envs.core.kernels.states import Init, Seed
from tensor_envs.core.kernels.step import Sample, Step
from tensor_envs.core.kernels.tracer import Kernel, Tracer
from tensor_envs.core.layout import RNG_WORDS

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
    return traced_for(env, *KERNELS[name], list(arrays(env)), grid)


def traced_for(env: Env, kernel: Kernel, given: Any, names: list[str], grid: Grid) -> Callable[..., UOp]:
    """given: the kernel's arrays by their names; None for one that is not there."""

    def body(*parameters: UOp) -> UOp:
        place = dict(zip(names, parameters, strict=True))

        def passed(name: Any) -> Any:
            return type(name)(*map(passed, name)) if isinstance(name, tuple) else place.get(name)

        tracer = Tracer(env._engine.game, env._engine.layout, grid, None if grid.gpu else place["share"])
        return kernel.trace(tracer, passed(given))

    return body


def sizes(known: Mapping[str, tuple[DType, int]]) -> dict[str, list[Any]]:
    """Arrays as a page knows them: dtype by name, and values a game."""
    return {name: [str(dtype).removeprefix("dtypes."), values] for name, (dtype, values) in known.items()}


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


def wgsl(env: Env, games: int, names: Sequence[str]) -> dict[str, Any]:
    """Kernels for a browser's GPU, for so many games: their WGSL and what it takes, and the bytes of all arrays."""
    known, grid = arrays(env), Grid(games // LANES, LANES, gpu=True)
    lengths = [(dtype, values * games or 4) for dtype, values in known.values()]  # those of no game are short
    kernels = {}
    for name in names:
        found, used = wgsl_of(f"{name}_games", traced(env, name, grid), lengths)
        kernels[name] = {**found, "names": [list(known)[place] for place in used]}
    bytes_ = {name: 4 * length for name, (_, length) in zip(known, lengths, strict=True)}
    return {"kernels": kernels, "arrays": bytes_}
