"""Prepared launches of compiled programs.

tinygrad needs 70 us to launch a kernel, while the kernel of a small batch runs for 10 us. A launch here is prepared
once: it holds the programs and the addresses of their arrays in the form that the device takes. The form is a list of
words for the thread pool of the CPU, a block of arguments for the CUDA driver, and a call of tinygrad's loaded program
for other devices.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

# Operations that change no memory: a launch takes the address of the buffer behind them.
VIEWS = {Ops.UNSHARD, Ops.BITCAST, Ops.DETACH, Ops.CONTIGUOUS, *GroupOp.Movement}
CACHE_MAX = 512  # launchers of an environment, or signatures of a jitted function
K = TypeVar("K")
V = TypeVar("V")
Launch = Callable[..., object]  # function of the addresses of external memory, see `ProgramLauncher.__call__`


def launches_directly() -> bool:
    """Return whether programs are launched without tinygrad. Its debug output and profiles need its own launches."""
    return not (DEBUG >= 2 or PROFILE)


def takes_external_memory(device: DeviceName) -> bool:
    """Return whether prepared launches on a device can use memory of other libraries, given by its address."""
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
    """Return whether two views have the same values of one base in the same order; their shapes may differ."""

    def selection(u: UOp) -> list[Any]:
        """Return the operations of a view that select or permute values, then its base."""
        steps: list[Any] = []
        while u.op in VIEWS:
            if u.op not in (Ops.RESHAPE, Ops.DETACH, Ops.CONTIGUOUS):
                steps.append((u.op, u.shape, u.arg, u.src[1:]))
            u = u.src[0]
        return [*steps, u]

    return selection(a) == selection(b)


def stored(values: Sequence[Tensor], buffers: Sequence[Tensor]) -> list[Tensor]:
    """Return lazy tensors that store values in given buffers of their sizes and dtypes.

    A program that fills a whole buffer with a value writes to the given buffer instead. Other values are copied.
    """
    replacements: dict[UOp, UOp] = {}  # given buffers by the buffers of programs that they replace
    for x, buffer in zip(values, buffers, strict=True):
        after = base_of(x.uop)
        if after.op is Ops.AFTER and after.src[1].op is Ops.CALL and after.src[1].src[0].op is Ops.PROGRAM:
            own = base_of(after.src[0])
            if own.op is Ops.BUFFER and own.numel() == buffer.numel() and is_same_view(x.uop, after):
                replacements.setdefault(own, base_of(buffer.uop))
    results = []
    for x, buffer in zip(values, buffers, strict=True):
        value = Tensor(x.uop.substitute(replacements))
        after = base_of(value.uop)
        is_in_buffer = after.op is Ops.AFTER and base_of(after.src[0]) is base_of(buffer.uop)
        results.append(value if is_in_buffer else buffer.assign(value))
    return results


class _Program(NamedTuple):
    """Program loaded on one of the devices."""

    run: Callable[..., object]
    device: int  # index of the device
    positions: list[int]  # positions of its arguments among the buffers of the launcher
    dimensions: dict[str, Any]
    block_range: int | None  # which of its arguments is the range of blocks to play, if one is
    bytes_moved: int  # by a launch, or with a range of blocks by one block


class ProgramLauncher:
    """Compiled programs, which a call prepares for a launch on some arguments.

    The buffers of a launch are the arguments, which differ between calls, followed by internal buffers, which do not.
    Each program has the positions of its own arguments among these buffers. A call takes tensors for the arguments and
    returns a prepared launch. The first call waits for the programs.
    """

    def __init__(
        self,
        programs: Callable[[], Sequence[tuple[UOp, list[int]]]],
        device: DeviceName,
        arguments: Sequence[UOp],
        internal: Sequence[UOp] = (),
    ):
        """Wrap programs.

        Args:
            programs: function that waits for the programs and returns them with the positions of their arguments.
            device: device, or devices, of all buffers.
            arguments: base buffers of the arguments that the programs were compiled for.
            internal: the internal buffers.
        """
        self.await_programs = programs
        self.devices = to_tuple(device)
        self.internal = internal
        # for each buffer that is a range of blocks, its number of blocks at compilation
        self.compiled_blocks = [blocks_of(u) for u in (*arguments, *internal)]

    def programs(self) -> list[UOp]:
        """Return the programs, in launch order."""
        return [program for program, _ in self.await_programs()]

    @cached_property
    def loaded(self) -> list[_Program]:
        """Loaded programs, one per program and device, in launch order."""
        loaded = []
        for program, positions in self.await_programs():
            block_range = next((k for k, position in enumerate(positions) if self.compiled_blocks[position]), None)
            # The estimate is for the number of blocks at compilation. A launch may play another number.
            blocks = None if block_range is None else self.compiled_blocks[positions[block_range]]
            moved = _bytes_moved(program) // (blocks or 1)
            # A program on several devices is loaded on each. tinygrad's variable `_device_num` selects the shard.
            for j, device in enumerate(self.devices):
                groups, threads = program.arg.launch_dims({})
                values = program.arg.vals({"_device_num": j})
                dimensions = {"global_size": groups, "local_size": threads, "vals": values}
                # some devices, such as OpenCL, compile the source while they load it
                run = retry_without_cache(partial(get_runtime, device, program))
                loaded.append(_Program(run, j, positions, dimensions, block_range, moved))
        return loaded

    @cached_property
    def internal_memory(self) -> list[Sequence[Any]]:
        """Memory of the internal buffers: the shards of each."""
        return [[shard.ensure_allocated() for shard in shards(u)] for u in self.internal]

    @cached_property
    def jobs(self) -> list[Job]:
        """Programs for the native thread pool; empty for other devices."""
        native = runs_natively(self.devices[0])
        return [Job(p.run, p.dimensions, p.block_range) for p in self.loaded] if native else []

    @cached_property
    def template(self) -> tuple[array[int], list[tuple[int, int, int]], list[tuple[int, int]]]:
        """Words of the jobs, which a call copies and completes.

        The addresses of internal buffers never change, so they are in the words. A list of (device, buffer, word) says
        which address each other word of an argument needs, and a list of (buffer, word) says which number of blocks.
        """
        words = array("Q")
        address_words = list[tuple[int, int, int]]()
        block_words = list[tuple[int, int]]()
        # Arguments come first among the buffers, and the internal ones follow.
        num_arguments = len(self.compiled_blocks) - len(self.internal)
        for p, job in zip(self.loaded, self.jobs, strict=True):
            if p.block_range is not None:
                block_words.append((p.positions[p.block_range], len(words) + BLOCKS_AT))
            addresses = []
            for word, buffer in enumerate(p.positions, len(words) + ARGUMENTS_AT):
                if buffer < num_arguments:
                    address_words.append((p.device, buffer, word))
                    addresses.append(0)  # until a call fills in an address
                else:
                    addresses.append(shard_address(self.internal_memory[buffer - num_arguments][p.device]))
            words.extend(job.words(addresses))
        return words, address_words, block_words

    def __call__(self, arguments: Sequence[Tensor], *external: Tensor) -> PreparedLaunch:
        """Return a prepared launch on these arguments.

        Args:
            arguments: buffers, in the order of the positions.
            external: arguments that are placeholders for external memory, on devices where `takes_external_memory`
                holds. The prepared launch takes an address for each, and uses the memory there instead.
        """
        # A tensor may be a view, and a program takes the address of the whole buffer.
        bases = [base_of(t.uop) for t in arguments]
        buffers = [*bases, *self.internal]
        memory = [*map(shards, bases), *self.internal_memory]
        moved = sum(
            p.bytes_moved * (1 if p.block_range is None else _num_blocks(buffers[p.positions[p.block_range]]))
            for p in self.loaded
        )
        # A prepared launch finds the words to replace by the placeholders' addresses in them.
        placeholders = [shard_address(shards(base_of(t.uop))[0]) for t in external]
        launches: list[Any]
        if self.jobs:
            template, address_words, block_words = self.template
            addresses = [
                [parts[j].get_buf(device).va_addr for parts in memory[: len(bases)]]
                for j, device in enumerate(self.devices)
            ]
            words = template[:]
            for device, buffer, word in address_words:
                words[word] = addresses[device][buffer]
            for buffer, word in block_words:
                words[word] = _num_blocks(buffers[buffer])
            launches = [NativeLaunch(len(self.jobs), words, *placeholders)]
        elif is_cuda(self.devices[0]):
            launches = [
                # A card runs its launches in the order of its stream, so each card has one call for all of them.
                CudaLaunches(device, [_cuda_launch(p, memory) for p in self.loaded if p.device == j], *placeholders)
                for j, device in enumerate(self.devices)
            ]
        else:
            # Other devices launch by tinygrad's loaded program, without tinygrad's checks of the arguments.
            opaque = [[parts[j].get_buf(device) for parts in memory] for j, device in enumerate(self.devices)]
            launches = [
                partial(p.run, *(opaque[p.device][k] for k in p.positions), **p.dimensions) for p in self.loaded
            ]
        # The launches hold bare addresses, so the prepared launch keeps the memory alive.
        return PreparedLaunch(launches, len(self.loaded), moved, memory)


def _cuda_launch(p: _Program, memory: Sequence[Sequence[Any]]) -> CudaLaunch:
    """Return the launch of a program on a CUDA device, given the shards of every buffer."""
    addresses = [shard_address(memory[position][p.device]) for position in p.positions]
    values = [0 if value is None else int(value) for value in p.dimensions["vals"]]
    return CudaLaunch(p.run, p.dimensions["global_size"], p.dimensions["local_size"], addresses, values)


def _num_blocks(buffer: UOp) -> int:
    """Return the number of blocks in a buffer of `all_blocks`."""
    blocks = blocks_of(buffer)
    assert blocks is not None
    return blocks


def _bytes_moved(program: UOp) -> int:
    """Return tinygrad's estimate of how many bytes a program moves; 0 if it is no number."""
    estimates = program.src[0].arg.estimates
    return estimates.mem if estimates is not None and isinstance(estimates.mem, int) else 0


