"""Captured functions replayed on other buffers, and buffers that are reused once nothing refers to them."""

from __future__ import annotations

import ctypes
import gc
import math
import mmap
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.helpers import TRAINING, Context, GlobalCounters
from tinygrad.uop.ops import buffers as tinygrad_buffers

import tensor_envs as te
from tensor_envs._runtime import buffers, capture, private_memory
from tensor_envs._runtime.buffers import POOL_MAX_BYTES, POOL_SIZE, buffer_of, empty_buffer, upload
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")
pytestmark = pytest.mark.usefixtures("frozen_objects")


def numbers(*values: float) -> Tensor:
    return upload(np.array(values, np.float32), "CPU")


@pytest.fixture(params=["launched directly", "launched by tinygrad"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "launched by tinygrad":
        monkeypatch.setattr(capture, "_launcher", lambda *_: None)


@pytest.mark.usefixtures("either_way")
def test_results_stay_valid() -> None:
    @te.jit
    def step(state: te.State, extra: Tensor) -> tuple[te.State, Tensor, Tensor]:
        after = TTT.step(state, te.agents.uniform(state))
        return after, (extra + 1).reshape(2, 1), after.legal_action_mask

    state, extra = TTT.init(8, seed=3), numbers(0, 1)
    expected_results = []
    for _ in range(6):
        expected = TTT.step(state, te.agents.uniform(state))
        state, more, mask = step(state, extra)
        extra = more.reshape(2)
        expected_results.append((state, more, mask, expected))
    for ply, (after, more, mask, expected) in enumerate(expected_results):
        assert more.numpy().tolist() == [[ply + 1], [ply + 2]]
        assert (mask.numpy() == expected.numpy()["legal_action_mask"]).all()
        for name, column in expected.numpy().items():
            assert (after.numpy()[name] == column).all(), (ply, name)


@pytest.mark.usefixtures("either_way")
def test_closures_may_be_updated() -> None:
    weights = numbers(1, 2)

    @te.jit
    def learn(x: Tensor) -> tuple[Tensor, Tensor]:
        return weights.assign(weights + x).realize(), weights * 2

    for round_ in range(1, 6):
        now, twice = learn(numbers(1, 1))
        assert weights.numpy().tolist() == now.numpy().tolist() == [1 + round_, 2 + round_]
        assert twice.numpy().tolist() == [2 + 2 * round_, 4 + 2 * round_]


def test_arguments_that_are_no_buffers_of_their_own() -> None:
    @te.jit
    def add(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    for start in range(5):
        table = numbers(*range(start, start + 6)).reshape(2, 3)
        assert add(table[0], table[1]).numpy().tolist() == [2 * start + 3, 2 * start + 5, 2 * start + 7]
        assert add(table, table.reshape(2, 3)).numpy().tolist() == (2 * table.numpy()).tolist()
        assert add(table.reshape(6), table.reshape(6, 1)).shape == (6, 6)


@pytest.mark.usefixtures("either_way")
def test_results_that_are_no_work() -> None:
    """Results without a kernel are this call's: views of an argument, the argument, closures, constants, None."""
    closed = numbers(7)
    functions = {
        "part": te.jit(lambda x: x[1:3]),
        "contiguous": te.jit(lambda x: (x[1:3].contiguous(), x.reshape(2, 2)[1].contiguous(), x + 1)),
        "alone": te.jit(lambda x: x[1:3].contiguous()),
        "within": te.jit(lambda x: ((y := (x * 2).realize()), y[1:3].contiguous(), y[:2], (x * 3).realize()[2:])),
        "closed": te.jit(lambda x: (closed.reshape(1, 1), x + 1)),
        "turned": te.jit(lambda x: x.reshape(2, 2).permute(1, 0)),
        "bits": te.jit(lambda x: x.bitcast(dtypes.int32)[:1]),
        "whole": te.jit(lambda x: x),
        "mixed": te.jit(lambda x: ((y := x + 1), y, x, Tensor.ones(1), closed)),
        "nothing": te.jit(lambda x: None),
    }
    results_of_calls = []
    for k in range(5):
        results_of_calls.append(
            {name: function(numbers(k, k + 1, k + 2, k + 3)) for name, function in functions.items()}
        )
    for k, results in enumerate(results_of_calls):
        x = [k, k + 1, k + 2, k + 3]
        assert results["part"].tolist() == x[1:3]
        assert [t.tolist() for t in results["contiguous"]] == [x[1:3], x[2:], [v + 1 for v in x]]
        assert results["alone"].tolist() == x[1:3]
        twice = [2 * v for v in x]
        assert [t.tolist() for t in results["within"]] == [twice, twice[1:3], twice[:2], [3 * v for v in x[2:]]]
        assert results["closed"][0].tolist() == [[7]]
        assert results["turned"].tolist() == [x[::2], x[1::2]]
        assert results["bits"].tolist() == np.array([k], np.float32).view(np.int32).tolist()
        assert results["whole"].tolist() == x
        assert [t.tolist() for t in results["mixed"]] == [[v + 1 for v in x]] * 2 + [x, [1], [7]]
        assert results["nothing"] is None


class Pair(NamedTuple):
    left: Tensor
    right: Any


def test_types_of_arguments_and_results() -> None:
    swap = te.jit(lambda pair: Pair(pair.right + 1, [pair.left, "a", None, 2]))
    for value in range(4):
        pair = swap(Pair(numbers(value), numbers(value + 1)))
        assert type(pair) is Pair and pair.left.tolist() == [value + 2]
        assert pair.right[0].tolist() == [value] and pair.right[1:] == ["a", None, 2]
    state = TTT.init(4)
    for wrong in (lambda: te.rollout_from(state, "uniform", 2), lambda: {"a": state}, lambda: object()):
        with pytest.raises(TypeError, match=r"takes and returns States, Tensors, .* got (Rollout|dict|object)"):
            te.jit(lambda x, wrong=wrong: (x + 1, wrong()))(numbers(1))
    with pytest.raises(TypeError, match=r"takes and returns States, Tensors, .* got ndarray"):
        swap(np.zeros(1))
    constant = te.jit(lambda x: (x + 1, Tensor(2.0)))
    results = [constant(numbers(value)) for value in range(4)]
    assert [(one.tolist(), two.item()) for one, two in results] == [([v + 1], 2) for v in range(4)]


def test_zeros_differ_by_their_sign() -> None:
    signed = te.jit(lambda x, c: x * math.copysign(1, c))
    assert [signed(numbers(1), c).item() for c in (0.0, 0.0, -0.0, -0.0, 0.0)] == [1, 1, -1, -1, 1]
    written = te.jit(lambda x, c: (x + 1, str(c)))
    assert [written(numbers(1), complex(0, c))[1] for c in (0.0, -0.0)] == ["0j", "-0j"]


def test_an_error_leaves_no_trace() -> None:
    wrong = iter([True, False, True, False, False, False])

    @te.jit
    def sometimes(x: Tensor) -> Tensor:
        if next(wrong):
            raise ValueError("wrong")
        return x + 1

    for value, works in enumerate([False, True, False, True, True, True]):
        if works:
            assert sometimes(numbers(value)).tolist() == [value + 1]
        else:
            with pytest.raises(ValueError, match="wrong"):
                sometimes(numbers(value))


def test_a_jit_within_a_jit_becomes_part_of_it() -> None:
    inner = te.jit(lambda x: x * 2)
    outer = te.jit(lambda x: inner(x) + 1)
    for value in range(5):
        assert inner(numbers(value)).item() == 2 * value
        assert outer(numbers(value)).item() == 2 * value + 1


def test_a_replay_launches_its_kernels_and_nothing_else() -> None:
    act = te.jit(lambda state: TTT.step(state, te.agents.uniform(state)))
    state = TTT.init(64)
    for _ in range(3):
        state = act(state)
    before = GlobalCounters.kernel_count
    state = act(state)
    assert GlobalCounters.kernel_count - before == 2, "the policy and the step"


@pytest.mark.slow
def test_sharded_replays() -> None:
    act = te.jit(lambda state: (TTT.step(state, te.agents.uniform(state)), TTT.observe(state).sum()))
    whole, parts = TTT.init(8), TTT.init(8, device=("CPU:0", "CPU:1"))
    for _ in range(5):
        (whole, total), (parts, sharded) = act(whole), act(parts)
        assert total.item() == sharded.item()
        for name, column in whole.numpy().items():
            assert (parts.numpy()[name] == column).all(), name


def buffer(t: Tensor) -> int:
    return id(buffer_of(t))


def test_unreferenced_buffers_are_reused() -> None:
    size = 1001
    first = empty_buffer(size, dtypes.int32, "CPU")
    place = buffer(first)
    assert buffer(empty_buffer(size, dtypes.int32, "CPU")) != place
    del first
    assert place in {buffer(empty_buffer(size, dtypes.int32, "CPU")) for _ in range(2)}


def test_referenced_buffers_are_not_reused() -> None:
    size = 1003
    views = [empty_buffer(size, dtypes.int32, "CPU").reshape(size, 1).permute(1, 0) for _ in range(3)]
    lazy = [empty_buffer(size, dtypes.int32, "CPU") + 1 for _ in range(3)]
    shared = []
    for value in range(3):
        tensor = upload(np.full(size, value, np.int32), "CPU")
        shared.append(te.to_numpy(tensor, copy=False))
        del tensor
    gc.collect()
    live = {id(t.uop.base) for t in views} | {id(t.uop.src[0].base) for t in lazy}
    more = []
    for _ in range(2 * POOL_SIZE):
        more.append(upload(np.full(size, -1, np.int32), "CPU"))
        assert buffer(more[-1]) not in live
    assert len({buffer(t) for t in more}) == len(more)
    assert [array[0] for array in shared] == [0, 1, 2]


def test_large_buffers_are_given_back() -> None:
    """Unreferenced memory is reused by the next buffer of its size."""
    size = POOL_MAX_BYTES // 4 + 1
    made = [empty_buffer(size, dtypes.int32, "CPU") for _ in range(3)]
    assert len(private_memory._free[private_memory.rounded(4 * size)]) == 0
    del made
    gc.collect()
    assert len(private_memory._free[private_memory.rounded(4 * size)]) == 3
    again = empty_buffer(size, dtypes.int32, "CPU")
    assert len(private_memory._free[private_memory.rounded(4 * size)]) == 2 and again.numel() == size


def test_memory_of_sizes_that_do_not_return_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, first = 4 * POOL_MAX_BYTES, POOL_MAX_BYTES // 4
    monkeypatch.setattr(private_memory, "MAX_FREE_BYTES", kept)
    private_memory._free.clear()  # other tests' sizes may be among these
    sizes = [first * eighths // 8 for eighths in range(9, 25)]  # none is rounded up to another
    for size in sizes:
        assert empty_buffer(size, dtypes.int32, "CPU").numel() == size
        gc.collect()
    held = sum(size * len(released) for size, released in private_memory._free.items())
    assert 0 < held <= kept + private_memory.rounded(4 * sizes[-1]) < 4 * sum(sizes)


@pytest.mark.parametrize("make", [lambda x: upload(x, "CPU"), te.from_numpy])
def test_a_pickled_tensor_has_memory_of_its_own(make: Callable[[np.ndarray], Tensor]) -> None:
    """The memory of the tensor that was pickled may be another one's by then, or that of another process."""
    size = POOL_MAX_BYTES // 4 + 2000
    one, other = np.zeros(size, np.int32), np.ones(size, np.int32)
    tensor = make(one)
    pickled = pickle.dumps(tensor)
    del tensor
    gc.collect()
    kept = make(other)
    one[:] = 2
    assert (pickle.loads(pickled).numpy() == 0).all() and (kept.numpy() == 1).all() and (one == 2).all()


def test_training_is_captured_apart() -> None:
    scale = te.jit(lambda x: x + int(bool(TRAINING)))
    with Context(TRAINING=1):  # type: ignore[no-untyped-call]
        assert [scale(numbers(1)).tolist() for _ in range(3)] == [[2]] * 3
    assert [scale(numbers(1)).tolist() for _ in range(3)] == [[1]] * 3


@pytest.mark.slow
def test_memory_of_ever_new_batch_sizes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers of sizes that do not return leave the pools, and their memory serves other sizes."""
    limit = 2**20
    monkeypatch.setattr(buffers, "POOLS_MAX_BYTES", limit, raising=False)
    monkeypatch.setattr(private_memory, "MAX_FREE_BYTES", 4 * limit)

    def held() -> int:
        gc.collect()
        free = sum(size * len(released) for size, released in private_memory._free.items())
        return free + sum(shard.nbytes for whole in tinygrad_buffers for shard in buffers.shards(whole))

    for batch in (3000, 3100):  # the memory of the search's trees, and what it compiles
        te.search.playout_policy(TTT.init(batch), 2)
    before = held()
    for batch in range(1000, 3000, 25):
        te.search.playout_policy(TTT.init(batch), 2)
    assert held() - before < 16 * limit


def test_copies_define_no_type_for_every_size() -> None:
    """ctypes keeps each of its types for as long as the process lives."""

    def copies(size: int) -> int:
        assert (buffers.download(buffers.upload(np.arange(size, dtype=np.int32), "CPU")) == np.arange(size)).all()
        return len(getattr(ctypes, "_pointer_type_cache"))  # noqa: B009 (typeshed has none)

    assert len({copies(size) for size in (10_007, 10_009, 10_037)}) == 1


def test_a_failed_allocation_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the only one: memory that was not allocated is not returned."""
    ignored = list[Any]()

    def refuse(*_: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(private_memory, "_free", defaultdict(list))
    monkeypatch.setattr(mmap, "mmap", refuse)
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(OSError, match="Cannot allocate"):
        private_memory._Lease(12345, lambda: None)
    gc.collect()
    assert not ignored
