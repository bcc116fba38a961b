"""Random programs in the rules language: kernels, plain numbers and an independent reference agree bit for bit."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from tensor_envs import rules
from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.lanes import interchange_loops
from tensor_envs._compiler.tape import LIMITS, UINT32, Instruction, current, recording
from tensor_envs._runtime.buffers import download, empty_buffer, upload
from tensor_envs._runtime.launch import lazy_kernel
from tensor_envs._runtime.opening import open_device
from tensor_envs.rules import Scalar, halves, int32, map_range, scalar, uint32
from tensor_envs.rules.kernel import Cells, bitcast, grid_index, loop, no_unroll, trace
from tests.rules import reference
from tests.rules.programs import ARGUMENTS, FIELDS, columns, function, source
from tests.rules.reference import Number, decoded, encoded
from tests.rules.traced import KINDS, NUMPY

ROOT = Path(__file__).parents[2]
ROWS = 16  # in a table of fields
PER_KERNEL = 50  # programs
SEQUENTIAL = ("CPU", "PYTHON")  # the interpreter evaluates the condition of a loop for its first thread only
REQUIRED_DEVICES = os.environ.get("TENSOR_ENVS_TEST_DEVICES")

Table = dict[str, np.ndarray]
Difference = tuple[int, int, int, Any, Any]  # program, result, row, expected value, value found


# *** languages ***


def _map_range(size: int, term: Callable[[Scalar], Any]) -> list[Scalar]:
    return map_range(size, lambda i: term(int32(i)))  # the index of an unrolled loop is a plain int


def _rolled_map_range(size: int, term: Callable[[Scalar], Any]) -> list[Scalar]:
    if recording() is None:
        return _map_range(size, term)
    with no_unroll():
        return _map_range(size, term)


RULES = {name: getattr(rules, name) for name in rules.__all__}
RULES |= {"map_range": _map_range, "rolled_map_range": _rolled_map_range}
# functions of plain ints, or of observations
NOT_NUMERIC = {
    "bits",
    "constant",
    "digits",
    "entries",
    "number",
    "next_player",
    "one_hot",
    "num_words",
    "pack",
    "unpack",
}
REFERENCE = {name: value for name, value in vars(reference).items() if not name.startswith("_")}


# *** runs ***


class Suite:
    """Programs over one table of fields, with the results of the reference.

    Attributes:
        kinds: the kinds of each program's results.
        expected: uint32, (words of all results, rows); a uint64 takes two words.
    """

    def __init__(self, texts: Sequence[str], table: Table):
        self.texts, self.table = texts, table
        self.size = len(next(iter(table.values())))
        self.kinds: list[list[str]] = []
        lines: list[tuple[int, ...]] = []
        for text in texts:
            rows = [function(text, REFERENCE)(**row) for row in self.rows(Number)]
            kinds = [[x.kind for x in row] for row in rows]
            assert all(row == kinds[0] for row in kinds), f"the kinds of results depend on values:\n{text}"
            self.kinds.append(kinds[0])
            for result in zip(*rows, strict=True):
                lines += zip(*(encoded(x.value, x.kind) for x in result), strict=True)
        self.reals = np.array(
            [kind == "float32" for kinds in self.kinds for kind in kinds for _ in range(1 + (kind == "uint64"))], bool
        )
        self.expected = np.array(lines, np.uint32)

    def rows(self, make: Callable[[Any, str], Any]) -> Iterator[dict[str, Any]]:
        """Yield the fields of each row; `make` is called with a value and its kind."""
        for i in range(self.size):
            yield {name: make(self.table[name][i].item(), kind) for name, kind in ARGUMENTS.items()}

    def plain(self) -> np.ndarray:
        """Return the results of `tensor_envs.rules` with plain numbers, like `expected`."""
        lines: list[tuple[int, ...]] = []
        for text, kinds in zip(self.texts, self.kinds, strict=True):
            program = function(text, RULES)
            rows = [program(**row) for row in self.rows(lambda value, kind: Scalar(value, KINDS[kind]))]
            assert all([x.kind for x in row] == kinds for row in rows), text
            for result in zip(*rows, strict=True):
                lines += zip(*(encoded(x.value, x.kind) for x in result), strict=True)
        return np.array(lines, np.uint32)

    def record(self, device: str, by_lanes: bool, results: Cells, *fields: Cells) -> None:
        """Record a kernel with all programs; `fields` are arrays with the columns of each kind."""
        line = 0
        for text, kinds in zip(self.texts, self.kinds, strict=True):
            for row in _each_row(self.size, device, by_lanes):
                arguments: dict[str, Scalar] = {}
                for cells, names in zip(fields, FIELDS.values(), strict=True):
                    arguments |= {name: cells[row + k * self.size] for k, name in enumerate(names)}
                values = [scalar(x) for x in function(text, RULES)(**arguments)]
                assert [x.kind for x in values] == kinds
                for x in (part for value in values for part in _words(value)):
                    results[row + line * self.size] = x
                    line += 1

    def kernel(self, device: str, by_lanes: bool = False) -> np.ndarray:
        """Return the results of a kernel with all programs, like `expected`. by_lanes: see `interchange_loops`."""
        inputs = [np.concatenate([self.table[name] for name in names]) for names in FIELDS.values()]
        arrays = [empty_buffer(self.expected.size, UINT32, device), *(upload(x, device) for x in inputs)]
        after = lazy_kernel("programs", partial(trace, partial(self.record, device, by_lanes)), *arrays)
        Tensor.realize(after[0])
        results = download(after[0]).reshape(self.expected.shape)
        is_nan = self.reals[:, None] & ((results & 0x7FFFFFFF) > 0x7F800000)  # devices have different ones
        return np.where(is_nan, reference.NAN, results).astype(np.uint32)

    def differences(self, results: np.ndarray) -> list[Difference]:
        """Return the first difference of every program, if any."""
        differences, start = [], 0
        for number, kinds in enumerate(self.kinds):
            sizes = [2 if kind == "uint64" else 1 for kind in kinds]
            stop = start + sum(sizes)
            wrong = np.argwhere(self.expected[start:stop] != results[start:stop])
            if len(wrong):
                line, row = (int(x) for x in wrong[0])
                result = next(k for k in range(len(kinds)) if sum(sizes[: k + 1]) > line)
                first = start + sum(sizes[:result])
                values = (
                    decoded(words[first : first + sizes[result], row].tolist(), kinds[result])
                    for words in (self.expected, results)
                )
                differences.append((number, result, row, *values))
            start = stop
        return differences

    def describe(self, difference: Difference) -> str:
        """Return a program, the fields of a row, and both values of a result."""
        number, result, row, expected, actual = difference
        fields = {name: column[row].item() for name, column in self.table.items()}
        return f"{self.texts[number]}{fields}\nr{result}: expected {expected}, got {actual}\n"


def _each_row(size: int, device: str, by_lanes: bool) -> Iterator[Scalar]:
    """Yield the row inside a loop over all, or that of a thread."""
    if device not in SEQUENTIAL:
        yield grid_index("thread", size)
        return
    tape = current()
    before = len(tape.registers)
    with loop(size) as row:
        yield row
    if by_lanes:
        interchange_loops(tape, tape.registers[before:])


def _words(x: Scalar) -> list[Scalar]:
    """Return a number as words, like `encoded`."""
    if x.kind == "float32":
        return [bitcast(x, UINT32)]
    return list(halves(x)) if x.kind == "uint64" else [uint32(x)]


def find_differences(seeds: range, device: str, plain: bool = False, portable: bool = False) -> list[str]:
    """Run random programs, and describe those whose results are not those of the reference.

    Args:
        seeds: a program is written from each.
        device: runs the kernels.
        plain: whether the programs also run with plain numbers.
        portable: whether to leave out programs with floats, which not all devices round alike.
    """
    problems = []
    for first in range(seeds.start, seeds.stop, PER_KERNEL):
        some, table = range(first, min(first + PER_KERNEL, seeds.stop)), columns(ROWS, first)
        texts = {source(seed): seed for seed in some}
        if portable:
            texts = {text: seed for text, seed in texts.items() if _is_portable(text)}
        suite = Suite(list(texts), table)
        runs = {device: suite.kernel(device)} | ({"plain numbers": suite.plain()} if plain else {})
        if device in SEQUENTIAL:
            runs[f"{device}, loops exchanged"] = suite.kernel(device, by_lanes=True)
        for name, results in runs.items():
            wrong = suite.differences(results)
            problems += [f"{name}, seed {texts[suite.texts[d[0]]]}\n{suite.describe(d)}" for d in wrong]
    return problems


def _is_portable(text: str) -> bool:
    """Return whether all devices agree on a program. Some compilers reorder sums and products of floats."""
    body = text.partition("\n")[2]
    return not re.search(r"\breal\(|\bq\b", body)


# *** devices ***


@cache
def _problem(device: str) -> str | None:
    """Return the reason why a device cannot be used, or None."""
    try:
        open_device(device)
    except ValueError as error:
        return str(error)
    return None


def _require(device: str) -> None:
    """Skip the test without the device, as `tests.test_devices` does."""
    if REQUIRED_DEVICES is not None and device not in REQUIRED_DEVICES.split():
        pytest.skip(f"TENSOR_ENVS_TEST_DEVICES does not name {device}")
    if why := _problem(device):
        assert REQUIRED_DEVICES is None, why
        pytest.skip(why)


def _check(seeds: range, device: str, plain: bool = False, portable: bool = False) -> None:
    problems = find_differences(seeds, device, plain, portable)
    assert not problems, f"{len(problems)} of {len(seeds)} programs differ\n" + "\n".join(problems[:5])


# *** tests ***


def test_programs() -> None:
    _check(range(PER_KERNEL), "CPU", plain=True)


@pytest.mark.parametrize("device", ["CL", "WEBGPU"])
def test_programs_on_other_devices(device: str) -> None:
    _require(device)
    _check(range(PER_KERNEL), device, portable=device == "WEBGPU")


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 10_000, 1000))
def test_many_programs_on_the_cpu(start: int) -> None:
    _check(range(start, start + 1000), "CPU", plain=True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 10_000, 1000))
def test_many_programs_in_opencl(start: int) -> None:
    _require("CL")
    _check(range(start, start + 1000), "CL")


@pytest.mark.slow
def test_programs_in_webgpu() -> None:
    _require("WEBGPU")
    _check(range(300), "WEBGPU", portable=True)


@pytest.mark.slow
def test_programs_in_the_interpreter() -> None:
    _check(range(100), "PYTHON")


@pytest.mark.slow
def test_programs_in_llvm() -> None:
    """LLVM needs another process, since a process has one renderer for the CPU device."""
    check = f"from tests.rules.test_programs import _check; _check(range({2 * PER_KERNEL}), 'CPU', portable=True)"
    environment = os.environ | {"DEV": "CPU:LLVM"}
    done = subprocess.run(
        [sys.executable, "-c", check], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "an LLVM that is older than 17" in done.stderr:
        pytest.skip("this LLVM is too old for tinygrad's registers")
    assert done.returncode == 0, done.stderr


def test_generator() -> None:
    """Every function of the language occurs, and most results depend on the row."""
    texts = [source(seed) for seed in range(400)]
    used = {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    numeric = {name for name in rules.__all__ if name[0].islower()} - NOT_NUMERIC
    assert numeric | {"MemoryArray", "rolled_map_range"} <= used, numeric - used
    suite = Suite(texts[:50], columns(ROWS, 0))
    assert (suite.expected != suite.expected[:, :1]).any(axis=1).mean() > 0.5


def _unmarked(op: str, a: Instruction, b: Instruction, low: int, high: int) -> Instruction:
    """Record a sum or product as if it could not wrap around."""
    return current().pure(op, a.dtype, (a, b), low, high)


def _truncated(a: Instruction, b: Instruction) -> Instruction:
    """Record a quotient that is rounded towards 0."""
    return current().pure("/", a.dtype, (a, b), *LIMITS[a.dtype])


def _too_narrow(x: Instruction, low: Any, high: Any) -> Instruction:
    """Tighten the bounds of an instruction by one too much."""
    if x.op != "const":
        x.low, x.high = max(x.low, low), min(x.high, high - 1)
    return x


FAULTS: dict[str, Callable[..., Any]] = {
    "_wrapping": _unmarked,
    "_round_down": _truncated,
    "_ones": lambda x: (1 << x.bit_length()) // 2,
    "_narrowed": _too_narrow,
}


@pytest.mark.few("_ones")
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, name, FAULTS[name])
    kernels = (16, *range(8))  # a bound of bits that is too low has an effect in the first one
    assert any(find_differences(range(k * PER_KERNEL, (k + 1) * PER_KERNEL), "CPU") for k in kernels)


# *** single expressions ***


def _table(**fields: Sequence[int]) -> Table:
    """Return a table with these fields; the others are 0."""
    size = len(next(iter(fields.values())))
    return {name: np.array(fields.get(name, [0] * size), NUMPY[kind]) for name, kind in ARGUMENTS.items()}


def _results(expression: str, device: str = "CPU", **fields: Any) -> list[Any]:
    """Return an expression's value for each row after the kernel, plain numbers and the reference have agreed."""
    text = f"def program({', '.join(ARGUMENTS)}):\n    return [{expression}]\n"
    suite = Suite([text], _table(**fields))
    for results in (suite.kernel(device), suite.plain()):
        assert not (wrong := suite.differences(results)), suite.describe(wrong[0])
    return [decoded(words.tolist(), suite.kinds[0][0]) for words in suite.expected.T]


