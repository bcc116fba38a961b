"""CUDA beside other libraries: contexts, the order of streams, prepared launches and graphs.

tinygrad's CUDA device works on the null stream of a context of its own, and leaves that context current in the thread.
PyTorch, JAX and CuPy work in the card's primary context. A card that changes between contexts loses about 130 us each
time (H200, driver 580), ten times a small step. So the launches here move to the primary context once another library
exchanges arrays with the card:

    tinygrad's context    uploads, downloads, tinygrad's own kernels
    primary context       PyTorch's kernels, and after `use_primary_context` our launches, on the null stream

The null streams of two contexts have no common order, so events order them; no call stops the host. A launch waits for
the work that tinygrad has queued before it. tinygrad's stream waits for the launch: at once, or within a `Deferral`
before tinygrad's next operation. A deferral suits loops of launches in which tinygrad has nothing to do.

Memory needs no exchange, since the contexts of a card share an address space. Every operation restores the context
that was current before it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from tinygrad import Device

CUDA_DEVICE = 2  # DLPack's kDLCUDA
DISABLE_TIMING = 2  # flag of an event that only orders streams
# CU_LAUNCH_PARAM_...: tags before the address and the size of a launch's arguments, and the end of the list
END = 0
BLOCK = 1
SIZE = 2
LEGACY_STREAM = 1  # handle of the null stream in DLPack; 0 is a handle of it, too
NOTHING = nullcontext()
T = TypeVar("T")


class NodeParameters(Structure):
    """The driver's CUDA_KERNEL_NODE_PARAMS_v1."""

    _fields_ = [
        ("function", c_void_p),
        *((f"{unit}_{axis}", c_uint) for unit in ("group", "thread") for axis in "xyz"),
        ("shared_bytes", c_uint),
        ("values", c_void_p),
        ("arguments", c_void_p),
    ]


# types of the arguments of the driver's functions
SIGNATURES: dict[str, list[Any]] = {
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuInit": [c_uint],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceTotalMem_v2": [POINTER(c_size_t), c_int],
    "cuCtxGetCurrent": [POINTER(c_void_p)],
    "cuCtxSetCurrent": [c_void_p],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventQuery": [c_void_p],
    "cuStreamQuery": [c_void_p],
    "cuStreamWaitEvent": [c_void_p, c_void_p, c_uint],
    "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuMemcpyDtoDAsync_v2": [c_uint64, c_uint64, c_size_t, c_void_p],
    "cuLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p],
    "cuGraphCreate": [POINTER(c_void_p), c_uint],
    "cuGraphAddKernelNode": [POINTER(c_void_p), c_void_p, c_void_p, c_size_t, POINTER(NodeParameters)],
    "cuGraphInstantiateWithFlags": [POINTER(c_void_p), c_void_p, c_uint64],
    "cuGraphDestroy": [c_void_p],
    "cuGraphLaunch": [c_void_p, c_void_p],
    "cuGraphExecDestroy": [c_void_p],
}


@functools.cache
def driver() -> Any:
    """Return the CUDA driver, whose interface is the same in all its versions."""
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    # Without declared types ctypes would pass handles and addresses as ints of 32 bits.
    for name, types in SIGNATURES.items():
        getattr(library, name).argtypes = types
    library.cuInit(0)  # a failure is not checked here: the next call reports it with its reason
    return library


def check(status: int) -> None:
    """Raise RuntimeError if a call of the driver has failed."""
    if status:
        text = c_char_p()
        driver().cuGetErrorString(status, byref(text))
        raise RuntimeError(f"CUDA error {status}: {(text.value or b'unknown').decode()}")


@functools.cache  # called in every step
def is_cuda(device: str | tuple[str, ...]) -> bool:
    """Return whether a device is a single CUDA device of tinygrad."""
    return isinstance(device, str) and device.split(":")[0] == "CUDA"


@functools.cache
def card_of(device: str) -> int:
    """Return the number of a device's card."""
    return int(device.partition(":")[2] or 0)


def memory_of(device: str) -> int:
    """Return the bytes of a card's memory."""
    size = c_size_t()
    check(driver().cuDeviceTotalMem_v2(byref(size), card(device).handle))
    return size.value


def on_card(x: Any) -> bool:
    """Return whether an array of another library is on a CUDA card."""
    if hasattr(x, "is_cuda"):  # PyTorch's attribute, several times as fast as its `__dlpack_device__`
        return bool(x.is_cuda)
    device = getattr(x, "__dlpack_device__", None)
    return device is not None and device()[0] == CUDA_DEVICE


# *** contexts ***


