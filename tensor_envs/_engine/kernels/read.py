"""Kernel that reads one property of every game; in a jit, properties are lazy expressions instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import FLOAT32
from tensor_envs._engine.kernels.base import Coords, Tracer, Words
from tensor_envs.rules.chance import threefry
from tensor_envs.rules.kernel import bitcast, loop
from tensor_envs.rules.lists import MemoryArray, flat

# Threefry of the uniform policy's key and this counter, which no decision has, is the action key.
ACTION_COUNTER = 0xFFFFFFFF


@dataclass(frozen=True)
class Read:
    """Kernel that writes a field, a flag, the rewards or the action_key of every game, in row-major order.

    Attributes:
        property: name of the property.
        lanes: lanes of the state.
    """

    property: str
    lanes: int
    name = "read"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_keys: Any = None  # for the action_key

    def trace(self, t: Tracer, a: Arrays) -> None:
        count = a.new.size // t.grid.rows

        def read(at: Coords) -> None:
            coords = t.coords_in(self.lanes, at)
            word = Words(t.layout, a.old).load(coords)
            if self.property == "action_key":
                low, high = t.row_keys(a.row_keys, coords)[3:]
                values: Any = threefry((low, high), (ACTION_COUNTER, t.layout.get(word, "episode")))
            elif self.property == "rewards":
                values = [bitcast(word(t.layout.rewards + p), FLOAT32) for p in range(count)]
            else:
                values = t.layout.get(word, self.property)
            # A memory field is too long to unroll.
            if isinstance(values, MemoryArray):
                with loop(count) as i:
                    a.new[at.batch.row * count + i] = values[i]
                return
            for k, x in enumerate(flat(values)):
                a.new[at.batch.row * count + k] = x

        t.block.each(read)
