"""Measure what forms of the same rule cost, for costs.md: `python scripts/documents/costs.py`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import tensor_envs as te
from tensor_envs.rules import (
    Field,
    Grid,
    Outcome,
    Scalar,
    Spec,
    all_of,
    any_in_range,
    any_of,
    int32,
    lookup,
    max_of,
    number,
    put,
    repeat,
    select,
    sow,
    sum_in_range,
    sum_of,
    uint32,
    where,
)

PITS, SEEDS = 14, 15
GRID, TABLE = Grid(6, 7), [k * 37 % 64 for k in range(64)]
DIRECTIONS = ((0, 1, 6, 4), (1, 0, 3, 7), (1, 1, 3, 4), (1, -1, 3, 7))  # down, right, rows and columns of first cells
LINES = [
    [7 * (row + i * down) + column + i * right for i in range(4)]
    for down, right, rows, columns in DIRECTIONS
    for row in range(rows)
    for column in range(3 if right < 0 else 0, columns)
]
PAIRS = [  # form, and what it replaces
    ("`sow`", "a loop that sows seed by seed with `put`"),
    ("`Grid.lines` on bit words", "`any_of` over the 69 lines of a list of cells"),
    ("Python's `for`, unrolled", "`sum_in_range` within `any_in_range`, with `select`"),
    ("`lookup` in a table of 64", "`select` from it"),
]
BATCH, STEPS, ROUNDS, TIMES = 1024, 128, 9, 8


@dataclass(frozen=True)
class Forms:
    """A game whose step applies one form of a rule several times; form -1 applies none."""

    form: int = -1

    @property
    def spec(self) -> Spec:
        fields = (
            Field("ring", (PITS,), high=63),
            Field("cells", (42,), kind="bool"),
            Field("set", (2,), kind="uint32"),
            Field("found", high=63),
        )
        return Spec(1, PITS, (1,), fields, "int32", max_plies=2**30, zero_sum=False)

    def init(self, chance: Any) -> dict[str, Any]:
        return {"ring": [4] * PITS}

    def legal_action_mask(self, s: Any) -> Any:
        return [True] * PITS

    def step(self, s: Any, action: Scalar, chance: Any) -> Outcome:
        for turn in range(TIMES):
            cells = [cell ^ (action == (k + turn) % PITS) for k, cell in enumerate(s.cells)]
            words = [w ^ uint32(k) << action for w, k in zip(s.set, (5, 3 + turn), strict=True)]
            s = self.applied(s.replace(cells=cells, set=words, found=(s.found + action) & 63), action)
        return Outcome(s, (0,), False)

    def applied(self, s: Any, action: Scalar) -> Any:
        """Return the state after one form of a rule; without one, some change."""
        form, ring = self.form, [(x + action) & 31 for x in s.ring]
        if form == 0:  # sow

            def turn(values: list[Scalar]) -> list[Scalar]:
                *pits, left, at = values
                sows = left > 0
                at = where(sows, (at + 1) % PITS, at)
                return [*put(pits, at, select(pits, at) + sows), left - sows, at]

            ring = repeat(SEEDS, [*ring, s.found & SEEDS, action], turn)[:PITS]
        if form == 1:
            ring = sow(ring, action, s.found & SEEDS)
        value: Scalar = int32(0)
        if form == 2:  # four in a row
            value = int32(any_of(all_of(s.cells[k] for k in line) for line in LINES))
        if form == 3:
            value = int32(GRID.lines(s.set, 4).any())
        if form == 4:  # sums of neighbours
            value = int32(any_in_range(PITS, lambda i: sum_in_range(3, lambda j: select(ring, (i + j) % PITS)) > 90))
        if form == 5:
            value = int32(max_of(sum_of(ring[(i + j) % PITS] for j in range(3)) for i in range(PITS)) > 90)
        if form == 6:  # a table
            value = select(TABLE, s.found)
        if form == 7:
            value = lookup(TABLE, s.found)
        return s.replace(ring=[x & 63 for x in ring], found=(s.found + value) & 63)

    def observe(self, s: Any, player: Scalar) -> Any:
        return [number(s.found)]


def main() -> None:
    """Print the table of costs.md: CPU time and instructions beyond those of the same step without the rule."""
    envs = [te.Env(te.GameEntry("forms", Forms), Forms(form), "forms") for form in range(-1, 8)]
    states = [env.init(BATCH, device="CPU") for env in envs]
    best = [float("inf")] * len(envs)
    for _ in range(ROUNDS):
        for k, state in enumerate(states):
            start = time.process_time()
            te.rollout_from(state, "uniform", STEPS).state.numpy()
            best[k] = min(best[k], time.process_time() - start)
    sizes = [te.inspect(env, "step", device="CPU").instructions for env in envs]
    print("| form | instead of | times faster | instructions |\n|---|---|---|---|")
    for pair, (fast, slow) in enumerate(PAIRS):
        costs = [best[2 * pair + k] - best[0] for k in (1, 2)]
        counts = [sizes[2 * pair + k] - sizes[0] for k in (2, 1)]
        print(f"| {fast} | {slow} | {costs[0] / costs[1]:.1f} | {counts[0] // TIMES} instead of {counts[1] // TIMES} |")


if __name__ == "__main__":
    main()
