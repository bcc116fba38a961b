"""Games on an NVIDIA card beside PyTorch and JAX there. Without a card everything here is skipped."""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te


@pytest.fixture
def torch() -> Any:
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no NVIDIA card")
    torch.zeros(1, device="cuda")  # opens the primary context
    return torch


def context() -> int | None:
    """Return the thread's current CUDA context."""
    current = ctypes.c_void_p()
    assert ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(current)) == 0
    return current.value


def vectors(batch: int) -> tuple[te.VectorEnv, te.VectorEnv]:
    """Return the same games on the card and on the CPU."""
    env = te.make("connect_four")
    on_card, same = (te.VectorEnv(env, batch, seed=1, device=name, observe=True) for name in ("CUDA", "CPU"))
    return on_card, same


@pytest.mark.extra("torch")
@pytest.mark.parametrize("batch", [70, 128])  # where actions are copied, and where they are read as they are
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("side_stream", [False, True])
def test_pytorch_drives_a_loop(torch: Any, batch: int, dtype: str, side_stream: bool) -> None:
    """Both libraries see what the other writes, in the same tensors at every call, and PyTorch's context stays."""
    vector, same = vectors(batch)
    before, first = context(), vector.torch()
    stream = torch.cuda.Stream() if side_stream else torch.cuda.current_stream()
    with torch.cuda.stream(stream):
        for _ in range(40):
            seen = vector.torch()
            assert all(seen[name].data_ptr() == first[name].data_ptr() for name in seen)
            for name, array in same.numpy().items():
                np.testing.assert_array_equal(seen[name].cpu().numpy(), array)
            chances = torch.rand(batch, 7, device="cuda") * seen["legal_action_mask"]
            actions = chances.argmax(1).to(getattr(torch, dtype))
            transition = vector.step(actions)
            same.step(actions.cpu().numpy().astype(np.int32))
            assert context() == before
            assert (transition.numpy()["actions"] == actions.cpu().numpy()).all()
            assert transition.actions.tolist() == actions.tolist()
    state = vector.state
    assert (vector.env.step(state, actions).ply.numpy() == same.env.step(same.state, actions.cpu()).ply.numpy()).all()


@pytest.mark.extra("torch")
@pytest.mark.parametrize("batch", [70, 128])
def test_actions_beyond_int32_are_illegal(torch: Any, batch: int) -> None:
    vector, _ = vectors(batch)
    vector.step(torch.full((batch,), 2**32, device="cuda"))
    assert (vector.numpy()["rewards"][:, 0] == -1).all()
    with pytest.raises(TypeError, match="action must be integers, got dtype torch"):
        vector.step(torch.zeros(batch, device="cuda"))
    with pytest.raises(ValueError, match=r"action must have shape \(\d+,\), got \(3,\)"):
        vector.step(torch.zeros(3, dtype=torch.int32, device="cuda"))


@pytest.mark.extra("torch")
def test_tensors_share_memory(torch: Any) -> None:
    tensor = Tensor.arange(12).reshape(3, 4).clone("CUDA").realize()
    shared, copied = te.to_torch(tensor, copy=False), te.to_torch(tensor, copy=True)
    tensor.assign(tensor + 100).realize()
    assert te.to_torch(tensor, copy=False).data_ptr() == shared.data_ptr() != copied.data_ptr()
    assert shared.tolist() == (copied + 100).tolist()
    shared += 1
    torch.cuda.synchronize()
    assert tensor.tolist() == (copied + 101).tolist()
    again = te.from_dlpack(torch.arange(6, device="cuda").reshape(2, 3))
    assert (again + 1).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert torch.from_dlpack(te.to_dlpack(again)).tolist() == [[0, 1, 2], [3, 4, 5]]


