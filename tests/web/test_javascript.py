"""Functions of Python that were translated to JavaScript give what they give in Python."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tensor_envs.rules import Grid, int32, uint64
from tensor_envs.web import javascript
from tensor_envs.web.javascript import program, syntax
from tests.web.test_views import PAGE, in_node

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="the page's code is run by node, which is not here")


class Point(NamedTuple):
    x: int
    y: int = 7


@dataclass
class Pile:
    name: str
    cards: list[int] = field(default_factory=list)

    @cached_property
    def total(self) -> int:
        return sum(self.cards)

    @property
    def top(self) -> int:
        return self.cards[-1]

    def put(self, *cards: int, twice: bool = False) -> Pile:
        self.cards += cards * (1 + twice)
        return self


class Counted(Pile):
    count = 0

    def put(self, *cards: int, twice: bool = False) -> Pile:
        super().put(len(cards))
        self.count = len(self.cards)
        return self


STEPS = {(0, 1): "right", (1, 0): "down"}
LARGE = 2**63 + 12345


def numbers() -> list[Any]:
    halves = [round(x, 2) for x in (0.125, 0.375, 2.675, -0.125, 1.005, 7.0)] + [round(2.5), round(3.5), round(-0.5)]
    large = [LARGE, LARGE >> 3, LARGE & 0xFFFF, LARGE ^ (1 << 63), ~LARGE + LARGE, LARGE % 1000, LARGE // 7, 3**40 % 97]
    small = [-7 // 2, -7 % 3, 7 // -2, divmod(-9, 4), -8 >> 1, ~5, 5 & -2, True + True, 1 << 40, 6 / 4]
    return [*halves, *[x % 1_000_003 for x in large], *small, LARGE.bit_length(), (255).bit_count()]


def texts() -> list[Any]:
    columns = [f"{x:>4}|{x:<4}|{x:^4}|{x:04d}" for x in (3, -12)]
    written = [f"{x:g}" for x in (0.1, 1 / 3, 1e-7, 123456789.0, 100.0)] + [f"{1234567:,} {0.256:.1%} {3.14159:.2f}"]
    text = "a,b,c"
    words = [*text.replace(",", " b ").split(), *text.split(",", 1), "x".join("abc"), text[::-1], text[1:5:2], text[-1]]
    odd = [
        f"{'it'!r} {[1, None, True]} {STEPS[0, 1]}",
        "ab".center(5) + "|",
        "ab".ljust(4) + "|",
        "Ab".lower(),
        "b" in "abc",
    ]
    return [
        *columns,
        *written,
        *words,
        *odd,
        "{} of {:>3}".format("x", 2),
        "a/b/c".partition("/"),
        "x-y".removesuffix("-y"),
    ]


def flow(limit: int) -> Iterator[Any]:
    for k in range(limit):
        if k == 2:
            continue
        if k > 4:
            break
        yield k
    else:
        yield "never"
    while limit:
        limit -= 1
    else:
        yield "left"
    first, *rest, last = range(5)
    (a, b), c = (1, 2), 3
    a, b = b, a
    yield [first, rest, last, a, b, c, 1 < (k := 2) <= 2 < 3, k]
    yield from (x for x in (1, 0, 2) if x)
    with suppress(KeyError):
        STEPS[9, 9]
    try:
        [][1]
    except IndexError:
        yield "caught"
    finally:
        yield "last"


def things() -> list[Any]:
    sets = {3, 1} | {2}
    more: dict[Any, Any] = {**{"a": 1}, "b": [*sorted(sets, key=lambda x: -x)]}
    more.setdefault("c", []).append(5)
    pairs = {(x, y): x * y for x, y in product(range(3), repeat=2) if x != y}
    del pairs[0, 1]
    point = Point(3)
    counted = Counted("b")
    pile = Pile("a").put(1, 2, twice=True)
    nested = [*chain.from_iterable([[1], [2, 3]]), *map(max, [[4, 5]]), next(iter([6])), sum(x for x in (1, 2))]
    first: int | None = more.get("none")
    same: list[Any] = []
    same = [
        [1, 2] == [1, 2],
        (1, 2) in STEPS,
        (0, 1) in STEPS,
        point == Point(3, 7),
        first or 5,
        [*same] or "x",
        first and 1,
        {1} <= {1, 2},
    ]
    seen = [
        point.y,
        point[0],
        pile.total,
        pile.top,
        counted.put(8, 9).top,
        counted.count,
        [*zip("ab", [1, 2], strict=True)],
        tripled(4),
        tripled(4),
    ]
    tidy = [*enumerate("xy", 1), [*reversed([1, 2])], all([1, 0]), any(x > 1 for x in [1, 2]), isinstance(True, int)]
    return [
        sorted(sets),
        more,
        sorted(pairs.values()),
        nested,
        same,
        seen,
        tidy,
        len(more),
        more.get("z", 4),
        min(3, 1),
        Pile.__name__,
    ]


@cache
def tripled(x: int) -> int:
    return 3 * x


def scalars() -> list[Any]:
    """Compute with the numbers and boards of rules."""
    board = Grid(3, 3)
    row = board.of([0, 1, 2])
    large = (uint64(1) << 63) - uint64(5)
    return [
        (int32(7) // 2).value,
        (large * large).value % 1000,
        int(row.count().value),
        bool((row & board.cell(4)).any().value),
    ]


FUNCTIONS = {"numbers": numbers, "texts": texts, "flow": lambda: [*flow(9)], "things": things, "scalars": scalars}


def test_translated_functions_give_what_python_does(tmp_path: Path) -> None:
    text = javascript.module(FUNCTIONS, "./runtime.js")
    found = in_node(text, [(name, []) for name in FUNCTIONS], tmp_path)
    for (name, function), values in zip(FUNCTIONS.items(), found, strict=True):
        assert values == json.loads(json.dumps(function())), name


def strange() -> Any:
    async def later() -> None:
        pass

    return later


def test_what_has_no_translation_raises_an_error_where_it_is_reached(tmp_path: Path) -> None:
    text = javascript.module({"strange": lambda odd: strange() if odd else 3}, "./runtime.js")
    assert in_node(text, [("strange", [False])], tmp_path) == [3]
    with pytest.raises(AssertionError, match=r"no translation: line \d+: AsyncFunctionDef"):
        in_node(text, [("strange", [True])], tmp_path)


def test_the_page_has_all_that_translations_name(tmp_path: Path) -> None:
    listed = 'import * as $ from "./runtime.js"; export const names = () => Object.keys($);'
    ((*names,),) = in_node(listed, [("names", [])], tmp_path)
    written = (Path(file).read_text() for file in (program.__file__, syntax.__file__))
    used = {name for text in written for name in re.findall(r"\$\.(\w+)", text)} - {"i", "push"}
    assert used | {*program.KNOWN} | {*syntax.BINARY.values()} - {"and", "or"} <= {*names}
    texts = "".join((PAGE / f"runtime_{part}.js").read_text() for part in ("text", "sets"))
    assert {*re.findall(r"(\w+)(?:: \(|\(.*\) \{)", texts)} >= syntax.METHODS
