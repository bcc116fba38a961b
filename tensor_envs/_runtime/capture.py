"""Captured functions: their programs are launched again on other buffers. The only module that uses `TinyJit`.

A TinyJit examines its arguments for hundreds of microseconds at every call, and tinygrad resolves, checks and counts
for another 70 a kernel, where a small batch's kernel takes 10. A captured function launches the programs itself.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

from tinygrad import Tensor, TinyJit
from tinygrad.dtype import DType
from tinygrad.engine.jit import JitError
from tinygrad.engine.realize import get_call_arg_uops, get_call_outs_ins, get_runtime
from tinygrad.helpers import DEBUG, PROFILE, Context, GlobalCounters, to_tuple
from tinygrad.uop.ops import GroupOp, Ops, UOp, buffers

from tensor_envs._runtime.buffers import buffer_of, empty_buffer, shards
from tensor_envs._runtime.context import LOCK, compiling_in_process, uncached_on_failure
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.launch import realize, without_collecting
from tensor_envs._runtime.programs import compile_graph
from tensor_envs._runtime.threads import ARGUMENTS_AT, BLOCKS_AT, Job, NativeLaunch, blocks_of, runs_natively

VIEWS = {Ops.UNSHARD, Ops.BITCAST, Ops.DETACH, Ops.CONTIGUOUS, *GroupOp.Movement}
CACHE_MAX = 512  # captured functions of an environment, or signatures of a jitted one
Launch = Callable[..., object]  # takes the address of lent memory, if it was bound so


class NothingRecordedError(Exception):
    """The function runs no kernel."""


class CapturedFunction:
    """A function of tensors, captured while it runs for the first time and replayed after it.

    The arguments must be whole buffers, of the same dtypes and devices in every call, and of the same shapes unless the
    programs serve others (the caller's cache key). The function may write to them. If it returns a tuple of tensors,
    those that it makes are in new buffers at every call.
    """

    def __init__(self, function: Callable[..., Any], launcher: ProgramLauncher | None = None):
        """Wrap a function; with a `launcher` of known programs a function without results needs no capture."""
        self.function = function
        self.captured: Any = None
        self.process = 0  # id of the process that captured it
        self.results: list[tuple[Tensor, UOp]] = []  # results of the first call; the tensors may have changed since
        # size, dtype and device of the buffers that the function makes for its results
        self.made: dict[UOp, tuple[int, DType, DeviceName]] = {}
        self.existing: set[UOp] = set()  # buffers of results that existed before
        self.launcher = launcher  # None: tinygrad launches

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        with LOCK:  # threads share the buffers between kernels
            return self.call(*tensors)

    def call(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Call the function, in a thread that holds the LOCK."""
        new: dict[UOp, Tensor] = {}  # by the captured buffer that each replaces
        if not self.is_ready:
            self._record(tensors)
            if self.launcher is not None:  # the launcher never writes into these again
                new = {u: Tensor(u) for u in self.made}
        elif self.launcher is not None:
            new = {u: empty_buffer(*form) for u, form in self.made.items()}
            self.launcher([*tensors, *new.values()])()
        else:
            self.captured([buffer_of(t) for t in tensors], {})
        return tuple([new[u] if u in new else self._result(t, u, new) for t, u in self.results])

    @property
    def is_ready(self) -> bool:
        """Whether captures are unnecessary: a fork would share the memory of intermediate results."""
        if self.captured is None:
            return self.launcher is not None
        return self.process == os.getpid()

    def _result(self, t: Tensor, view: UOp, new: dict[UOp, Tensor]) -> Tensor:
        """Return the same view of the new buffer; a copy of a captured buffer that the next call writes to."""
        base = base_of(view)
        if base in new:
            return Tensor(rebase(view, base_of(new[base].uop)))
        return t if base in self.existing else realize(Tensor(view).clone())

    def programs(self) -> list[UOp]:
        """Return the programs of the captured function, in order."""
        if self.captured is not None:
            return [call.src[0] for call in self.captured.linear.src]
        return [] if self.launcher is None else [program for program, _ in self.launcher.await_programs()]

    def bind(self, *tensors: Tensor, lent: Tensor | None = None) -> Launch:
        """Return a prepared call with these arguments, for a function without results and one thread at a time.

        lent: the argument in whose place a call uses memory at the address that it takes, where `lends` holds.
        """
        bound = BoundLaunch(self, tensors, lent)
        # known programs have no memory but that of the arguments, so their launch stays valid
        launch = bound.prepared() if self.captured is None else None
        return bound if launch is None else launch

    def _record(self, tensors: Sequence[Tensor]) -> None:
        """Run the function once and capture its programs."""
        existing = set(buffers)
        jit: Any = TinyJit(self.function)
        jit.thread = threading.get_ident()  # for `is_capturing`
        jit.cnt = 1  # capture at once: TinyJit's first call would only run, and a call must take effect once
        add_graph = jit.add_linear

        def compile_first(linear: UOp, variables: dict[str, int]) -> None:
            compile_graph(linear)
            add_graph(linear, variables)

        jit.add_linear = compile_first
        # JIT=2: the programs one by one, in no graph of the device's
        with without_collecting(), compiling_in_process(), Context(JIT=2):  # type: ignore[no-untyped-call]
            try:
                results: Any = jit(*tensors)
            except JitError as error:
                if "didn't JIT" in str(error):
                    raise NothingRecordedError from None
                raise
        results = results if isinstance(results, tuple) else ()
        calls = jit.captured.linear.src
        written = {get_call_arg_uops(c)[k] for c in calls for k in get_call_outs_ins(c)[0]}
        bases = dict.fromkeys(base_of(t.uop) for t in results)
        made = [u for u in bases if u in written - existing]
        self.launcher = _launcher(calls, tensors, made) if launches_directly() else None
        self.made = {u: (sum(part.size for part in shards(u)), u.dtype, u.arg.device) for u in made}
        self.existing = {u for u in bases if u in existing or u.op is not Ops.BUFFER}
        self.results = [(t, t.uop) for t in results]
        self.captured, self.process = jit.captured, os.getpid()


K = TypeVar("K")
V = TypeVar("V")


def get_or_create(cache: dict[K, V], key: K, create: Callable[[], V]) -> V:
    """Return the value of a key, created if missing; the oldest of too many is dropped. Callers hold the LOCK."""
    if key not in cache:
        if len(cache) >= CACHE_MAX:
            del cache[next(iter(cache))]
        cache[key] = create()
    return cache[key]


def launches_directly() -> bool:
    """Return whether programs are launched without tinygrad: what it launches it can show and profile."""
    return not (DEBUG >= 2 or PROFILE)


def lends(device: DeviceName) -> bool:
    """Return whether a bound launch on a device can use memory of other libraries, which it does not outlast."""
    return isinstance(device, str) and runs_natively(device) and launches_directly()


def base_of(u: UOp) -> UOp:
    """Return the base of a view, or the node itself."""
    while u.op in VIEWS:
        u = u.src[0]
    return u


def rebase(u: UOp, base: UOp) -> UOp:
    """Return the same view of another base."""
    return u.replace(src=(rebase(u.src[0], base), *u.src[1:])) if u.op in VIEWS else base


class _Program(NamedTuple):
    """Program loaded on one of the devices."""

    run: Callable[..., object]
    device: int
    positions: list[int]  # positions of its arguments among the buffers
    dimensions: dict[str, Any]
    share: int | None  # position of the argument that holds the blocks to play, if there is one
    bytes_moved: int  # by a launch, or by one of its blocks


def _launcher(calls: Sequence[UOp], tensors: Sequence[Tensor], made: Sequence[UOp]) -> ProgramLauncher | None:
    """Return a launcher of captured calls for other buffers in place of those of `tensors` and `made`.

    None if a call is no program on the one device, or the several, of all.
    """
    devices: tuple[str, ...] = to_tuple(calls[0].src[1].device)
    arguments = [*(base_of(t.uop) for t in tensors), *made]
    places, programs = {u: len(tensors) + k for k, u in enumerate(made)}, []
    for call in calls:
        program, operands = call.src[0], get_call_arg_uops(call)
        if program.op is not Ops.PROGRAM or any(to_tuple(u.device) != devices for u in operands):
            return None
        used = [operands[k] for k in program.arg.globals]
        positions = [
            u.arg.slot if u.op is Ops.PARAM else places.setdefault(u, len(tensors) + len(places)) for u in used
        ]
        programs.append((program, positions))
    internal = list(places)[len(made) :]
    if any(x.op is Ops.PARAM or x in made for u in internal for x in u.toposort()):
        return None  # a view of an argument
    return ProgramLauncher(lambda: programs, devices, arguments, internal)


class ProgramLauncher:
    """Programs of a captured function, to be launched on other arguments.

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
        self.await_programs, self.devices, self.internal = programs, to_tuple(device), internal
        # numbers of blocks in the launch that the programs were compiled for
        self.blocks = [blocks_of(u) for u in (*arguments, *internal)]

    @cached_property
    def runs(self) -> list[_Program]:
        """Loaded programs, one per call and device, in launch order."""
        runs = []
        for program, positions in self.await_programs():
            share = next((k for k, place in enumerate(positions) if self.blocks[place]), None)
            moved = _bytes_moved(program) // (1 if share is None else self.blocks[positions[share]] or 1)
            for j, device in enumerate(self.devices):
                groups, threads = program.arg.launch_dims({})
                values = program.arg.vals({"_device_num": j})
                dimensions = {"global_size": groups, "local_size": threads, "vals": values}
                # OpenCL compiles now
                run = uncached_on_failure(partial(get_runtime, device, program))
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
        """Words of the jobs; device, buffer and place of each argument; buffer and place of each number of blocks."""
        words, used, counted = array("Q"), list[tuple[int, int, int]](), list[tuple[int, int]]()
        outer = len(self.blocks) - len(self.internal)
        for p, job in zip(self.runs, self.jobs, strict=True):
            if p.share is not None:
                counted.append((p.positions[p.share], len(words) + BLOCKS_AT))
            first = len(words) + ARGUMENTS_AT
            used += [(p.device, place, first + k) for k, place in enumerate(p.positions) if place < outer]
            memory = [None if place < outer else self.internal_memory[place - outer][p.device] for place in p.positions]
            device = self.devices[p.device]
            words.extend(job.words([0 if part is None else part.get_buf(device).va_addr for part in memory]))
        return words, used, counted

    def __call__(self, arguments: Sequence[Tensor], lent: Tensor | None = None) -> PreparedLaunch:
        bases = [base_of(t.uop) for t in arguments]
        buffers, parts = [*bases, *self.internal], [*map(shards, bases), *self.internal_memory]
        moved = sum(
            p.bytes_moved * (1 if p.share is None else _blocks(buffers[p.positions[p.share]])) for p in self.runs
        )
        launches: list[Launch]
        if self.jobs:
            template, used, counted = self.template
            addresses = [
                [part[j].get_buf(device).va_addr for part in parts[: len(bases)]]
                for j, device in enumerate(self.devices)
            ]
            words = template[:]
            for device, buffer, place in used:
                words[place] = addresses[device][buffer]
            for buffer, place in counted:
                words[place] = _blocks(buffers[buffer])
            address = None if lent is None else shards(base_of(lent.uop))[0].get_buf(self.devices[0]).va_addr
            launches = [NativeLaunch(len(self.jobs), words, address)]
        else:
            memory = [[part[j].get_buf(device) for part in parts] for j, device in enumerate(self.devices)]
            launches = [
                partial(p.run, *(memory[p.device][place] for place in p.positions), **p.dimensions) for p in self.runs
            ]
        return PreparedLaunch(launches, len(self.runs), moved, parts)


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
        launches: a `NativeLaunch`, or calls of programs.
        count: number of programs.
        size: bytes that they move.
        held: memory that must stay allocated until then.
    """

    __slots__ = ("count", "held", "launches", "size")

    def __init__(self, launches: Sequence[Launch], count: int, size: int, held: object):
        self.launches, self.count, self.size, self.held = launches, count, size, held

    def __call__(self, *lent: int) -> None:
        """Launch the programs. lent: address of lent memory, for a native launch that was bound so."""
        for launch in self.launches:
            launch(*lent)
        GlobalCounters.kernel_count += self.count
        GlobalCounters.global_mem += self.size


class BoundLaunch:
    """Call of a captured function with the same arguments, prepared once the function is captured in this process."""

    def __init__(self, function: CapturedFunction, tensors: Sequence[Tensor], lent: Tensor | None = None):
        self.function, self.tensors, self.lent = function, tensors, lent
        self.launcher: ProgramLauncher | None = None
        self.launch: PreparedLaunch | None = None

    def prepared(self) -> PreparedLaunch | None:
        """Return the launch; None before the capture, and in a forked process, which captures anew."""
        launcher = self.function.launcher
        if launcher is None or not self.function.is_ready:
            return None
        if launcher is not self.launcher:
            with LOCK:  # before that of Python 3.11's cached_property
                self.launcher, self.launch = launcher, launcher(self.tensors, self.lent)
        return self.launch

    def __call__(self, *lent: int) -> None:
        launch = self.prepared()
        if launch is None:
            self.function(*self.tensors)
        else:
            launch(*lent)


class RepeatedLaunch:
    """Launches in turn, several times over; native ones by a single call."""

    def __init__(self, launches: Sequence[Launch], times: int):
        self.launches, self.times = launches, times
        self.parts: list[Any] = []
        self.joined: PreparedLaunch | None = None

    def __call__(self) -> None:
        parts = [launch.prepared() if isinstance(launch, BoundLaunch) else launch for launch in self.launches]
        if parts != self.parts:
            self.parts, self.joined = parts, self._join(parts)
        if self.joined is not None:
            self.joined()
            return
        for _ in range(self.times):
            for launch in self.launches:
                launch()

    def _join(self, parts: Sequence[Any]) -> PreparedLaunch | None:
        """Return a single launch; None unless all parts are native."""
        if not all(isinstance(part, PreparedLaunch) for part in parts):
            return None
        native = [launch for part in parts for launch in part.launches]
        if not all(isinstance(launch, NativeLaunch) and launch.lent_at is None for launch in native):
            return None
        jobs, count = array("Q"), self.times * sum(launch.count for launch in native)
        for launch in native:
            jobs += launch.jobs
        size = self.times * sum(part.size for part in parts)
        return PreparedLaunch([NativeLaunch(count, jobs * self.times)], count, size, parts)
