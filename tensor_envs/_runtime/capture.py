"""Captured functions: their programs are launched again on other buffers. The only module that uses `TinyJit`.

A TinyJit examines its arguments for hundreds of microseconds at every call. A captured function launches the programs
itself. Kernels of games are not captured: their programs are known, see `ProgramLauncher`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tinygrad import Tensor, TinyJit
from tinygrad.dtype import DType
from tinygrad.engine.jit import JitError
from tinygrad.engine.realize import get_call_arg_uops, get_call_outs_ins
from tinygrad.helpers import Context, to_tuple
from tinygrad.uop.ops import Ops, UOp, buffers

from tensor_envs._runtime.buffers import buffer_of, empty_buffer, shards
from tensor_envs._runtime.context import LOCK, allow_devices, runs_before_capture
from tensor_envs._runtime.devices import DeviceName, compiling_in_process
from tensor_envs._runtime.launch import realize, without_collecting
from tensor_envs._runtime.launcher import Launch, PreparedLaunch, ProgramLauncher, base_of, launches_directly, rebase
from tensor_envs._runtime.programs import compile_graph


class ReadInJitError(JitError):
    """A function reads the values of a Tensor while a jit captures it."""


class NothingRecordedError(Exception):
    """The function runs no kernel."""


class CapturedFunction:
    """A function of tensors, captured while it runs for the first time and replayed after it.

    The arguments must be whole buffers, of the same dtypes and devices in every call, and of the same shapes unless the
    programs serve others (the caller's cache key). The function may write to them. If it returns a tuple of tensors,
    those that it makes are in new buffers at every call.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.captured: Any = None
        self.process = 0  # id of the process that captured it
        self.results: list[tuple[Tensor, UOp]] = []  # results of the first call; the tensors may have changed since
        # size, dtype and device of the buffers that the function makes for its results
        self.made: dict[UOp, tuple[int, DType, DeviceName]] = {}
        self.existing: set[UOp] = set()  # buffers of results that existed before
        self.launcher: ProgramLauncher | None = None  # None: tinygrad launches

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
            # A caller may still use the results of earlier calls, so the results of each call have memory of their own.
            new = {u: empty_buffer(*form) for u, form in self.made.items()}
            self.launcher([*tensors, *new.values()])()
        else:
            # A replay by tinygrad always writes to the captured buffers, from which `_result` copies.
            self.captured([buffer_of(t) for t in tensors], {})
        return tuple([new[u] if u in new else self._result(t, u, new) for t, u in self.results])

    @property
    def is_ready(self) -> bool:
        """Whether captures are unnecessary: a fork would share the memory of intermediate results."""
        return self.captured is not None and self.process == os.getpid()

    def _result(self, t: Tensor, view: UOp, new: dict[UOp, Tensor]) -> Tensor:
        """Return a result as the same view of its new buffer, else a copy if the next call writes to its buffer."""
        base = base_of(view)
        if base in new:
            return Tensor(rebase(view, base_of(new[base].uop)))
        return t if base in self.existing else realize(Tensor(view).clone())

    def programs(self) -> list[UOp]:
        """Return the programs of the captured function, in order."""
        return [] if self.captured is None else [call.src[0] for call in self.captured.linear.src]

    def bind(self, *tensors: Tensor) -> BoundLaunch:
        """Return a prepared call with these arguments, for a function without results and one thread at a time."""
        return BoundLaunch(self, tensors)

    def _record(self, tensors: Sequence[Tensor]) -> None:
        """Run the function once and capture its programs."""
        # Buffers that appear during the capture are the function's own. All others belong to its caller.
        existing = set(buffers)
        jit: Any = TinyJit(self.function)
        jit.thread = threading.get_ident()  # for `is_capturing`
        jit.cnt = 1  # capture at once: TinyJit's first call would only run, and a call must take effect once
        # The kernels of a graph compile side by side before tinygrad adds the graph, which would compile them in turn.
        add_graph = jit.add_linear

        def compile_first(linear: UOp, variables: dict[str, int]) -> None:
            allow_devices()  # see `realize`
            compile_graph(linear)
            add_graph(linear, variables)

        jit.add_linear = compile_first
        # JIT=2: the programs one by one, in no graph of the device's
        with without_collecting(), compiling_in_process(), Context(JIT=2):  # type: ignore[no-untyped-call]
            try:
                results: Any = jit(*tensors)
            except JitError as error:
                # tinygrad raises JitError for several causes, which only the message tells apart.
                if "didn't JIT" in str(error):
                    raise NothingRecordedError from None
                if "cannot access tensor data" in str(error):
                    raise ReadInJitError(
                        "a function that a jit captures must not read values of Tensors in Python, by numpy, item or "
                        "tolist: a replay would use those of the capture"
                    ) from error
                raise
        results = results if isinstance(results, tuple) else ()
        calls = jit.captured.linear.src
        # A replay fills only the buffers that a captured kernel writes, so only these can be replaced by new ones.
        written = {get_call_arg_uops(c)[k] for c in calls for k in get_call_outs_ins(c)[0]}
        # Several results may be views of one buffer, which is replaced once.
        bases = dict.fromkeys(base_of(t.uop) for t in results)
        made = [u for u in bases if u in written - existing]
        self.launcher = _launcher(calls, tensors, made) if launches_directly() else None
        self.made = {u: (sum(part.size for part in shards(u)), u.dtype, u.arg.device) for u in made}
        self.existing = {u for u in bases if u in existing or u.op is not Ops.BUFFER}
        self.results = [(t, t.uop) for t in results]
        self.captured = jit.captured
        self.process = os.getpid()


@contextmanager
def before_capture() -> Iterator[None]:
    """Run a function as its capture will run it, so that the kernels of both are compiled once.

    At the end all states that the function created are realised: it may have stored one that no result depends on.
    """
    with compiling_in_process():
        runs_before_capture.append((threading.get_ident(), []))
        try:
            yield
        finally:
            _, to_realize = runs_before_capture.pop()
            if to_realize:
                Tensor.realize(*to_realize)


def _launcher(calls: Sequence[UOp], tensors: Sequence[Tensor], made: Sequence[UOp]) -> ProgramLauncher | None:
    """Return a launcher that repeats captured calls with other buffers for `tensors` and `made`.

    It is None if a call is no program, or if calls run on different devices.
    """
    # Positions of buffers: arguments by their slots, then the buffers of results, then the internal buffers in the
    # order of their first use.
    devices: tuple[str, ...] = to_tuple(calls[0].src[1].device)
    arguments = [*(base_of(t.uop) for t in tensors), *made]
    places = {u: len(tensors) + k for k, u in enumerate(made)}
    programs = []
    for call in calls:
        program = call.src[0]
        operands = get_call_arg_uops(call)
        # A copy between devices is also a call of the graph, and a launcher has no launch for it.
        if program.op is not Ops.PROGRAM or any(to_tuple(u.device) != devices for u in operands):
            return None
        used = [operands[k] for k in program.arg.globals]
        positions = [
            u.arg.slot if u.op is Ops.PARAM else places.setdefault(u, len(tensors) + len(places)) for u in used
        ]
        programs.append((program, positions))
    internal = list(places)[len(made) :]
    # The addresses of internal buffers are resolved once, but an argument has another address in every call.
    if any(x.op is Ops.PARAM or x in made for u in internal for x in u.toposort()):
        return None  # a view of an argument
    return ProgramLauncher(lambda: programs, devices, arguments, internal)


class BoundLaunch:
    """Call of a captured function with the same arguments, prepared once the function is captured in this process."""

    def __init__(self, function: CapturedFunction, tensors: Sequence[Tensor]):
        self.function = function
        self.tensors = tensors
        self.launcher: ProgramLauncher | None = None
        self.launch: PreparedLaunch | None = None

    def prepared(self) -> PreparedLaunch | None:
        """Return the launch; None before the capture, and in a forked process, which captures anew."""
        launcher = self.function.launcher
        if launcher is None or not self.function.is_ready:
            return None
        # A later capture, as in a forked process, has other programs and other internal buffers.
        if launcher is not self.launcher:
            with LOCK:  # before that of Python 3.11's cached_property
                self.launcher = launcher
                self.launch = launcher(self.tensors)
        return self.launch

    def __call__(self) -> None:
        launch = self.prepared()
        if launch is None:
            self.function(*self.tensors)
        else:
            launch()


class RepeatedLaunch:
    """Launches in turn, several times over; by a single call where the device has one."""

    def __init__(self, launches: Sequence[Launch], times: int):
        self.launches = launches
        self.times = times
        self.parts: list[Any] = []
        self.joined: PreparedLaunch | None = None

    def __call__(self) -> None:
        parts = [launch.prepared() if isinstance(launch, BoundLaunch) else launch for launch in self.launches]
        if parts != self.parts:  # a function was captured since
            self.parts = parts
            self.joined = None
            prepared = [part for part in parts if isinstance(part, PreparedLaunch)]
            # A call of all launches is possible once every function is captured. Until then each is called by itself.
            if len(prepared) == len(parts):
                self.joined = prepared[0].repeated(prepared[1:], self.times)
        if self.joined is not None:
            self.joined()
            return
        for _ in range(self.times):
            for launch in self.launches:
                launch()
