"""Memory of an NVIDIA card shared with PyTorch."""

import importlib

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te


@pytest.mark.extra("torch")
def test_a_gpu_shares_memory_with_pytorch() -> None:
    """Games on an NVIDIA card are driven from PyTorch's tensors there, and both see what the other writes."""
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no NVIDIA card")
    vector, same = (
        te.VectorEnv(te.make("tic_tac_toe"), 70, seed=1, device=name, observe=True) for name in ("CUDA", "CPU")
    )
    generator = torch.Generator("cuda").manual_seed(0)
    for _ in range(12):
        seen = vector.torch()
        for name, array in same.numpy().items():
            assert seen[name].device.type == "cuda"
            np.testing.assert_array_equal(seen[name].cpu().numpy(), array)
        actions = torch.multinomial(seen["legal_action_mask"].float(), 1, generator=generator).squeeze(1).int()
        vector.step(te.from_torch(actions, copy=False))
        same.step(actions.cpu().numpy())
    tensor = Tensor.arange(12).reshape(3, 4).clone("CUDA").realize()
    shared, copied = te.to_torch(tensor, copy=False), te.to_torch(tensor, copy=True)
    tensor.assign(tensor + 100).realize()
    assert te.to_torch(tensor, copy=False).data_ptr() == shared.data_ptr() != copied.data_ptr()
    assert shared.tolist() == (copied + 100).tolist()
    shared += 1
    torch.cuda.synchronize()
    assert tensor.tolist() == (copied + 101).tolist()
