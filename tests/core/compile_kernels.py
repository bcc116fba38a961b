"""Compile every kernel of some games for the device named by DEV=NULL:..., which renders code and runs none of it.

`DEV=NULL:WGSL python -m tests.core.compile_kernels tic_tac_toe` prints the size of each kernel.
"""

import itertools
import sys

from tinygrad import Tensor, dtypes
from tinygrad.device import Device
from tinygrad.dtype import DType

import tensor_envs as te
from tensor_envs.core.kernel import STREAM_ROWS, Parameters, Plan, Reset, Task, build
from tensor_envs.ops.bits import num_words

BLOCKS, LANES = 2, 64
TASKS: tuple[Task, ...] = ("new", "derive", "restart", "choose", "step", "uniform", "rollout")
RESETS: tuple[Reset, ...] = ("none", "same_step", "next_step")


def compile_kernels(env: te.Env) -> None:
    def empty(rows: int, dtype: DType) -> Tensor:
        return Tensor.empty(BLOCKS * rows * LANES, dtype=dtype, device="NULL")

    for task, reset in itertools.product(TASKS, RESETS):
        if (task in TASKS[:4] and reset != "none") or (task == "rollout" and env.game.has_memory):
            continue
        fields = [[empty(sum(f.size for f in g), d) for d, g in env.layout.items()] for _ in range(2)]
        masks = [empty(num_words(env.num_actions), dtypes.uint32) for _ in range(2)]
        flags = [empty(2, dtypes.bool) for _ in range(2)]
        used = Parameters(
            fields[0], masks[0], flags[0], empty(env.num_players, dtypes.float32), empty(1, dtypes.int32),
            empty(2 * env.num_players, dtypes.float32) if task == "rollout" else None, fields[1], masks[1], flags[1],
            empty(STREAM_ROWS, dtypes.uint32),
            Tensor.empty(1, dtype=dtypes.int32, device="NULL") if task == "rollout" else None,
        )  # fmt: skip
        kernel = build(env.game, Plan(BLOCKS, LANES, gpu=True, task=task, reset=reset), used)
        Tensor.realize(*Tensor.custom_kernel(*used.flat(), fxn=kernel))
        print(env.id, task, reset, "compiled")


if __name__ == "__main__":
    assert Device["NULL"].renderer.has_local, "name a GPU renderer: DEV=NULL:WGSL or DEV=NULL:CUDA:sm_90"
    for name in sys.argv[1:]:
        compile_kernels(te.make(name))