@dataclass(slots=True, eq=False)
class PreparedLaunch:
    """Call that launches programs on fixed memory.

    Attributes:
        launches: a `NativeLaunch`, `CudaLaunches` of each card, or calls of programs.
        count: number of programs.
        bytes_moved: bytes that they read and write.
        memory: objects that keep their memory allocated.
    """

    launches: Sequence[Launch]
    count: int
    bytes_moved: int
    memory: object

    def __call__(self, *external: int) -> None:
        """Launch the programs; `external` has an address for each placeholder, see `ProgramLauncher.__call__`."""
        for launch in self.launches:
            launch(*external)
        # tinygrad counts only its own launches. `te.jit` finds by the counter whether a call has launched anything.
        GlobalCounters.kernel_count += self.count
        GlobalCounters.global_mem += self.bytes_moved

    def repeated(self, others: Sequence[PreparedLaunch], times: int) -> PreparedLaunch | None:
        """Return one call that repeats this launch and others in turn; None if the device has no such call."""
        parts = [self, *others]
        launches: list[Any] = [launch for part in parts for launch in part.launches]
        count = times * sum(part.count for part in parts)
        size = times * sum(part.bytes_moved for part in parts)
        # External memory differs between the repetitions, so launches that use it are not joined.
        if all(isinstance(launch, NativeLaunch) and not launch.external_at for launch in launches):
            # The pool reads the words of all repetitions one after another, without a return to Python.
            jobs = sum((launch.jobs for launch in launches), array("Q"))
            return PreparedLaunch([NativeLaunch(count, jobs * times)], count, size, parts)
        # A graph belongs to one card. It copies its arguments when it is created.
        cards = {launch.device for launch in launches if isinstance(launch, CudaLaunches) and not launch.external_words}
        if len(cards) == 1 and all(isinstance(launch, CudaLaunches) for launch in launches):
            nodes = [node for launch in launches for node in launch.launches] * times
            return PreparedLaunch([CudaGraph(cards.pop(), nodes)], count, size, parts)
        return None


def get_or_create(cache: dict[K, V], key: K, create: Callable[[], V]) -> V:
    """Return the value of a key, created if missing; drop the oldest value of a full cache. Callers hold the LOCK."""
    if key not in cache:
        if len(cache) >= CACHE_MAX:
            # A dict keeps the order of insertion, so its first key is the oldest.
            del cache[next(iter(cache))]
        cache[key] = create()
    return cache[key]
