"""Emulator of a GPU: compiles the text of CUDA and Metal kernels as C++ and runs it thread by thread.

The text is compiled as it is printed, except that parameters and registers become C++ classes that check each index.
Registers are poisoned, and signed overflow and shifts out of range are faults. Threads run one after the other, the
last one first. Those of a team take turns: each runs until it waits for the others, so that a number that one of them
reads too early or too late is a wrong one. A team whose threads wait at different places is a fault.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensor_envs._compiler.dialects import CUDA, GPU, Metal
from tensor_envs._compiler.tape import Tape

POISON = 0xA5
# no C library; `-w` silences warnings of the pragmas and attributes of GPUs
COMPILER = [sys.executable, "-m", "ziglang", "cc", "-x", "c++", "-std=c++20", "-O0", "-w", "-fPIC", "-shared"]
COMPILER += ["-nostdlib", "-ffreestanding", "-fno-exceptions", "-fsigned-char", "-ffp-contract=off"]
COMPILER += ["-fno-sanitize=all", "-fsanitize=signed-integer-overflow,shift", "-fno-sanitize-trap=all"]
COMPILER += ["-fsanitize-minimal-runtime"]

CHECKED = r"""
#include <ucontext.h>
static unsigned group, thread;
static void **memory;
static const long long *sizes;
struct uint3 { unsigned x, y, z; };
static const char *fault_place;
static long long fault_index;
static void fault(const char *place, long long index) {
  if (!fault_place) { fault_place = place; fault_index = index; }
}
template <class T> struct Parameter {
  T *data; long long size; const char *name;
  T &operator[](long long k) const {
    if (k >= 0 && k < size) return data[k];
    fault(name, k);
    return data[0];
  }
};
template <class T, int count> struct Register : Parameter<T> {
  T memory[count];
  Register(const char *name) : Parameter<T>{memory, count, name} { __builtin_memset(memory, POISON, sizeof memory); }
};
template <class T, class F> static T bits_of(F x) {
  static_assert(sizeof(T) == sizeof(F));
  return __builtin_bit_cast(T, x);
}
extern "C" {
void __ubsan_handle_add_overflow_minimal() { fault("signed +", 0); }
void __ubsan_handle_sub_overflow_minimal() { fault("signed -", 0); }
void __ubsan_handle_mul_overflow_minimal() { fault("signed *", 0); }
void __ubsan_handle_divrem_overflow_minimal() { fault("signed /", 0); }
void __ubsan_handle_negate_overflow_minimal() { fault("signed negation", 0); }
void __ubsan_handle_shift_out_of_bounds_minimal() { fault("shift", 0); }
}
""".replace("POISON", hex(POISON))
HEADERS: dict[type[GPU], str] = {
    CUDA: r"""
#define __global__
#define __launch_bounds__(...)
static uint3 blockIdx, threadIdx;
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
#define __device__ static
#define __syncwarp(members) meet(__LINE__)
static const int TEAM_MAX = 32, STACK_BYTES = 1 << 20;
static ucontext_t scheduler, contexts[TEAM_MAX];
static char stacks[TEAM_MAX][STACK_BYTES];
static unsigned member;         // the thread of a team that runs
static int meeting[TEAM_MAX];   // line at which each one waits; 0 at its end
static long long sent[TEAM_MAX];
static void (*play)();
static void meet(int line) {
  meeting[member] = line;
  swapcontext(&contexts[member], &scheduler);
}
static void start() { play(); meet(0); }
template <class T> static T __shfl_xor_sync(unsigned members, T x, int distance) {
  sent[member] = x;
  meet(__LINE__);
  T other = (T)sent[member ^ distance];
  meet(-__LINE__);  // the next shuffle overwrites the numbers
  return other;
}
static void play_team(unsigned first, unsigned size, void (*thread)()) {
  play = thread;
  for (unsigned k = 0; k < size; k++) {
    getcontext(&contexts[k]);
    contexts[k].uc_stack = {stacks[k], 0, STACK_BYTES};
    contexts[k].uc_link = nullptr;
    makecontext(&contexts[k], start, 0);
  }
  do {
    for (member = size; member--;) {
      threadIdx = {first + member, 0, 0};
      swapcontext(&scheduler, &contexts[member]);
    }
    for (unsigned k = 1; k < size; k++) if (meeting[k] != meeting[0]) fault("threads of a team apart", meeting[k]);
  } while (meeting[0] && !fault_place);
}
static float __fadd_rn(float a, float b) { return a + b; }
static float __fsub_rn(float a, float b) { return a - b; }
static float __fmul_rn(float a, float b) { return a * b; }
static float __fdiv_rn(float a, float b) { return a / b; }
static float __int_as_float(int x) { return bits_of<float>(x); }
static float __uint_as_float(unsigned x) { return bits_of<float>(x); }
static int __float_as_int(float x) { return bits_of<int>(x); }
static unsigned __float_as_uint(float x) { return bits_of<unsigned>(x); }
""",
    Metal: r"""
