"""Kernels of a game as functions of a caller's memory: arrays by name, numbers by value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler.dialects import CUDA, WGSL, C
from tensor_envs._compiler.tape import BOOL, INT32, Array, Tape
from tensor_envs._engine.batch_layout import BlockGrid
from tensor_envs._engine.kernels.base import Kernel, trace_blocks
from tensor_envs._engine.kernels.observe import DTYPE_BY_NAME, Observe, Outputs
from tensor_envs._engine.kernels.rollout import UniformRollout
from tensor_envs._engine.kernels.states import Init, Reset, Seed
from tensor_envs._engine.kernels.step import Sample, Step
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs.rules.kernel import Cells, trace

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env

Arrays = Mapping[str, tuple[DType, int]]  # dtype and values per game, by name
NAMES = {getattr(dtypes, name): name for name in ("bool", "int8", "uint8", "int16", "int32", "uint32", "float32")}
Printer = TypeVar("Printer", "ExportC", "ExportCUDA", "ExportWGSL")


class Function(NamedTuple):
    """A kernel and the names of its parameters.

    Attributes:
        arrays: the kernel's named tuple of arrays, filled with names; None stands for an absent array.
        numbers: names of the int32 numbers in its array "numbers".
    """

    kernel: Kernel
    arrays: Any
    numbers: tuple[str, ...] = ()

    def parameters(self, arrays: Arrays) -> list[str]:
        """Return the names of the arrays that are parameters, in the order of `arrays`."""
        names = set(_leaves(self.arrays))
        return [name for name in arrays if name in names]


def _leaves(names: Any) -> list[Any]:
    return [leaf for name in names for leaf in _leaves(name)] if isinstance(names, tuple) else [names]


def functions(lanes: int) -> dict[str, Function]:
    """Return the exported functions of any game, for blocks of this many lanes."""
    observation = Outputs("observations")
    mask = Outputs(legal_action_mask="masks")
    return {
        "seed": Function(Seed(), Seed.Arrays("keys", "numbers"), ("seed_low", "seed_high", "first_row")),
        "init": Function(Init(), Init.Arrays("states", "keys")),
        "step": Function(Step(), Step.Arrays("states", None, "keys", "actions")),
        "reset": Function(Reset(), Reset.Arrays("states", "states", "keys")),
        "sample": Function(Sample(), Sample.Arrays("states", "keys", "actions")),
        "observe": Function(Observe(None, lanes), Observe.Arrays(observation, "states")),
        "mask": Function(Observe(None, lanes), Observe.Arrays(mask, "states")),
        "rollout": Function(
            UniformRollout("same_step"),
            UniformRollout.Arrays("states", "states", "keys", "totals", "numbers"),
            ("steps",),
        ),
    }


def arrays(env: Env) -> dict[str, tuple[DType, int]]:
    """Return the arrays of these functions, by name."""
    spec = env.spec
    return {
        "states": (dtypes.uint32, env.engine.layout.words),
        "keys": (dtypes.uint32, KEY_WORDS),
        "actions": (dtypes.int32, 1),
        "observations": (DTYPE_BY_NAME[spec.observation_dtype], math.prod(spec.observation_shape)),
        "masks": (dtypes.bool, spec.num_actions),
        "totals": (dtypes.float32, 2 * spec.num_players),
    }


def metadata(env: Env) -> dict[str, Any]:
    """Return a description of a game's states for JSON."""
    layout = env.engine.layout
    return {
        "id": env.id,
        "players": env.num_players,
        "actions": list(env.action_names),
        "observation_shape": env.observation_shape,
        "rewards": layout.rewards,
        "mask": layout.mask,
        "slots": {name: [list(slot) for slot in slots] for name, slots in layout.slots.items()},
    }


def sizes(arrays: Arrays) -> dict[str, list[Any]]:
    """Return the name of each array's dtype, and its values per game."""
    return {name: [NAMES[dtype], values] for name, (dtype, values) in arrays.items()}


