"""Generator of random functions in the rules language; their sources run with `tensor_envs.rules` or `reference`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.rules.traced import NUMPY

FIELDS = {"bool": ["f", "g"], "int32": ["a", "b", "c"], "uint32": ["w", "x"], "uint64": ["y", "z"], "float32": ["q"]}
ARGUMENTS = {name: kind for kind, names in FIELDS.items() for name in names}
INTEGERS: dict[str, float] = {"int32": 4, "uint32": 2, "uint64": 1}  # weights
WORDS = {"uint32": 2, "uint64": 1}
KINDS: dict[str, float] = INTEGERS | {"bool": 2, "float32": 0.5}
BITS = {"int32": 32, "uint32": 32, "uint64": 64}
ARITHMETIC = {"+": 4, "-": 4, "*": 3, "//": 2, "%": 2}
BOOL_FORMS: dict[str, float] = {"compare": 6, "combine": 2, "not": 1, "where": 1, "any": 1, "several": 1, "member": 1}
BOOL_FORMS |= {"repeat": 0.5, "list": 0.5}
REAL_FORMS: dict[str, float] = {"convert": 4, "sum": 3, "scale": 2, "where": 1, "negative": 0.5, "list": 0.5}
WHOLE_FORMS: dict[str, float] = {
    "arithmetic": 8,
    "bits": 2,
    "shift": 2,
    "sign": 1,
    "bounded": 2,
    "convert": 2,
    "where": 2,
    "list": 1,
}
WHOLE_FORMS |= {"repeat": 2, "settle": 0.5, "several": 1}
INT_FORMS: dict[str, float] = {"popcount": 1, "nth_bit": 0.5, "sum": 2, "bools": 0.5, "index": 1, "sow": 0.5}
WORD_FORMS: dict[str, float] = {"union": 1.5, "set": 1}
LIST_FORMS: dict[str, float] = {
    "select": 2,
    "lookup": 2,
    "table": 1,
    "put": 1,
    "memory": 0.7,
    "where": 1,
    "map_range": 1,
    "sort": 0.7,
}
BITWISE = ["&", "|", "^"]
COMPARISONS = ["<", "<", "<=", ">", ">=", "==", "!="]
COMMON = [0, 1, 2, 3, 4, 5, 7, 8, 10, 31, 32, 33, 63, 100, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1]
EXTREMES: dict[str, list[Any]] = {
    "int32": [-1, -2, -3, -5, -7, -8, -65536, -(2**31), 1 - 2**31, 2_000_000_000, -2_000_000_000, 2**30, 46341],
    "uint32": [2**31, 2**31 + 1, 2**32 - 1, 2**32 - 5, 3_000_000_000, 0x55555555],
    "uint64": [2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 5, 2**63 + 2**39 + 1, 0x5555555555555555],
    "float32": [0.5, -1.25, 0.1, 3.0, -0.75, 1 / 3, 'float("nan")', 'float("-inf")', 3e9, -3e38, 3e19],
}
SPECIAL = [math.nan, math.inf, -math.inf, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, 2.0**64, 3e9, -3e9, 3e19, 3e38, -3e38]
MAX_DEPTH = 4
MAX_TURNS = 64  # product of the sizes of nested loops
ENDLESS = 2**31 - 1  # size of a loop that ends by itself, after 64 iterations at most


def columns(size: int, seed: int) -> dict[str, np.ndarray]:
    """Return a column for every field: small, extreme and random values, often equal to another field's."""
    rng = random.Random(seed)

    def value(kind: str) -> Any:
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "float32":
            return rng.choice([0.0, 0.5, -1.25, 100.1, -3.0, rng.uniform(-1000, 1000), *rng.sample(SPECIAL, 3)])
        low, high = int(np.iinfo(NUMPY[kind]).min), int(np.iinfo(NUMPY[kind]).max)
        roll = rng.random()
        if roll < 0.3:
            near = rng.choice(COMMON + EXTREMES[kind]) + rng.randrange(-1, 2)
        elif roll < 0.6:
            near = rng.randrange(-4, 10)
        else:
            near = rng.getrandbits(rng.randrange(1, BITS[kind] + 1)) * rng.choice([1, -1])
        return min(max(near, low), high)

    table: dict[str, np.ndarray] = {}
    for kind, names in FIELDS.items():
        for name in names:
            table[name] = np.array([value(kind) for _ in range(size)], NUMPY[kind])
            if name != names[0]:
                same = np.array([rng.random() < 0.2 for _ in range(size)])
                table[name] = np.where(same, table[names[0]], table[name])
    return table


