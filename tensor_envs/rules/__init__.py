"""The language that rules are written in: everything that the author of a game imports."""

import warnings
from typing import Any

from tensor_envs.rules.actions import Actions
from tensor_envs.rules.chance import Chance, threefry
from tensor_envs.rules.grid import CORNERS, SIDES, Grid, GridSet
from tensor_envs.rules.kernel import any_in_range, map_range, repeat, sum_in_range, union_in_range
from tensor_envs.rules.lists import (
    MemoryArray,
    all_of,
    any_of,
    argmax,
    bit,
    halves,
    has_bit,
    histogram,
    joined,
    lookup,
    max_of,
    min_of,
    nth_bit,
    nth_missing,
    num_words,
    pack,
    pack_flags,
    popcount,
    put,
    select,
    set_of,
    sort,
    sow,
    sum_of,
    union_of,
    unpack,
)
from tensor_envs.rules.observation import Observation, Part, bits, constant, digits, entries, number, one_hot
from tensor_envs.rules.scalar import (
    WORD_BITS,
    Scalar,
    Value,
    float32,
    int32,
    maximum,
    minimum,
    scalar,
    uint32,
    uint64,
    where,
)
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Rules, Spec, Symmetry, next_player

# names of version 0.2, until 0.4
_RENAMED = {"integer": "int32", "word": "uint32", "word64": "uint64", "real": "float32"}


def __getattr__(name: str) -> Any:
    """Return the object that a deprecated name refers to."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is {__name__}.{_RENAMED[name]} now", DeprecationWarning, stacklevel=2)
    return globals()[_RENAMED[name]]


__all__ = [
    "CORNERS",
    "SIDES",
    "WORD_BITS",
    "Actions",
    "Chance",
    "Field",
    "GameState",
    "Grid",
    "GridSet",
    "Mask",
    "MemoryArray",
    "Observation",
    "Outcome",
    "Part",
    "Rules",
    "Scalar",
    "Spec",
    "Symmetry",
    "Value",
    "all_of",
    "any_in_range",
    "any_of",
    "argmax",
    "bit",
    "bits",
    "constant",
    "digits",
    "entries",
    "float32",
    "halves",
    "has_bit",
    "histogram",
    "int32",
    "joined",
    "lookup",
    "map_range",
    "max_of",
    "maximum",
    "min_of",
    "minimum",
    "next_player",
    "nth_bit",
    "nth_missing",
    "num_words",
    "number",
    "one_hot",
    "pack",
    "pack_flags",
    "popcount",
    "put",
    "repeat",
    "scalar",
    "select",
    "set_of",
    "sort",
    "sow",
    "sum_in_range",
    "sum_of",
    "threefry",
    "uint32",
    "uint64",
    "union_in_range",
    "union_of",
    "unpack",
    "where",
]
