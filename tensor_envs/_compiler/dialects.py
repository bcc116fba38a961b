"""Languages that a tape is printed in: C, and languages like it as subclasses with their differences."""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar

from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler.pairs import ADD64, PAIR_OPERATIONS
from tensor_envs._compiler.tape import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    SIGNED,
    STORES,
    TEAM_OPERATIONS,
    UINT32,
    UINT64,
    UNSIGNED_OF,
    Array,
    Block,
    Instruction,
    Tape,
)

MAX_UNROLLED = 100  # instructions in a loop body that NVRTC may unroll
INLINE_MAX_CHARACTERS = 120  # longer expressions are assigned to a variable
# Store `count` bits of a word as elements 0 or 1. Clang 15 and newer have vectors of bits: one or two instructions.
STORE_BITS = """\
#if defined(__clang__) && __clang_major__ >= 15
#define STORE_BITS(type, count, to, word) do { \\
  typedef _Bool flags __attribute__((ext_vector_type(count))); \\
  typedef type values __attribute__((ext_vector_type(count))); \\
  unsigned int bits = word; \\
  flags in; \\
  __builtin_memcpy(&in, &bits, sizeof(in)); \\
  values out = __builtin_convertvector(in, values); \\
  __builtin_memcpy(to, &out, sizeof(out)); \\
} while (0)
#else
#define STORE_BITS(type, count, to, word) do { \\
  unsigned int bits = word; \\
  for (int k = 0; k < count; k++) { ((type *)(to))[k] = bits >> k & 1; } \\
} while (0)
#endif
"""


# Reductions over the threads of a team: the numbers of pairs of threads are combined, then those of pairs of pairs.
TEAM = """\
#define MEMBERS ((0xffffffffu >> (32 - TEAM)) << (threadIdx.x & 31 & ~(TEAM - 1)))
#define COMBINE(name, result) template <class T> __device__ T name(T a) { \\
  for (int distance = 1; distance < TEAM; distance *= 2) { \\
    T b = __shfl_xor_sync(MEMBERS, a, distance); \\
    a = result; \\
  } \\
  return a; \\
}
COMBINE(team_sum, a + b)
COMBINE(team_min, a < b ? a : b)
COMBINE(team_max, a < b ? b : a)
"""


def _stores(block: Block) -> bool:
    """Return whether a block stores to a parameter, which other threads see."""
    return any(_stores(x) if isinstance(x, Block) else x.op in STORES and x.array.slot is not None for x in block.body)