class Writer:
    """Writer of one random function.

    Attributes:
        names: kind, name and category of each variable in scope.
        allowed: the categories that an expression may depend on.
        turns, loops: product of the sizes, and number, of the loops around an expression.
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        # with few fields, an expression often combines a field with itself
        self.names = [(kind, name, "field") for kind, names in FIELDS.items() for name in self.some(names)]
        self.allowed = {"field", "index", "variable"}
        self.turns, self.loops = 1, 0

    def some(self, names: list[str]) -> list[str]:
        return self.random.sample(names, self.random.randrange(1, len(names) + 1))

    def pick(self, weights: dict[Any, Any]) -> Any:
        return self.random.choices(list(weights), list(weights.values()))[0]

    # *** names ***

    @contextmanager
    def scope(self, *names: tuple[str, str, str]) -> Iterator[None]:
        before = self.names
        self.names = [*before, *names]
        yield
        self.names = before

    @contextmanager
    def narrowed(self, *always: str) -> Iterator[None]:
        """Limit an expression's dependencies to constants, fields, indices of outer loops, or nothing."""
        before = self.allowed
        one: list[set[str]] = [{"field"}, {"index"}]
        choices = [set(), *one, *one, {"field", "index"}, before, before]
        self.allowed = self.random.choice(choices) & before | set(always)
        yield
        self.allowed = before

    def leaf(self, kind: str) -> str:
        candidates = [name for k, name, category in self.names if k == kind and category in self.allowed]
        if candidates and self.random.random() < 0.8:
            return self.random.choice(candidates)
        return self.constant(kind)

    def constant(self, kind: str) -> str:
        if kind == "bool":
            return f"scalar({self.random.random() < 0.5})"
        return f"{kind}({self.plain(kind)})"

    def plain(self, kind: str) -> Any:
        """Return a plain number that a kind can hold."""
        if self.random.random() < 0.7 and kind != "float32":
            return self.random.choice(COMMON if self.random.random() < 0.3 else COMMON[:8])
        return self.random.choice(EXTREMES[kind])

    # *** expressions ***

    def expression(self, kind: str, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.1:
            return self.leaf(kind)
        if kind == "bool":
            return self.condition(depth - 1)
        if kind == "float32":
            return self.fraction(depth - 1)
        return self.whole(kind, depth - 1)

    def condition(self, depth: int) -> str:
        kind = self.pick(KINDS)
        form = self.pick(BOOL_FORMS)
        if form == "compare":
            return f"({self.pair(kind, depth, self.random.choice(COMPARISONS))})"
        if form == "any" and self.may_loop():
            with self.loop() as (size, index):
                return f"any_in_range({size}, lambda {index}: {self.expression('bool', depth)})"
        if form == "several":
            return f"{self.random.choice(['any_of', 'all_of'])}([{self.some_entries('bool', depth)}])"
        if form == "member":
            return self.member(depth)
        if form == "not":
            return f"~{self.expression('bool', depth)}"
        combined = f"({self.pair('bool', depth, self.random.choice(BITWISE))})"
        return self.shared_form(form, "bool", depth) or combined

    def fraction(self, depth: int) -> str:
        """Write a float32."""
        form = self.pick(REAL_FORMS)
        if form == "convert":
            return f"float32({self.expression(self.pick(INTEGERS | {'bool': 1}), depth)})"
        if form == "sum":
            return f"({self.pair('float32', depth, self.random.choice('+-'))})"
        if form == "scale":
            return f"({self.expression('float32', depth)} * {self.random.choice(EXTREMES['float32'])})"
        if form == "negative":
            return f"-{self.expression('float32', depth)}"
        return self.shared_form(form, "float32", depth) or self.leaf("float32")

    def whole(self, kind: str, depth: int) -> str:
        form = self.pick(WHOLE_FORMS | (INT_FORMS if kind == "int32" else WORD_FORMS))
        if form == "bits":
            return f"({self.pair(kind, depth, self.random.choice(BITWISE))})"
        if form == "shift":
            return self.shift(kind, depth)
        if form == "sign":
            return f"{self.random.choice('-~')}{self.expression(kind, depth)}"
        if form == "bounded":
            return self.bounded(kind, depth)
        if form == "convert":
            return self.conversion(kind, depth)
        if form == "popcount":
            x = self.expression(self.pick(WORDS), depth)
            return f"popcount({x} & 255, 8)" if self.random.random() < 0.2 else f"popcount({x})"
        if form == "bools":
            return f"({self.pair('bool', depth, self.pick(ARITHMETIC))})"
        if form == "several":
            if self.random.random() < 0.3:
                return f"{self.random.choice(['max_of', 'min_of'])}([{self.some_entries(kind, depth)}])"
            if kind == "int32" and self.random.random() < 0.3:
                return f"sum_of([{self.some_entries('bool', depth)}])"
            name = "sum_of" if kind == "int32" or self.random.random() < 0.5 else "union_of"
            return f"{name}([{self.some_entries(kind, depth)}])"
        if form == "set":
            return self.set_of_bits(kind, depth)
        if form == "index" and self.random.random() < 0.2:
            taken = sorted(self.random.sample(range(12), self.random.randrange(6)))
            return f"nth_missing({taken}, {self.expression('int32', depth)} & 7)"
        if form == "index":
            entries = self.ordered(self.pick(KINDS | {"bool": 0}), depth, self.random.randrange(1, 6))
            return f"argmax([{entries}])"
        if form == "sow":
            return self.sown(depth)
        if form == "settle" and self.may_loop() and self.turns <= 4:
            return self.settled(kind, depth)
        if form == "nth_bit":
            x, n = self.leaf(self.pick(WORDS)), f"({self.expression('int32', depth)} & 63)"
            return f"where({n} < popcount({x}), nth_bit({x}, {n}), {self.expression('int32', depth)})"
        if form == "sum" and self.may_loop():
            with self.loop() as (size, index):
                return f"sum_in_range({size}, lambda {index}: {self.not_negative(depth)})"
        if form == "union" and self.may_loop():
            with self.loop(low=1) as (size, index):
                width = BITS[kind] // 8
                bits = f"({self.expression(kind, depth)} & {(1 << width) - 1}) << ({index} * {width})"
                return f"union_in_range({size}, lambda {index}: {bits})"
        return self.shared_form(form, kind, depth) or f"({self.pair(kind, depth, self.pick(ARITHMETIC))})"

    def shared_form(self, form: str, kind: str, depth: int) -> str | None:
        """Write one of the forms of every kind, or return None if loops are nested too deeply for it."""
        if form == "where":
            a, b = self.operands(kind, depth)
            if kind != "bool" and self.random.random() < 0.4:
                return f"{self.random.choice(['maximum', 'minimum'])}({a}, {b})"
            return f"where({self.expression('bool', depth)}, {a}, {b})"
        if form == "list":
            return self.lists(kind, depth)
        if form == "repeat" and self.may_loop():
            return self.repeated(kind, depth)
        return None

    def operands(self, kind: str, depth: int) -> tuple[str, str]:
        """Write two numbers that mix; one is often plain, a bool, or closely related to the other."""
        roll, x = self.random.random(), self.expression(kind, depth)
        if kind == "bool" or roll < 0.55:
            return x, self.expression(kind, depth)
        if roll < 0.6 and kind != "float32":
            return self.shuffled(x, self.expression("bool", depth))
        if roll < 0.8:
            return x, str(self.plain(kind))
        if roll < 0.9:
            return str(self.plain(kind)), x
        near = f"({x} {self.random.choice('+-')} {self.plain(kind)})"
        return self.shuffled(x, near)

    def shuffled(self, a: str, b: str) -> tuple[str, str]:
        return (a, b) if self.random.random() < 0.5 else (b, a)

    def entries(self, kind: str, depth: int, size: int) -> str:
        """Write the entries of a list, some of them plain, the first one an expression."""
        entries = [self.expression(kind, depth - 1)]
        for _ in range(size - 1):
            is_plain = kind != "bool" and self.random.random() < 0.2
            entries.append(str(self.plain(kind)) if is_plain else self.expression(kind, depth - 1))
        return ", ".join(entries)

    def ordered(self, kind: str, depth: int, size: int) -> str:
        """Write the entries of a list that have an order: without NaN."""
        if kind != "float32":
            return self.entries(kind, depth, size)
        return ", ".join(f"maximum(-1e30, {self.expression(kind, depth - 1)})" for _ in range(size))

    def some_entries(self, kind: str, depth: int) -> str:
        return self.entries(kind, depth, self.random.randrange(1, 6))

    def pair(self, kind: str, depth: int, operator: str) -> str:
        return f" {operator} ".join(self.operands(kind, depth))

    def shift(self, kind: str, depth: int) -> str:
        operator, roll = self.random.choice(["<<", ">>"]), self.random.random()
        if roll < 0.4:
            amounts = [0, 1, 2, 5, BITS[kind] // 2, BITS[kind] - 1]
            return f"({self.expression(kind, depth)} {operator} {self.random.choice(amounts)})"
        if roll < 0.5:
            return f"({self.plain(kind)} {operator} {self.expression(kind, depth)})"
        return f"({self.expression(kind, depth)} {operator} {self.expression(self.pick(INTEGERS), depth)})"

    def bounded(self, kind: str, depth: int) -> str:
        """Write a number whose bounds are narrower than its kind's."""
        x, n = self.expression(kind, depth), self.random.choice([1, 2, 3, 7, 10, 31, 255])
        bounds = [0, 1, 5, 100, 2**31 - 1] + [-1, -9, -(2**31)] * (kind == "int32")
        low, high = sorted(self.random.sample(bounds, 2))
        return self.random.choice(
            [
                f"({x} & {n})",
                f"({x} % {n})",
                f"({x} >> {BITS[kind] - self.random.randrange(1, 8)})",
                f"minimum(maximum({x}, {low}), {high})",
                f"(({x} & {n}) {self.random.choice('+-')} {self.random.randrange(9)})",
            ]
        )

    def conversion(self, kind: str, depth: int) -> str:
        old = self.pick({"int32": 2, "uint32": 2, "uint64": 2, "bool": 2, "float32": 0.5} | {kind: 0})
        x = self.expression(old, depth)
        return f"{kind}({x})"

    def not_negative(self, depth: int) -> str:
        """Write a term of `sum_in_range`."""
        x = self.expression("int32", depth)
        return self.random.choice(
            [
                f"({x} & {self.random.choice([1, 7, 1000, 2**31 - 1])})",
                f"maximum({x}, 0)",
                f"where({self.expression('bool', depth)}, {self.random.choice([1, 3, 2**31 - 1])}, 0)",
                self.expression("bool", depth),
            ]
        )

    def set_of_bits(self, kind: str, depth: int) -> str:
        """Write a uint32 or uint64 in the functions for sets."""
        if kind == "uint64":
            return f"joined({self.expression('uint32', depth)}, {self.expression('uint32', depth)})"
        form = self.pick({"bit": 2, "halves": 2, "pack_flags": 1, "set_of": 0.5, "threefry": 0.3})
        if form == "bit":
            return f"bit({self.expression('int32', depth)} & 31)"
        if form == "halves":
            return f"halves({self.expression('uint64', depth)})[{self.random.randrange(2)}]"
        if form == "pack_flags":
            return f"pack_flags([{self.some_entries('bool', depth)}])[0]"
        if form == "set_of":
            members = [f"({self.expression('int32', depth)} & 63) - 1" for _ in range(2)]
            return f"set_of([{', '.join(members)}], 63)[{self.random.randrange(2)}]"
        key, counter = ((self.leaf("uint32"), self.expression("int32", depth)) for _ in range(2))
        return f"threefry(({', '.join(key)}), ({', '.join(counter)}))[{self.random.randrange(2)}]"

    def member(self, depth: int) -> str:
        """Write whether a set has a member."""
        index = self.expression("int32", depth)
        form = self.random.choice(["uint32", "uint64", "list"])
        if form == "list":
            low, high = (self.expression("uint32", depth) for _ in range(2))
            return f"has_bit([{low}, {high}], {index} & 63)"
        return f"has_bit({self.expression(form, depth)}, {index} & {BITS[form] - 1})"

    def lists(self, kind: str, depth: int) -> str:
        size = self.random.randrange(1, 6)
        entries = self.entries(kind, depth, size)
        index = f"({self.expression(self.pick(INTEGERS), depth)} % {size})"
        form = self.pick(LIST_FORMS)
        if form == "table":
            table = ", ".join(str(self.plain(kind)) for _ in range(size)) if kind == "int32" else entries
            return f"lookup([{table}], {index})"
        if form == "sort" and kind != "bool":
            return f"sort([{self.ordered(kind, depth, size)}])[{self.random.randrange(size)}]"
        if form == "put":
            place = self.expression(self.pick(INTEGERS), depth)  # may be out of range
            return f"put([{entries}], {place}, {self.expression(kind, depth)})[{self.random.randrange(size)}]"
        if form == "memory":
            place = self.expression("int32", depth)
            memory = f"MemoryArray(lambda m: lookup([{entries}], m), {size})"
            if self.random.random() < 0.7:
                memory = f"put({memory}, {place}, {self.expression(kind, depth)})"
            return f"select({memory}, int32({index}))"
        if form == "where":
            others = ", ".join(self.leaf(kind) for _ in range(size))
            chosen = f"where({self.expression('bool', depth)}, [{entries}], [{others}])"
            return f"{chosen}[{self.random.randrange(size)}]"
        if form == "map_range" and self.may_loop():
            with self.loop(low=1) as (size, name):
                at = self.random.randrange(size)
                function = self.random.choice(["map_range", "rolled_map_range"])
                return f"{function}({size}, lambda {name}: {self.expression(kind, depth)})[{at}]"
        return f"{'lookup' if form == 'lookup' else 'select'}([{entries}], {index})"

    def sown(self, depth: int) -> str:
        """Write a pit after sowing, or an entry of a histogram."""
        size = self.random.randrange(2, 8)
        if self.random.random() < 0.3:
            return f"histogram([{self.some_entries('int32', depth)}], {size})[{self.random.randrange(size)}]"
        start, count = f"({self.expression('int32', depth)} % {size})", f"({self.expression('int32', depth)} & 31)"
        skip = self.random.choice(["None", str(self.random.randrange(size)), f"({self.leaf('int32')} % {size})"])
        return f"sow([{self.entries('int32', depth, size)}], {start}, {count}, {skip})[{self.random.randrange(size)}]"

    # *** loops ***

    def may_loop(self) -> bool:
        return self.loops < 3

    @contextmanager
    def loop(self, low: int = 0) -> Iterator[tuple[int, str]]:
        """Yield the size and the index of a loop; expressions inside may be narrowed."""
        size = self.random.choice([n for n in (0, 1, 2, 3, 3, 4, 4, 5, 8) if n >= low])
        turns = self.turns
        while size > max(low, 1) and turns * size > MAX_TURNS:
            size -= 1
        index = "ijk"[self.loops]
        self.turns, self.loops = turns * max(size, 1), self.loops + 1
        with self.scope(("int32", index, "index")), self.narrowed("index"):
            yield size, index
        self.turns, self.loops = turns, self.loops - 1

    def repeated(self, kind: str, depth: int) -> str:
        """Write a `repeat`: its start and its step each depend on constants, fields, outer indices or all of them."""
        count = self.random.randrange(1, 4)
        with self.narrowed():
            start = self.entries(kind, depth, count)
        size, turns = self.random.choice([0, 1, 2, 3, 3, 5, 9]), self.turns
        while size > 1 and turns * size > MAX_TURNS:
            size -= 1
        values = f"v{self.loops}"
        self.turns, self.loops = turns * max(size, 1), self.loops + 1
        own = [(kind, f"{values}[{k}]", "own") for k in range(count)]
        with self.scope(*own, *own), self.narrowed("own"):
            step = self.entries(kind, depth + 1, count)
        self.turns, self.loops = turns, self.loops - 1
        if self.random.random() < 0.3:  # another number in each row
            return f"repeat(minimum({self.leaf('int32')}, {size}), [{start}], lambda {values}: [{step}])[-1]"
        return f"repeat({size}, [{start}], lambda {values}: [{step}])[{self.random.randrange(count)}]"

    def settled(self, kind: str, depth: int) -> str:
        """Write a `repeat` whose end is that a step changes nothing, at another turn in each row."""
        with self.narrowed():
            start, mask = self.expression(kind, depth), self.leaf(kind)
        v = f"v{self.loops}"
        steps = [f"{v}[0] & {v}[0] - 1", f"{v}[0] | {v}[0] << 1 & {mask}", f"{v}[0] & ({v}[0] >> 1 | {mask})"]
        if self.random.random() < 0.3:
            start, steps = f"{start} & 15, 0", [f"maximum({v}[0], 1) - 1, {v}[1] + ({v}[0] != 0)"]
        return f"repeat({ENDLESS}, [{start}], lambda {v}: [{self.random.choice(steps)}])[-1]"

    # *** functions ***

    def source(self) -> str:
        """Write the body of a function of the fields: a few variables, and a list of results."""
        lines, results = [], []
        for k in range(self.random.randrange(1, 5)):
            kind, name = self.pick(KINDS), f"r{k}"
            lines.append(f"    {name} = {self.expression(kind, self.random.randrange(1, MAX_DEPTH + 1))}")
            self.names += [(kind, name, "variable")] * 2
            results.append(name)
        return "\n".join([*lines, f"    return [{', '.join(results)}]"])


def source(seed: int) -> str:
    """Return the source of a random function, named `program`."""
    return f"def program({', '.join(ARGUMENTS)}):\n{Writer(seed).source()}\n"


def function(text: str, language: dict[str, Any]) -> Callable[..., list[Any]]:
    """Return the function of a source; `language` holds the names that it uses."""
    names = dict(language)
    exec(text, names)
    return names["program"]