HEIGHTS = [9, 6, 3, 5, 2, 4, 5, 0]
LOW, HIGH = -(2**31), 2**31 - 1


def test_repeat_that_starts_from_a_constant() -> None:
    assert _results("repeat(3, [int32(0)], lambda v: [v[0] + a])[0]", a=HEIGHTS) == [3 * h for h in HEIGHTS]


def test_repeat_that_starts_from_a_field_in_a_loop() -> None:
    results = _results("sum_in_range(4, lambda i: repeat(2, [a], lambda v: [v[0] + i])[0])", a=HEIGHTS)
    assert results == [sum(h + 2 * i for i in range(4)) for h in HEIGHTS]
    assert results[0] == 48


STARTS = ["int32(2)", "a", "i", "a + i", "j", "b", "i * 4 + j"]
STEPS = ["v[0] + 1", "v[0] + a", "v[0] * 2 + i", "v[0] + j", "b - v[0]"]


@pytest.mark.parametrize("start", STARTS)
def test_repeats_in_loops_and_repeats(start: str) -> None:
    """Starts and steps may depend on constants, fields and the indices of outer loops."""
    inner = [f"repeat(3, [{start}], lambda v: [{step}])[0]" for step in STEPS]
    sums = ", ".join(f"sum_in_range(3, lambda i: sum_in_range(2, lambda j: {x} & 1023))" for x in inner)
    unions = ", ".join(
        f"union_in_range(3, lambda i: union_in_range(2, lambda j: (uint32({x}) & 31) << i * 10 + j * 5))" for x in inner
    )
    nested = ", ".join(f"repeat(2, [a, i], lambda u: [u[0] + ({x}), u[1] + 1])" for x in inner)
    body = f"[{sums}, {unions}, *(lambda i, j: [x for r in [{nested}] for x in r])(c, b)]"
    _results(f"*{body}", a=HEIGHTS, b=[0, 1, 2, 3, -1, -2, HIGH, LOW], c=[3, 1, 4, 1, 5, -9, 2, 6])


