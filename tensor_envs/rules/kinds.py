"""Kinds of the numbers that rules compute with, and their dtypes."""

from __future__ import annotations

import warnings
from typing import Literal

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import BOOL, FLOAT32, INT32, SIGNED, UINT32, UINT64, UNSIGNED
from tensor_envs._validate import one_of

Kind = Literal["int32", "bool", "uint32", "uint64"]
KINDS: dict[str, DType] = {"int32": INT32, "bool": BOOL, "uint32": UINT32, "uint64": UINT64}  # kinds of fields
KIND_NAMES = {dtype: name for name, dtype in KINDS.items()} | {FLOAT32: "float32"}
# number of bits of bools and integers
BITS = {BOOL: 1} | {dtype: 8 * dtype.itemsize for dtype in SIGNED + UNSIGNED}
_RENAMED = {"int": "int32", "word": "uint32", "word64": "uint64"}  # names of version 0.2, until 0.4


def checked_kind(name: str, kind: str, allowed: tuple[str, ...] = tuple(KINDS)) -> str:
    """Return the present name of the kind of a field or set. ValueError with the argument's `name` if not allowed."""
    if isinstance(kind, str) and kind in _RENAMED:
        warnings.warn(f"the kind {kind!r} is {_RENAMED[kind]!r} now", DeprecationWarning, stacklevel=4)
        kind = _RENAMED[kind]
    one_of(name, kind, allowed)
    return kind
