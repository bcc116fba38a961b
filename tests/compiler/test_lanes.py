"""Loops over lanes that are unrolled or exchanged with inner loops compute the same, without a compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tensor_envs._compiler.lanes import interchange_loops, unroll_lanes
from tensor_envs._compiler.tape import INT32, Block, Tape, current
from tensor_envs.rules.kernel import Cells, branch, do_while, loop, registers, trace
from tests.compiler.evaluator import run

LANES = 4
ROWS = [3, 0, 7, 5], [10, 20, 30, 40], [0] * LANES  # two inputs and an output
Stage = Callable[..., None]  # of the arrays and the lane


def count_down(a: Cells, b: Cells, out: Cells, lane: int) -> None:
    """A loop of as many iterations as the lane that needs most; further ones change nothing."""
    left = registers(1, INT32)
    left[0] = a[lane]
    total = registers(1, INT32)
    total[0] = 0
    with do_while(together=True) as iteration:
        goes_on = left[0] > 0
        total[0] = total[0] + b[lane] * (goes_on & (left[0] > 0))
        left[0] = left[0] - goes_on * 1
        iteration.again = left[0] > 0
    out[lane] = total[0]


def own_lengths(a: Cells, b: Cells, out: Cells, lane: int) -> None:
    """A loop with another number of iterations in every lane."""
    total = registers(1, INT32)
    total[0] = b[lane]
    with loop(a[lane], together=True) as k:
        total[0] = total[0] * 3 + k
    out[lane] = total[0]


def nested(a: Cells, b: Cells, out: Cells, lane: int) -> None:
    """Loops in a loop, whose sums depend on both indices and on values before."""
    start = a[lane] * 5 - b[lane]
    total = registers(1, INT32)
    total[0] = start
    with loop(3, together=True) as i:
        with loop(2, together=True) as j:
            total[0] = total[0] * 2 + i * j + start
        total[0] = total[0] + b[lane]
    out[lane] = total[0] ^ start


def changed_before_a_loop(a: Cells, b: Cells, out: Cells, lane: int) -> None:
    """A value that is loaded before its array changes, and used after a loop: it must not be loaded again."""
    old = a[lane]
    a[lane] = old + 100
    total = registers(1, INT32)
    total[0] = 0
    with loop(2, together=True):
        total[0] = total[0] + b[lane]
    out[lane] = total[0] + old


def changed_in_a_loop(a: Cells, b: Cells, out: Cells, lane: int) -> None:
    old = a[lane]
    with loop(2, together=True):
        a[lane] = a[lane] * 2 + 1
    out[lane] = old - b[lane]


def changed_at_the_end(a: Cells, b: Cells, out: Cells, lane: int) -> None:
    """A value whose array changes in the last part alone may be loaded again there, before the change."""
    old = a[lane]
    with loop(2, together=True) as k:
        out[lane] = k + 7
    a[lane] = b[lane]
    out[lane] = out[lane] + old


def long_expression(a: Cells, b: Cells, out: Cells, lane: int) -> None:
    """A value of more operations than are computed again is stored for the later part."""
    x = ((a[lane] * 7 + 3) ^ b[lane]) * 11 + (b[lane] >> 1) * 13
    total = registers(1, INT32)
    total[0] = 0
    with loop(2, together=True):
        total[0] = total[0] + (x & 63)
    out[lane] = total[0] + x


STAGES = [
    count_down, own_lengths, nested, changed_before_a_loop, changed_in_a_loop, changed_at_the_end, long_expression,
]  # fmt: skip


def recorded(stage: Stage, interchanged: bool) -> Tape:
    def body(*cells: Cells) -> None:
        tape = current()
        before = len(tape.registers)
        with loop(LANES) as lane:
            stage(*cells, lane)
        if interchanged:
            assert interchange_loops(tape, tape.registers[before:])

    return trace(body, [(INT32, LANES)] * 3)


def innermost(block: Block) -> list[Block]:
    inside = [x for x in block.body if isinstance(x, Block)]
    return [y for x in inside for y in innermost(x)] if inside else [block]


@pytest.mark.parametrize("stage", STAGES)
def test_a_loop_over_lanes_that_is_exchanged_with_inner_loops(stage: Stage) -> None:
    lane_by_lane, interchanged = (recorded(stage, chosen) for chosen in (False, True))
    expected = run(lane_by_lane, *ROWS)
    assert expected[2] != ROWS[2]
    assert run(interchanged, *ROWS) == expected
    interchanged.finish()
    assert run(interchanged, *ROWS) == expected, "and without what no output needs"


@pytest.mark.parametrize("stage", [x for x in STAGES if x is not own_lengths])
def test_loops_over_lanes_are_innermost(stage: Stage) -> None:
    blocks = innermost(recorded(stage, True).root)
    assert blocks and all(x.kind == "for" and x.head.value == LANES for x in blocks)


def test_branches_and_other_loops_stay_inside() -> None:
    """A branch may be taken by some lanes; a loop without `together` may change with further iterations."""

    def with_branch(a: Cells, b: Cells, out: Cells, lane: int) -> None:
        with branch(a[lane] > 3):
            out[lane] = b[lane]

    def with_loop(a: Cells, b: Cells, out: Cells, lane: int) -> None:
        with loop(2):
            out[lane] = out[lane] + b[lane]

    for stage in (with_branch, with_loop):
        with pytest.raises(AssertionError, match="interchange_loops"):
            recorded(stage, True)


def straight(a: Cells, b: Cells, out: Cells, lane: Any) -> None:
    """A stage without blocks, which reads what no other lane stores."""
    x = a[lane] * 7 + 3
    out[lane] = x ^ b[(lane + 3) & (LANES - 1)]
    a[lane] = x >> 1


@pytest.mark.parametrize("count", [1, 2, LANES])
def test_a_loop_over_lanes_that_is_unrolled(count: int) -> None:
    """Turns that are taken at once compute the same, their loads come first, and each has its own addresses."""

    def body(a: Cells, b: Cells, out: Cells) -> None:
        with loop(LANES) as lane:
            straight(a, b, out, lane)
        unroll_lanes(current(), count)

    unrolled = trace(body, [(INT32, LANES)] * 3)
    assert run(unrolled, *ROWS) == run(recorded(straight, False), *ROWS)
    (block,) = (x for x in unrolled.root.body if isinstance(x, Block))
    assert block.head.value == LANES // count
    instructions = [x for x in block.body if not isinstance(x, Block)]
    stores = instructions[-2 * count :]
    assert {x.op for x in stores} == {"store"} and "store" not in {x.op for x in instructions[: -2 * count]}
    for accesses in (stores, [x for x in instructions if x.op == "load"]):
        assert len({(x.array, x.operands[0]) for x in accesses}) == len(accesses) == 2 * count
