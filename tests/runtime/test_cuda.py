"""Order of the CUDA driver's calls, against a stand-in that records them; no card is needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_void_p
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tinygrad import dtypes

from tensor_envs._runtime import cuda, dlpack
from tensor_envs._runtime.buffers import address_of, buffer_of, shards, upload

OWN, PRIMARY, OTHER = 0x1000, 0x2000, 0x3000  # contexts: tinygrad's, the card's, one of a caller
STOPS = ("Synchronize", "cuMemcpyDtoH")  # what calls that stop the host have in their names


class Driver:
    """A driver that records its calls and knows the current context.

    Attributes:
        calls: name of each call, and the context that was current then.
        current: handle of the current context.
        busy: whether streams and events have work that has not ended.
        launched: arguments of each launched program.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, int | None]] = []
        self.current: int | None = OTHER
        self.busy = True
        self.handles = iter(range(1, 10**6))
        self.launched: list[list[int]] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.calls.append((name, self.current))
            if name.endswith("Query"):
                return 600 if self.busy else 0
            if name == "cuCtxGetCurrent":
                arguments[0]._obj.value = self.current
            elif name == "cuCtxSetCurrent":
                self.current = getattr(arguments[0], "value", arguments[0])
            elif name == "cuDevicePrimaryCtxRetain":
                arguments[0]._obj.value = PRIMARY
            elif hasattr(arguments[0], "_obj"):  # a handle that is returned
                arguments[0]._obj.value = next(self.handles)
            if name == "cuLaunchKernel":
                size = ctypes.cast(arguments[-1][3], ctypes.POINTER(ctypes.c_size_t)).contents.value
                words = ctypes.cast(arguments[-1][1], ctypes.POINTER(ctypes.c_uint64))
                self.launched.append(words[: -(-size // 8)])
            return 0

        return call

    def taken(self) -> list[tuple[str, int | None]]:
        """Return the calls since the last time, but those that get and set contexts."""
        calls, self.calls = self.calls, []
        assert not [name for name, _ in calls if any(stop in name for stop in STOPS)], "the host stops"
        return [(name, context) for name, context in calls if not name.startswith("cuCtx")]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """The stand-in, with one card that is opened."""
    fake = Driver()
    monkeypatch.setattr(cuda, "driver", lambda: fake)
    monkeypatch.setattr(cuda, "_opened", lambda _: SimpleNamespace(context=c_void_p(OWN), cu_device=0))
    for name in ("_cards", "_kept", "_free"):
        monkeypatch.setattr(cuda, name, {})
    cuda.card("CUDA")
    yield fake
    assert fake.current == OTHER, "the caller's context is not restored"


def program() -> Any:
    """Return what tinygrad's CUDAProgram has of a launch."""

    class Program:
        prg, lib, name, smem = c_void_p(7), b"code", "step", 0

    return Program()


def launches(*addresses: int, external: Sequence[int] = ()) -> cuda.CudaLaunches:
    return cuda.CudaLaunches("CUDA", [cuda.CudaLaunch(program(), (2, 1, 1), (64, 1, 1), addresses)], *external)


def test_without_other_libraries_launches_stay_in_tinygrads_context(driver: Driver) -> None:
    launch = launches(16, 32)
    launch()
    assert driver.taken() == [("cuLaunchKernel", OWN)] and driver.launched == [[16, 32]]


def test_shared_launches_are_ordered_with_tinygrad(driver: Driver) -> None:
    launch = launches(16)
    cuda.before_stream("CUDA")
    driver.taken()
    launch()
    names = [call for call in driver.taken() if not call[0].startswith("cuModule")]
    waits_for_tinygrad = [("cuStreamQuery", OWN), ("cuEventRecord", OWN), ("cuStreamWaitEvent", PRIMARY)]
    tinygrad_waits = [("cuEventRecord", PRIMARY), ("cuStreamWaitEvent", OWN)]
    assert names == [*waits_for_tinygrad, ("cuLaunchKernel", PRIMARY), *tinygrad_waits]
    driver.busy = False  # all that tinygrad has queued has ended
    launch()
    assert driver.taken() == [("cuStreamQuery", OWN), ("cuLaunchKernel", PRIMARY), *tinygrad_waits]


def test_deferred_launches_are_ordered_once_tinygrad_works(driver: Driver) -> None:
    launch = launches(16)
    cuda.before_stream("CUDA")
    launch()
    driver.taken()
    with cuda.Deferral("CUDA"):
        launch()
        launch()
        assert driver.taken() == [("cuLaunchKernel", PRIMARY)] * 2
        with cuda.tinygrad_operation("CUDA"):
            assert driver.taken() == [("cuEventRecord", PRIMARY), ("cuStreamWaitEvent", OWN)]
        launch()
        assert driver.taken()[:3] == [("cuStreamQuery", OWN), ("cuEventRecord", OWN), ("cuStreamWaitEvent", PRIMARY)]
    cuda.order_deferred("CUDA")
    assert driver.taken() == [("cuEventRecord", PRIMARY), ("cuStreamWaitEvent", OWN)]
    cuda.order_deferred("CUDA")
    assert driver.taken() == []


def test_a_loop_of_another_library_costs_two_calls_a_launch(driver: Driver) -> None:
    """In the context of the launches nothing is set, restored or recorded."""
    launch = launches(16)
    cuda.before_stream("CUDA")
    with cuda.Deferral("CUDA"):
        launch()
        driver.current = PRIMARY
        driver.calls.clear()
        launch()
    assert driver.calls == [("cuCtxGetCurrent", PRIMARY), ("cuLaunchKernel", PRIMARY)]
    dlpack.Imported(None, 16, (1,), dtypes.int32, "CUDA", ordered=True).keep_until_done()
    assert len(driver.calls) == 2
    driver.current = OTHER


@pytest.mark.parametrize("stream", [0, 1, 0x500])
def test_the_null_stream_of_others_is_that_of_launches(driver: Driver, stream: int) -> None:
    """Only other streams are ordered by events, within the one context."""
    cuda.card("CUDA").use_primary_context()
    driver.taken()
    cuda.after_stream("CUDA", stream)
    cuda.before_stream("CUDA", stream)
    one = [("cuEventRecord", PRIMARY), ("cuStreamWaitEvent", PRIMARY)]
    assert driver.taken() == (one * 2 if stream > 1 else [])


def test_a_context_of_tinygrads_does_not_stay_current(driver: Driver) -> None:
    driver.current = OWN  # as an operation of the caller's on a Tensor leaves it
    launches(16)()
    assert driver.current is None
    driver.current = OTHER


def test_lent_memory_takes_the_place_of_an_argument(driver: Driver) -> None:
    launch = launches(16, 32, 16, 64, external=[64, 32])
    launch(80, 48)
    launch(96, 64)
    assert driver.launched == [[16, 48, 16, 80], [16, 64, 16, 96]]


def test_values_follow_arrays(driver: Driver) -> None:
    one = cuda.CudaLaunch(program(), (1, 1, 1), (1, 1, 1), [16], [3, -1, 5])
    cuda.CudaLaunches("CUDA", [one])()
    ((address, *values),) = driver.launched
    assert address == 16 and np.array(values, np.uint64).view(np.int32).tolist() == [3, -1, 5, 0]


def test_a_graph_is_a_chain_that_one_call_launches(driver: Driver) -> None:
    one = cuda.CudaLaunch(program(), (1, 1, 1), (1, 1, 1), [16])
    graph = cuda.CudaGraph("CUDA", [one] * 3)
    graph()
    names = [name for name, _ in driver.taken()]
    assert names.count("cuGraphAddKernelNode") == 3 and names.count("cuGraphInstantiateWithFlags") == 1
    graph()
    assert driver.taken() == [("cuGraphLaunch", OWN)]
    cuda.before_stream("CUDA")
    driver.taken()
    graph()  # in the primary context it is another graph
    assert [context for name, context in driver.taken() if name == "cuGraphLaunch"] == [PRIMARY]


def test_foreign_memory_lives_until_launches_have_read_it(driver: Driver) -> None:
    kept = [SimpleNamespace() for _ in range(3)]
    for owner in kept:
        cuda.keep_until_done("CUDA", owner)
    assert [owner for _, owner in cuda._kept["CUDA"]] == kept
    driver.busy = False
    last = SimpleNamespace()
    cuda.keep_until_done("CUDA", last)
    assert [owner for _, owner in cuda._kept["CUDA"]] == [last]
    events = [name for name, _ in driver.taken()].count("cuEventCreate")
    for _ in range(10):
        cuda.keep_until_done("CUDA", last)
    assert [name for name, _ in driver.taken()].count("cuEventCreate") == 0 and events == 2 + 3


def test_an_error_of_the_driver_is_raised(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Driver, "cuLaunchKernel", lambda *_: 700, raising=False)
    with pytest.raises(RuntimeError, match="CUDA error 700: unknown"):
        launches(16)()


@pytest.mark.extra("torch")
def test_memory_goes_to_pytorch_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Capsules name memory, dtype and shape, and end when their consumer does. The card is played by the CPU."""
    torch = pytest.importorskip("torch")
    order: list[tuple[str, int]] = []
    monkeypatch.setattr(dlpack, "CUDA_DEVICE", 1)  # PyTorch takes the memory for the CPU's
    monkeypatch.setattr(dlpack, "before_stream", lambda device, stream: order.append(("before", stream)))
    monkeypatch.setattr(dlpack, "after_stream", lambda device, stream: order.append(("after", stream)))
    monkeypatch.setattr(dlpack, "_exports", {})
    for values in (np.arange(12, dtype=np.int32).reshape(3, 4), np.array([True, False]), np.array(1.5, np.float32)):
        tensor = upload(values.reshape(-1), "CPU")
        buffer = buffer_of(tensor)
        assert buffer is not None
        exporter = dlpack.Exporter(shards(buffer)[0], address_of(tensor), values.shape, tensor.dtype, "CUDA")
        out = torch.from_dlpack(exporter)
        assert out.data_ptr() == address_of(tensor) and (out.numpy() == values).all() and out.shape == values.shape
        assert order == [("before", 1)] and len(dlpack._exports) == 1
        del out
        assert order == [("before", 1), ("after", 1)] and not dlpack._exports
        capsule = exporter.__dlpack__()
        assert len(dlpack._exports) == 1
        del capsule  # nobody has consumed it
        assert not dlpack._exports
        order.clear()


@pytest.mark.extra("torch")
def test_memory_of_pytorch_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    order: list[tuple[str, int]] = []
    monkeypatch.setattr(dlpack, "after_stream", lambda device, stream: order.append((device, stream)))

    def foreign(tensor: Any) -> Any:
        """Return an object of PyTorch's memory whose protocol takes a stream, as on a card."""
        return SimpleNamespace(__dlpack__=lambda stream: tensor.__dlpack__())

    values = torch.arange(12, dtype=torch.int64).reshape(3, 4)
    found = dlpack.imported(foreign(values))
    assert found[1:] == (values.data_ptr(), (3, 4), dtypes.int64, "CUDA", False) and order == [("CUDA", 1)]
    part = dlpack.imported(foreign(values[1:]))
    assert part.address == values[1:].data_ptr() and part.shape == (2, 4)
    with pytest.raises(ValueError, match="array must be in C order"):
        dlpack.imported(foreign(values.T))
    with pytest.raises(
        TypeError, match="array must be of bool, bfloat16, or integers or floats of 8 to 64 bits, got DLPack's code 5"
    ):
        dlpack.imported(foreign(torch.zeros(2, dtype=torch.complex64)))
