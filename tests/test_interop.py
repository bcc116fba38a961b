"""Memory shared with NumPy and PyTorch: lifetime, aliasing, and refused inputs."""

import gc
import importlib
import importlib.util
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, dtypes
from tinygrad.helpers import Context, GlobalCounters

import tensor_envs as te
from tensor_envs._runtime import exchange
from tensor_envs._runtime.exchange import ALIGNMENT, NUMPY_NAMES
from tests.games.shared import shared_env

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
needs_torch = pytest.mark.extra("torch")

TTT = te.make("tic_tac_toe")
pytestmark = pytest.mark.usefixtures("frozen_objects")


def made(dtype: Any = dtypes.int32) -> Tensor:
    """Return 0 to 11 as [3, 4] in a buffer on CPU."""
    return Tensor.arange(12).reshape(3, 4).cast(dtype).clone("CPU").realize()


def address(tensor: Tensor) -> int:
    """Return the address of a realised tensor's memory."""
    return int(np.frombuffer(tensor._buffer().as_memoryview(force_zero_copy=True), np.uint8).ctypes.data)


def place(array: Any) -> int:
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr())


def array_of(offset: int) -> np.ndarray:
    """Return int32 [8] that starts `offset` bytes after a multiple of 64."""
    memory = np.zeros(128 + 32, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + 32].view(np.int32)


exports = pytest.mark.parametrize("export", [te.to_numpy, pytest.param(te.to_torch, marks=needs_torch)])
kinds = pytest.mark.parametrize("kind", ["numpy", pytest.param("torch", marks=needs_torch)])


def library(kind: str) -> tuple[Any, Callable[..., Tensor]]:
    """Return the module that makes arrays, and the function that imports them."""
    return (np, te.from_numpy) if kind == "numpy" else (torch, te.from_torch)


@exports
def test_exports_share_memory(export: Callable[..., Any]) -> None:
    tensor = made()
    array = export(tensor, copy=False)
    assert place(array) == address(tensor) and tuple(array.shape) == (3, 4)
    tensor.assign(tensor + 100).realize()
    assert array.tolist() == [[100, 101, 102, 103], [104, 105, 106, 107], [108, 109, 110, 111]]
    copied = export(tensor, copy=True)
    assert place(copied) != address(tensor)
    copied[:] = 7
    assert int(tensor.max().item()) == 111


@kinds
def test_imports_share_memory(kind: str) -> None:
    module, take = library(kind)
    source = module.arange(12, dtype=module.float32).reshape(3, 4)
    tensor = take(source, copy=False)
    assert address(tensor) == place(source) and tensor.shape == (3, 4) and tensor.dtype is dtypes.float32
    source[1, 2] = 50
    assert (tensor[1] * 2).tolist() == [8, 10, 100, 14]
    tensor.assign(tensor + 1).realize()
    assert source[0].tolist() == [1, 2, 3, 4]
    assert address(take(source, copy=True)) != place(source)


@needs_torch
def test_there_and_back_is_the_same_memory() -> None:
    tensor = made()
    assert address(te.from_torch(te.to_torch(tensor), copy=False)) == address(tensor)
    array = np.arange(5)
    assert place(te.to_torch(te.from_numpy(array))) == place(array)


@exports
def test_an_export_keeps_its_memory(export: Callable[..., Any]) -> None:
    tensor = made()
    buffer = weakref.ref(tensor._buffer())
    array = export(tensor)[1:]
    del tensor
    gc.collect()
    for _ in range(20):  # of the size of a freed buffer, whose memory tinygrad would reuse
        (made() - 99).realize()
    assert buffer() is not None and array.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    del array
    gc.collect()
    assert buffer() is None


@kinds
def test_an_import_keeps_its_memory(kind: str) -> None:
    """The source stays alive as long as a computation depends on it."""
    module, take = library(kind)
    source = module.arange(100_000)
    owner, tensor = weakref.ref(source), take(source, copy=False)
    expected = int(source.sum())
    del source
    gc.collect()
    assert owner() is not None and tensor.sum().item() == expected
    doubled = tensor * 2  # lazy, on the same buffer
    del tensor
    gc.collect()
    assert owner() is not None and doubled.sum().item() == 2 * expected
    del doubled
    gc.collect()
    assert owner() is None


