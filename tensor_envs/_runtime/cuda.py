"""CUDA beside other libraries: contexts, the order of streams, prepared launches and graphs.

tinygrad's CUDA device works on the null stream of a context of its own, and leaves that context current in the thread.
PyTorch, JAX and CuPy work in the card's primary context. A card that changes between contexts loses about 130 us each
time (H200, driver 580), ten times a small step. So the launches here move to the primary context once another library
exchanges arrays with the card:

    tinygrad's context    uploads, downloads, tinygrad's own kernels
    primary context       PyTorch's kernels, and after `share` our launches, on the null stream

A launch waits for what tinygrad has queued before it, and tinygrad's stream waits for the launch, by events; no call
stops the host. Within a `Deferral` tinygrad's stream waits later, before its next operation that goes through
`callers_context`: this is for loops in which tinygrad does nothing. Memory needs no exchange: the contexts of a card
share one address space. Every operation restores the context that it found.
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
DISABLE_TIMING = 2  # flag of an event, which then is cheaper
# tags of a launch's arguments in one block of memory, see `cuLaunchKernel`
END = 0
BLOCK = 1
SIZE = 2
LEGACY_STREAM = 1  # the null stream, as consumers of DLPack name it; 0 names it as well
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
    library.cuInit(0)  # fails again, with a reason, in the first call that needs it
    return library


def check(status: int) -> None:
    """Raise RuntimeError unless a call of the driver has succeeded."""
    if status:
        text = c_char_p()
        driver().cuGetErrorString(status, byref(text))
        raise RuntimeError(f"CUDA error {status}: {(text.value or b'unknown').decode()}")


@functools.cache  # every step asks for it
def is_cuda(device: str | tuple[str, ...]) -> bool:
    """Return whether a device is one of tinygrad's CUDA devices, alone."""
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
    if hasattr(x, "is_cuda"):  # PyTorch's, whose protocol takes several times as long
        return bool(x.is_cuda)
    device = getattr(x, "__dlpack_device__", None)
    return device is not None and device()[0] == CUDA_DEVICE


# *** contexts ***


class CudaCard:
    """A card with tinygrad's context and the primary context.

    Attributes:
        own: tinygrad's context.
        primary: context of the other libraries; None before launches move there.
        unordered: whether tinygrad's stream has not waited for the latest launches.
        followed: whether tinygrad has worked, through `callers_context`, since the latest launch.
    """

    def __init__(self, device: str):
        self.own = ctypes.cast(_opened(device).context, c_void_p)
        self.handle = _opened(device).cu_device
        self.primary: c_void_p | None = None
        self.unordered = False
        self.followed = False
        self.own_event = c_void_p()
        self.primary_event = c_void_p()

    def share(self) -> None:
        """Move the launches to the primary context, after those before."""
        if self.primary is not None:
            return
        cuda = driver()
        primary = c_void_p()
        with _callers_context():
            check(cuda.cuDevicePrimaryCtxRetain(byref(primary), self.handle))
            # An event can only be recorded on a stream of its own context, so each context has one.
            for context, event in ((self.own, self.own_event), (primary, self.primary_event)):
                check(cuda.cuCtxSetCurrent(context))
                check(cuda.cuEventCreate(byref(event), DISABLE_TIMING))
            self.primary = primary
            # Streams of two contexts have no common order. Launches until now are on tinygrad's stream, and come first.
            self._wait_for_tinygrad()

    def settles(self) -> None:
        """Mark that tinygrad works now, after the launches so far. The caller restores the context."""
        self.settle()
        self.followed = True

    def settle(self) -> None:
        """Have tinygrad's stream wait for the launches so far, unless it has. The caller restores the context."""
        if self.unordered:
            self.unordered = False
            _wait(self.primary, self.primary_event, 0, self.own, 0)

    def _wait_for_tinygrad(self) -> None:
        """Have launches wait for what tinygrad has queued, unless all of it has ended."""
        cuda = driver()
        check(cuda.cuCtxSetCurrent(self.own))
        if cuda.cuStreamQuery(None) != 0:
            _wait(self.own, self.own_event, 0, self.primary, 0)
        self.followed = False

    def enter(self) -> int | None:
        """Make the context of launches current, in the order of tinygrad's operations unless the thread defers it.

        Returns:
            The context that was current, for `leave`.
        """
        before = _current()
        if self.primary is None:
            # Before the move there is a single stream, tinygrad's null stream, which keeps the order by itself.
            check(driver().cuCtxSetCurrent(self.own))
        # Within a `Deferral` tinygrad queues work through `callers_context` only, which sets `followed`. Without such
        # work there is nothing to wait for, and calls of the driver are saved.
        elif self.followed or not _thread.deferring:
            self._wait_for_tinygrad()
            check(driver().cuCtxSetCurrent(self.primary))
        elif before != self.primary.value:
            check(driver().cuCtxSetCurrent(self.primary))
        return before

    def leave(self, before: int | None) -> None:
        """End a launch: have tinygrad follow it, unless the thread defers that, and restore the thread's context."""
        if self.primary is not None:
            self.unordered = True
            # A caller's own operations on Tensors bypass `callers_context`, so tinygrad's stream must wait now.
            if not _thread.deferring:
                self.settle()
            elif before == self.primary.value:  # it has stayed current
                return
        _restore(before)