def evaluations(env: te.Env, torch: Any) -> dict[str, Any]:
    """Return the same evaluation in NumPy, PyTorch and JAX; the last two stay on the card."""
    plies = np.arange(env.num_actions, dtype=np.float32) / 9

    def by_numpy(state: te.State) -> tuple[np.ndarray, np.ndarray]:
        seen = te.to_numpy(env.observe(state)).reshape(state.batch, -1).astype(np.float32)
        return seen.sum(1, keepdims=True) * plies, np.tanh(seen[:, :9].sum(1) - 1)

    def by_torch(state: te.State) -> tuple[Any, Any]:
        seen = te.to_torch(env.observe(state))
        assert seen.is_cuda
        seen = seen.flatten(1).float()
        return seen.sum(1, keepdim=True) * torch.tensor(plies, device="cuda"), torch.tanh(seen[:, :9].sum(1) - 1)

    def by_jax(state: te.State) -> tuple[Any, Any]:
        jax = importlib.import_module("jax")
        seen = jax.dlpack.from_dlpack(te.to_dlpack(env.observe(state)))
        seen = seen.reshape(len(seen), -1).astype("float32")
        return seen.sum(1, keepdims=True) * plies, jax.numpy.tanh(seen[:, :9].sum(1) - 1)

    return {"numpy": by_numpy, "torch": by_torch, "jax": by_jax}


@pytest.mark.extra("torch", "jax")
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_networks_on_the_card_drive_searches(torch: Any, library: str) -> None:
    if library == "jax" and importlib.import_module("jax").default_backend() != "gpu":
        pytest.skip("JAX sees no card")
    env = te.make("connect_four")
    functions = evaluations(env, torch)
    on_card, on_cpu = (env.init(70, seed=1, device=name) for name in ("CUDA", "CPU"))
    for search in (te.search.gumbel_muzero_policy, te.search.muzero_policy):
        expected = search(on_cpu, functions["numpy"], 32)
        found = search(on_card, functions[library], 32)
        assert (found.action.numpy() == expected.action.numpy()).all()


@pytest.mark.extra("jax")
def test_jax_drives_a_loop() -> None:
    jax = importlib.import_module("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no card")
    vector, same = vectors(128)
    kept = []
    for _ in range(20):
        seen = vector.jax()
        assert {device.platform for array in seen.values() for device in array.devices()} == {"gpu"}
        kept.append((seen, same.numpy()))
        actions = jax.numpy.argmax(seen["legal_action_mask"], 1).astype("int32")
        vector.step(actions)
        same.step(np.asarray(actions))
    for arrays, expected in kept:  # JAX's arrays never change
        assert all((np.asarray(arrays[name]) == array).all() for name, array in expected.items())


@pytest.mark.slow
@pytest.mark.extra("torch")
def test_a_network_learns_during_self_play(torch: Any) -> None:
    """Learning has a stream of its own, and weights like those of learning alone; self-play keeps those before it."""
    dense = importlib.import_module("tensor_envs.train.modules").Dense
    streams: dict[bool, set[int]] = {True: set(), False: set()}

    class Recording(dense):  # type: ignore[misc, valid-type]
        """Network that records the streams of learning (True) and of evaluation (False)."""

        def forward(self, observation: Any) -> Any:
            streams[self.training].add(torch.cuda.current_stream().cuda_stream)
            return super().forward(observation)

    env = te.make("connect_four")
    config = te.train.AlphaZeroConfig(
        num_envs=256, rollout_length=4, num_simulations=8, updates=20, minibatch=512, overlap=True
    )
    torch.manual_seed(0)
    trainer = te.train.AlphaZero(env, config, "CUDA", network=Recording(env, hidden=64))
    trainer.step()  # which plays before it learns
    alone = te.train.AlphaZero(env, replace(config, overlap=False), "CUDA", network=Recording(env, hidden=64))
    alone.trainable.restore(trainer.trainable.checkpoint())
    alone.trainable.learn(trainer._sampled(), trainer.learning_rate(), 0)
    before = trainer.weights()
    for each in streams.values():
        each.clear()
    trainer.step()
    assert len(streams[True]) == len(streams[False]) == 1 and streams[True] != streams[False]
    played = trainer.player.weights()
    after = trainer.weights()
    expected = alone.weights()
    assert all(np.array_equal(played[name], array) for name, array in before.items())
    assert all(np.abs(after[name] - array).mean() > 1e-3 for name, array in before.items())
    assert all(np.abs(after[name] - array).mean() < 1e-4 for name, array in expected.items())
