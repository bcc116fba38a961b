"""Tapes as text, and the verifier over the kernels of every game."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import BOOL, FLOAT32, INT32, OPERATIONS, UINT32, Array, Block, Instruction, Tape, record
from tensor_envs._runtime import programs
from tensor_envs.envs import inspection
from tensor_envs.rules.kernel import trace
from tests.compiler.evaluator import EXACT, run
from tests.compiler.verifier import TapeError, verify
from tests.rules.programs import FIELDS, columns, source
from tests.rules.reference import NAN
from tests.rules.test_programs import ROWS, Suite
from tests.rules.traced import KINDS

ROOT = Path(__file__).parents[2]

TEXT = """\
kernel(data0: int32[8], data1: uint32[8]) {
  r0: int32[1]
  store r0[0], 0
  for %0 in 0..8 {
    %1: int32 = load data0[%0]
    %2: int32 = add.wrap %1, 1
    %3: int32 0..7 = and %2, 7
    %4: bool = lt %1, 0
    if %4 {
      store r0[0], %3
    }
    do {
      %5: int32 = load r0[0]
      %6: uint32 = cast %5
      store data1[%0], %6
      %7: bool = eq %5, 3
    } while %7
  }
}"""


def example() -> Tape:
    with record(Tape([(INT32, 8), (UINT32, 8)])) as tape:
        data, out = tape.arrays
        total, zero = tape.register(INT32, 1), tape.const(0, INT32)
        tape.store(total, zero, zero)
        with tape.nested("for", tape.const(8, INT32)) as rows:
            x = tape.load(data, rows.index)
            low = arithmetic.bit_and(arithmetic.add(x, tape.const(1, INT32)), tape.const(7, INT32))
            with tape.nested("if", arithmetic.less(x, zero)):
                tape.store(total, zero, low)
            with tape.nested("while") as loop:
                y = tape.load(total, zero)
                tape.store(out, rows.index, arithmetic.cast(y, UINT32))
                loop.condition = arithmetic.equal(y, tape.const(3, INT32))
    return tape


def test_a_tape_is_text() -> None:
    assert repr(example()) == TEXT


def test_a_game_as_a_tape() -> None:
    env = te.make("tic_tac_toe")
    report = te.inspect(env, "observe", device="CPU", form="tape")
    lines = [line for line in report.source.splitlines() if " = " in line or line.lstrip().startswith("store")]
    assert len(lines) == report.instructions == te.inspect(env, "observe", device="CPU").instructions
    with pytest.raises(ValueError, match="form must be one of 'source', 'tape', got 'ir'"):
        te.inspect(env, "observe", device="CPU", form="ir")  # type: ignore[arg-type]


def test_the_table_agrees_with_the_evaluator() -> None:
    for op, exact in EXACT.items():
        value = OPERATIONS[op].value
        assert value is not None
        if op == "?":
            continue
        for a in (-9, -1, 0, 1, 2, 7, 31):
            for b in (-3, 1, 2, 5) if op not in ("<<", ">>") else (0, 3):
                arguments = (a, b)[: len(OPERATIONS[op].operands)]
                assert value(*arguments) == exact(*arguments), (op, arguments)


def broken(change: Callable[[Instruction], None], op: str) -> Tape:
    """Return the example with one instruction that is changed."""
    tape = example()
    change(next(x for x, _ in tape.instructions() if x.op == op))
    return tape


def with_attributes(**values: Any) -> Callable[[Instruction], None]:
    def change(x: Instruction) -> None:
        for name, value in values.items():
            setattr(x, name, value)

    return change


def undefined(x: Instruction) -> None:
    x.operands = (Instruction("+", INT32, (), 0, 1), x.operands[1])


def late(x: Instruction) -> None:
    """Move an instruction behind its use."""
    x.block.body.remove(x)
    x.block.body.append(x)


def by_constant(op: str, number: int) -> Callable[[Instruction], None]:
    def change(x: Instruction) -> None:
        x.op = op
        x.operands = x.operands[0], CONST(number, INT32)

    return change


def selection(x: Instruction) -> None:
    x.op = "?"
    x.operands = (x.operands[0],) * 3


def branch_of(x: Instruction) -> Block:
    """Return the branch of the example, given its first load."""
    return next(block for block in x.block.body if isinstance(block, Block) and block.kind == "if")


def while_of(x: Instruction) -> Block:
    return next(block for block in x.block.body if isinstance(block, Block) and block.kind == "while")


CONST = Tape().const
BROKEN: dict[str, tuple[Callable[[Instruction], None], str, str]] = {
    "type of a result": (with_attributes(dtype=UINT32), "&", "does not give"),
    "type of a condition": (with_attributes(dtype=INT32), "<", "does not give"),
    "types of operands": (lambda x: setattr(x, "operands", (x.operands[0], CONST(1, UINT32))), "&", "does not take"),
    "number of operands": (lambda x: setattr(x, "operands", x.operands[:1]), "&", "takes 2 operands"),
    "no operation": (with_attributes(op="**"), "&", "is no operation"),
    "reals have no bits": (lambda x: setattr(x, "operands", (CONST(1.0, FLOAT32),) * 2), "&", "does not take"),
    "type of an array": (with_attributes(array=Array(UINT32, 8, None, "r9")), "load", "an array of another tape"),
    "type of a stored value": (
        lambda x: setattr(x, "operands", (x.operands[0], CONST(True, BOOL))), "store", "stores another dtype"
    ),
    "type of an index": (lambda x: setattr(x, "operands", (CONST(1.0, FLOAT32),)), "load", "no integer"),
    "an index beyond": (lambda x: setattr(x, "operands", (CONST(8, INT32),)), "load", "beyond the 8 elements"),
    "no definition": (undefined, "&", "is used where it is not defined"),
    "definition after use": (late, "&", "is used where it is not defined"),
    "order of bounds": (with_attributes(low=5, high=4), "&", "has the bounds 5..4"),
    "bounds beyond the dtype": (with_attributes(high=2**31), "&", "has the bounds"),
    "unmarked wrap-around": (with_attributes(wraps=False), "+", "may wrap around and is not marked"),
    "a shift of all bits": (
        by_constant(">>", 32),
        "&",
        "shifts by 32..32",
    ),
    "a divisor of 0": (
        by_constant("/", 0),
        "&",
        "may divide by 0",
    ),
    "type of a loaded value": (with_attributes(dtype=UINT32), "load", "another dtype than its array"),
    "bits of a number with a sign": (with_attributes(op="store_bits"), "store", "the bits of a number with a sign"),
    "a selection by a number": (selection, "&", "takes a condition"),
    "a constant beyond its bounds": (
        lambda x: setattr(x, "operands", (x.operands[0], Instruction("const", INT32, (), 0, 1))), "&", "not within"
    ),
    "bounds that no sum reaches": (
        with_attributes(wraps=False, low=9, high=9, operands=(CONST(1, INT32),) * 2), "+", "is 2..2, not 9..9"
    ),
    "a branch on a number": (lambda x: setattr(branch_of(x), "head", x), "load", "is the head of a block 'if'"),
    "a loop without an end": (lambda x: setattr(while_of(x), "condition", None), "load", "with the condition None"),
    "a loop while a number holds": (
        lambda x: setattr(while_of(x), "condition", CONST(1, INT32)), "load", "is the condition of a loop"
    ),
}  # fmt: skip


def test_the_example_is_sound() -> None:
    assert verify(example()) == 10


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_tape_is_found(name: str) -> None:
    change, op, message = BROKEN[name]
    with pytest.raises(TapeError, match=message):
        verify(broken(change, op))


def test_a_value_of_a_closed_block_is_found() -> None:
    tape = example()
    inner = next(x for x, _ in tape.instructions() if x.op == "load")
    tape.root.body.append(Instruction("!=", BOOL, (inner, inner), 0, 1))
    with pytest.raises(TapeError, match="is used where it is not defined"):
        verify(tape)


VERIFY = """
import sys
from contextlib import suppress
from tensor_envs._runtime import launch
from tests.compiler.verifier import verify
from tests.engine import every_kernel
compile_tape, verified = launch.compile_tape, set()
def checked(name, tape, *rest):
    assert verify(tape) > 0
    verified.add(name)
    result = compile_tape(name, tape, *rest)
    assert verify(tape) > 0, "and without what no output needs"
    return result