def printers(
    language: type[Printer], env: Env, chosen: Mapping[str, Function], arrays: Arrays, grid: BlockGrid
) -> dict[str, Printer]:
    """Return the printers of functions, whose parameters are the arrays in the order of `arrays`, then the numbers."""
    return {name: language(_traced(env, function, arrays, grid), function.numbers) for name, function in chosen.items()}


def _traced(env: Env, function: Function, arrays: Arrays, grid: BlockGrid) -> Tape:
    parameters = {name: (arrays[name][0], arrays[name][1] * grid.rows) for name in function.parameters(arrays)}
    if function.numbers:
        parameters["numbers"] = INT32, len(function.numbers)
    if not grid.gpu:
        parameters["share"] = INT32, 2

    def pack(cells: Sequence[Cells]) -> Any:
        named_cells = dict(zip(parameters, cells, strict=True))

        def fill(name: Any) -> Any:
            return type(name)(*map(fill, name)) if isinstance(name, tuple) else named_cells.get(name)

        return fill(function.arrays)

    engine = env.engine
    body = trace_blocks(function.kernel, engine.game, engine.layout, grid, pack)
    return named(trace(body, list(parameters.values()), grid.gpu), parameters)


def named(tape: Tape, names: Mapping[str, Any]) -> Tape:
    """Name the arrays of a tape."""
    for array, name in zip(tape.arrays, names, strict=True):
        array.name = name
    return tape


class ExportC(C):
    """C functions that take all arrays, used or not, and by value "numbers" and the number of blocks."""

    prefix, restrict = "", "restrict"
    keep_loop = f"#ifdef __clang__\n{C.keep_loop}\n#endif"  # other compilers warn of it

    def __init__(self, tape: Tape, numbers: Sequence[str] = ()):
        super().__init__(tape)
        self.values = {"numbers": numbers, "share": ("0", "blocks")}

    def signature(self, name: str) -> str:
        return f"{self.head()} {name}({self.parameter_list(f' *{self.restrict} ')})"

    def head(self) -> str:
        return "void"

    def prototype(self, name: str) -> str:
        return f"void {name}({self.parameter_list(' *')});"

    def parameter_list(self, pointer: str) -> str:
        types = self.types | {BOOL: "unsigned char"}
        texts = list[str]()
        for array in self.tape.arrays:
            if array.name in self.values:
                texts += [f"int {x}" for x in self.values[array.name] if x.isidentifier()]
            else:
                texts.append(f"{'' if array.written else 'const '}{types[array.dtype]}{pointer}{array.name}")
        return ", ".join(texts)

    def macros(self) -> str:
        return ""  # once for all functions of a file, see `c_functions`

    def declarations(self) -> None:
        for array in self.tape.arrays:
            if not array.used:
                self.line(f"(void){array.name};")
        super().declarations()

    def read(self, array: Array, index: str) -> str:
        values = self.values.get(array.name)
        return super().read(array, index) if values is None else values[int(index)]


def c_functions(printed: Mapping[str, ExportC]) -> str:
    """Return the source of functions by name, below the macros that they need."""
    macros = {C.macros(printer): None for printer in printed.values()}
    return "".join([*macros, *(printer.source(name) for name, printer in printed.items())])


class ExportCUDA(ExportC, CUDA):
    """CUDA kernels with one thread for each game."""

    restrict = "__restrict__"
    keep_loop = CUDA.keep_loop

    def head(self) -> str:
        return f'extern "C" __global__ void __launch_bounds__({self.threads})'


class ExportWGSL(WGSL):
    """Entry points of one shader, which declares their arrays once."""

    prefix = ""

    def __init__(self, tape: Tape, numbers: Sequence[str] = ()):
        super().__init__(tape)

    def source(self, name: str) -> str:
        return C.source(self, name)

    def element(self, array: Array) -> str:
        return "atomic<u32>" if self.is_packed(array) else self.types[array.dtype]
