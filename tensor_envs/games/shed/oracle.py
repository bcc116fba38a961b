"""Exact values of Shed, whose games may last for ever, so that no search ends; see `GameEntry.oracle`."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import dtypes

from tensor_envs._compiler.tape import Tape
from tensor_envs._engine.batch_layout import BlockGrid
from tensor_envs._engine.layout import Layout
from tensor_envs._runtime.devices import DeviceName
from tensor_envs.games.shed import solve as solver
from tensor_envs.games.shed.layers import HostArray, first_bytes, result_bytes
from tensor_envs.games.shed.lookup import DRAW, WIN, judge
from tensor_envs.games.shed.rules import Shed
from tensor_envs.games.shed.tablebase import Tablebase
from tensor_envs.rules.kernel import trace

QUICK_CARDS = 14  # cards of the largest game that is solved in seconds

load = Tablebase.load


def is_quick(rules: Shed) -> bool:
    """Return whether the game is solved in seconds."""
    return rules.cards <= QUICK_CARDS


def solve(rules: Shed, device: DeviceName | None = None) -> Tablebase:
    """Return the table of the solved game."""
    return solver.solve(rules.cards, device, progress=False)


def compact_tables(rules: Shed) -> dict[str, HostArray]:
    """Return the solved game as tables for `lookup`, by name: they compress to half of those of a `Tablebase`."""
    solved = solve(rules)
    bits = {name: np.zeros(result_bytes(rules.cards), np.uint8) for name in ("wins", "draws")}
    for talon, first in enumerate(first_bytes(rules.cards)):
        values = solved.quiet_values(talon)
        for table, outcome in zip(bits.values(), (WIN, DRAW), strict=True):
            packed = np.packbits(values == outcome, bitorder="little")
            table[first : first + len(packed)] = packed
    return bits


def lookup(rules: Shed, layout: Layout) -> tuple[Tape, dict[str, Any], dict[str, list[int]]]:
    """Return a kernel that looks one game's position up in compact tables, and judges its actions.

    Returns:
        The kernel, its arrays in the order of its arguments (dtype and size by name), and what arrays hold at first.
    """
    cards, sets = rules.cards, 1 << rules.cards
    results = (dtypes.uint8, result_bytes(cards))
    arrays = {
        "values": (dtypes.int32, cards + 2),
        "tricks": (dtypes.int8, sets),
        "states": (dtypes.uint32, layout.words),
        "wins": results,
        "draws": results,
        "first_bytes": (dtypes.int32, sets),
    }
    tape = trace(judge(cards, layout, BlockGrid(1, 1, gpu=False), compact=True), list(arrays.values()))
    return tape, arrays, {"first_bytes": first_bytes(cards).tolist()}
