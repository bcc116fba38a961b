"""How fast a GPU could run a kernel at best: from its machine code for NVIDIA's (sm_70 to sm_90) and from a data sheet.

A thread plays a game. Its instructions and the bytes of its loads and stores are counted in the compiled code: those in
a loop of known length as often as it runs, of a kernel of many steps those of one step, and once those in a loop that
ends when there is nothing left to do. A warp of 32 games goes through a branch if one of them does, so that the truth
lies between all instructions and those outside of branches; the figures are of all. Memory is that of the card: states
of few games stay in its cache, and wait for launches instead.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import NamedTuple

SIZE = 16  # bytes of an instruction
NOP, BRANCH, LOAD, STORE = 0x918, 0x947, 0x981, 0x986  # opcodes; loads and stores of the card's memory
BYTES = (1, 1, 2, 2, 4, 8, 16)  # by a load's or store's field of three bits


class Card(NamedTuple):
    """What NVIDIA publishes of a card."""

    about: str
    bandwidth: float  # bytes a second
    rate: float  # instructions a second, 32-bit integer ones


CARDS = {
    # a multiply-add counts as two of the operations published
    "H100": Card(
        "H100 SXM5: 3.35 TB/s (data sheet); 33.5 INT32 TOPS, 16.75 T instructions/s (white paper)",
        3.35e12,
        33.5e12 / 2,
    )
}


class Work(NamedTuple):
    """What a thread does, of a kernel of many steps in one step."""

    bytes: float
    instructions: float
    branched: float  # of the instructions, those in branches


def work_of(text: bytes, rounds: Sequence[int | None]) -> Work:
    """What machine code does, given how often its loops run, in their order; None: that of the steps.

    ValueError if there are other loops than those: the compiler has unrolled or made some.
    """
    code = [struct.unpack_from("<QQ", text, at) for at in range(0, len(text), SIZE)]
    loops, branches = [], []
    for at, (low, high) in enumerate(code):
        if low & 0xFFF == BRANCH:
            offset = (low >> 16 & 0xFF) | (low >> 34) << 8 | (high & 0x3FFFF) << 38  # in units of 4 bytes
            target = at + 1 + (offset - (offset >> 55 << 56)) * 4 // SIZE
            if target < at:
                loops.append(range(target, at + 1))
            elif target > at:
                branches.append(range(at + 1, target))
    if len(loops) != len(rounds):
        raise ValueError(f"{len(loops)} loops were compiled, {len(rounds)} written")
    loops.sort(key=lambda loop: (loop.start, -loop.stop))
    step = next((loop for loop, times in zip(loops, rounds, strict=True) if times is None), range(len(code)))
    # one that jumps over all steps is none of a step's
    branches = [branch for branch in branches if branch.start - 1 in step and branch.stop - 1 in step]
    moved = done = branched = 0.0
    for at in step:
        opcode, times = code[at][0] & 0xFFF, 1
        if opcode == NOP:
            continue
        for loop, count in zip(loops, rounds, strict=True):
            if at in loop:
                times *= count or 1
        done += times
        branched += times * any(at in branch for branch in branches)
        if opcode in (LOAD, STORE):
            moved += times * BYTES[code[at][1] >> 9 & 7]
    return Work(moved, done, branched)


def rounds(source: str, steps: bool) -> list[int | None]:
    """Return how often the loops of a kernel run, in the order of its code; None for the loop over steps.

    Args:
        source: the kernel's source.
        steps: whether the first loop of unknown length is the loop over steps. Other loops of unknown length end when
            there is nothing left to do: they count once.
    """
    sizes = re.findall(r"for \((?:int \w+ = 0; \w+ < (\w+); \w+\+\+|;;)\)", source)
    known = [int(size) if size.isdigit() else None for size in sizes]
    first = known.index(None) if steps and None in known else -1
    return [times if times or k == first else 1 for k, times in enumerate(known)]


def row(card: Card, name: str, kernel: str, does: Work) -> str:
    """A row of the table whose head is `HEAD`."""
    memory = card.bandwidth / does.bytes if does.bytes else float("inf")
    arithmetic = card.rate / does.instructions
    by = "memory" if memory < arithmetic else "arithmetic"
    counts = f"{does.bytes:,.0f} | {does.instructions:,.0f} | {does.branched:,.0f}"
    rates = " | ".join(f"{rate / 1e9:.3g}" if rate < float("inf") else "" for rate in (memory, arithmetic))
    return f"| `{name}` | {kernel} | {counts} | {rates} | {by} |"


HEAD = """\
| game | kernel | bytes | instructions | of them in branches | by memory | by arithmetic | bound by |
|---|---|---|---|---|---|---|---|"""