class C:
    """C11 with the builtins of clang and gcc, for a CPU or WebAssembly."""

    types: ClassVar[dict[DType, str]] = {
        BOOL: "_Bool",
        dtypes.int8: "signed char",
        dtypes.uint8: "unsigned char",
        dtypes.int16: "short",
        dtypes.uint16: "unsigned short",
        INT32: "int",
        UINT32: "unsigned int",
        INT64: "long long",
        UINT64: "unsigned long long",
        FLOAT32: "float",
    }
    prefix = "#pragma STDC FP_CONTRACT OFF\n"  # a fused multiply-add rounds once where other devices round twice
    suffixes: ClassVar[dict[DType, str]] = {UINT32: "u", INT64: "ll", UINT64: "ull"}  # suffixes of constants
    infinity, nan = "__builtin_inff()", '__builtin_nanf("")'
    popcount = "__builtin_popcount"
    keep_loop = "#pragma clang loop unroll(disable)"  # line before a loop that must not be unrolled
    # Line before a loop of whole vectors. clang would interleave several, and add a scalar loop for the remainder.
    vector_loop = "#pragma clang loop vectorize_width({}) interleave_count(1) unroll(disable)"

    def __init__(self, tape: Tape):
        tape.finish()
        self.tape = tape
        self.parameters = [array for array in tape.arrays if array.used]

    def source(self, name: str) -> str:
        """Return the source of a function that takes the used arrays in order."""
        self.lines: list[str] = []
        self.depth = self.names = 0
        self.line(f"{self.signature(name)} {{")
        self.depth = 1
        self.declarations()
        self.block(self.tape.root)
        self.depth = 0
        self.line("}")
        return self.prefix + self.macros() + "\n".join([*self.lines, ""])

    def macros(self) -> str:
        """Return the definitions that the function needs before it."""
        return STORE_BITS if any(x.op == "store_bits" for x, _ in self.tape.instructions()) else ""

    def declarations(self) -> None:
        """Print the beginning of the function's body."""
        for array in self.tape.registers:
            if array.used:
                self.line(self.register(array))

    # *** what differs between languages ***

    def signature(self, name: str) -> str:
        arrays = (f"{self.types[a.dtype]} *restrict {a.name}" for a in self.parameters)
        return f"void {name}({', '.join(arrays)})"

    def register(self, array: Array) -> str:
        return f"{self.types[array.dtype]} {array.name}[{array.size}];"

    def grid_index(self, axis: str) -> str:
        """Return the index of the workgroup or thread."""
        raise NotImplementedError

    def declare(self, x: Instruction, value: str) -> str:
        return f"{self.types[x.dtype]} {x.text} = {value};"

    def constant(self, value: Any, dtype: DType) -> str:
        if dtype is FLOAT32:
            if not math.isfinite(value):
                return self.nan if math.isnan(value) else f"({'-' * (value < 0)}{self.infinity})"
            # Round to float32 here, so that no compiler has to round a double.
            text = repr(struct.unpack("f", struct.pack("f", value))[0])
            return f"({text}f)" if text.startswith("-") else f"{text}f"
        if dtype is BOOL:
            return str(int(value))
        if value in (-(2**31), -(2**63)):  # C has no such literal: it would negate 2^31, which an int cannot hold
            return f"({self.constant(value + 1, dtype)}-1)"
        text = f"{value}{self.suffixes.get(dtype, '')}"
        return f"({text})" if value < 0 else text

    def cast(self, x: Instruction, value: str) -> str:
        return self.converted(x.dtype, value)

    def converted(self, dtype: DType, value: str) -> str:
        return f"(({self.types[dtype]})({value}))"

    def bitcast(self, x: Instruction, value: str) -> str:
        # In C a union reinterprets bits. A cast of a pointer would violate strict aliasing.
        types = self.types[x.operands[0].dtype], self.types[x.dtype]
        return f"(((union {{ {types[0]} a; {types[1]} b; }}){{{value}}}).b)"

    def choice(self, condition: str, a: str, b: str) -> str:
        return f"({condition}?{a}:{b})"

    def arithmetic(self, x: Instruction, a: str, b: str) -> str:
        # Overflow of signed integers is undefined in C, and compilers rely on that. Unsigned integers wrap around, and
        # the conversion back keeps the bits.
        undefined = x.wraps or (x.op == "<<" and x.operands[0].low < 0)
        if undefined and (unsigned := UNSIGNED_OF.get(x.dtype)):
            right = b if x.op == "<<" else self.converted(unsigned, b)
            return self.converted(x.dtype, f"{self.converted(unsigned, a)}{x.op}{right}")
        text = f"({a}{x.op}{b})"
        # C promotes narrow integers to int, so the result has to be converted back.
        return self.converted(x.dtype, text) if x.dtype.itemsize < 4 and x.dtype is not BOOL else text

    def before(self, x: Instruction | Block) -> None:
        """Print lines that must come before an instruction or block."""

    def before_end(self, block: Block) -> None:
        """Print lines that must come at the end of a block."""

    def loop_hint(self, block: Block) -> str:
        """Return the line before a loop that says whether to unroll it; "" leaves it to the compiler."""
        if block.vector and self.vector_loop:
            return self.vector_loop.format(block.vector)
        return "" if block.unroll else self.keep_loop

    def loop(self, index: str, size: str) -> str:
        return f"for (int {index} = 0; {index} < {size}; {index}++) {{"

    def read(self, array: Array, index: str) -> str:
        return f"{array.name}[{index}]"

    def write(self, array: Array, index: str, value: str) -> str:
        return f"{array.name}[{index}] = {value};"

    # *** what is the same in all ***

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def block(self, block: Block) -> None:
        for x in block.body:
            self.before(x)
            if isinstance(x, Block):
                self.inner(x)
            elif x.op == "store":
                self.line(self.write(x.array, *map(self.value, x.operands)))
            elif x.op == "store_bits":
                index, bits = map(self.value, x.operands)
                dtype = x.operands[1].dtype
                element = "unsigned char" if x.array.dtype is BOOL else self.types[x.array.dtype]
                self.line(f"STORE_BITS({element}, {dtype.itemsize * 8}, &{x.array.name}[{index}], {bits});")
            else:
                self.instruction(x)

    def inner(self, block: Block) -> None:
        if block.kind == "for":
            # Indices have another letter than values. It is not i, since i32 is a type in WGSL.
            block.index.text = self.fresh("n")
            if hint := self.loop_hint(block):
                self.line(hint)
            self.line(self.loop(block.index.text, self.value(block.head)))
        else:
            self.line("for (;;) {" if block.head is None else f"if ({self.value(block.head)}) {{")
        self.depth += 1
        self.block(block)
        self.before_end(block)
        if block.condition is not None:
            self.line(f"if (!({self.value(block.condition)})) {{ break; }}")
        self.depth -= 1
        self.line("}")

    def fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def instruction(self, x: Instruction) -> None:
        """Print a declaration of a variable, or keep the expression for its only use."""
        text = self.expression(x)
        # An expression with a single use in the same block is inlined there: fewer lines compile faster. A load must
        # stay here, since a store may come before the use.
        if x.uses == 1 and x.user is x.block and x.op != "load" and len(text) < INLINE_MAX_CHARACTERS:
            x.text = text
        else:
            x.text = self.fresh("v")
            self.line(self.declare(x, text))

    def value(self, x: Instruction) -> str:
        return self.constant(x.value, x.dtype) if x.op == "const" else x.text

    def expression(self, x: Instruction) -> str:
        values = [self.value(operand) for operand in x.operands]
        match x.op:
            case "load":
                return self.read(x.array, values[0])
            case "?":
                return self.choice(*values)
            case "!":
                return f"(!{values[0]})"
            case "cast":
                return self.cast(x, values[0])
            case "bitcast":
                return self.bitcast(x, values[0])
            case "popcount":
                return f"{self.popcount}({values[0]})"
            case "group" | "thread":
                return self.grid_index(x.op)
        return self.arithmetic(x, *values)


