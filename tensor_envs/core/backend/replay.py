"""What a function of tensors did, done again to other buffers: the only place where `TinyJit` is used.

A TinyJit looks at its arguments for hundreds of microseconds at every call, and tinygrad resolves, checks and counts
for some 70 more a kernel, where a small batch's kernel takes 10. A replay launches the recorded programs itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, TinyJit
from tinygrad.dtype import DType
from tinygrad.engine import realize
from tinygrad.helpers import DEBUG, PROFILE, Context, GlobalCounters, to_tuple
from tinygrad.uop.ops import GroupOp, Ops, UOp, buffers

from tensor_envs.core.backend.device import DeviceName, buffer_of, empty_buffer, shards

VIEWS = {Ops.UNSHARD, Ops.BITCAST, Ops.DETACH, Ops.CONTIGUOUS, *GroupOp.Movement}
Launch = Callable[[], object]
Launcher = Callable[[Sequence[Tensor]], Launch]  # looks at buffers, launches when called


class Replay:
    """A function of tensors, recorded while it runs for the first time and replayed after it.

    The arguments must be whole buffers, of the same shapes, dtypes and devices in every call (the caller's cache key);
    which of them are written is up to the function. If it returns a tuple of tensors, those that it makes stand in new
    buffers at every call.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.captured: Any = None
        self.results: list[tuple[Tensor, UOp]] = []  # of the first call; the tensors may have changed since
        # their buffers, as far as it made them: sizes, dtypes and devices
        self.made: dict[UOp, tuple[int, DType, DeviceName]] = {}
        self.kept: set[UOp] = set()  # buffers of results that were there before
        self.launcher: Launcher | None = None  # None: tinygrad launches

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        new: dict[UOp, Tensor] = {}  # in place of the recorded buffers
        if self.captured is None:
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
        """A call with these arguments that does not look at them any more; for a function without results."""
        return functools.partial(self, *tensors) if self.launcher is None else self.launcher(tensors)

    def _record(self, tensors: Sequence[Tensor]) -> None:
        known = set(buffers)
        jit: Any = TinyJit(self.function)
        jit.cnt = 1  # record at once: TinyJit's first call would only run, and a call must take effect once
        # the programs one by one, in no graph of the device's
        with Context(JIT=2):  # type: ignore[no-untyped-call]
            results: Any = jit(*tensors)
        results = results if isinstance(results, tuple) else ()
        calls = jit.captured.linear.src
        written = {realize.get_call_arg_uops(c)[k] for c in calls for k in realize.get_call_outs_ins(c)[0]}
        bases = dict.fromkeys(base_of(t.uop) for t in results)
        made = [u for u in bases if u in written - known]
        if DEBUG < 2 and not PROFILE:  # what tinygrad launches it can show
            self.launcher = _launcher(calls, len(tensors), made)
        self.made = {u: (sum(part.size for part in shards(u)), u.dtype, u.arg.device) for u in made}
        self.kept = {u for u in bases if u in known or u.op is not Ops.BUFFER}
        self.results = [(t, t.uop) for t in results]
        self.captured = jit.captured


def base_of(u: UOp) -> UOp:
    """What is viewed."""
    while u.op in VIEWS:
        u = u.src[0]
    return u


def rebase(u: UOp, base: UOp) -> UOp:
    """The same view of something else."""
    return u.replace(src=(rebase(u.src[0], base), *u.src[1:])) if u.op in VIEWS else base


def _launcher(calls: Sequence[UOp], parameters: int, made: Sequence[UOp]) -> Launcher | None:
    """Recorded calls as launches of their programs with other buffers: those of the parameters, then of what is made.

    All others are used again. None if a call is no program on the one device, or the several, of all.
    """
    devices: tuple[str, ...] = to_tuple(calls[0].src[1].device)
    places = {u: parameters + k for k, u in enumerate(made)}
    given, programs, size = len(places) + parameters, [], 0
    for call in calls:
        program, arguments = call.src[0], realize.get_call_arg_uops(call)
        if program.op is not Ops.PROGRAM or any(to_tuple(u.device) != devices for u in arguments):
            return None
        used = [arguments[k] for k in program.arg.globals]
        where = [
            u.arg.slot if u.op is Ops.PARAM else places.setdefault(u, len(places) + parameters) for u in used
        ]
        estimates: Any = realize.estimate_uop(call)
        size += estimates.mem * len(devices)
        for j, device in enumerate(devices):
            groups, threads = program.arg.launch_dims({})
            values = program.arg.vals({"_device_num": j})
            dimensions = {"global_size": groups, "local_size": threads, "vals": values}
            programs.append((realize.get_runtime(device, program), j, where, dimensions))
    own = [u for u, place in places.items() if place >= given]
    if any(x.op is Ops.PARAM or x in made for u in own for x in u.toposort()):
        return None  # a part of one that is given
    fixed = [
        [shards(u)[j].ensure_allocated().get_buf(device) for u in own] for j, device in enumerate(devices)
    ]

    def launcher(arguments: Sequence[Tensor]) -> Launch:
        given = [shards(base_of(t.uop)) for t in arguments]
        memory = [[part[j].get_buf(device) for part in given] + fixed[j] for j, device in enumerate(devices)]
        ready = [
            functools.partial(run, *[memory[j][k] for k in where], **dimensions)
            for run, j, where, dimensions in programs
        ]

        return functools.partial(_launch, ready, size, given)

    return launcher


def _launch(programs: Sequence[Callable[[], object]], size: int, held: object) -> None:
    """held: the memory, which must not become somebody else's."""
    for program in programs:
        program()
    GlobalCounters.kernel_count += len(programs)
    GlobalCounters.global_mem += size