_cards: dict[str, CudaCard] = {}  # by the name of the device


class _ThreadState(threading.local):
    """State of a thread.

    Attributes:
        deferring: whether tinygrad's stream waits for the thread's launches later, see `Deferral`.
    """

    deferring = False


_thread = _ThreadState()


def card(device: str) -> CudaCard:
    """Open the card of a device of tinygrad, or return it if it is open."""
    if device not in _cards:
        _cards[device] = CudaCard(device)
    return _cards[device]


def callers_context(device: str = "CUDA") -> AbstractContextManager[None]:
    """Return a context manager for an operation of tinygrad's, which restores the thread's CUDA context.

    On a card the operation follows all launches. For other devices, and before a card is opened, it does nothing.
    """
    return _tinygrads_turn() if _cards and is_cuda(device) else NOTHING


@contextmanager
def _tinygrads_turn() -> Iterator[None]:
    with _callers_context():
        for each in _cards.values():
            each.settles()
        yield


@contextmanager
def _callers_context() -> Iterator[None]:
    """Restore the thread's context at the end."""
    before = _current()
    try:
        yield
    finally:
        _restore(before)


def _current() -> int | None:
    """Return the thread's context."""
    found = c_void_p()
    check(driver().cuCtxGetCurrent(byref(found)))
    return found.value


def _restore(before: int | None) -> None:
    """Make the context current again that was current before an operation."""
    # a caller's own operations on Tensors leave tinygrad's context current, in which no other library may work
    own = any(before == each.own.value for each in _cards.values())
    check(driver().cuCtxSetCurrent(None if own else before))


class Deferral:  # a generator's context manager would take longer than a launch
    """Context in which tinygrad's stream waits for this thread's launches on a card later, at its next operation.

    What the launches write may reach a caller only through `callers_context`, since a caller's own operations on a
    Tensor would not wait.
    """

    def __init__(self, device: str | tuple[str, ...]):
        self.defers = is_cuda(device)

    def __enter__(self) -> None:
        self.before = _thread.deferring
        _thread.deferring = self.defers

    def __exit__(self, *_: object) -> None:
        _thread.deferring = self.before


def settle(device: str | tuple[str, ...]) -> None:
    """Order a caller's later operations on Tensors of a card behind all launches so far."""
    if is_cuda(device) and _cards:
        with _tinygrads_turn():
            pass


def open_card(device: str, open_device: Callable[[], T]) -> T:
    """Open one of tinygrad's CUDA devices, which creates its context, and restore the thread's context."""
    with _callers_context():
        result = open_device()
        card(device)
    return result


def _opened(device: str) -> Any:
    return Device[device]


# *** order ***


def after_stream(device: str, stream: int = 0) -> None:
    """Have launches wait for what another library has queued on a stream of the primary context.

    Args:
        device: tinygrad's name of the card.
        stream: handle of the stream; 0 and 1 are the null stream.
    """
    shared = card(device)
    shared.share()
    shared.unordered = True  # tinygrad may use memory that the other library releases
    if stream > LEGACY_STREAM:  # else it is the stream of the launches
        with _callers_context():
            _wait(shared.primary, shared.primary_event, stream, shared.primary, 0)


def before_stream(device: str, stream: int = 0) -> None:
    """Have a stream of the primary context wait for the launches so far; see `after_stream`."""
    shared = card(device)
    shared.share()
    if stream > LEGACY_STREAM:
        with _callers_context():
            _wait(shared.primary, shared.primary_event, 0, shared.primary, stream)


def _wait(first: Any, event: Any, stream: int, second: Any, waiting: int) -> None:
    """Have a stream of the second context wait for a stream of the first, in which the event was created."""
    cuda = driver()
    check(cuda.cuCtxSetCurrent(first))
    check(cuda.cuEventRecord(event, stream))
    check(cuda.cuCtxSetCurrent(second))
    check(cuda.cuStreamWaitEvent(waiting, event, 0))


