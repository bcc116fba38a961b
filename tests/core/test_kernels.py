"""What kernels cost, counted: kernels and bytes a step, code for GPUs that are not here, code that does not change."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from tests.core.compile_kernels import kernels

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


def compile_for(target: str, which: str, **environment: str) -> None:
    """Compile few or all kinds of kernels of every registered game for a GPU that need not be here."""
    command = [sys.executable, "-m", "tests.core.compile_kernels", which]
    environment = {**os.environ, "DEV": f"NULL:{target}", **environment}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("compiled") == len(kernels(which)) >= 2 * len(te.registered()) - 1


def cuda_library() -> str:
    try:
        files = metadata.files("nvidia-cuda-nvrtc-cu12") or []
    except metadata.PackageNotFoundError:
        pytest.skip("needs the library in the package nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    return next(str(f.locate()) for f in files if f.name.startswith("libnvrtc.so"))


@pytest.mark.parametrize("which", ["few", pytest.param("all", marks=pytest.mark.slow)])
def test_kernels_compile_for_webgpu(which: str) -> None:
    compile_for("WGSL", which)


@pytest.mark.parametrize("which", ["few", pytest.param("all", marks=pytest.mark.slow)])
def test_kernels_compile_for_cuda(which: str) -> None:
    compile_for("CUDA:sm_90", which, NVRTC_PATH=cuda_library())
