"""Launches of finished programs, prepared once and called again and again.

tinygrad resolves, checks and counts for 70 us a kernel, where a small batch's kernel takes 10. A launch here holds the
programs with the addresses of their arrays, in the form that its device takes: words for the thread pool of the CPU,
blocks of arguments for the CUDA driver, calls of tinygrad's programs for other devices.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

from tinygrad import Tensor
from tinygrad.engine.realize import get_runtime
from tinygrad.helpers import DEBUG, PROFILE, GlobalCounters, to_tuple
from tinygrad.uop.ops import GroupOp, Ops, UOp

from tensor_envs._runtime.buffers import shard_address, shards
from tensor_envs._runtime.cuda import CudaGraph, CudaLaunch, CudaLaunches, is_cuda
from tensor_envs._runtime.devices import DeviceName, retry_without_cache
from tensor_envs._runtime.threads import ARGUMENTS_AT, BLOCKS_AT, Job, NativeLaunch, blocks_of, runs_natively

# Operations that leave the memory as it is: a launch takes the address of the buffer behind them.
VIEWS = {Ops.UNSHARD, Ops.BITCAST, Ops.DETACH, Ops.CONTIGUOUS, *GroupOp.Movement}
CACHE_MAX = 512  # launchers of an environment, or signatures of a jitted function
K = TypeVar("K")
V = TypeVar("V")
Launch = Callable[..., object]  # takes the addresses of lent memory, if it was bound so


def launches_directly() -> bool:
    """Return whether programs are launched without tinygrad: what it launches it can show and profile."""
    return not (DEBUG >= 2 or PROFILE)


def lends(device: DeviceName) -> bool:
    """Return whether a bound launch on a device can use memory of other libraries, which it does not outlast."""
    return isinstance(device, str) and (runs_natively(device) or is_cuda(device)) and launches_directly()


def base_of(u: UOp) -> UOp:
    """Return the base of a view, or the node itself."""
    while u.op in VIEWS:
        u = u.src[0]
    return u


def rebase(u: UOp, base: UOp) -> UOp:
    """Return a view with its base replaced by another one."""
    return u.replace(src=(rebase(u.src[0], base), *u.src[1:])) if u.op in VIEWS else base


def is_same_view(a: UOp, b: UOp) -> bool:
    """Return whether two views have the same values of one base in the same order, whatever their shapes are."""

    def selection(u: UOp) -> list[Any]:
        """Return what selects or permutes values, then the base."""
        steps: list[Any] = []
        while u.op in VIEWS:
            if u.op not in (Ops.RESHAPE, Ops.DETACH, Ops.CONTIGUOUS):
                steps.append((u.op, u.shape, u.arg, u.src[1:]))
            u = u.src[0]
        return [*steps, u]

    return selection(a) == selection(b)


def stored(values: Sequence[Tensor], buffers: Sequence[Tensor]) -> list[Tensor]:
    """Return lazy tensors that store values in whole buffers of their sizes and dtypes.

    A program whose result is a whole buffer of its own stores it in the given one instead, without a copy.
    """
    others: dict[UOp, UOp] = {}
    for x, buffer in zip(values, buffers, strict=True):
        after = base_of(x.uop)
        if after.op is Ops.AFTER and after.src[1].op is Ops.CALL and after.src[1].src[0].op is Ops.PROGRAM:
            own = base_of(after.src[0])
            if own.op is Ops.BUFFER and own.numel() == buffer.numel() and is_same_view(x.uop, after):
                others.setdefault(own, base_of(buffer.uop))
    results = []
    for x, buffer in zip(values, buffers, strict=True):
        moved = Tensor(x.uop.substitute(others))
        after = base_of(moved.uop)
        is_there = after.op is Ops.AFTER and base_of(after.src[0]) is base_of(buffer.uop)
        results.append(moved if is_there else buffer.assign(moved))
    return results


class _Program(NamedTuple):
    """Program loaded on one of the devices."""

    run: Callable[..., object]
    device: int
    positions: list[int]  # positions of its arguments among the buffers
    dimensions: dict[str, Any]
    share: int | None  # position of the argument that holds the blocks to play, if there is one
    bytes_moved: int  # by a launch, or by one of its blocks


class ProgramLauncher:
    """Finished programs, to be launched on different arguments.

    Buffers are the arguments, which differ from call to call, followed by the internal ones, which stay. Each program
    has the positions of its own arguments among them. A call takes tensors for the arguments and returns a prepared
    launch. The first call waits for the programs.
    """

    def __init__(
        self,
        programs: Callable[[], Sequence[tuple[UOp, list[int]]]],
        device: DeviceName,
        arguments: Sequence[UOp],
        internal: Sequence[UOp] = (),
    ):
        self.await_programs = programs
        self.devices = to_tuple(device)
        self.internal = internal
        # numbers of blocks in the launch that the programs were compiled for
        self.blocks = [blocks_of(u) for u in (*arguments, *internal)]

    def programs(self) -> list[UOp]:
        """Return the programs, in launch order."""
        return [program for program, _ in self.await_programs()]

    @cached_property
    def runs(self) -> list[_Program]:
        """Loaded programs, one per call and device, in launch order."""
        runs = []
        for program, positions in self.await_programs():
            share = next((k for k, place in enumerate(positions) if self.blocks[place]), None)
            # The estimate is for the number of blocks at compilation. A launch may play another number.
            moved = _bytes_moved(program) // (1 if share is None else self.blocks[positions[share]] or 1)
            # A program on several devices is loaded on each. tinygrad's variable `_device_num` selects the shard.
            for j, device in enumerate(self.devices):
                groups, threads = program.arg.launch_dims({})
                values = program.arg.vals({"_device_num": j})
                dimensions = {"global_size": groups, "local_size": threads, "vals": values}
                # OpenCL compiles now
                run = retry_without_cache(partial(get_runtime, device, program))
                runs.append(_Program(run, j, positions, dimensions, share, moved))
        return runs

    @cached_property
    def internal_memory(self) -> list[Sequence[Any]]:
        """Memory of the internal buffers: for each the parts on the devices."""
        return [[part.ensure_allocated() for part in shards(u)] for u in self.internal]

    @cached_property
    def jobs(self) -> list[Job]:
        """Programs for the native thread pool; empty for other devices."""
        native = runs_natively(self.devices[0])
        return [Job(p.run, p.dimensions, p.share) for p in self.runs] if native else []

    @cached_property
    def template(self) -> tuple[array[int], list[tuple[int, int, int]], list[tuple[int, int]]]:
        """Words of the jobs, with what a call fills in.

        The lists have (device, buffer, word) of each argument's address, and (buffer, word) of each number of blocks.
        """
        # The addresses of internal buffers never change, so they are resolved once. A call copies these words and fills
        # in only the addresses of its arguments and their numbers of blocks.
        words = array("Q")
        used = list[tuple[int, int, int]]()
        counted = list[tuple[int, int]]()
        # Arguments come first among the buffers, and the internal ones follow.
        outer = len(self.blocks) - len(self.internal)
        for p, job in zip(self.runs, self.jobs, strict=True):
            if p.share is not None:
                counted.append((p.positions[p.share], len(words) + BLOCKS_AT))
            first = len(words) + ARGUMENTS_AT
            used += [(p.device, buffer, first + k) for k, buffer in enumerate(p.positions) if buffer < outer]
            memory = [
                None if buffer < outer else self.internal_memory[buffer - outer][p.device] for buffer in p.positions
            ]
            device = self.devices[p.device]
            # Arguments have address 0 until a call fills in its own.
            words.extend(job.words([0 if part is None else part.get_buf(device).va_addr for part in memory]))
        return words, used, counted

    def __call__(self, arguments: Sequence[Tensor], *lent: Tensor) -> PreparedLaunch:
        """Return a prepared launch on these arguments.

        Args:
            arguments: buffers in the order of the programs' positions.
            lent: the arguments in whose place a call uses memory at the addresses that it takes, where `lends` holds.
        """
        # A tensor may be a view, and a program takes the address of the whole buffer.
        bases = [base_of(t.uop) for t in arguments]
        buffers = [*bases, *self.internal]
        parts = [*map(shards, bases), *self.internal_memory]
        moved = sum(
            p.bytes_moved * (1 if p.share is None else _blocks(buffers[p.positions[p.share]])) for p in self.runs
        )
        # A prepared launch finds the arguments to replace by these addresses among its words.
        replaced = [shard_address(shards(base_of(t.uop))[0]) for t in lent]
        launches: list[Any]
        if self.jobs:
            template, used, counted = self.template
            addresses = [
                [part[j].get_buf(device).va_addr for part in parts[: len(bases)]]
                for j, device in enumerate(self.devices)
            ]
            # Launches on other arguments share the template, so each one has a copy of its words.
            words = template[:]
            for device, buffer, word in used:
                words[word] = addresses[device][buffer]
            for buffer, word in counted:
                words[word] = _blocks(buffers[buffer])
            launches = [NativeLaunch(len(self.jobs), words, *replaced)]
        elif is_cuda(self.devices[0]):
            launches = [
                # A card runs its launches in the order of its stream, so each card has one call for all of them.
                CudaLaunches(device, [self._cuda_launch(p, parts) for p in self.runs if p.device == j], *replaced)
                for j, device in enumerate(self.devices)
            ]
        else:
            # Other devices launch by tinygrad's loaded program, without its checks of the arguments.
            memory = [[part[j].get_buf(device) for part in parts] for j, device in enumerate(self.devices)]
            launches = [
                partial(p.run, *(memory[p.device][place] for place in p.positions), **p.dimensions) for p in self.runs
            ]
        # The launches hold bare addresses, so the parts themselves must be kept.
        return PreparedLaunch(launches, len(self.runs), moved, parts)

    def _cuda_launch(self, p: _Program, parts: Sequence[Sequence[Any]]) -> CudaLaunch:
        """Return the launch of a program on a CUDA device, given the shards of every buffer."""
        addresses = [shard_address(parts[position][p.device]) for position in p.positions]
        values = [0 if value is None else int(value) for value in p.dimensions["vals"]]
        return CudaLaunch(p.run, p.dimensions["global_size"], p.dimensions["local_size"], addresses, values)


def _blocks(buffer: UOp) -> int:
    """Return the number of blocks in a buffer that `all_blocks` made."""
    blocks = blocks_of(buffer)
    assert blocks is not None
    return blocks


def _bytes_moved(program: UOp) -> int:
    """Return tinygrad's estimate of how many bytes a program moves; 0 if it is no number."""
    estimates = program.src[0].arg.estimates
    return estimates.mem if estimates is not None and isinstance(estimates.mem, int) else 0


