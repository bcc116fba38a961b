"""Typical first mistakes of authors of games: one wrong line each, which its error must name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_envs.rules import Scalar, float32, int32, maximum, popcount, scalar, select, uint32, uint64, where
from tensor_envs.rules.chance import KeyedChance


def an_if(x: Scalar) -> Any:
    if x > 3:
        return x
    return x + 1


def an_and(x: Scalar) -> Any:
    return x > 3 and x < 5


def an_or(x: Scalar) -> Any:
    return x > 3 or x < 5


def a_not(x: Scalar) -> Any:
    return not x > 3


def a_maximum(x: Scalar) -> Any:
    return max(x, 3)


def a_sorting(x: Scalar) -> Any:
    return sorted([x, x + 1])


def a_chain(x: Scalar) -> Any:
    return 0 <= x < 3


def a_membership(x: Scalar) -> Any:
    return x in (1, 2)


def an_assertion(x: Scalar) -> Any:
    assert x >= 0
    return x


def an_index(x: Scalar) -> Any:
    return [1, 2, 3][x]


def a_subscript(x: Scalar) -> Any:
    return x[0]


def an_index_of_an_array(x: Scalar) -> Any:
    return np.arange(5)[x]


def an_array_of_scalars(x: Scalar) -> Any:
    return np.array([x, x])


def a_sum_with_an_array(x: Scalar) -> Any:
    return np.arange(5) + x


def an_absolute_value(x: Scalar) -> Any:
    return abs(x)


def a_quotient_and_remainder(x: Scalar) -> Any:
    return divmod(x, 3)


def a_key(x: Scalar) -> Any:
    table: Any = {0: 1, 1: 2}
    return table[x]


def a_draw_of_nothing(x: Scalar) -> Any:
    return KeyedChance([x, x]).draw(0, 0)


def a_range(x: Scalar) -> Any:
    return list(range(x))


def an_int(x: Scalar) -> Any:
    return int(x)


def a_float(x: Scalar) -> Any:
    return float(x)


def a_loop(x: Scalar) -> Any:
    return [y for y in x]  # type: ignore[var-annotated]


def a_mixture(x: Scalar) -> Any:
    return x + uint32(x)


def a_comparison_of_kinds(x: Scalar) -> Any:
    return x == uint64(x)


def a_choice_of_kinds(x: Scalar) -> Any:
    return where(x > 0, x, uint32(x))


def a_fraction(x: Scalar) -> Any:
    return x + 0.5


def a_real(x: Scalar) -> Any:
    return float32(x) + x


def a_condition(x: Scalar) -> Any:
    return where(x, 1, 2)


def a_word_for_a_condition(x: Scalar) -> Any:
    return where(uint32(x) & 4, 1, 2)


def lists_of_two_lengths(x: Scalar) -> Any:
    return where(x > 0, [x, x], [x])


def a_list_and_a_number(x: Scalar) -> Any:
    return where(x > 0, [x, x], 0)  # type: ignore[call-overload]


def a_large_number(x: Scalar) -> Any:
    return x + 2**31


def a_large_word(x: Scalar) -> Any:
    return uint32(x) | 2**32


def a_large_condition(x: Scalar) -> Any:
    return int32(2**40)


def a_shift(x: Scalar) -> Any:
    return x << 32


def a_shift_backwards(x: Scalar) -> Any:
    return uint64(x) >> -1


def a_shift_of_a_word64(x: Scalar) -> Any:
    return uint64(x) << 64


def a_division(x: Scalar) -> Any:
    return x / 2


def a_power(x: Scalar) -> Any:
    return x**2


def a_power_of_two(x: Scalar) -> Any:
    return 2**x


def bits_of_a_real(x: Scalar) -> Any:
    return float32(x) & 1


def a_real_turned_round(x: Scalar) -> Any:
    return ~float32(x)


def a_shifted_real(x: Scalar) -> Any:
    return float32(x) << 1


def bits_of_an_int(x: Scalar) -> Any:
    return popcount(x)


def a_list(x: Scalar) -> Any:
    return x + [1]  # noqa: RUF005


def a_text(x: Scalar) -> Any:
    return maximum(x, "3")  # type: ignore[arg-type]


def nothing(x: Scalar) -> Any:
    return scalar(None)


def an_empty_list(x: Scalar) -> Any:
    return select([], x)


def a_value(x: Scalar) -> Any:
    return 2 + x.value
