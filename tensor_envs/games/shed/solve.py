"""The exact solution of Shed by talon strata: who wins in every quiet position, and so in every position.

Cards never come back to the talon, so the positions of a talon set lead only to each other and to those of smaller
talon sets. Layers of sets of equal size are solved from the empty talon on, all sets of a layer at once (`strata`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.helpers import tqdm

from tensor_envs.core.backend.device import device_of, empty_buffer, is_gpu, resolve, upload
from tensor_envs.core.backend.replay import Replay
from tensor_envs.core.validate import file_path, instance, integer
from tensor_envs.games.shed import strata
from tensor_envs.games.shed.layers import (
    Draws,
    Layer,
    Words,
    layers,
    picks,
    result_bytes,
    table_words,
    ternary,
)
from tensor_envs.games.shed.strata import LOW, MAX_CARDS, QUIET, Launch
from tensor_envs.games.shed.tablebase import Tablebase

GIB = 2**30


def solve(cards: int, device: Any = None, progress: bool = True, path: str | Path | None = None) -> Tablebase:
    """Solve the game with `cards` cards (1..20).

    device: any one tinygrad device; None is its default. progress: show a bar. path: a safetensors file that is
    written after every layer and, if it is there already, gone on from; of several solvers on one file none writes
    over what another has that is further. TypeError or ValueError for other numbers of cards, for several devices, and
    for a file that is damaged, of something else or of another number of cards; MemoryError, with what would be needed,
    before a solve that the device has no room for; OSError, with the path, if it cannot be written: it is as it was.
    """
    cards = integer("cards", cards, 1, MAX_CARDS)
    instance("progress", progress, bool)
    path = None if path is None else file_path("path", path)
    where = resolve(device)
    if not isinstance(where, str):
        raise ValueError(f"the solver runs on one device, got {where}")
    done, saved = 0, None
    if path is not None and path.exists():
        saved, done = Tablebase.read(path, where)
        if saved.cards != cards:
            raise ValueError(f"{str(path)!r} is a table for {saved.cards} cards, not for {cards}")
        if done == cards + 1:
            return saved
    need, room = memory_needed(cards), memory_free(where)
    if room is not None and need > room:
        raise MemoryError(
            f"solving {cards} cards takes {need / GIB:.1f} GiB on {where}, which has {room / GIB:.1f} GiB free"
        )
    solver = Solver(cards, where, saved)
    table = Tablebase(cards, *solver.results)
    about = f"shed, {cards} cards, {need / GIB:.2f} GiB"
    bar: tqdm[Any] = tqdm(
        desc=about, total=4**cards, unit=" positions", unit_scale=True, disable=not progress
    )
    for layer in layers(cards):
        solver.solve(layer, finished=layer.k < done)
        if path is not None and layer.k >= done and not is_further(path, cards, layer.k + 1):
            table.write(path, layer.k + 1)
        bar.update(layer.sets * 3**layer.ranks)
    bar.update(0, close=True)
    return table


def is_further(path: Path, cards: int, done: int) -> bool:
    """Whether another solver has written more layers of the same game."""
    try:
        found, layers_done, _ = Tablebase.contents(path)
    except (OSError, ValueError):
        return False
    return found == cards and layers_done > done


def memory_needed(cards: int) -> int:
    """Bytes that a solve takes on the device."""
    every = layers(cards)
    words = 4 * table_words(cards) + 2 * max(layer.sets * layer.quiet for layer in every)
    index = 3 ** max(cards - LOW - 1, 0) + 2 ** max(cards - LOW, 0)
    index += 2 * max(layer.sets * (layer.k + 1) for layer in every)
    return 4 * (words + index) + 2 * result_bytes(cards)


def memory_free(device: str) -> int | None:
    """Bytes, or None where nothing tells."""
    try:
        if device.split(":")[0] == "CPU":
            lines = Path("/proc/meminfo").read_text().splitlines()
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    return None


class Solver:
    """The tables of two layers on the device, and the kernels."""

    def __init__(self, cards: int, device: str, saved: Tablebase | None = None):
        self.cards, self.device, self.gpu = cards, device, is_gpu(device)
        every = layers(cards)
        most = max(layer.sets for layer in every)
        quiet = max(layer.sets * layer.quiet for layer in every)
        draws = max(layer.sets * layer.k for layer in every)

        def room(size: int, dtype: Any) -> Tensor:
            return empty_buffer(max(size, 1), dtype, device)

        try:
            # of even layers and of odd ones, since each layer reads the one before
            self.tables = [[room(table_words(cards), dtypes.uint32) for _ in range(2)] for _ in range(2)]
            self.picked = [room(quiet, dtypes.uint32) for _ in range(2)]
            self.ternary, self.picks = upload(ternary(cards), device), upload(picks(cards), device)
        except Exception as error:  # whatever a backend raises when it is full
            raise MemoryError(
                f"solving {cards} cards takes {memory_needed(cards) / GIB:.1f} GiB on {device}: {error}"
            ) from None
        empty = np.zeros(result_bytes(cards), np.uint8)
        self.results = [upload(empty, device) for _ in range(2)] if saved is None else saved.results
        self.changed, self.sets = room(most, dtypes.int32), room(most, dtypes.int32)
        self.pairs = room(2 * draws, dtypes.int32)
        # at most one launch a rank and one a gap and card of a set in it
        self.launches = room(len(Launch._fields) * (cards + 3) ** 2, dtypes.int32)
        self.which: list[Tensor] = []
        self.replays: dict[Callable[[strata.Stage], Any], Replay] = {}

    def solve(self, layer: Layer, finished: bool = False) -> int:
        """Sweep a layer until nothing changes -> the number of sweeps.

        finished: the results have been worked out before, so one sweep makes the tables that the next layer needs.
        ValueError if something changes all the same.
        """
        draws = layer.draws(layers(self.cards)[layer.k - 1], self.gpu)
        todo, sweep = np.arange(layer.sets, dtype=np.int32), 0
        self.changed = put(self.changed, np.zeros(layer.sets, np.int32))
        while len(todo):
            sweep += 1
            self.sweep(layer, draws, todo, sweep)
            todo = todo[self.changed.numpy()[todo] == sweep]
            if finished and len(todo):
                raise ValueError(f"the saved results with {layer.k} cards in the talon do not solve the game")
        return sweep

    def sweep(self, layer: Layer, draws: Draws, todo: Words, number: int) -> None:
        """One sweep over the sets `todo`."""
        active = np.zeros(layer.sets, bool)
        active[todo] = True
        pairs = active[draws.pairs[:, 0]]
        plan = self.plan(layer, draws, len(todo), draws.launch[pairs], number)
        self.sets = put(self.sets, todo)
        self.pairs = put(self.pairs, draws.pairs[pairs])
        self.launches = put(self.launches, np.array([launch for _, launch in plan], np.int32))
        for i, (stage, _) in enumerate(plan):
            self.launch(stage, layer, i)

    def plan(
        self, layer: Layer, draws: Draws, sets: int, kept: Words, number: int
    ) -> list[tuple[Callable[[strata.Stage], Any], Launch]]:
        """The launches of a sweep. `kept`: of the pairs that take part, the launches they belong to."""
        counts = np.bincount(kept, minlength=len(draws.gaps))
        firsts = np.cumsum(counts) - counts
        n, low = layer.ranks, min(layer.ranks, LOW)
        common = Launch(
            sets=sets, first_pair=0, pairs=0, top=0, power=0, above=0,
            words=layer.words, old_words=3 ** max(n + 1 - LOW, 0),
            quiet=layer.quiet, first_byte=layer.first_byte, sweep=number, ranks=n,
            valid=QUIET & (1 << 3**low) - 1,
            b_has_all=1 << (3**low - 1) // 2 if layer.k == 0 else 0, a_has_all=int(layer.k == 0),
        )  # fmt: skip
        plan = [(strata.recall, common)] * (number == 1) + [(strata.clear, common)]
        for t in range(n, -1, -1):
            high = common._replace(top=t, power=3 ** max(t - LOW, 0), above=1 << n - t >> 1)
            if t < n:
                plan.append((strata.decide if t >= LOW else strata.DECIDE_LOW[t], high))
            for i in np.flatnonzero((draws.gaps == t) & (counts > 0)):
                pairs = high._replace(first_pair=int(firsts[i]), pairs=int(counts[i]))
                plan.append((strata.draw if t >= LOW else strata.DRAW_LOW[t], pairs))
        return [*plan, (strata.finish, common)]

    def launch(self, stage: Callable[[strata.Stage], Any], layer: Layer, number: int) -> None:
        while number >= len(self.which):
            self.which.append(upload(np.array([len(self.which)], np.int32), self.device))
        arrays = [
            *self.tables[layer.k % 2], *self.picked, *self.results, self.changed,
            *self.tables[1 - layer.k % 2], self.sets, self.pairs, self.ternary, self.picks,
            self.launches, self.which[number],
        ]  # `Arrays`, in order  # fmt: skip
        if stage not in self.replays:
            self.replays[stage] = Replay(lambda *t: Tensor.realize(*strata.run(stage, self.gpu, *t)))
        self.replays[stage](*arrays)


def put(buffer: Tensor, values: Words) -> Tensor:
    """The buffer with values at its front: in place where the host can write there, else another of that size."""
    data = np.ascontiguousarray(values).reshape(-1)
    memory: Any = buffer.uop.buffer
    if hasattr(memory.allocator, "_as_buffer"):
        np.frombuffer(memory.as_memoryview(force_zero_copy=True), data.dtype)[: data.size] = data
        return buffer
    whole = np.zeros(memory.size, data.dtype)
    whole[: data.size] = data
    return upload(whole, device_of(buffer))