#define kernel extern "C"
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
namespace metal {
template <class T, class F> static T as_type(F x) { return bits_of<T>(x); }
static uint popcount(uint x) { return __builtin_popcount(x); }
static ulong popcount(ulong x) { return __builtin_popcountll(x); }
}
""",
}
CALLS = {CUDA: "{name}({arguments});", Metal: "{name}({arguments}, uint3{{group, 0, 0}}, uint3{{thread, 0, 0}});"}
# what runs the threads of a team, the first of which is `thread`
TEAMS: dict[type[GPU], str] = {
    CUDA: "blockIdx = {{group, 0, 0}}; play_team(thread, {team}, play_{name});",
    Metal: "play_{name}();",
}
PARAMETERS: dict[type[GPU], str] = {
    CUDA: r"(?P<type>[\w ]+) \*__restrict__ (?P<name>data\d+)",
    Metal: r"device (?P<type>[\w ]+) \*(?P<name>data\d+) \[\[buffer\((?P<number>\d+)\)\]\]",
}
REGISTERS = re.compile(r"^  (?P<type>[\w ]+) (?P<name>r\d+)\[(?P<size>\d+)\];$", re.MULTILINE)


class KernelFault(Exception):
    """An error of a kernel's text: it does not compile, leaves an array, or has undefined behaviour."""


class Kernel(NamedTuple):
    """Text of a kernel, and the tape that it was printed from."""

    text: str
    tape: Tape
    language: type[GPU]

    def checked(self, name: str) -> str:
        """Return the text with checked arrays, and a function `run_NAME` that runs all threads, as C++."""
        used = [array for array in self.tape.arrays if array.used]
        head, brace, body = self.text.partition(" {\n")
        parameters = list(re.finditer(PARAMETERS[self.language], head))
        assert [x["name"] for x in parameters] == [array.name for array in used], head
        assert all(x.groupdict().get("number", str(k)) == str(k) for k, x in enumerate(parameters)), head
        for x, array in zip(reversed(parameters), reversed(used), strict=True):
            kind = x["type"] if array.written else f"const {x['type']}"
            head = f"{head[: x.start()]}Parameter<{kind}> {x['name']}{head[x.end() :]}"
        body, count = REGISTERS.subn(r'  Register<\g<type>, \g<size>> \g<name>("\g<name>");', body)
        assert count == sum(array.used for array in self.tape.registers)
        arrays = [f'{{({x["type"]} *)memory[{k}], sizes[{k}], "{x["name"]}"}}' for k, x in enumerate(parameters)]
        call = CALLS[self.language].format(name=name, arguments=", ".join(arrays))
        groups, threads = (self.tape.grid.get(axis, 1) for axis in ("group", "thread"))
        team = self.tape.team
        return f"""{head}{brace}{body}
static void play_{name}() {{ {call} }}
extern "C" const char *run_{name}(void **arrays, const long long *array_sizes, long long *index) {{
  memory = arrays;
  sizes = array_sizes;
  fault_place = nullptr;
  for (group = {groups}; group-- && !fault_place;)
    for (thread = {threads}; thread && !fault_place;) {{
      thread -= {team};
      {TEAMS[self.language].format(name=name, team=team)}
    }}
  *index = fault_index;
  return fault_place;
}}
"""


def load(kernels: Mapping[str, Kernel]) -> Callable[[str, Sequence[np.ndarray]], list[np.ndarray]]:
    """Compile kernels of one language in one run of the compiler.

    Returns:
        A function of a kernel's name and its arrays that returns copies of them as they are after the kernel.

    Raises:
        KernelFault: if the text does not compile, as where it stores to an array that the tape does not write. The
            function raises it for an index out of range and for undefined behaviour.
    """
    (language,) = {kernel.language for kernel in kernels.values()}
    header, text = CHECKED + HEADERS[language], "\n".join(x.checked(name) for name, x in kernels.items())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "metal_stdlib").write_text(f"#pragma once\n{header}")
        Path(folder, "k.cpp").write_text(text if language is Metal else header + text)
        command = [*COMPILER, "-I.", "k.cpp", "-o", "k.so"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KernelFault(done.stderr[:4000])
        library: Any = ctypes.CDLL(f"{folder}/k.so")

    def run(name: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        function, index, after = library[f"run_{name}"], ctypes.c_longlong(), [x.copy() for x in arrays]
        function.restype = ctypes.c_char_p
        used = [x for x, array in zip(after, kernels[name].tape.arrays, strict=True) if array.used]
        memory = (ctypes.c_void_p * len(used))(*(x.ctypes.data for x in used))
        sizes = (ctypes.c_longlong * len(used))(*(x.size for x in used))
        if place := function(memory, sizes, ctypes.byref(index)):
            raise KernelFault(f"{name}: {place.decode()}[{index.value}]")
        return after

    return run