class GPU(C):
    """Base of GPU languages with C's syntax."""

    types: ClassVar = C.types | {BOOL: "bool"}
    prefix = keep_loop = vector_loop = ""

    @property
    def threads(self) -> int:
        return self.tape.grid.get("thread", 1)


class CUDA(GPU):
    """NVIDIA's C++.

    The threads of a team are neighbours in a warp. All of them do all work that is not shared, and so they store equal
    numbers to the same elements. Between a load and a store of one array they wait for each other: a thread must not
    store to an element that another has yet to load, and must not load one that another has yet to store.
    """

    infinity, nan = "__int_as_float(0x7f800000)", "__int_as_float(0x7fffffff)"
    popcount = "__popc"
    keep_loop = "#pragma unroll 1"
    rounded: ClassVar = {"+": "__fadd_rn", "-": "__fsub_rn", "*": "__fmul_rn", "/": "__fdiv_rn"}  # never contracted

    def __init__(self, tape: Tape):
        super().__init__(tape)
        # Arrays that were loaded from, and stored to, since the threads last waited for each other.
        self.loaded: set[Array] = set()
        self.stored: set[Array] = set()

    def macros(self) -> str:
        team = self.tape.team
        return super().macros() + (TEAM.replace("TEAM", str(team)) if team > 1 else "")

    def before(self, x: Instruction | Block) -> None:
        if self.tape.team == 1:
            return
        if isinstance(x, Block):
            # Accesses in the block (for a loop, in any iteration) may conflict with those before it.
            if self.stored or (self.loaded and _stores(x)):
                self.wait()
        elif x.array is not None and x.array.slot is not None:
            is_load = x.op == "load"
            if x.array in (self.stored if is_load else self.loaded):
                self.wait()
            (self.loaded if is_load else self.stored).add(x.array)

    def before_end(self, block: Block) -> None:
        if self.tape.team > 1 and _stores(block):
            self.wait()

    def wait(self) -> None:
        self.line("__syncwarp(MEMBERS);")
        self.loaded.clear()
        self.stored.clear()

    def signature(self, name: str) -> str:
        arrays = ", ".join(f"{self.types[a.dtype]} *__restrict__ {a.name}" for a in self.parameters)
        # The second bound, one workgroup on a processor, makes NVRTC issue loads early instead of saving registers.
        bounds = f"{self.threads}, 1" if self.tape.few_threads else self.threads
        return f'extern "C" __global__ void __launch_bounds__({bounds}) {name}({arrays})'

    def loop_hint(self, block: Block) -> str:
        # NVRTC unrolls loops up to 16 times, nested ones, too. A search would take 20 s to compile, and its code would
        # not fit the instruction cache. Four iterations of a short body have enough loads in flight.
        if block.unroll and block.head.op != "const":
            is_short = len(block.body) <= MAX_UNROLLED and not any(isinstance(x, Block) for x in block.body)
            return "#pragma unroll 4" if is_short else self.keep_loop
        return super().loop_hint(block)

    def grid_index(self, axis: str) -> str:
        return "((int)blockIdx.x)" if axis == "group" else "((int)threadIdx.x)"

    def bitcast(self, x: Instruction, value: str) -> str:
        names = {FLOAT32: "float", INT32: "int", UINT32: "uint"}
        return f"__{names[x.operands[0].dtype]}_as_{names[x.dtype]}({value})"

    def expression(self, x: Instruction) -> str:
        return f"{x.op}({self.value(x.operands[0])})" if x.op in TEAM_OPERATIONS else super().expression(x)

    def arithmetic(self, x: Instruction, a: str, b: str) -> str:
        return f"{self.rounded[x.op]}({a}, {b})" if x.dtype is FLOAT32 else super().arithmetic(x, a, b)