launch.compile_tape = checked
for game in sys.argv[1:]:
    env = every_kernel.GAMES[game]()
    every_kernel.use(env)
    with suppress(NotImplementedError, ValueError):  # a game too large for trees
        every_kernel.search(env)
print(len(verified))
"""


@pytest.mark.parametrize("kernel", ["init", "step", "observe", "rollout"])
@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker"])
def test_kernels_of_small_games(name: str, kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def checked(name: str, tape: Tape, renderer: Any) -> Any:
        counts.append(verify(tape))
        result = programs.printed(name, tape, renderer)
        counts.append(verify(tape))
        return result

    monkeypatch.setattr(inspection, "printed", checked)
    report = te.inspect(te.make(name), kernel, device="CPU")
    assert counts[0] >= counts[1] == report.instructions > 0


@pytest.mark.slow
@pytest.mark.parametrize("game", ["dice_race", "in memory", *te.registered()])
def test_all_kernels_of_games(game: str) -> None:
    """Step, observe, rollout, search and all others, as a device of threads gets them."""
    environment = os.environ | {"DEV": "NULL:WGSL", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", VERIFY, game]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 10


@pytest.mark.parametrize("by_lanes", [False, True])
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 300), marks=pytest.mark.slow)])
def test_bounds_of_random_programs_hold(seeds: range, by_lanes: bool) -> None:
    """The evaluator checks every value against its bounds; results are those of the reference."""
    for seed in seeds:
        suite = Suite([source(seed)], columns(ROWS, seed))
        inputs = [np.concatenate([suite.table[name] for name in names]) for names in FIELDS.values()]
        sizes = [(KINDS[kind], len(x)) for kind, x in zip(FIELDS, inputs, strict=True)]
        tape = trace(partial(suite.record, "CPU", by_lanes), [(UINT32, suite.expected.size), *sizes])
        # not `verify`: a value that a loop over lanes keeps in an array is loaded without the bounds that it had
        words, *_ = run(tape, [0] * suite.expected.size, *(x.tolist() for x in inputs))
        results = np.array(words, np.uint32).reshape(suite.expected.shape)
        is_nan = suite.reals[:, None] & ((results & 0x7FFFFFFF) > 0x7F800000)
        assert not suite.differences(np.where(is_nan, NAN, results).astype(np.uint32)), seed
