"""One property of every game, game by game, for those who look at states outside of a jit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.game import as_list
from tensor_envs.core.kernels.block import Coords, Words
from tensor_envs.core.kernels.tracer import Tracer
from tensor_envs.rules.chance import threefry
from tensor_envs.rules.control import loop
from tensor_envs.rules.lists import MemoryArray
from tensor_envs.rules.scalar import INT, Scalar

ACTION_COUNTER = (
    0xFFFFFFFF  # no decision has this number: the uniform policy's key makes keys for other policies
)


@dataclass(frozen=True)
class Read:
    """Write a field, a flag, the rewards or the action_key of every game. lanes: of the state."""

    property: str
    lanes: int
    name = "read"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_rng: Any = None  # for the action_key

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        count = int(a.new.shape[0]) // t.grid.rows

        def cell(at: Coords, k: Any) -> UOp:
            return a.new[at.batch.row * count + k]

        def stage(at: Coords) -> list[UOp]:
            place = t.place_in(self.lanes, at)
            load = Words(t.layout, a.old).load(place)
            if self.property == "action_key":
                low, high = t.row_rng(a.row_rng, place)[3:]
                values: Any = threefry((low, high), (ACTION_COUNTER, t.layout.get(load, "episode")))
            elif self.property == "rewards":
                words = [load(t.layout.rewards + p).uop() for p in range(count)]
                return [cell(at, p).store(w.bitcast(dtypes.float32)) for p, w in enumerate(words)]
            else:
                values = t.layout.get(load, self.property)
            if isinstance(values, MemoryArray):
                k = loop(count)
                return [cell(at, k).store(values[Scalar(k, INT)].uop()).end(k)]
            return [cell(at, k).store(x.uop()) for k, x in enumerate(as_list(values))]

        return t.block.end(t.block.each(stage))