class CudaCard:
    """A card with tinygrad's context and the primary context.

    Attributes:
        own: tinygrad's context.
        primary: context of the other libraries; None until launches move there.
        new_launches: whether there are launches for which tinygrad's stream does not wait yet.
        new_operations: whether there are operations of tinygrad for which launches do not wait yet.
    """

    def __init__(self, device: str):
        self.own = ctypes.cast(_opened(device).context, c_void_p)
        self.handle = _opened(device).cu_device
        self.primary: c_void_p | None = None
        self.new_launches = False
        self.new_operations = False
        self.own_event = c_void_p()
        self.primary_event = c_void_p()

    def use_primary_context(self) -> None:
        """Move the launches to the primary context; earlier launches come first."""
        if self.primary is not None:
            return
        cuda = driver()
        primary = c_void_p()
        with _restoring_context():
            check(cuda.cuDevicePrimaryCtxRetain(byref(primary), self.handle))
            # An event can only be recorded on a stream of its own context, so each context has one.
            for context, event in ((self.own, self.own_event), (primary, self.primary_event)):
                check(cuda.cuCtxSetCurrent(context))
                check(cuda.cuEventCreate(byref(event), DISABLE_TIMING))
            self.primary = primary
            # All launches until now are on tinygrad's stream.
            self._launches_wait()

    def tinygrad_waits(self) -> None:
        """Have tinygrad's stream wait for new launches. The caller restores the context."""
        if self.new_launches:
            self.new_launches = False
            _wait(self.primary, self.primary_event, 0, self.own, 0)

    def _launches_wait(self) -> None:
        """Have launches wait for the work that tinygrad has queued, unless all of it has ended."""
        cuda = driver()
        check(cuda.cuCtxSetCurrent(self.own))
        if cuda.cuStreamQuery(None) != 0:
            _wait(self.own, self.own_event, 0, self.primary, 0)
        self.new_operations = False

    def enter(self) -> int | None:
        """Begin a launch: have it wait for tinygrad's operations, and make the context of launches current.

        Returns:
            The context that was current, for `leave`.
        """
        before = _current()
        if self.primary is None:
            # Launches and tinygrad share a stream, which keeps their order.
            check(driver().cuCtxSetCurrent(self.own))
        # Within a `Deferral` tinygrad works only by `tinygrad_operation`, which sets `new_operations`. Elsewhere a
        # caller's own Tensors may have queued work at any time.
        elif self.new_operations or not _thread.deferring:
            self._launches_wait()
            check(driver().cuCtxSetCurrent(self.primary))
        elif before != self.primary.value:
            check(driver().cuCtxSetCurrent(self.primary))
        return before

    def leave(self, before: int | None) -> None:
        """End a launch: have tinygrad's stream wait for it, unless that is deferred, and restore the context."""
        if self.primary is not None:
            self.new_launches = True
            # A caller's own operations on Tensors bypass `tinygrad_operation`, so tinygrad's stream must wait now.
            if not _thread.deferring:
                self.tinygrad_waits()
            elif before == self.primary.value:  # it is still current
                return
        _restore(before)


_cards: dict[str, CudaCard] = {}  # by the name of the device


class _ThreadState(threading.local):
    """State of a thread.

    Attributes:
        deferring: whether the thread is within a `Deferral`.
    """

    deferring = False


_thread = _ThreadState()


def card(device: str) -> CudaCard:
    """Return the card of a tinygrad device, opened at the first call."""
    if device not in _cards:
        _cards[device] = CudaCard(device)
    return _cards[device]


def tinygrad_operation(device: str = "CUDA") -> AbstractContextManager[None]:
    """Return a context manager for an operation of tinygrad on a device.

    On a card the operation comes after all launches, and the thread's CUDA context is restored. For other devices, and
    before a card is opened, it does nothing.
    """
    return _ordered_operation() if _cards and is_cuda(device) else NOTHING


@contextmanager
def _ordered_operation() -> Iterator[None]:
    with _restoring_context():
        for each in _cards.values():
            each.tinygrad_waits()
            each.new_operations = True
        yield


@contextmanager
def _restoring_context() -> Iterator[None]:
    """Restore the thread's context at the end."""
    before = _current()
    try:
        yield
    finally:
        _restore(before)


def _current() -> int | None:
    """Return the thread's context."""
    context = c_void_p()
    check(driver().cuCtxGetCurrent(byref(context)))
    return context.value


def _restore(before: int | None) -> None:
    """Make the context current again that was current before an operation."""
    # A caller's own operations on Tensors leave tinygrad's context current. Other libraries must not work in it, so
    # the thread gets no context instead: they then choose the primary one.
    is_tinygrads = any(before == each.own.value for each in _cards.values())
    check(driver().cuCtxSetCurrent(None if is_tinygrads else before))