def test_an_import_may_go_while_kernels_are_compiled() -> None:
    """An imported tensor can be collected while tinygrad allows no device."""
    tensor = te.from_numpy(np.arange(100_000), copy=False)
    with Context(ALLOW_DEVICE_USAGE=0):  # type: ignore[no-untyped-call]
        del tensor
        gc.collect()


@pytest.mark.parametrize("dtype", NUMPY_NAMES)
@kinds
def test_every_dtype_round_trips(kind: str, dtype: Any) -> None:
    module, take = library(kind)
    tensor, name = made(dtype), NUMPY_NAMES[dtype]
    array = (te.to_numpy if kind == "numpy" else te.to_torch)(tensor, copy=False)
    assert array.dtype == getattr(module, name) and array.tolist() == tensor.tolist()
    for copy in (None, True):
        back = take(array, copy=copy)
        assert back.dtype is dtype and back.shape == (3, 4) and back.tolist() == tensor.tolist()


@needs_torch
def test_bfloat16_is_pytorchs_alone() -> None:
    tensor = made(dtypes.bfloat16)
    values = te.to_torch(tensor, copy=False)
    assert values.dtype is torch.bfloat16 and values.tolist() == made().tolist()
    for copy in (False, True):
        back = te.from_torch(values, copy=copy)
        assert back.dtype is dtypes.bfloat16 and back.float().tolist() == made().tolist()
    assert te.to_numpy(tensor.float()).tolist() == made().tolist()


@exports
def test_lazy_tensors_views_and_small_shapes(export: Callable[..., Any]) -> None:
    lazy = made() + 1
    assert place(export(lazy)) == place(export(lazy, copy=False)) == address(lazy), "realised once, and shared"
    tensor = made()
    assert place(export(tensor[1:, :], copy=False)) == address(tensor) + 16, "a contiguous slice is shared"
    assert place(export(tensor.bitcast(dtypes.uint32), copy=False)) == address(tensor)
    for view in (tensor.T, tensor[:, 1:3], tensor.flip(0), tensor.reshape(1, 3, 4).expand(2, 3, 4)):
        with pytest.raises(ValueError, match="tensor is no contiguous view of its buffer, so copy=False cannot be met"):
            export(view, copy=False)
        assert export(view).tolist() == export(view, copy=True).tolist() == view.tolist()
    assert export(Tensor(3.5)).shape == () and export(Tensor(3.5)).item() == 3.5
    assert export(Tensor.full((2,), 2)).tolist() == [2, 2] and export(Tensor.arange(3)).tolist() == [0, 1, 2]
    assert tuple(export(Tensor.empty(0, 3)).shape) == (0, 3)
    module, take = library("numpy" if export is te.to_numpy else "torch")
    assert take(module.empty((0, 3))).shape == (0, 3)