INT_EXPRESSIONS: list[tuple[str, dict[str, list[int]], list[int]]] = [
    ("a // (b + b)", {"a": [7, -7], "b": [LOW, LOW]}, [0, 0]),
    ("a % (b + b)", {"a": [7, -7], "b": [LOW, LOW]}, [0, 0]),
    ("a // (b * 65536)", {"a": [7, -7], "b": [65536, 65536]}, [0, 0]),
    ("a % (b * 65536)", {"a": [7, -7], "b": [65536, 65536]}, [0, 0]),
    ("a // (b * b)", {"a": [7, -7], "b": [65536, 65536]}, [0, 0]),
    ("a % (b * b)", {"a": [7, -7], "b": [65536, 65536]}, [0, 0]),
    ("a // (b + b + 1)", {"a": [LOW, 7, LOW], "b": [HIGH, HIGH, 1]}, [LOW, -7, -715827883]),
    ("a % (b + b + 1)", {"a": [LOW, 7, LOW], "b": [HIGH, HIGH, 1]}, [0, 0, 1]),
    (f"int32({LOW}) // (b + b + 1)", {"b": [HIGH]}, [LOW]),
    (f"int32({LOW}) % (b + b + 1)", {"b": [HIGH]}, [0]),
    ("(a - 2000000000 + b) < 5", {"a": [2 * 10**9, 0], "b": [2 * 10**9, 0]}, [0, 1]),
    ("minimum(a + b, 32767)", {"a": [HIGH, HIGH], "b": [-1, 1]}, [32767, LOW]),
    ("(a + 1) < a", {"a": [HIGH, 3, -1]}, [1, 0, 0]),
    ("-a > 0", {"a": [LOW, -1, 0, 1]}, [0, 1, 0, 0]),
    ("maximum(a + a, 7)", {"a": [HIGH, 2**30, LOW, 4]}, [7, 7, 7, 8]),
    ("(a & 2147483647) // -5", {"a": [0, 1, 4, 5, 6, HIGH]}, [0, -1, -1, -1, -2, -429496730]),
    ("(a & 15) // -5", {"a": [0, 1, 4, 5, 6, 15]}, [0, -1, -1, -1, -2, -3]),
    ("(a & 15) % -5", {"a": [0, 1, 4, 5, 6, 15]}, [0, -4, -1, 0, -4, 0]),
    ("where(a >= 0, a // -5, 0)", {"a": [0, 1, 4, 5, 6, HIGH]}, [0, -1, -1, -1, -2, -429496730]),
    ("w - 3 < 5", {"w": [0, 2, 3, 7, 8]}, [0, 0, 1, 1, 0]),
    ("(w + 5) // 3", {"w": [2**32 - 1, 1]}, [1, 2]),
    ("(y - 3) < 5", {"y": [0, 2, 3, 7, 8]}, [0, 0, 1, 1, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "fields", "expected"), INT_EXPRESSIONS, ids=[x[0] for x in INT_EXPRESSIONS])
def test_numbers_that_wrap_around(expression: str, fields: dict[str, list[int]], expected: list[int]) -> None:
    assert _results(expression, "CPU", **fields) == expected


def test_quotients_of_bounded_numbers() -> None:
    """Constant divisors become a product and a shift where the bounds allow it."""
    divisors, masks = (3, 5, 6, 7, 10, 12, 100, 641, 1000), (15, 255, 1023, 65535, 2**20 - 1, HIGH)
    values = {x * y + z for x in divisors for y in (1, 2, 51, 1023, 10**6) for z in (-1, 0)} | {0, *masks}
    quotients = ", ".join(f"(a & {m}) {op} {d}" for m in masks for d in divisors for op in ("//", "%"))
    _results(quotients, a=sorted(values))


NAN, INFINITY = float("nan"), float("inf")
SPECIAL = [NAN, INFINITY, -INFINITY, 3e9, -3e9, 5e9, 2.0**31, -(2.0**31), 2.0**32, 3e19, 2.0**64, -0.5, 2.75, 3e38]
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")
COMPARISONS = ", ".join(f"q {operator} 1.0, 1.0 {operator} q" for operator in OPERATORS)


def test_comparisons_with_nan() -> None:
    """Every comparison with NaN but `!=` is false, in kernels as in plain Python."""
    assert _results("q <= 1.0", q=SPECIAL)[0] == _results("q >= 1.0", q=SPECIAL)[0] == False  # noqa: E712
    _results(f"{COMPARISONS}, q == q, q != q, q <= q, q >= q, ~(q < 1.0), ~(q <= 1.0), where(q > 0.0, 1, 2)", q=SPECIAL)


def test_reals_out_of_range_saturate_as_integers() -> None:
    assert _results("int32(q)", q=SPECIAL[:6]) == [0, HIGH, LOW, HIGH, LOW, HIGH]
    assert _results("uint32(q)", q=SPECIAL[:6]) == [0, 2**32 - 1, 0, 3 * 10**9, 0, 2**32 - 1]
    assert _results("uint64(q)", q=SPECIAL[:3]) == [0, 2**64 - 1, 0]
    products = (f"{kind}(q * {scale})" for kind in ("int32", "uint32", "uint64") for scale in (1.0, 3e9, 5e9, -3e19))
    _results(", ".join(products), q=SPECIAL)
    constants = (f"{kind}(float32({x!r}))" for kind in ("int32", "uint32", "uint64") for x in (3e9, -3e19, 1e300))
    _results(", ".join(constants), q=[0.0])


def test_a_word64_is_rounded_to_a_real_once() -> None:
    assert _results("float32(y)", y=[2**63 + 2**39 + 1]) == [2.0**63 + 2**40]


@pytest.mark.slow
def test_constants_of_64_bits_in_opencl() -> None:
    """A declaration would cut off bits beyond 64, so the sum is compared in the same expression."""
    _require("CL")
    assert _results("y - 3 < 5", "CL", y=[0, 2, 3, 7, 8]) == [0, 0, 1, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["//", "%"])
def test_quotients_of_64_bits_in_webgpu(operator: str) -> None:
    _require("WEBGPU")
    _results(f"y {operator} z", "WEBGPU", y=[7, 2**63, 5], z=[3, 10, 0])


@pytest.mark.slow
def test_reals_of_64_bits_in_webgpu() -> None:
    _require("WEBGPU")
    _results("float32(y)", "WEBGPU", y=[7, 2**40, 2**63])
