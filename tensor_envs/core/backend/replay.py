"""What a function of tensors did, done again to other buffers: the only place where `TinyJit` is used.

A TinyJit looks at its arguments for hundreds of microseconds at every call, and tinygrad resolves, checks and counts
for some 70 more a kernel, where a small batch's kernel takes 10. A replay launches the recorded programs itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

from tinygrad import Tensor, TinyJit
from tinygrad.dtype import DType
from tinygrad.engine import realize
from tinygrad.engine.jit import JitError
from tinygrad.helpers import DEBUG, PROFILE, Context, GlobalCounters, to_tuple
from tinygrad.renderer import Estimates
from tinygrad.uop.ops import GroupOp, Ops, UOp, buffers

from tensor_envs.core.backend.compiling import compiling
from tensor_envs.core.backend.device import LOCK, DeviceName, buffer_of, empty_buffer, shards
from tensor_envs.core.backend.launch import without_collecting
from tensor_envs.core.backend.threads import Job, blocks_of, native_launch, runs_natively

VIEWS = {Ops.UNSHARD, Ops.BITCAST, Ops.DETACH, Ops.CONTIGUOUS, *GroupOp.Movement}
KEPT_MAX = 512  # recorded functions of an environment, or signatures of a jitted one
Launch = Callable[[], object]


class NothingRecordedError(Exception):
    """The function runs no kernel."""


class Replay:
    """A function of tensors, recorded while it runs for the first time and replayed after it.

    The arguments must be whole buffers, of the same shapes, dtypes and devices in every call (the caller's cache key);
    which of them are written is up to the function. If it returns a tuple of tensors, those that it makes stand in new
    buffers at every call.
    """

    def __init__(self, function: Callable[..., Any], launcher: Launcher | None = None):
        """launcher: of a function without results whose programs are known, so that nothing has to be recorded."""
        self.function = function
        self.captured: Any = None
        self.results: list[tuple[Tensor, UOp]] = []  # of the first call; the tensors may have changed since
        # their buffers, as far as it made them: sizes, dtypes and devices
        self.made: dict[UOp, tuple[int, DType, DeviceName]] = {}
        self.kept: set[UOp] = set()  # buffers of results that were there before
        self.launcher = launcher  # None: tinygrad launches

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        with LOCK:  # what a function keeps between its kernels is there once
            return self._call(tensors)

    def _call(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        new: dict[UOp, Tensor] = {}  # in place of the recorded buffers
        if self.captured is None and self.launcher is None:
            self._record(tensors)
            if self.launcher is not None:  # which never writes into these again
                new = {u: Tensor(u) for u in self.made}
        elif self.launcher is not None:
            new = {u: empty_buffer(*about) for u, about in self.made.items()}
            self.launcher([*tensors, *new.values()])()
        else:
            self.captured([buffer_of(t) for t in tensors], {})
        return tuple([new[u] if u in new else self._result(t, u, new) for t, u in self.results])

    def _result(self, t: Tensor, view: UOp, new: dict[UOp, Tensor]) -> Tensor:
        """The same view of what takes the place of its buffer; a copy if that is the recorded one, used again."""
        base = base_of(view)
        if base in new:
            return Tensor(rebase(view, base_of(new[base].uop)))
        return t if base in self.kept else Tensor(view).clone().realize()

    def bind(self, *tensors: Tensor) -> Launch:
        """A call with these arguments that does not look at them any more; for a function without results.

        It is for one thread at a time.
        """
        return partial(self, *tensors) if self.launcher is None else self.launcher(tensors)

    def _record(self, tensors: Sequence[Tensor]) -> None:
        known = set(buffers)
        jit: Any = TinyJit(self.function)
        jit.cnt = 1  # record at once: TinyJit's first call would only run, and a call must take effect once
        # the programs one by one, in no graph of the device's
        with without_collecting(), compiling(), Context(JIT=2):  # type: ignore[no-untyped-call]
            try:
                results: Any = jit(*tensors)
            except JitError as error:
                if "didn't JIT" in str(error):
                    raise NothingRecordedError from None
                raise
        results = results if isinstance(results, tuple) else ()
        calls = jit.captured.linear.src
        written = {realize.get_call_arg_uops(c)[k] for c in calls for k in realize.get_call_outs_ins(c)[0]}
        bases = dict.fromkeys(base_of(t.uop) for t in results)
        made = [u for u in bases if u in written - known]
        if launches_directly():
            self.launcher = _launcher(calls, tensors, made)
        self.made = {u: (sum(part.size for part in shards(u)), u.dtype, u.arg.device) for u in made}
        self.kept = {u for u in bases if u in known or u.op is not Ops.BUFFER}
        self.results = [(t, t.uop) for t in results]
        self.captured = jit.captured


K = TypeVar("K")
V = TypeVar("V")


def kept(known: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """What is known by a key, made if need be; the oldest is forgotten where there is too much."""
    with LOCK:
        if key not in known:
            if len(known) >= KEPT_MAX:
                del known[next(iter(known))]
            known[key] = make()
        return known[key]


def launches_directly() -> bool:
    """Whether tinygrad launches nothing: what it does it can show."""
    return not (DEBUG >= 2 or PROFILE)


def base_of(u: UOp) -> UOp:
    """What is viewed."""
    while u.op in VIEWS:
        u = u.src[0]
    return u


def rebase(u: UOp, base: UOp) -> UOp:
    """The same view of something else."""
    return u.replace(src=(rebase(u.src[0], base), *u.src[1:])) if u.op in VIEWS else base


class _Program(NamedTuple):
    """A recorded program: on which of the devices, and which of the buffers are its arguments."""

    run: Callable[..., object]
    device: int
    where: list[int]
    dimensions: dict[str, Any]
    bytes: float  # that it moves, for every block if it has a share
    share: int | None  # the argument that says which blocks it plays, if one does


def _launcher(calls: Sequence[UOp], tensors: Sequence[Tensor], made: Sequence[UOp]) -> Launcher | None:
    """Recorded calls as launches of their programs with other buffers: those of `tensors`, then of what is made.

    All others are used again. None if a call is no program on the one device, or the several, of all.
    """
    devices: tuple[str, ...] = to_tuple(calls[0].src[1].device)
    given = [*(base_of(t.uop) for t in tensors), *made]
    places, programs = {u: len(tensors) + k for k, u in enumerate(made)}, []
    for call in calls:
        program, arguments = call.src[0], realize.get_call_arg_uops(call)
        if program.op is not Ops.PROGRAM or any(to_tuple(u.device) != devices for u in arguments):
            return None
        used = [arguments[k] for k in program.arg.globals]
        where = [
            u.arg.slot if u.op is Ops.PARAM else places.setdefault(u, len(tensors) + len(places))
            for u in used
        ]
        programs.append((program, where))
    own = list(places)[len(made) :]
    if any(x.op is Ops.PARAM or x in made for u in own for x in u.toposort()):
        return None  # a part of one that is given
    return Launcher(lambda: programs, devices, given, own)


class Launcher:
    """Programs, each with the places of its arguments among buffers like `given`, and then `own`, always the same.

    Called with tensors in place of `given` it looks at them, and returns what launches. The first call waits for the
    programs.
    """

    def __init__(
        self,
        programs: Callable[[], Sequence[tuple[UOp, list[int]]]],
        device: DeviceName,
        given: Sequence[UOp],
        own: Sequence[UOp] = (),
    ):
        self.come, self.devices, self.own = programs, to_tuple(device), own
        self.known = [blocks_of(u) for u in (*given, *own)]

    @cached_property
    def programs(self) -> Sequence[tuple[UOp, list[int]]]:
        return self.come()

    @cached_property
    def runs(self) -> list[_Program]:
        runs = []
        for program, where in self.programs:
            share = next((k for k, place in enumerate(where) if self.known[place]), None)
            estimates: Any = program.src[0].arg.estimates or Estimates()
            size = estimates.mem / (1 if share is None else self.known[where[share]])
            for j, device in enumerate(self.devices):
                groups, threads = program.arg.launch_dims({})
                values = program.arg.vals({"_device_num": j})
                dimensions = {"global_size": groups, "local_size": threads, "vals": values}
                run = realize.get_runtime(device, program)
                runs.append(_Program(run, j, where, dimensions, size, share))
        return runs

    @cached_property
    def fixed(self) -> list[list[Any]]:
        """The memory of `own` on every device."""
        parts = [[part.ensure_allocated() for part in shards(u)] for u in self.own]
        return [[part[j].get_buf(device) for part in parts] for j, device in enumerate(self.devices)]

    @cached_property
    def jobs(self) -> list[Job]:
        native = runs_natively(self.devices[0])
        return [Job(p.run, p.dimensions, p.share) for p in self.runs] if native else []

    def __call__(self, arguments: Sequence[Tensor]) -> Launch:
        bases = [base_of(t.uop) for t in arguments]
        held = [shards(u) for u in bases]
        memory = [
            [part[j].get_buf(device) for part in held] + self.fixed[j]
            for j, device in enumerate(self.devices)
        ]
        buffers = [*bases, *self.own]
        used = [[memory[p.device][place] for place in p.where] for p in self.runs]
        blocks = [None if p.share is None else blocks_of(buffers[p.where[p.share]]) for p in self.runs]
        size = sum(p.bytes * (n or 1) for p, n in zip(self.runs, blocks, strict=True))
        if self.jobs:
            words = [job.words(arrays, n) for job, arrays, n in zip(self.jobs, used, blocks, strict=True)]
            launches = [native_launch(words)]
        else:
            launches = [
                partial(p.run, *arrays, **p.dimensions) for p, arrays in zip(self.runs, used, strict=True)
            ]
        return partial(_launch, launches, len(self.runs), round(size), held)


def _launch(launches: Sequence[Callable[[], object]], count: int, size: int, held: object) -> None:
    """Launch `count` programs. held: the memory, which must not become somebody else's."""
    for launch in launches:
        launch()
    GlobalCounters.kernel_count += count
    GlobalCounters.global_mem += size