class HIP(GPU):
    prefix = (
        "#pragma clang fp contract(off)\n"
        'extern "C" __attribute__((device, const)) unsigned long __ockl_get_group_id(unsigned int);\n'
        'extern "C" __attribute__((device, const)) unsigned long __ockl_get_local_id(unsigned int);\n'
    )
    keep_loop = "#pragma unroll 1"

    def signature(self, name: str) -> str:
        arrays = ", ".join(f"{self.types[a.dtype]} *__restrict__ {a.name}" for a in self.parameters)
        size = f"__attribute__((amdgpu_flat_work_group_size(1, {self.threads})))"
        return f'extern "C" __attribute__((global)) void {size} {name}({arrays})'

    def grid_index(self, axis: str) -> str:
        return f"((int)__ockl_get_{'group' if axis == 'group' else 'local'}_id(0))"


class OpenCL(GPU):
    types: ClassVar = GPU.types | {dtypes.int8: "char", INT64: "long", UINT64: "ulong"}
    suffixes: ClassVar = {UINT32: "u", INT64: "l", UINT64: "ul"}
    prefix = "#pragma OPENCL FP_CONTRACT OFF\n"
    infinity, nan = "INFINITY", "NAN"
    popcount = "popcount"

    def signature(self, name: str) -> str:
        types = self.types | {BOOL: "uchar"}  # OpenCL allows no arrays of bools as parameters
        arrays = ", ".join(f"__global {types[a.dtype]} *restrict {a.name}" for a in self.parameters)
        return f"__kernel void {name}({arrays})"

    def grid_index(self, axis: str) -> str:
        return f"((int)get_{'group' if axis == 'group' else 'local'}_id(0))"

    def bitcast(self, x: Instruction, value: str) -> str:
        return f"as_{self.types[x.dtype].replace('unsigned int', 'uint')}({value})"


