"""Exact solution of Shed by talon strata: the winner in every quiet position, and so in every position.

Cards never return to the talon, so the positions of a talon set lead only to each other and to those of smaller talon
sets. Groups of sets are solved one after the other (`layers`), as many as it takes for each to fit into memory. Within
a group, layers of sets of equal size follow each other, from the smallest on. Of a layer, as many sets are swept
together as fit into a cache (`strata`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.helpers import tqdm

from tensor_envs._runtime.buffers import download, empty_buffer, upload, write
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs._runtime.devices import DeviceName, is_gpu
from tensor_envs._runtime.launcher import launches_directly
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.threads import all_blocks, runs_natively
from tensor_envs._validate import file_path, instance, integer, number
from tensor_envs.games.shed import strata
from tensor_envs.games.shed.layers import (
    Group,
    HostArray,
    TalonLayer,
    draws,
    first_bytes,
    groups,
    picks,
    result_bytes,
    sizes,
    slices,
    ternary,
)
from tensor_envs.games.shed.strata import HIGH, LOW, MAX_CARDS, PARTS, QUIET, Launch, SolverKernel, ranks_of
from tensor_envs.games.shed.tablebase import Tablebase

GIB = 2**30
CACHE = 2**22, 2**30  # bytes of tables that are swept together, on a CPU and on a GPU
MAX_FREE = 10  # free cards on a CPU: more take memory and are no faster
MIN_FREE = 6  # fewer free cards do not save memory
SAVING = 0.05  # share of the time that may go into writing the file
Plan = tuple[list[SolverKernel], HostArray]  # kernels to launch, and a row of `Launch` for each


def solve(
    cards: int,
    device: DeviceName | None = None,
    progress: bool = True,
    path: str | Path | None = None,
    memory: float | None = None,
) -> Tablebase:
    """Solve the game with `cards` cards.

    Args:
        cards: 1..21.
        device: one tinygrad device; None is its default.
        progress: whether to show a progress bar.
        path: a safetensors file of the results. It is rewritten as the solve goes on, and an existing one is continued.
            A solver does not overwrite a file in which another has solved more.
        memory: upper bound in GiB; None is the free memory of the machine.

    Returns:
        The table of the solved game.

    Raises:
        TypeError, ValueError: another number of cards, several devices, or a file that is damaged or holds something
            else.
        MemoryError: there is not enough memory; the message says how much the solve takes.
        OSError: the file cannot be written; it stays as it was.

    Examples:
        >>> table = solve(4, progress=False)
        >>> table.value(te.make("shed", cards=4).init(2)).tolist()
        [1, 1]
    """
    cards = integer("cards", cards, 1, MAX_CARDS)
    instance("progress", progress, bool)
    path = None if path is None else file_path("path", path)
    resolved = open_device(device)
    if not isinstance(resolved, str):
        raise ValueError(f"the solver runs on one device, got {resolved}")
    done = 0
    saved = None
    every = 1 << cards
    if path is not None and path.exists():
        saved, done = Tablebase.read(path, resolved)
        if saved.cards != cards:
            raise ValueError(f"{str(path)!r} is a table for {saved.cards} cards, not for {cards}")
        if done == every:
            return saved
    bar: tqdm[Any] = tqdm(
        desc=f"shed, {cards} cards", total=4**cards, unit=" positions", unit_scale=True, disable=not progress
    )
    fixed = choose_fixed(cards, resolved, memory)
    solver = LayerSolver(cards, fixed, resolved, saved)
    table = Tablebase(cards, *solver.results)
    bar.set_description(f"shed, {cards} cards, {solver.bytes / GIB:.2f} GiB")
    save_at = 0.0
    for count, group in enumerate(groups(cards, fixed), 1):
        so_far = count << group.free
        for layer in group.layers:
            solver.solve(layer, finished=so_far <= done)
            bar.update(layer.sets * 3**layer.ranks)
        now = time.monotonic()
        if path is not None and so_far > done and (now >= save_at or so_far == every):
            if not is_further(path, cards, so_far):
                table.write(path, so_far)
            took = time.monotonic() - now
            save_at = now + took / SAVING
    bar.update(0, close=True)
    return table


def is_further(path: Path, cards: int, done: int) -> bool:
    """Return whether another solver has written more talon sets of the same game."""
    try:
        saved_cards, sets_done, _ = Tablebase.contents(path)
    except (OSError, ValueError):
        return False
    return saved_cards == cards and sets_done > done


def choose_fixed(cards: int, device: str, memory: float | None) -> int:
    """Return the number of cards to fix so that the tables fit into memory. Raise ValueError or MemoryError."""
    room = memory_free(device)
    if memory is not None:
        room = int(GIB * number("memory", memory, 0, 2**20))
    need = 0
    gpu = is_gpu(device)
    first = 0 if gpu else max(cards - MAX_FREE, 0)
    for fixed in range(first, max(first, cards - MIN_FREE) + 1):
        need = memory_needed(cards, fixed, gpu)
        if room is None or need <= room:
            return fixed
    available = f"{(room or 0) / GIB:.2g} GiB"
    raise MemoryError(f"solving {cards} cards takes {need / GIB:.2g} GiB on {device}, and there are {available}")


def memory_needed(cards: int, fixed: int, gpu: bool) -> int:
    """Return the bytes that a solve takes on the device with a number of fixed cards."""
    size = sizes(cards, fixed, CACHE[gpu])
    words = 2 * (size["even"] + size["odd"] + size["picked"] + size["slices"]) + size["drawn"]
    index = size["parents"] + size["gaps"] + 3 * size["sets"] + 3 ** max(cards - HIGH - 1, 0)
    return 4 * (words + index + 2 ** max(cards - LOW, 0)) + 2 * result_bytes(cards)


def memory_free(device: str) -> int | None:
    """Return the free memory in bytes; None if it cannot be found out."""
    try:
        if device.split(":")[0] == "CPU":
            lines = Path("/proc/meminfo").read_text().splitlines()
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    return None


class LayerSolver:
    """Tables of two layers on the device, slices, and captured kernels."""

    def __init__(self, cards: int, fixed: int, device: str, saved: Tablebase | None = None):
        self.cards = cards
        self.device = device
        self.gpu = is_gpu(device)
        self.native = launches_directly() and runs_natively(device)
        self.views = dict[int, HostArray]()
        self.cache = CACHE[self.gpu]
        self.bytes = memory_needed(cards, fixed, self.gpu)
        size = sizes(cards, fixed, self.cache)

        def room(name: str, dtype: Any = dtypes.int32) -> Tensor:
            return empty_buffer(size[name], dtype, device)

        try:
            # for even and odd layers: each layer reads the one before
            self.tables = [[room(name, dtypes.uint32) for _ in range(2)] for name in ("even", "odd")]
            self.drawn = room("drawn", dtypes.uint32)
            self.picked = [room("picked", dtypes.uint32) for _ in range(2)]
            self.slices = [room("slices", dtypes.uint32) for _ in range(2)]
            self.changed, self.sets, self.first_byte = (room("sets") for _ in range(3))
            self.parents = room("parents")
            self.gaps = room("gaps")
            self.ternary = upload(ternary(cards), device)
            self.picks = upload(picks(cards), device)
        except Exception as error:  # backends raise different exceptions when memory is full
            raise MemoryError(f"solving {cards} cards takes {self.bytes / GIB:.1f} GiB on {device}: {error}") from None
        empty = np.zeros(result_bytes(cards), np.uint8)
        self.results = [upload(empty, device) for _ in range(2)] if saved is None else saved.results
        self.first_bytes = first_bytes(cards)
        self.slice_places, _ = slices(cards, fixed)
        # at most one launch for each rank and each gap, and two for each fixed card
        self.launches = empty_buffer(len(Launch._fields) * (5 * cards + 4), dtypes.int32, device)
        self.which: list[Tensor] = []
        self.captured: dict[SolverKernel, CapturedFunction] = {}
        self.bound: dict[tuple[SolverKernel, int, int], Callable[[], object]] = {}

    def solve(self, layer: TalonLayer, finished: bool = False) -> int:
        """Sweep a layer until nothing changes, and return the number of sweeps.

        Args:
            layer: comes after all layers that it depends on.
            finished: whether the results are complete, so that one sweep makes the tables that other layers need.

        Raises:
            ValueError: finished results change.
        """
        parents, gaps = draws(layer.group.free, layer.k)
        self.put(self.parents, parents)
        self.put(self.gaps, gaps)
        self.put(self.first_byte, self.first_bytes[layer.talons])
        self.put(self.changed, np.zeros(layer.sets, np.int32))
        begin, sweep, emit = self.plan(layer)
        max_sweeps = 0
        together = layer.together(self.cache)
        for first in range(0, layer.sets, together):
            every = todo = np.arange(first, min(first + together, layer.sets), dtype=np.int32)
            self.launch(layer, begin, every, first)
            number = 0
            while len(todo):
                number += 1
                self.launch(layer, sweep, todo, first, number)
                changed = self.view(self.changed)
                todo = todo[(download(self.changed) if changed is None else changed)[todo] == number]
                if finished and len(todo):
                    raise ValueError(
                        f"the saved results with {layer.talons[todo[0]]:b} as the talon do not solve the game"
                    )
            self.launch(layer, emit, every)
            max_sweeps = max(max_sweeps, number)
        return max_sweeps

    def plan(self, layer: TalonLayer) -> list[Plan]:
        """Return three plans of launches: before the first sweep, for each sweep, and after the last one."""
        group = layer.group
        n = layer.ranks
        low = min(layer.ranks, LOW)
        common = Launch(
            sets=0, first=0, sweep=0, ranks=n, blocks=layer.blocks, old_blocks=3 ** max(n + 1 - HIGH, 0),
            quiet=layer.quiet, quiet_blocks=layer.quiet_blocks, valid=QUIET & (1 << 3**low) - 1,
            b_has_all=1 << (3**low - 1) // 2 if layer.empty else 0, a_has_all=int(layer.empty),
            gaps=group.free - layer.k + 2,
        )  # fmt: skip
        # Plays out of the talon are the same in every sweep, so they are made once, before the first one.
        begin = [(SolverKernel(strata.recall), common), (SolverKernel(strata.clear), common)]
        emit = []
        sweep = [(SolverKernel(strata.begin), common)] if n <= HIGH else []
        # Tops of the pile go down, since a play raises the top: a top's positions depend on those of higher tops.
        for t in range(n, -1, -1):
            # Distances between words, and numbers of sets, of rank t; see `Launch`.
            power = 3 ** (t - HIGH if t >= HIGH else max(t - LOW, 0))
            above = 1 << max(n - max(t, LOW), 0) >> 1
            at = common._replace(top=t, power=power, above=above)
            ranks = ranks_of(t)
            if HIGH <= t < n:
                sweep.append((SolverKernel(strata.decide if t < n - 1 else strata.decide_first), at))
            if layer.k and t >= group.in_hands:
                begin.append((SolverKernel(strata.draw, ranks), at._replace(gap=t - group.in_hands)))
            for card in range(group.fixed):
                if group.rank(card) == t:
                    # A fixed card of the talon is played by a slice of another group,
                    # which emits a slice for each of its fixed cards in a hand.
                    if group.talon >> card & 1:
                        other = Group(self.cards, group.fixed, group.talon ^ 1 << card).layers[layer.k]
                        begin.append((SolverKernel(strata.draw_slice, ranks), at._replace(**self.slice(other, card))))
                    else:
                        emit.append((SolverKernel(strata.emit, ranks), at._replace(**self.slice(layer, card))))
        sweep.append((SolverKernel(strata.settle), common))
        return [
            ([kernel for kernel, _ in plan], np.array([launch for _, launch in plan], np.int32))
            for plan in (begin, sweep, emit)
        ]

    def slice(self, layer: TalonLayer, card: int) -> dict[str, int]:
        """Return the entries of a `Launch` that locate the slices of a fixed card."""
        group = layer.group
        rank = layer.group.rank(card)
        first = self.slice_places[group.talon, card]
        first += sum(before.sets * before.slice_words(rank) for before in group.layers[: layer.k])
        return {"slice": first, "slice_words": layer.slice_words(rank)}

    def launch(self, layer: TalonLayer, plan: Plan, todo: HostArray, first: int = 0, sweep: int = 0) -> None:
        """Launch a plan for the talon sets `todo`; `first` is the lowest set of those that are swept together."""
        kernels, launches = plan
        if not kernels:
            return
        launches[:, :3] = len(todo), first, sweep
        self.put(self.sets, todo)
        self.put(self.launches, launches)
        for place, kernel in enumerate(kernels):
            key = kernel, layer.k % 2, place
            if key in self.bound:
                self.bound[key]()
                continue
            arrays = self.arrays(layer.k % 2, place)
            captured = self.capture(kernel)
            captured(*arrays)
            self.bound[key] = captured.bind(*arrays)

    def put(self, buffer: Tensor, values: HostArray) -> None:
        """Write values to the front of a buffer; the rest of it becomes undefined."""
        data = np.ascontiguousarray(values).reshape(-1)
        if (view := self.view(buffer)) is not None:
            view[: data.size] = data
        else:
            whole = np.zeros(buffer.numel(), data.dtype)
            whole[: data.size] = data
            write(buffer, whole)

    def view(self, buffer: Tensor) -> HostArray | None:
        """Return an int32 buffer's memory; None if the host cannot write there between launches."""
        if not self.native:
            return None
        if id(buffer) not in self.views:
            memory: Any = buffer.uop.buffer
            self.views[id(buffer)] = np.frombuffer(memory.as_memoryview(force_zero_copy=True), np.int32)
        return self.views[id(buffer)]

    def capture(self, kernel: SolverKernel) -> CapturedFunction:
        """Return the captured launch of a kernel."""
        if kernel not in self.captured:
            self.captured[kernel] = CapturedFunction(lambda *t: Tensor.realize(*strata.run(kernel, *t)))
        return self.captured[kernel]

    def arrays(self, parity: int, place: int) -> list[Tensor]:
        """Return the arrays of a launch, in the order of `Arrays`.

        Args:
            parity: which of the two tables the launch writes, 0 or 1; it reads the other one.
            place: index of the launch in its plan.
        """
        while place >= len(self.which):
            self.which.append(upload(np.array([len(self.which)], np.int32), self.device))
        return [
            *self.tables[parity], self.drawn, *self.picked, *self.results, self.changed, *self.slices,
            *self.tables[1 - parity], self.sets, self.first_byte, self.parents, self.gaps,
            self.ternary, self.picks, self.launches, self.which[place], all_blocks(PARTS, self.device),
        ]  # fmt: skip