def test_arrays_are_read_only_unless_copied() -> None:
    for tensor in (made(), made().T, made().to("PYTHON")):
        with pytest.raises(ValueError, match="read-only"):
            te.to_numpy(tensor)[0, 0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            te.to_numpy(made()).flags.writeable = True
        te.to_numpy(tensor, copy=True)[0, 0] = 1


def test_memory_that_cannot_be_shared_is_copied_or_refused() -> None:
    read_only = np.arange(4)
    read_only.flags.writeable = False
    cases = {
        "array is not C-contiguous": np.arange(12).reshape(3, 4).T,
        "array is read-only": read_only,
        "array is not in native byte order": np.arange(4).astype(">i4" if sys.byteorder == "little" else "<i4"),
        f"array begins 4 bytes off a multiple of {ALIGNMENT}": array_of(4),
    }
    for reason, array in cases.items():
        with pytest.raises(ValueError, match=f"{reason}, so copy=False cannot be met: use copy=None or True"):
            te.from_numpy(array, copy=False)
        assert te.from_numpy(array).tolist() == te.from_numpy(array, copy=True).tolist() == array.tolist()


@needs_torch
def test_strided_pytorch_tensors_are_copied_or_refused() -> None:
    values = torch.arange(12).reshape(3, 4).T
    with pytest.raises(ValueError, match="tensor is not C-contiguous"):
        te.from_torch(values, copy=False)
    assert te.from_torch(values).tolist() == values.tolist()


def test_alignment_is_what_kernels_need() -> None:
    """Vector loads work at every allowed alignment; at any other they would crash the process."""
    for offset in range(0, 64, ALIGNMENT):
        array = array_of(offset)
        array[:] = np.arange(8)
        tensor = te.from_numpy(array, copy=False)
        assert (tensor.float() * tensor).tolist() == [i * i for i in range(8)]


@exports
def test_tensors_on_other_devices_are_copied_or_refused(export: Callable[..., Any]) -> None:
    sharded = TTT.init(8, device=("CPU:1", "CPU:2"))
    for tensor in (made().to("PYTHON").realize(), sharded.rewards, sharded.current_player):
        with pytest.raises(ValueError, match="whose memory the host cannot share, so copy=False"):
            export(tensor, copy=False)
        assert export(tensor).tolist() == export(tensor, copy=True).tolist() == tensor.tolist()


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match=r"tensor must be of type Tensor, got \[1\] of type list"):
        te.to_numpy([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"array must be of type ndarray, got \[1\] of type list"):
        te.from_numpy([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"array must be of bool, .*, got dtype complex128"):
        te.from_numpy(np.zeros(3, complex))
    with pytest.raises(TypeError, match=r"of bool, .*, float64, got dtypes\.bfloat16: cast it first"):
        te.to_numpy(made(dtypes.bfloat16))
    with pytest.raises(TypeError, match="copy must be None, False or True, got 1"):
        te.from_numpy(np.zeros(3), copy=1)  # type: ignore[arg-type]


def test_masked_entries_are_refused() -> None:
    with pytest.raises(ValueError, match="array must have no masked entries"):
        te.from_numpy(np.ma.masked_array([0, 1], [False, True]))


@needs_torch
def test_arrays_of_other_libraries_are_no_plain_values_of_a_jit() -> None:
    add = te.jit(lambda x, y: x)
    with pytest.raises(TypeError, match="a jitted function takes and returns States, Tensors"):
        add(Tensor([1.0]).realize(), torch.ones(2))


@needs_torch
def test_wrong_arguments_from_pytorch() -> None:
    convert: Any
    for convert in (te.to_torch, te.from_torch):
        with pytest.raises(TypeError, match="tensor must be of type Tensor"):
            convert(np.arange(3))
    with pytest.raises(TypeError, match=r"tensor must be of bool, .*, bfloat16, got dtype torch\.complex64"):
        te.from_torch(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(ValueError, match=r"requires grad.*pass tensor\.detach\(\)"):
        te.from_torch(torch.zeros(3, requires_grad=True))
    with pytest.raises(ValueError, match=r"strided and on cpu or cuda, got torch\.sparse_coo on cpu"):
        te.from_torch(torch.zeros(3).to_sparse())
    with pytest.raises(ValueError, match=r"strided and on cpu or cuda, got torch\.strided on meta"):
        te.from_torch(torch.zeros(3, device="meta"))


def test_no_export_inside_a_jit() -> None:
    captured = TinyJit(lambda tensor: (te.to_numpy(tensor), tensor.contiguous().realize())[1])
    with pytest.raises(RuntimeError, match="a jit cannot capture an export"):
        for _ in range(2):
            captured(made())


@needs_torch
def test_steps_driven_from_pytorch() -> None:
    """A loop in PyTorch plays the same games as the library, and copies no action."""
    batch, generator = 64, torch.Generator().manual_seed(0)
    state, vector = TTT.init(batch, seed=1), te.VectorEnv(TTT, batch, seed=1, autoreset="disabled")
    own = state
    for _ in range(9):
        mask = te.to_torch(state.legal_action_mask)
        mask = mask | ~mask.any(1, keepdim=True)  # any action in games that are over
        actions = torch.multinomial(mask.float(), 1, generator=generator).squeeze(1).to(torch.int32)
        lent = te.from_torch(actions, copy=False)
        assert address(TTT.action_buffer(state, lent)) == place(actions)
        state, own = TTT.step(state, lent), TTT.step(own, actions.numpy())
        transition = vector.step(lent)
        for theirs in (own, transition.final_state):
            assert te.to_torch(state.rewards).equal(te.to_torch(theirs.rewards))
            assert (te.to_numpy(state.own) == te.to_numpy(theirs.own)).all()
    assert te.to_torch(state.terminated).all() and te.to_torch(state.rewards).abs().sum() > 0
    assert te.to_torch(TTT.step(TTT.init(2), te.from_torch(torch.tensor([4, 5]))).ply).tolist() == [1, 1], "int64"


def test_shared_arrays_change_with_the_next_step() -> None:
    """A step overwrites arrays that share memory with the last transition; copies and states stay."""
    vector = te.VectorEnv(TTT, 8, seed=3, device="CPU")
    actions = vector.step_uniform().actions
    shared, copied = te.to_numpy(actions, copy=False), te.to_numpy(actions, copy=True)
    words = te.to_numpy(vector.state.tensors[0], copy=False)
    before = words.copy()
    assert shared.tolist() == copied.tolist(), "good until the next step"
    later = vector.step_uniform().actions.tolist()
    assert shared.tolist() == later != copied.tolist()
    assert (words == before).all(), "a snapshot"


@pytest.mark.extra("torch")  # without the package all tests run without it
def test_without_pytorch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import tensor_envs as te, numpy as np\n"
        "tensor = te.from_numpy(np.arange(3)); print(te.to_numpy(tensor).tolist())\n"
        "for f in (te.to_torch, te.from_torch):\n"
        "    try: f(tensor)\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[0, 1, 2]"] + 2 * ["this needs PyTorch: pip install 'tensor_envs[torch]'"]


@needs_torch
@pytest.mark.parametrize("name", ["tic_tac_toe", "gomoku", "leduc_poker"])
def test_a_vector_env_hands_its_own_buffers_to_torch(name: str) -> None:
    env = te.make(name)
    vector = te.VectorEnv(env, 70, seed=1, observe=True)
    for _ in range(3):
        tensors = vector.torch()
        addresses = {key: tensor.data_ptr() for key, tensor in tensors.items()}
        observation, mask = env.observe(vector.state).numpy(), vector.state.legal_action_mask.numpy()
        np.testing.assert_array_equal(tensors["observation"].numpy(), observation)
        np.testing.assert_array_equal(tensors["legal_action_mask"].numpy(), mask)
        kept, shared = vector.numpy(), vector.numpy(copy=False)
        for key, tensor in tensors.items():
            assert np.shares_memory(tensor.numpy(), shared[key]) and not shared[key].flags.writeable, key
            np.testing.assert_array_equal(kept[key], shared[key])
        vector.step_uniform()
        assert {key: tensor.data_ptr() for key, tensor in vector.torch().items()} == addresses
        np.testing.assert_array_equal(kept["observation"], observation)  # copies stay as they are
    with pytest.raises(RuntimeError, match="observe=True"):
        te.VectorEnv(env, 2).torch()


@exports
@pytest.mark.parametrize("batch", [64, 70])
def test_exports_of_a_vector_envs_outputs_are_kept(export: Callable[..., Any], batch: int) -> None:
    """A second export is a view of the first, with steps of its own to come; captures and copies are as ever."""
    vector, cases = te.VectorEnv(TTT, batch, seed=2, device="CPU", observe=True), []
    for output in (vector.observation, vector.legal_action_mask):
        first, second = export(output), export(output, copy=False)
        assert first is not second and place(first) == place(second) == address(output)
        if export is te.to_torch:
            second.unsqueeze_(0)
            assert second.shape[1:] == first.shape == export(output).shape
        else:
            assert not second.flags.writeable
        copied = export(output, copy=True)
        assert place(copied) != place(first)
        cases.append((output, first, second, copied, copied + 0))
    vector.step_uniform()
    for output, first, second, copied, before in cases:
        assert first.tolist() == output.tolist() == second.reshape(first.shape).tolist() != before.tolist()
        assert copied.tolist() == before.tolist()
    with pytest.raises(TypeError, match="copy must be None, False or True, got 0"):
        export(vector.observation, copy=0)
    captured = TinyJit(lambda: (export(vector.observation), Tensor.zeros(1).contiguous().realize())[1])
    with pytest.raises(RuntimeError, match="a jit cannot capture an export"):
        for _ in range(2):
            captured()


@needs_torch
@pytest.mark.parametrize("batch", [64, 70])
def test_every_way_to_an_output_leads_to_its_memory(batch: int) -> None:
    """NumPy's and PyTorch's views of what a step writes are of the same memory, from step to step."""
    vector = te.VectorEnv(TTT, batch, device="CPU", observe=True)
    for _ in range(3):
        vector.step_uniform()
        shared, tensors = vector.numpy(copy=False), vector.torch()
        for name in ("observation", "legal_action_mask"):
            output, array = getattr(vector, name), shared[name]
            assert np.asarray(array) is array and place(tensors[name]) == place(array) == address(output)
            for view in (np.asarray(te.to_numpy(output)), np.asarray(te.to_torch(output))):
                assert place(view) == place(array) and view.shape == array.shape and view.flags.c_contiguous
                np.testing.assert_array_equal(view, vector.numpy()[name])


def test_kept_exports_go_with_their_tensor() -> None:
    kept = len(exchange._exports)
    vector = te.VectorEnv(TTT, 8, device="CPU", observe=True)
    array = te.to_numpy(vector.observation)
    assert len(exchange._exports) == kept + 1
    before = array.copy()
    del vector
    gc.collect()
    assert len(exchange._exports) == kept
    for seed in range(5):
        te.VectorEnv(TTT, 8, seed, "CPU", observe=True).step_uniform()
    assert (array == before).all(), "a view keeps its memory"


@needs_torch
def test_exports_in_inference_mode_can_be_trained_on() -> None:
    vector = te.VectorEnv(TTT, 8, device="CPU", observe=True)
    with torch.inference_mode():
        te.to_torch(vector.observation)
        vector.torch()
    vector.step_uniform()
    weight = torch.ones(2, requires_grad=True)
    (vector.torch()["rewards"] * weight).sum().backward()
    assert weight.grad is not None
    assert not any(t.is_inference() for t in (*vector.torch().values(), te.to_torch(vector.observation)))


@needs_torch
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_step_from_pytorch_is_one_launch(dtype: str) -> None:
    """Actions of PyTorch play as NumPy's do, without another kernel; what int32 cannot hold is illegal."""
    vector, same = (te.VectorEnv(TTT, 70, device="CPU", observe=True) for _ in range(2))
    for turn in range(6):
        actions = torch.full((70,), turn, dtype=getattr(torch, dtype))
        if dtype == "int64" and turn == 5:
            actions[3] = 2**32 + 5
        kernels = GlobalCounters.kernel_count
        vector.step(actions)
        assert GlobalCounters.kernel_count == kernels + 1 or turn == 0  # compiled
        same.step([-1 if action > 8 else action for action in actions.tolist()])
        for name, array in same.numpy().items():
            np.testing.assert_array_equal(vector.numpy()[name], array)


@pytest.mark.few("tic_tac_toe")
@kinds
@pytest.mark.parametrize("name", ["tic_tac_toe", "oware"])
def test_a_step_reads_actions_where_they_are(kind: str, name: str) -> None:
    """Neither is memory of NumPy allocated, nor is the buffer for actions of other kinds written."""
    batch, env = 4096, te.make(name)
    module, _ = library(kind)
    vector, same = (te.VectorEnv(env, batch, seed=3, device="CPU", observe=True) for _ in range(2))
    vector._upload_memory[0][:] = sentinel = 77
    for turn in range(4):
        drawn = same.step_uniform()
        actions = module.zeros(batch, dtype=module.int32)
        actions[:] = module.asarray(drawn.numpy()["actions"])
        kernels = GlobalCounters.kernel_count
        tracemalloc.start()
        transition = vector.step(actions)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert turn == 0 or (GlobalCounters.kernel_count == kernels + 1 and peak < batch)
        assert place(transition.actions.numpy()) != place(actions), "tinygrad's own conversion copies"
        assert place(te.to_numpy(transition.actions, copy=False)) == place(actions)
        for key, array in same.numpy().items():
            np.testing.assert_array_equal(vector.numpy()[key], array)
    assert (vector._upload_memory[0] == sentinel).all()


def test_a_step_copies_actions_that_it_cannot_read_in_place() -> None:
    """Strided and unaligned arrays, padded batches, final states, and a step's own output."""
    plain = np.arange(128, dtype=np.int32) % 9
    unaligned = np.zeros(128 * 4 + 1, np.uint8)[1:].view(np.int32)
    unaligned[:] = plain
    for batch, actions, final_states in (
        (128, np.repeat(plain, 2)[::2], False),
        (128, unaligned, False),
        (70, plain[:70], False),
        (128, plain, True),
    ):
        vector, same = (te.VectorEnv(TTT, batch, device="CPU", final_states=final_states) for _ in range(2))
        vector.step(actions)
        same.step(actions.tolist())
        assert vector.state.ply.tolist() == same.state.ply.tolist() == [1] * batch
        assert (vector._upload_memory[0][:batch] == actions).all()
        assert vector.state.own.tolist() == same.state.own.tolist()
    vector = te.VectorEnv(TTT, 64, device="CPU", observe=True)
    for player in (0, 1):  # the player to move is an int32 output of the step
        vector.step(vector.numpy(copy=False)["current_player"])
        assert (vector._upload_memory[0] == player).all()
    assert vector.state.ply.tolist() == [2] * 64


@needs_torch
@pytest.mark.parametrize("batch", [64, 70])
def test_arrays_that_are_handed_out_support_dlpack(batch: int) -> None:
    vector = te.VectorEnv(te.make("tic_tac_toe"), batch, observe=True)
    vector.step_uniform()
    for name, tensor in vector.torch().items():
        shared = np.from_dlpack(tensor)
        assert np.shares_memory(shared, vector.numpy(copy=False)[name]) and shared.flags.writeable
        again = torch.from_dlpack(tensor)
        assert again.data_ptr() == tensor.data_ptr() and again.shape == tensor.shape
    array = te.to_numpy(vector.observation)
    assert not np.from_dlpack(array).flags.writeable and np.shares_memory(np.from_dlpack(array), array)


def test_tensors_have_no_protocols_and_no_subclass() -> None:
    """What `_runtime.exchange` says of tinygrad; once this fails, outputs can be handed out as they are."""

    class Output(Tensor):
        """Tensor to which protocols could be added."""

    mask = te.VectorEnv(TTT, 2, device="CPU", observe=True).legal_action_mask
    assert np.asarray(mask).dtype == object and not hasattr(mask, "__dlpack__")
    double = TinyJit(lambda tensor: (tensor * 2).realize())
    results = [double(Output(Tensor([number], device="CPU").clone().realize().uop)).item() for number in range(4)]
    assert results != [0, 2, 4, 6], "a TinyJit takes no subclass for an argument"


@pytest.mark.extra("jax")
def test_jax_gets_arrays_of_its_own() -> None:
    jax = importlib.import_module("jax")
    vector = te.VectorEnv(te.make("connect_four"), 70, observe=True)
    vector.step_uniform()
    before, expected = vector.jax(), vector.numpy()
    vector.step_uniform()
    for name, array in before.items():
        assert isinstance(array, jax.Array) and array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name])
    assert (jax.numpy.from_dlpack(vector.numpy()["rewards"]) == vector.numpy()["rewards"]).all()


