"""Compile kernels of every game for the device named by DEV=NULL:..., which renders code and runs none of it.

`DEV=NULL:WGSL python -m tests.core.compile_kernels few` names each one compiled; `all` takes minutes.
"""

import sys
from dataclasses import replace
from itertools import product

from tinygrad import Tensor, dtypes
from tinygrad.device import Device
from tinygrad.dtype import DType

import tensor_envs as te
from tensor_envs.core.kernel import call
from tensor_envs.core.plan import STREAM_ROWS, Parameters, Plan
from tensor_envs.ops.bits import num_words

BLOCKS, LANES = 2, 64
FEW = ("step/none", "rollout/same_step")
LONG = {("tensor_equilibrium", "rollout/same_step")}  # not among the few: half a minute
ALL = (
    "new/none", "derive/none", "restart/none", "choose/none", *FEW, "step/same_step", "step/next_step", "uniform/none",
    "uniform/same_step", "uniform/next_step", "rollout/none", "rollout/next_step",
    "playout/none", "take/none",
)  # fmt: skip


def kernels(which: str) -> list[tuple[str, str]]:
    """Every registered game with "few" or "all" kinds of kernels."""
    kinds, left_out = (FEW, LONG) if which == "few" else (ALL, set())
    return [pair for pair in product(te.registered(), kinds) if pair not in left_out]


def compile_kernel(env: te.Env, plan: Plan) -> None:
    def empty(rows: int, dtype: DType) -> Tensor:
        return Tensor.empty(BLOCKS * rows * LANES, dtype=dtype, device="NULL")

    fields = [[empty(sum(f.size for f in g), d) for d, g in env.layout.items()] for _ in range(2)]
    masks = [empty(num_words(env.num_actions), dtypes.uint32) for _ in range(2)]
    flags = [empty(2, dtypes.bool) for _ in range(2)]
    rewards, actions = empty(env.num_players, dtypes.float32), empty(1, dtypes.int32)
    stream = empty(STREAM_ROWS, dtypes.uint32)
    used = Parameters(
        fields[0], masks[0], flags[0], rewards, actions,
        old_fields=fields[1], old_mask=masks[1], old_flags=flags[1], stream=stream,
    )  # fmt: skip
    if plan.task == "rollout" or plan.task == "playout":
        steps = Tensor.empty(1, dtype=dtypes.int32, device="NULL")
        used = used._replace(totals=empty(2 * env.num_players, dtypes.float32), scalars=steps)
    if plan.task == "playout":
        used, plan = (
            used._replace(fields=(), mask=None, flags=None, rewards=None),
            replace(plan, source=(1, LANES)),
        )
    if plan.task == "take":
        used = used._replace(
            old_rewards=empty(env.num_players, dtypes.float32), old_stream=empty(STREAM_ROWS, dtypes.uint32)
        )
        plan = replace(plan, source=(BLOCKS, LANES))
    Tensor.realize(*call(env.game, plan, used).flat())


if __name__ == "__main__":
    assert Device["NULL"].renderer.has_local, "name a GPU renderer: DEV=NULL:WGSL or DEV=NULL:CUDA:sm_90"
    for name, kind in kernels(sys.argv[1]):
        task, reset = kind.split("/")
        compile_kernel(te.make(name), Plan(BLOCKS, LANES, gpu=True, task=task, reset=reset))  # type: ignore[arg-type]
        print(name, kind, "compiled")
