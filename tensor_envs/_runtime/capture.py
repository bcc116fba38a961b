"""Functions of tensors that are captured by `TinyJit` and replayed without it.

A TinyJit examines its arguments for hundreds of microseconds at every call. A captured function launches the programs
of its TinyJit itself. The kernels of games need no capture, since their programs are known: see `ProgramLauncher`.
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
    """The function that a jit captures reads the values of a Tensor."""


class NothingRecordedError(Exception):
    """The function runs no kernel."""


class CapturedFunction:
    """Function of tensors that is captured in its first call and replayed in later ones.

    The arguments must be whole buffers, of the same dtypes and devices in every call. Their shapes must be the same,
    too, unless the caller knows that the programs take arrays of any size. The function may write to its arguments. It
    may return a tuple of tensors; buffers that it creates for them are new ones in every call.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.captured: Any = None  # tinygrad's captured graph
        self.process = 0  # id of the process that captured it
        # the tensors that the first call returned, with their nodes at that time: a Tensor may be assigned to later
        self.results: list[tuple[Tensor, UOp]] = []
        # size, dtype and device of each buffer that the function created for its results
        self.created: dict[UOp, tuple[int, DType, DeviceName]] = {}
        self.existing: set[UOp] = set()  # buffers of results that existed before the first call
        self.launcher: ProgramLauncher | None = None  # None: tinygrad launches

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        with LOCK:  # calls share the buffers of intermediate results
            return self.call(*tensors)

    def call(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Call the function, in a thread that holds the LOCK."""
        new: dict[UOp, Tensor] = {}  # buffers of this call's results by the buffers of the first call
        if not self.is_ready:
            self._record(tensors)
            if self.launcher is not None:  # later calls use other buffers, so these need no copy
                new = {u: Tensor(u) for u in self.created}
        elif self.launcher is not None:
            # A caller may still use the results of earlier calls, so every call gets new buffers for its results.
            new = {u: empty_buffer(*form) for u, form in self.created.items()}
            self.launcher([*tensors, *new.values()])()
        else:
            # A replay by tinygrad always writes to the buffers of the first call, from which `_result` copies.
            self.captured([buffer_of(t) for t in tensors], {})
        return tuple([new[u] if u in new else self._result(t, u, new) for t, u in self.results])

    @property
    def is_ready(self) -> bool:
        """Whether the function is captured in this process: a fork would share the memory of intermediate results."""
        return self.captured is not None and self.process == os.getpid()

    def _result(self, t: Tensor, view: UOp, new: dict[UOp, Tensor]) -> Tensor:
        """Return a result that is a view of a buffer.

        If the buffer has been replaced, the result is the same view of the new one. If the buffer existed before the
        first call, it is the tensor itself. Any other buffer is overwritten by the next call, so it is copied.
        """
        base = base_of(view)
        if base in new:
            return Tensor(rebase(view, base_of(new[base].uop)))
        return t if base in self.existing else realize(Tensor(view).clone())

    def programs(self) -> list[UOp]:
        """Return the programs of the captured function, in order."""
        return [] if self.captured is None else [call.src[0] for call in self.captured.linear.src]

    def bind(self, *tensors: Tensor) -> BoundLaunch:
        """Return a call with these arguments, for a function without results and one thread at a time."""
        return BoundLaunch(self, tensors)

    def _record(self, tensors: Sequence[Tensor]) -> None:
        """Run the function once and capture its programs."""
        # Buffers that appear during the capture belong to the function, all others to its caller.
        existing = set(buffers)
        jit: Any = TinyJit(self.function)
        jit.thread = threading.get_ident()  # for `is_capturing`
        jit.cnt = 1  # skip TinyJit's first call, which runs the function without capturing it
        # Compile the kernels of each graph in parallel before tinygrad adds the graph and compiles the rest in turn.
        add_graph = jit.add_linear

        def compile_first(linear: UOp, variables: dict[str, int]) -> None:
            allow_devices()  # see `realize`
            compile_graph(linear)
            add_graph(linear, variables)

        jit.add_linear = compile_first
        # JIT=2 keeps the programs apart, without a graph of the device
        with without_collecting(), compiling_in_process(), Context(JIT=2):  # type: ignore[no-untyped-call]
            try:
                results: Any = jit(*tensors)
            except JitError as error:
                # tinygrad raises JitError for several causes, which only the message distinguishes.
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
        # Only a buffer that a captured kernel writes can be replaced: a replay would leave a new one uninitialised.
        written = {get_call_arg_uops(c)[k] for c in calls for k in get_call_outs_ins(c)[0]}
        # Several results may be views of one buffer, which is replaced once.
        bases = dict.fromkeys(base_of(t.uop) for t in results)
        created = [u for u in bases if u in written - existing]
        self.launcher = _launcher(calls, tensors, created) if launches_directly() else None
        self.created = {u: (sum(shard.size for shard in shards(u)), u.dtype, u.arg.device) for u in created}
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


def _launcher(calls: Sequence[UOp], tensors: Sequence[Tensor], created: Sequence[UOp]) -> ProgramLauncher | None:
    """Return a launcher of captured calls whose arguments are `tensors` and the buffers `created` for results.

    Return None if a call is no program, if calls run on different devices, or if one uses a view of an argument.
    """
    # Positions of buffers: arguments by their slots, then the buffers of results, then the internal buffers in the
    # order of their first use.
    devices: tuple[str, ...] = to_tuple(calls[0].src[1].device)
    arguments = [*(base_of(t.uop) for t in tensors), *created]
    position_of = {u: len(tensors) + k for k, u in enumerate(created)}
    programs = []
    for call in calls:
        program = call.src[0]
        operands = get_call_arg_uops(call)
        # A copy between devices is also a call of the graph, and a launcher cannot make it.
        if program.op is not Ops.PROGRAM or any(to_tuple(u.device) != devices for u in operands):
            return None
        used = [operands[k] for k in program.arg.globals]
        positions = [
            u.arg.slot if u.op is Ops.PARAM else position_of.setdefault(u, len(tensors) + len(position_of))
            for u in used
        ]
        programs.append((program, positions))
    internal = list(position_of)[len(created) :]
    # The addresses of internal buffers are resolved once. A view of an argument has another address in every call.
    if any(x.op is Ops.PARAM or x in created for u in internal for x in u.toposort()):
        return None
    return ProgramLauncher(lambda: programs, devices, arguments, internal)


class BoundLaunch:
    """Call of a captured function with fixed arguments, prepared as soon as the function is captured."""

    def __init__(self, function: CapturedFunction, tensors: Sequence[Tensor]):
        self.function = function
        self.tensors = tensors
        self.launcher: ProgramLauncher | None = None
        self.launch: PreparedLaunch | None = None

    def prepared(self) -> PreparedLaunch | None:
        """Return the prepared launch; None while the function is not captured in this process."""
        launcher = self.function.launcher
        if launcher is None or not self.function.is_ready:
            return None
        # A new capture, as in a fork, has other programs and other internal buffers.
        if launcher is not self.launcher:
            with LOCK:  # always taken before the lock of Python 3.11's cached_property, so that no two threads block
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
    """Call that repeats several launches in turn, as one call of the device if it has such calls."""

    def __init__(self, launches: Sequence[Launch], times: int):
        self.launches = launches
        self.times = times
        self.parts: list[Any] = []
        self.joined: PreparedLaunch | None = None

    def __call__(self) -> None:
        parts = [launch.prepared() if isinstance(launch, BoundLaunch) else launch for launch in self.launches]
        if parts != self.parts:  # a function has been captured since the last call
            self.parts = parts
            self.joined = None
            prepared = [part for part in parts if isinstance(part, PreparedLaunch)]
            # Launches can be joined once every function is captured. Until then each is called by itself.
            if len(prepared) == len(parts):
                self.joined = prepared[0].repeated(prepared[1:], self.times)
        if self.joined is not None:
            self.joined()
            return
        for _ in range(self.times):
            for launch in self.launches:
                launch()