@needs_torch
def test_dlpack_keeps_the_memory() -> None:
    """Importers of DLPack keep what the package exported, through other libraries and back."""
    vector = te.VectorEnv(TTT, 64, seed=4, device="CPU", observe=True)
    for _ in range(5):
        vector.step_uniform()
    view = np.from_dlpack(torch.from_dlpack(vector.torch()["observation"]))
    back = te.from_torch(torch.from_dlpack(te.to_torch(vector.legal_action_mask)), copy=False)
    expected, mask = view.copy(), back.tolist()
    assert address(back) == place(vector.torch()["legal_action_mask"]) and expected.any()
    del vector
    gc.collect()
    for seed in range(20):
        te.VectorEnv(TTT, 64, seed, "CPU", observe=True).step_uniform()
    assert (view == expected).all() and back.tolist() == mask


@pytest.mark.extra("jax")
def test_arrays_from_jax() -> None:
    """JAX's arrays are immutable, so that they are copied; actions need no conversion."""
    jnp = importlib.import_module("jax").numpy
    array = np.from_dlpack(jnp.arange(12, dtype="float32").reshape(3, 4))
    assert te.from_numpy(array).tolist() == array.tolist()
    with pytest.raises(ValueError, match="array is read-only, so copy=False cannot be met"):
        te.from_numpy(array, copy=False)
    vector = te.VectorEnv(TTT, 3, device="CPU", observe=True)
    for actions in (jnp.array([0, 4, 8]), jnp.array([1, 1, 9])):
        transition = vector.step(actions)
    assert transition.rewards.tolist() == [[0, 0], [0, 0], [1, -1]]