class Deferral:  # a context manager by a generator would take longer than a launch
    """Block in which tinygrad's stream does not wait for each launch of this thread, but once, at its next operation.

    A caller may get the results of the launches only after `tinygrad_operation` or `order_deferred`: operations on a
    caller's own Tensors go through neither, and would not wait.
    """

    def __init__(self, device: str | tuple[str, ...]):
        self.defers = is_cuda(device)

    def __enter__(self) -> None:
        self.before = _thread.deferring
        _thread.deferring = self.defers

    def __exit__(self, *_: object) -> None:
        _thread.deferring = self.before


def order_deferred(device: str | tuple[str, ...]) -> None:
    """Have tinygrad's stream wait for all launches on a card, deferred ones included. Other devices need nothing."""
    if is_cuda(device) and _cards:
        with _ordered_operation():
            pass


def open_card(device: str, open_device: Callable[[], T]) -> T:
    """Open one of tinygrad's CUDA devices, and restore the thread's context, which tinygrad replaces."""
    with _restoring_context():
        result = open_device()
        card(device)
    return result


def _opened(device: str) -> Any:
    return Device[device]


# *** order with other libraries ***


def after_stream(device: str, stream: int = 0) -> None:
    """Have launches wait for the work that another library has queued on a stream of the primary context.

    Args:
        device: tinygrad's name of the card.
        stream: handle of the stream; 0 and 1 are the null stream.
    """
    shared = card(device)
    shared.use_primary_context()
    # tinygrad may reuse memory that the other library releases, so its stream must wait, too
    shared.new_launches = True
    if stream > LEGACY_STREAM:  # launches are on the null stream, whose work is in order
        with _restoring_context():
            _wait(shared.primary, shared.primary_event, stream, shared.primary, 0)


def before_stream(device: str, stream: int = 0) -> None:
    """Have a stream of the primary context wait for the launches so far; see `after_stream`."""
    shared = card(device)
    shared.use_primary_context()
    if stream > LEGACY_STREAM:
        with _restoring_context():
            _wait(shared.primary, shared.primary_event, 0, shared.primary, stream)


def _wait(first: Any, event: Any, stream: int, second: Any, waiting: int) -> None:
    """Have the stream `waiting` of the second context wait for `stream` of the first, which the event belongs to."""
    cuda = driver()
    check(cuda.cuCtxSetCurrent(first))
    check(cuda.cuEventRecord(event, stream))
    check(cuda.cuCtxSetCurrent(second))
    check(cuda.cuStreamWaitEvent(waiting, event, 0))


def copy(device: str, target: int, source: int, size: int) -> None:
    """Copy memory within a card, in the order of the launches.

    Args:
        device: tinygrad's name of the card.
        target: address to write to.
        source: address to read from.
        size: number of bytes.
    """
    shared = card(device)
    before = shared.enter()
    try:
        check(driver().cuMemcpyDtoDAsync_v2(target, source, size, None))
    finally:
        shared.leave(before)


_kept: dict[str, deque[tuple[c_void_p, Any]]] = {}  # for each card, events and the objects to keep until they happen
_free: dict[str, list[c_void_p]] = {}  # for each card, events to be reused


def keep_until_done(device: str, owner: Any) -> None:
    """Keep the owner of another library's memory alive until the launches so far have ended.

    That library's allocator may reuse released memory on other streams. The call also drops the owners of earlier calls
    whose launches have ended.
    """
    cuda = driver()
    shared = card(device)
    kept = _kept.setdefault(device, deque())
    free = _free.setdefault(device, [])
    shared.use_primary_context()
    with _restoring_context():
        check(cuda.cuCtxSetCurrent(shared.primary))
        # Events happen in the order of the launches, so this loop ends at the first one that has not happened.
        while kept and cuda.cuEventQuery(kept[0][0]) == 0:
            free.append(kept.popleft()[0])
        if not free:
            free.append(c_void_p())
            check(cuda.cuEventCreate(byref(free[-1]), DISABLE_TIMING))
        check(cuda.cuEventRecord(free[-1], None))
        kept.append((free.pop(), owner))


# *** launches ***