def copy(device: str, target: int, source: int, size: int) -> None:
    """Copy memory of the card in the order of the launches.

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


_kept: dict[str, deque[tuple[c_void_p, Any]]] = {}  # for each card, events and what is kept until they have happened
_free: dict[str, list[c_void_p]] = {}  # events for each card, to be used again


def keep_until_done(device: str, owner: Any) -> None:
    """Keep another library's memory alive until the launches so far have ended.

    Its allocator may use released memory again in an order of its own. What has ended since earlier calls is released.
    """
    cuda = driver()
    shared = card(device)
    kept = _kept.setdefault(device, deque())
    free = _free.setdefault(device, [])
    shared.share()
    with _callers_context():
        check(cuda.cuCtxSetCurrent(shared.primary))
        # Events happen in the order of the launches, so the first one that has not happened ends the search.
        while kept and cuda.cuEventQuery(kept[0][0]) == 0:
            free.append(kept.popleft()[0])
        if not free:
            free.append(c_void_p())
            check(cuda.cuEventCreate(byref(free[-1]), DISABLE_TIMING))
        check(cuda.cuEventRecord(free[-1], None))
        kept.append((free.pop(), owner))


# *** launches ***


class CudaLaunch:
    """A launch of a program, prepared once."""

    def __init__(
        self,
        program: Any,
        groups: Sequence[int],
        threads: Sequence[int],
        addresses: Sequence[int],
        values: Sequence[int] = (),
    ):
        """Lay the arguments out as the driver reads them.

        Args:
            program: tinygrad's CUDAProgram.
            groups: number of workgroups on each of three axes.
            threads: threads of a workgroup on each axis.
            addresses: memory of the arrays.
            values: int32 arguments, which follow the arrays.
        """
        self.program = program
        self.shape = (*groups, *threads, program.smem)
        # two values fill a word
        padded = array("i", [*values, *[0] * (len(values) % 2)])
        self.words = array("Q", addresses)
        self.words.frombytes(padded.tobytes())
        self.size = c_size_t(8 * len(addresses) + 4 * len(values))
        # The driver reads the block and its size from these addresses at every launch, so both belong to the object.
        block = self.words.buffer_info()[0]
        size = ctypes.addressof(self.size)
        self.arguments = (c_void_p * 5)(BLOCK, block, SIZE, size, END)
        # calls of the driver in tinygrad's context, and in the primary one
        self.calls: dict[bool, Callable[[], int]] = {}

    def function(self, primary: bool) -> c_void_p:
        """Return the handle of the program in one of the contexts, which is current."""
        return _in_primary(self.program) if primary else ctypes.cast(self.program.prg, c_void_p)

    def __call__(self, primary: bool) -> None:
        """Launch the program in one of the contexts, which is current."""
        call = self.calls.get(primary)
        if call is None:
            values = [self.function(primary), *self.shape, None, None, self.arguments]
            call = self.calls[primary] = functools.partial(driver().cuLaunchKernel, *values)
        check(call())


_loaded: WeakKeyDictionary[Any, c_void_p] = WeakKeyDictionary()  # functions in the primary context, by the program


def _in_primary(program: Any) -> c_void_p:
    """Return a program's function, loaded into the primary context, which is current."""
    # A module belongs to one context, so tinygrad's handle is invalid here and its binary is loaded once more.
    if program not in _loaded:
        cuda = driver()
        module = c_void_p()
        function = c_void_p()
        check(cuda.cuModuleLoadData(byref(module), program.lib))
        check(cuda.cuModuleGetFunction(byref(function), module, program.name.encode()))
        _loaded[program] = function
    return _loaded[program]


class CudaLaunches:
    """Launches in turn on one card."""

    def __init__(self, device: str, launches: Sequence[CudaLaunch], *external: int):
        """Prepare a call.

        Args:
            device: tinygrad's name of the card.
            launches: what is launched.
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
    """Launches in turn as one graph of the driver, which the host launches by one call."""

    def __init__(self, device: str, launches: Sequence[CudaLaunch]):
        self.launches = launches
        self.card = card(device)
        self.graphs: dict[bool, c_void_p] = {}  # in tinygrad's context, and in the primary one

    def __call__(self) -> None:
        before = self.card.enter()
        try:
            primary = self.card.primary is not None
            # A graph holds the functions of one context, so it is made again once launches have moved.
            if primary not in self.graphs:
                self.graphs[primary] = self._instantiated(primary)
            check(driver().cuGraphLaunch(self.graphs[primary], None))
        finally:
            self.card.leave(before)

    def _instantiated(self, primary: bool) -> c_void_p:
        """Return the graph for one of the contexts, which is current."""
        cuda = driver()
        graph = c_void_p()
        result = c_void_p()
        before = c_void_p()
        check(cuda.cuGraphCreate(byref(graph), 0))
        for launch in self.launches:
            node = c_void_p()
            arguments = ctypes.addressof(launch.arguments)
            parameters = NodeParameters(launch.function(primary), *launch.shape, None, arguments)
            # a node waits for the one before it; the first one waits for none
            waits, count = (byref(before), 1) if before else (None, 0)
            check(cuda.cuGraphAddKernelNode(byref(node), graph, waits, count, byref(parameters)))
            before = node
        check(cuda.cuGraphInstantiateWithFlags(byref(result), graph, 0))
        # The executable graph has copies of the nodes, so the description is not needed any more.
        check(cuda.cuGraphDestroy(graph))
        return result

    def __del__(self) -> None:
        for graph in self.graphs.values():
            driver().cuGraphExecDestroy(graph)