@needs_torch
def test_a_sharded_vector_env_hands_copies_to_torch() -> None:
    vector = te.VectorEnv(te.make("tic_tac_toe"), 8, device=("CPU:0", "CPU:1"), observe=True)
    before = vector.torch()["legal_action_mask"]
    vector.step([0] * 8)
    after = vector.torch()["legal_action_mask"]
    assert before.sum().item() == 72 and after.sum().item() == 64


@needs_torch
def test_torch_tensors_outlive_their_vector_env() -> None:
    """Their memory is not reused for the buffers of later environments."""
    env, pairs = te.make("tic_tac_toe"), []
    for seed in range(20):
        vector = te.VectorEnv(env, 64, seed=seed, observe=True)
        for _ in range(seed % 4):
            vector.step_uniform()
        pairs += [(tensor, tensor.clone()) for tensor in vector.torch().values()]
    for _ in range(40):
        vector = te.VectorEnv(env, 64, seed=7, observe=True)
        vector.step_uniform()
        vector.torch()
    assert all(torch.equal(tensor, copy) for tensor, copy in pairs)


@pytest.mark.slow
def test_tensors_of_actions_wherever_actions_are_taken() -> None:
    """Oracles, equilibria and states take the Tensors that policies return, not only what NumPy reads."""
    env = shared_env("hyper_tic_tac_toe", shape=(2, 3), k=2)
    state = env.init(4)
    action = te.agents.uniform(state)
    plain = action.numpy()
    oracles: list[te.Oracle] = [te.solve(env), te.solve(env, method="search", memory=2**20), te.PlayoutOracle(8)]
    for oracle in oracles:
        assert (oracle.regret(state, action) == oracle.regret(state, plain)).all()
    equilibrium = te.equilibrium(env, iterations=2)
    assert (equilibrium.regret(state, action) == equilibrium.regret(state, plain)).all()
    rows = Tensor([2, 0], dtype=dtypes.int32)
    assert env.take(state, rows).ply.tolist() == [0, 0]
    assert env.put(state, rows, env.step(state, action)[[2, 0]]).ply.tolist() == [1, 0, 1, 0]
