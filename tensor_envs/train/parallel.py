"""Several learners of one network of PyTorch, each in a process that `torchrun` has started.

Every process plays its own games and learns from them, on a card of its own or on the CPU. PyTorch averages their
gradients in every optimiser step, so their weights stay the same. The process of rank 0 decides when the budget is
spent, rates the player and writes the folder.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import Any

from tensor_envs._runtime.cuda import is_cuda
from tensor_envs._runtime.opening import open_device

STARTED = "RANK", "WORLD_SIZE", "LOCAL_RANK"  # variables that torchrun sets
PATIENCE = timedelta(days=1)  # how long processes wait while one rates the player


def is_started() -> bool:
    """Return whether torchrun has started this process beside others."""
    return all(name in os.environ for name in STARTED) and int(os.environ["WORLD_SIZE"]) > 1


def connect(device: str | None) -> tuple[int, str]:
    """Connect the processes of torchrun, and return the rank and the device of this one.

    Args:
        device: as in `Env.init`; on a machine with several NVIDIA cards each process takes the next.
    """
    import torch  # torchrun comes with it

    opened = str(open_device(device))
    on_cards = is_cuda(opened)
    if on_cards:
        opened = f"CUDA:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl" if on_cards else "gloo", timeout=PATIENCE)
    return torch.distributed.get_rank(), opened


def num_learners() -> int:
    """Return the number of connected processes; 1 without any."""
    distributed = _distributed()
    return 1 if distributed is None else int(distributed.get_world_size())


def broadcast(value: Any) -> Any:
    """Return the value of the process of rank 0 in every process; without torchrun, the value itself."""
    distributed = _distributed()
    if distributed is None:
        return value
    values = [value]
    distributed.broadcast_object_list(values)
    return values[0]


def _distributed() -> Any:
    """Return the module of PyTorch if its processes are connected, else None."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return torch.distributed