class CudaLaunch:
    """Prepared launch of a program."""

    def __init__(
        self,
        program: Any,
        groups: Sequence[int],
        threads: Sequence[int],
        addresses: Sequence[int],
        values: Sequence[int] = (),
    ):
        """Lay out the arguments as the driver reads them.

        Args:
            program: tinygrad's CUDAProgram.
            groups: number of workgroups on each of three axes.
            threads: threads of a workgroup on each axis.
            addresses: memory of the arrays.
            values: int32 arguments, which follow the arrays.
        """
        self.program = program
        self.shape = (*groups, *threads, program.smem)
        # two int32 values fill a word
        padded = array("i", [*values, *[0] * (len(values) % 2)])
        self.words = array("Q", addresses)
        self.words.frombytes(padded.tobytes())
        self.size = c_size_t(8 * len(addresses) + 4 * len(values))
        # The driver reads the words and their size at every launch, so the object keeps both alive.
        block = self.words.buffer_info()[0]
        size = ctypes.addressof(self.size)
        self.arguments = (c_void_p * 5)(BLOCK, block, SIZE, size, END)
        # call of the driver for each context: the primary one (True), tinygrad's (False)
        self.calls: dict[bool, Callable[[], int]] = {}

    def function(self, primary: bool) -> c_void_p:
        """Return the program's handle in the primary context or tinygrad's, whichever is current."""
        return _in_primary(self.program) if primary else ctypes.cast(self.program.prg, c_void_p)

    def __call__(self, primary: bool) -> None:
        """Launch the program in the primary context or tinygrad's, whichever is current."""
        call = self.calls.get(primary)
        if call is None:
            values = [self.function(primary), *self.shape, None, None, self.arguments]
            call = self.calls[primary] = functools.partial(driver().cuLaunchKernel, *values)
        check(call())


_loaded: WeakKeyDictionary[Any, c_void_p] = WeakKeyDictionary()  # handle in the primary context by program


def _in_primary(program: Any) -> c_void_p:
    """Return a program's handle in the primary context, which is current, and load the program at the first call."""
    # A handle is valid in one context, so the program is loaded once more than by tinygrad.
    if program not in _loaded:
        cuda = driver()
        module = c_void_p()
        function = c_void_p()
        check(cuda.cuModuleLoadData(byref(module), program.lib))
        check(cuda.cuModuleGetFunction(byref(function), module, program.name.encode()))
        _loaded[program] = function
    return _loaded[program]


class CudaLaunches:
    """Call that makes several launches on one card, one after another."""

    def __init__(self, device: str, launches: Sequence[CudaLaunch], *external: int):
        """Prepare the call.

        Args:
            device: tinygrad's name of the card.
            launches: the launches.
            external: addresses in the words of arguments that each call replaces by those of external memory.
        """
        self.device = device
        self.launches = launches
        self.card = card(device)
        # Several programs may take the same array, so every word with its address is replaced.
        self.external_words = [
            (number, x.words, index)
            for number, address in enumerate(external)
            for x in launches
            for index, word in enumerate(x.words)
            if word == address
        ]

    def __call__(self, *external: int) -> None:
        for number, words, index in self.external_words:
            words[index] = external[number]
        before = self.card.enter()
        try:
            for launch in self.launches:
                launch(self.card.primary is not None)
        finally:
            self.card.leave(before)


class CudaGraph:
    """Graph of the driver that makes several launches, one after another, by one call of the host."""

    def __init__(self, device: str, launches: Sequence[CudaLaunch]):
        self.launches = launches
        self.card = card(device)
        self.graphs: dict[bool, c_void_p] = {}  # for each context: the primary one (True), tinygrad's (False)

    def __call__(self) -> None:
        before = self.card.enter()
        try:
            primary = self.card.primary is not None
            # A graph holds the functions of one context, so the primary context needs another graph.
            if primary not in self.graphs:
                self.graphs[primary] = self._instantiated(primary)
            check(driver().cuGraphLaunch(self.graphs[primary], None))
        finally:
            self.card.leave(before)

    def _instantiated(self, primary: bool) -> c_void_p:
        """Return the executable graph for the primary context or tinygrad's, whichever is current."""
        cuda = driver()
        graph = c_void_p()
        result = c_void_p()
        before = c_void_p()  # the node that the next one waits for
        check(cuda.cuGraphCreate(byref(graph), 0))
        for launch in self.launches:
            node = c_void_p()
            arguments = ctypes.addressof(launch.arguments)
            parameters = NodeParameters(launch.function(primary), *launch.shape, None, arguments)
            waits, count = (byref(before), 1) if before else (None, 0)  # the first node waits for none
            check(cuda.cuGraphAddKernelNode(byref(node), graph, waits, count, byref(parameters)))
            before = node
        check(cuda.cuGraphInstantiateWithFlags(byref(result), graph, 0))
        # The executable graph has copies of the nodes.
        check(cuda.cuGraphDestroy(graph))
        return result

    def __del__(self) -> None:
        for graph in self.graphs.values():
            driver().cuGraphExecDestroy(graph)
