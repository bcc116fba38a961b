"""What kernels cost, counted: kernels and bytes a step, code for GPUs that are not here, code that does not change."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tinygrad.helpers import GlobalCounters

import tensor_envs as te

ROOT = Path(__file__).parents[2]
BYTES = {
    "tic_tac_toe": 5 * 4,
    "qubic": 7 * 4,
    "gomoku": 19 * 4,
}  # state: two sets of cells, player, ply, episode


@pytest.mark.parametrize("name", BYTES)
def test_bytes(name: str) -> None:
    """A step moves the state in and out, the mask's bits, rewards, flags and the action: nothing else."""
    env, batch = te.make(name), 128
    assert env.spec.state_bytes == BYTES[name]
    vector = te.VectorEnv(env, batch)
    for _ in range(2):
        vector.step_uniform()
    before = GlobalCounters.global_mem
    vector.step_uniform()
    words = (env.num_actions + 31) // 32 * 4
    key, rewards, flags, action = 8, 8, 2, 4
    assert GlobalCounters.global_mem - before <= batch * (
        2 * BYTES[name] + 2 * words + key + rewards + flags + action
    )


def compiled_for(target: str, kernels: Sequence[str]) -> list[list[str]]:
    """The rows of `scripts/gpu_kernels.py`, which compiles every game's for a GPU that need not be here."""
    command = [
        sys.executable,
        str(ROOT / "scripts" / "gpu_kernels.py"),
        "--target",
        target,
        "--kernel",
        *kernels,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
    made = [(name, kernel) for name, kernel, *_ in rows]
    assert made == [(f"`{name}`", kernel) for name in te.registered() for kernel in kernels]
    return rows


FEW = ["uniform", "rollout"]
EVERY = [
    "step",
    "uniform, next_step",
    "uniform, disabled",
    "rollout, disabled",
    "playout",
    "take",
    "restart",
    "derive",
]
SETS = [pytest.param(FEW, id="few"), pytest.param(EVERY, id="the others", marks=pytest.mark.slow)]


@pytest.mark.parametrize("kernels", SETS)
def test_kernels_compile_for_webgpu(kernels: list[str]) -> None:
    assert all(int(code.replace(",", "")) > 500 for *_, code, _ in compiled_for("WGSL", kernels))


@pytest.mark.parametrize("kernels", SETS)
def test_kernels_compile_for_cuda(kernels: list[str]) -> None:
    """What registers hold on a GPU stays in them: a thread's local memory is slow, and is hardly used."""
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    for name, kernel, registers, local, _, resident in compiled_for("CUDA:sm_90", kernels):
        assert int(local) <= 32, (name, kernel)
        assert int(resident) >= (2048 if name == "`tic_tac_toe`" else 256), (name, kernel, registers)