class PreparedLaunch:
    """Programs with their memory, to be launched again and again.

    Attributes:
        launches: a `NativeLaunch`, `CudaLaunches` of each card, or calls of programs.
        count: number of programs.
        size: bytes that they move.
        held: memory that must stay allocated until then.
    """

    __slots__ = ("count", "held", "launches", "size")

    def __init__(self, launches: Sequence[Launch], count: int, size: int, held: object):
        self.launches = launches
        self.count = count
        self.size = size
        self.held = held

    def __call__(self, *lent: int) -> None:
        """Launch the programs; `lent` are addresses of the caller's memory, if they were bound with such memory."""
        for launch in self.launches:
            launch(*lent)
        # tinygrad counts its own launches only, and `te.jit` finds by the counter whether a call has launched anything.
        GlobalCounters.kernel_count += self.count
        GlobalCounters.global_mem += self.size

    def repeated(self, others: Sequence[PreparedLaunch], times: int) -> PreparedLaunch | None:
        """Return one call that repeats launches in turn, this one first; None where the device has no such call."""
        parts = [self, *others]
        launches: list[Any] = [launch for part in parts for launch in part.launches]
        count = times * sum(part.count for part in parts)
        size = times * sum(part.size for part in parts)
        # A lent address is given to one launch at a time, so launches with lent memory are not joined.
        if all(isinstance(launch, NativeLaunch) and not launch.lent_at for launch in launches):
            # The words of all turns stand one after another, so the pool runs them without a return to Python.
            jobs = sum((launch.jobs for launch in launches), array("Q"))
            return PreparedLaunch([NativeLaunch(count, jobs * times)], count, size, parts)
        # A graph belongs to one card. It copies its arguments when it is made, so no lent address could change later.
        cards = {launch.device for launch in launches if isinstance(launch, CudaLaunches) and not launch.places}
        if len(cards) == 1 and all(isinstance(launch, CudaLaunches) for launch in launches):
            nodes = [node for launch in launches for node in launch.launches] * times
            return PreparedLaunch([CudaGraph(cards.pop(), nodes)], count, size, parts)
        return None


def get_or_create(cache: dict[K, V], key: K, create: Callable[[], V]) -> V:
    """Return the value of a key, created if missing; the oldest of too many is dropped. Callers hold the LOCK."""
    if key not in cache:
        if len(cache) >= CACHE_MAX:
            # A dict keeps the order of insertion, so its first key is the oldest.
            del cache[next(iter(cache))]
        cache[key] = create()
    return cache[key]
