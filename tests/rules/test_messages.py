"""An author's first errors: each names the file, the line and its text, and suggests a fix."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from tensor_envs.rules import Scalar, int32, where
from tests.rules import first_errors
from tests.rules.traced import kernel

TRUTH = "where(condition, a, b), a & b, a | b, ~a, maximum(a, b), any_of(x == y for y in values)"
INDEX = "select(values, i), put(values, i, value), lookup(table, i)"
ARRAY = "a scalar is no array and no index of one for NumPy: write lookup(array.tolist(), x)"
MIXED = "{} and {} do not mix: write int32(x), uint32(x), uint64(x) or float32(x)"
LISTS = "where chooses between two lists of one length"
DIVISION = "write a // b, or float32(a) * (1 / 10) for a share of a known number"
MESSAGES: dict[str, tuple[type[Exception], str, str]] = {  # name: error, text of the line, message
    "an_if": (TypeError, "if x > 3:", TRUTH),
    "an_and": (TypeError, "return x > 3 and x < 5", TRUTH),
    "an_or": (TypeError, "return x > 3 or x < 5", TRUTH),
    "a_not": (TypeError, "return not x > 3", TRUTH),
    "a_maximum": (TypeError, "return max(x, 3)", TRUTH),
    "a_sorting": (TypeError, "return sorted([x, x + 1])", TRUTH),
    "a_chain": (TypeError, "return 0 <= x < 3", TRUTH),
    "a_membership": (TypeError, "return x in (1, 2)", TRUTH),
    "an_assertion": (TypeError, "assert x >= 0", TRUTH),
    "an_index": (TypeError, "return [1, 2, 3][x]", INDEX),
    "a_subscript": (TypeError, "return x[0]", "a scalar is one number: there is nothing to index"),
    "an_index_of_an_array": (TypeError, "return np.arange(5)[x]", ARRAY),
    "an_array_of_scalars": (TypeError, "return np.array([x, x])", ARRAY),
    "a_sum_with_an_array": (TypeError, "return np.arange(5) + x", "scalars and numbers mix, but not ndarray"),
    "an_absolute_value": (TypeError, "return abs(x)", "write where(x < 0, -x, x)"),
    "a_quotient_and_remainder": (TypeError, "return divmod(x, 3)", "write x // n and x % n"),
    "a_key": (TypeError, "return table[x]", "no key of a dictionary and no member of a set: write lookup("),
    "a_draw_of_nothing": (
        ValueError, "return KeyedChance([x, x]).draw(0, 0)", "one of 1..2^31 values is drawn, got 0 of them"
    ),
    "a_range": (TypeError, "return list(range(x))", INDEX),
    "an_int": (TypeError, "return int(x)", INDEX),
    "a_float": (TypeError, "return float(x)", INDEX),
    "a_loop": (TypeError, "return [y for y in x]", "nothing to go through. A field with a shape is a list"),
    "a_mixture": (TypeError, "return x + uint32(x)", MIXED.format("int32", "uint32")),
    "a_comparison_of_kinds": (TypeError, "return x == uint64(x)", MIXED.format("int32", "uint64")),
    "a_choice_of_kinds": (TypeError, "return where(x > 0, x, uint32(x))", MIXED.format("int32", "uint32")),
    "a_real": (TypeError, "return float32(x) + x", MIXED.format("float32", "int32")),
    "a_fraction": (
        TypeError, "return x + 0.5", "0.5 does not mix with an int32: write float32(x) for sums with fractions"
    ),
    "a_condition": (TypeError, "return where(x, 1, 2)", "a condition is a bool, got an int32: write x != 0"),
    "a_word_for_a_condition": (
        TypeError, "return where(uint32(x) & 4, 1, 2)", "a condition is a bool, got a uint32: write x != 0"
    ),
    "lists_of_two_lengths": (TypeError, "return where(x > 0, [x, x], [x])", LISTS),
    "a_list_and_a_number": (TypeError, "return where(x > 0, [x, x], 0)", LISTS),
    "a_large_number": (ValueError, "return x + 2**31", "2147483648 does not fit into an int32 of 32 bits"),
    "a_large_word": (ValueError, "return uint32(x) | 2**32", "4294967296 does not fit into a uint32 of 32 bits"),
    "a_large_condition": (ValueError, "return int32(2**40)", "1099511627776 does not fit into an int32 of 32 bits"),
    "a_shift": (ValueError, "return x << 32", "an int32 is shifted by 0..31, got 32"),
    "a_shift_backwards": (ValueError, "return uint64(x) >> -1", "a uint64 is shifted by 0..63, got -1"),
    "a_shift_of_a_word64": (ValueError, "return uint64(x) << 64", "a uint64 is shifted by 0..63, got 64"),
    "a_division": (TypeError, "return x / 2", DIVISION),
    "a_power": (TypeError, "return x**2", "a power is a product or a shift: write x * x or 1 << x"),
    "a_power_of_two": (TypeError, "return 2**x", "a power is a product or a shift: write x * x or 1 << x"),
    "bits_of_a_real": (TypeError, "return float32(x) & 1", "a float32 has no bits"),
    "a_real_turned_round": (TypeError, "return ~float32(x)", "a float32 has no bits"),
    "a_shifted_real": (TypeError, "return float32(x) << 1", "a float32 has no bits"),
    "bits_of_an_int": (TypeError, "return popcount(x)", "bits are counted in a uint32 or a uint64, got int32"),
    "a_list": (TypeError, "return x + [1]", "scalars and numbers mix, but not list"),
    "a_text": (TypeError, 'return maximum(x, "3")', "scalars and numbers mix, but not str"),
    "nothing": (TypeError, "return scalar(None)", "scalars and numbers mix, but not NoneType"),
    "an_empty_list": (ValueError, "return select([], x)", "there is nothing to select from an empty list"),
}  # fmt: skip


def check(name: str, run: str) -> None:
    function = getattr(first_errors, name)
    error, text, message = MESSAGES[name]
    with pytest.raises(error) as caught:
        if run == "plain":
            function(int32(2))
        else:  # nodes of a kernel, as rules get them
            kernel(lambda x: x if x.is_plain else function(x), np.arange(4, dtype=np.int32))
    text_of_error = str(caught.value)
    lines, first = inspect.getsourcelines(function)
    at = next(k for k, line in enumerate(lines) if text in line)
    assert text_of_error.startswith(f"{first_errors.__file__}:{first + at}: {lines[at].strip()}\n"), text_of_error
    assert message in text_of_error, text_of_error
    assert len(text_of_error) < 300 + len(first_errors.__file__), "an error is read, not scrolled"


@pytest.mark.parametrize("name", MESSAGES)
def test_in_a_kernel(name: str) -> None:
    check(name, "kernel")


@pytest.mark.parametrize("name", MESSAGES)
def test_in_plain_numbers(name: str) -> None:
    """The debugger raises the same errors as a kernel."""
    check(name, "plain")


def test_every_mistake_has_its_message() -> None:
    functions = {name for name, _ in inspect.getmembers(first_errors, inspect.isfunction) if name in vars(first_errors)}
    own = {name for name in functions if getattr(first_errors, name).__module__ == first_errors.__name__}
    assert own == MESSAGES.keys() | {"a_value"}


def test_a_number_that_only_a_debugger_has() -> None:
    assert first_errors.a_value(int32(2)) == 4
    with pytest.raises(TypeError, match="a scalar of a kernel has no value: it differs from game to game"):
        kernel(lambda x: x if x.is_plain else first_errors.a_value(x), np.arange(4, dtype=np.int32))


def test_scalars_are_no_keys() -> None:
    with pytest.raises(TypeError, match="a scalar is no key of a dictionary"):
        {int32(2): 1}


def test_the_message_names_the_callers_line_below_the_language() -> None:
    """The message names the first line outside the language, even from a generator."""

    def wrong(x: Scalar) -> Scalar:
        return where(x > 0, [x, [x]], [x, x])  # type: ignore[return-value, list-item]

    with pytest.raises(TypeError, match=f"^{re.escape(str(Path(__file__)))}:") as caught:
        wrong(int32(2))
    assert "return where(x > 0, [x, [x]], [x, x])" in str(caught.value)
