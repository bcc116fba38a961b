"""The rules of one game, traced into one kernel for a whole batch.

tinygrad has no `vmap`: here a game's scalar code is traced once into UOps inside loops over the batch, so legality,
chance, the move, ends, rewards, mask, reset and all outputs are a single kernel, and a whole rollout is one as well.

Form: an outer loop over blocks of games, and within it one or more stages, each an inner loop over the lanes of the
block, which a C compiler turns into vector code. Between stages a block's games live in register arrays. On a GPU a
block is one thread with one lane. Traps of UOp kernels, kept away from the rules: a read of a register that is also
written must be an explicit load before the store.
"""

from __future__ import annotations

from tinygrad import UOp
from tinygrad.renderer import Estimates

from tensor_envs.core.game import Game
from tensor_envs.core.launch import launch
from tensor_envs.core.plan import Parameters, Plan
from tensor_envs.core.rounds import Rounds
from tensor_envs.core.trace import Trace, begins_apart


def call(game: Game, plan: Plan, used: Parameters) -> Parameters:
    """The arrays as they are after the kernel of a plan, lazy."""
    several = plan.task in ("rollout", "playout")
    if several and game.has_memory:
        raise NotImplementedError(f"a game with memory fields has no {plan.task} kernel")

    def body(*arrays: UOp) -> UOp:
        return (Rounds if several else Trace)(game, plan, used.like(arrays)).kernel()

    arrays, estimates = used.flat(), None
    if several or begins_apart(game, plan):  # loops of a length that tinygrad does not know
        size = sum(array.nbytes() for array in arrays)
        estimates = Estimates(lds=size, mem=size)
    name = f"{type(game.rules).__name__}_{plan.task}"
    return used.like(launch(name, body, *arrays, estimates=estimates))
