"""Kernels in WebAssembly: a node plays with them what the CPU device plays, bit for bit."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.core.backend.device import download
from tensor_envs.web.kernels import described, module
from tests.games.shared import shared_env

HERE, PAGE = Path(__file__).parent, Path(te.__file__).parent / "web" / "page"
NODE = shutil.which("node")
BATCH, SEED, STEPS = 4096, 2**63 + 7, 200
MOST_BYTES = 45_000  # of a game's kernels, compressed

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(NODE is None, reason="WebAssembly is run by node, which is not here"),
]


def digest(env: te.Env, steps: int = STEPS) -> str:
    """Of what `digest.js` does, on the CPU device."""
    chain = hashlib.sha256()

    def add(*parts: object) -> None:
        for part in parts:
            chain.update(np.ascontiguousarray(download(part)).tobytes())  # type: ignore[arg-type]

    first = state = env.init(BATCH, SEED, "CPU")
    vector = te.VectorEnv(env, BATCH, SEED, device="CPU")
    add(first.tensors[1], first.tensors[0])
    for _ in range(steps):
        add(vector.step_uniform().actions, vector._games.words)  # with the flags of the step
    for _ in range(8):
        actions = te.random_policy(state)
        state = env.step(state, actions)
        add(actions, state.tensors[0])
    return chain.hexdigest()


@pytest.mark.few("othello")  # it has sets of 64 bits, which a 32-bit machine may get wrong
@pytest.mark.parametrize("name", te.registered())
def test_every_step_is_the_cpu_devices(name: str, tmp_path: Path) -> None:
    env = shared_env(name)
    wasm, calls = module(env)
    assert len(gzip.compress(wasm, 9)) <= MOST_BYTES
    for path, content in {
        "package.json": b'{"type": "module"}',
        "games.js": (PAGE / "games.js").read_bytes(),
        "digest.js": (HERE / "digest.js").read_bytes(),
        f"games/{name}.wasm": wasm,
        f"games/{name}.json": json.dumps({**described(env), "calls": calls}).encode(),
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    command = [str(NODE), "digest.js", "digest", name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{name} {digest(env)}\n", "")
