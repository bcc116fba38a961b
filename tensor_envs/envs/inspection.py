"""Source and size of the kernels into which rules are traced."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Literal, get_args

from tinygrad import Tensor, dtypes

from tensor_envs._engine.engine import block_range
from tensor_envs._engine.kernels.base import Kernel
from tensor_envs._engine.kernels.observe import Observe
from tensor_envs._engine.kernels.rollout import UniformRollout
from tensor_envs._engine.kernels.states import Init
from tensor_envs._engine.kernels.step import Step
from tensor_envs._runtime.devices import DeviceName, is_gpu, opened, primary
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.programs import printed
from tensor_envs._runtime.pytree import flatten_arrays
from tensor_envs._validate import instance, one_of
from tensor_envs.envs.env import Env

KernelName = Literal["init", "step", "observe", "rollout"]
Form = Literal["source", "tape"]


@dataclass(frozen=True)
class Inspection:
    """Source of a kernel, and its size.

    Attributes:
        source: text in the language of the device, or the text of the instructions, see `form` of `inspect`.
        instructions: number of instructions; those of a loop count once.

    Examples:
        >>> small, large = (te.inspect(te.make("connect_four", rows=rows)).instructions for rows in (4, 12))
        >>> small < large
        True
    """

    source: str = field(repr=False)
    instructions: int


def inspect(
    env: Env, kernel: KernelName = "step", device: DeviceName | None = None, *, form: Form = "source"
) -> Inspection:
    """Return a kernel's source and size, without compiling it, to compare forms of rules.

    Args:
        env: the environment.
        kernel: "init", "step", "observe" (of the player to move) or "rollout" (of the uniform policy).
        device: device in whose language the source is; None is tinygrad's default.
        form: "source" for the device's language. "tape" for the instructions from which every language is printed:
            a line for each, as in `%4: uint32 0..255 = and %3, 255`, with the dtype of the result, and its bounds if
            they are narrower than the dtype's. `.wrap` marks an operation that may wrap around.

    Returns:
        The source and the number of instructions.

    Raises:
        ValueError, TypeError: `env` is no Env; another kernel or form; no such device.
        NotImplementedError: the rollout of a game with memory fields.

    Examples:
        >>> report = te.inspect(te.make("tic_tac_toe"), "observe", device="CPU")
        >>> "HyperTicTacToe_observe" in report.source
        True
        >>> te.inspect(te.make("tic_tac_toe"), "observe", device="CPU", form="tape").source.splitlines()[0]
        'kernel(data0: bool[18], data1: uint32[8], data2: int32[2]) {'
    """
    instance("env", env, Env)
    one_of("kernel", kernel, get_args(KernelName))
    one_of("form", form, get_args(Form))
    name = open_device(device)
    engine = env.engine
    buffers = env.init(1, device=name).buffers
    words = buffers.words
    row_keys = buffers.row_keys
    layout = buffers.layout
    kernels: dict[str, tuple[Kernel, tuple[object, ...]]] = {
        "init": (Init(), Init.Arrays(words, row_keys)),
        "step": (Step("disabled"), Step.Arrays(words, words, row_keys, layout.empty(1, dtypes.int32))),
        "observe": (Observe(None), Observe.Arrays(engine.outputs(layout, ["observation"]), words)),
        "rollout": (
            UniformRollout("same_step"),
            UniformRollout.Arrays(
                words, words, row_keys, layout.empty(2 * env.num_players, dtypes.float32), layout.empty(1, dtypes.int32)
            ),
        ),
    }
    body, arrays = kernels[kernel]
    structure, tensors = flatten_arrays(arrays)
    parameters: list[Tensor] = [*tensors, *block_range(layout.grid, name)]
    forms = [(x.dtype, prod(x.uop.max_shard_shape)) for x in parameters]
    tape = engine.recorder(body, layout.grid, structure)(forms, is_gpu(primary(name)))
    source = printed(f"{type(env.rules).__name__}_{body.name}", tape, opened(primary(name)).renderer)[2]
    source = source if form == "source" else repr(tape)
    return Inspection(source, sum(1 for _ in tape.instructions()))