class Metal(OpenCL):
    prefix = "#include <metal_stdlib>\nusing namespace metal;\n#pragma METAL fp contract(off)\n"

    def signature(self, name: str) -> str:
        arrays = [f"device {self.types[a.dtype]} *{a.name} [[buffer({k})]]" for k, a in enumerate(self.parameters)]
        grid_indices = [
            "uint3 group [[threadgroup_position_in_grid]]",
            "uint3 thread [[thread_position_in_threadgroup]]",
        ]
        return f"kernel void {name}({', '.join(arrays + grid_indices)})"

    def grid_index(self, axis: str) -> str:
        return f"((int){axis}.x)"

    def bitcast(self, x: Instruction, value: str) -> str:
        return f"as_type<{self.types[x.dtype]}>({value})"


class WGSL(C):
    """WebGPU's language, which has no integers of 8, 16 and 64 bits.

    Integers of 64 bits are pairs of words, see `pairs.py`. Elements of 8 and 16 bits share words in memory, and are
    written atomically.
    """

    types: ClassVar = {
        BOOL: "bool",
        FLOAT32: "f32",
        UINT64: "vec2<u32>",
        INT64: "vec2<u32>",
        **dict.fromkeys((dtypes.uint8, dtypes.uint16, UINT32), "u32"),
        **dict.fromkeys((dtypes.int8, dtypes.int16, INT32), "i32"),
    }
    popcount = "countOneBits"
    keep_loop = vector_loop = ""

    @staticmethod
    def is_packed(array: Array) -> bool:
        """Return whether elements of an array share words."""
        return array.slot is not None and array.dtype.itemsize < 4

    def source(self, name: str) -> str:
        self.prefix = "@group(0) @binding(0) var<uniform> INFINITY: f32;\n"  # tinygrad binds it
        for k, array in enumerate(self.parameters):
            element = "atomic<u32>" if self.is_packed(array) else self.types[array.dtype]
            self.prefix += f"@group(0) @binding({k + 1}) var<storage, read_write> {array.name}: array<{element}>;\n"
        self.prefix += ADD64
        return super().source(name)

    def signature(self, name: str) -> str:
        grid_indices = "@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>"
        return f"@compute @workgroup_size({self.tape.grid.get('thread', 1)}) fn {name}({grid_indices})"

    def register(self, array: Array) -> str:
        return f"var {array.name}: array<{self.types[array.dtype]}, {array.size}>;"

    def grid_index(self, axis: str) -> str:
        return f"i32({axis}.x)"

    def declare(self, x: Instruction, value: str) -> str:
        return f"let {x.text} = {value};"

    def constant(self, value: Any, dtype: DType) -> str:
        if dtype in (UINT64, INT64):
            return f"vec2<u32>({value & 0xFFFFFFFF}u, {value >> 32 & 0xFFFFFFFF}u)"
        if dtype is BOOL:
            return "true" if value else "false"
        if dtype is FLOAT32:
            if math.isfinite(value):
                return super().constant(value, dtype)
            bits = struct.unpack("I", struct.pack("f", value))[0]
            # A constant expression must be finite. With thread.y, which is 0, it is none.
            return f"bitcast<f32>({bits}u + thread.y)"
        return f"i32({value})" if dtype in SIGNED else f"{value}u"

    def choice(self, condition: str, a: str, b: str) -> str:
        return f"select({b}, {a}, {condition})"

    def loop(self, index: str, size: str) -> str:
        return f"for (var {index}: i32 = 0; {index} < {size}; {index}++) {{"

    def _part(self, array: Array, index: str) -> tuple[str, str, int]:
        """Return the address of the word that holds an element, the element's shift in it, and its number of bits."""
        bits = 8 * array.dtype.itemsize
        last = 32 // bits - 1  # index of the last element of a word
        return f"&{array.name}[({index})>>{last.bit_length()}u]", f"(u32(({index})&{last})*{bits}u)", bits

    def read(self, array: Array, index: str) -> str:
        if not self.is_packed(array):
            return f"{array.name}[{index}]"
        word, shift, bits = self._part(array, index)
        part = f"((atomicLoad({word})>>{shift})&{(1 << bits) - 1}u)"
        if array.dtype is BOOL:
            return f"({part}!=0u)"
        return f"((i32({part})<<{32 - bits}u)>>{32 - bits}u)" if array.dtype in SIGNED else part

    def write(self, array: Array, index: str, value: str) -> str:
        if not self.is_packed(array):
            return f"{array.name}[{index}] = {value};"
        # Other threads may write to other elements of the word at the same time: clear this one and set it atomically.
        word, shift, bits = self._part(array, index)
        mask = f"{(1 << bits) - 1}u"
        return f"atomicAnd({word}, ~({mask}<<{shift})); atomicOr({word}, (u32({value})&{mask})<<{shift});"

    def bitcast(self, x: Instruction, value: str) -> str:
        return f"bitcast<{self.types[x.dtype]}>({value})"

    def cast(self, x: Instruction, value: str) -> str:
        old = x.operands[0].dtype
        new = x.dtype
        # Signed and unsigned integers of 64 bits have the same two words.
        if new.itemsize == old.itemsize == 8:
            return value
        if FLOAT32 in (old, new) and 8 in (old.itemsize, new.itemsize):
            signed = "s" * (INT64 in (old, new))
            return f"{'real' if new is FLOAT32 else 'whole'}64{signed}({value})"
        if new.itemsize == 8:
            # Sign extension: all bits of the high word are the sign bit.
            high = f"u32(({value})>>31u)" if old in SIGNED and x.operands[0].low < 0 else "0u"
            return f"vec2<u32>(u32({value}), {high})"
        if old.itemsize == 8:
            return f"{self.types[new]}(({value}).x)"
        text = f"{self.types[new]}({value})"
        if new is BOOL or old is BOOL or new.itemsize >= old.itemsize or old is FLOAT32:
            return text
        bits = 8 * new.itemsize
        # A narrow integer is a word here. Extend its sign by two shifts, or clear the high bits.
        if new in SIGNED:
            return f"(({text}<<{32 - bits}u)>>{32 - bits}u)"
        return f"({text}&{(1 << bits) - 1}u)"

    def arithmetic(self, x: Instruction, a: str, b: str) -> str:
        dtype = x.operands[0].dtype
        if dtype in (UINT64, INT64):
            signed = f"{x.op}s" if dtype is INT64 else x.op
            return PAIR_OPERATIONS.get(signed, PAIR_OPERATIONS[x.op]).format(a, b)
        # WGSL requires a u32 as the number of bits to shift.
        if x.op in ("<<", ">>"):
            return f"({a}{x.op}{b if dtype is UINT32 else f'u32({b})'})"
        # WGSL has no exclusive or of bools. It is the same as inequality.
        if x.op == "^" and dtype is BOOL:
            return f"({a}!={b})"
        # Drivers replace 0.0 - x by -x, which is -0.0 for 0.0.
        if x.op == "-" and dtype is FLOAT32 and x.operands[0].value == 0:
            return f"select(-{b}, 0.0, {b}==0.0)"
        return f"({a}{x.op}{b})"  # integers wrap around


_DIALECTS: dict[str, type[C]] = {  # by the name of tinygrad's class of renderers, or of a base class
    "ClangRenderer": C,
    "CUDARenderer": CUDA,
    "HIPRenderer": HIP,
    "OpenCLRenderer": OpenCL,
    "MetalRenderer": Metal,
    "WGSLRenderer": WGSL,
}
SUPPORTED = ", ".join(language.__name__ for language in _DIALECTS.values())


def dialect(renderer: Any) -> type[C] | None:
    """Return the language of a device's renderer; None for one without a dialect."""
    names = (base.__name__ for base in type(renderer).__mro__)
    return next((_DIALECTS[name] for name in names if name in _DIALECTS), None)
