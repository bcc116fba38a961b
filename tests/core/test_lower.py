"""The package's own way from a traced kernel to code: taken by the kernels of every game, and of no effect on games."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tinygrad import Context, Tensor, UOp
from tinygrad.uop.ops import Ops

import tensor_envs as te
from tensor_envs import ops
from tensor_envs.core.backend import lower, program
from tensor_envs.core.backend.lower import lowered
from tests.games.shared import shared_env

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).parents[2]


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Ops]]:
    """What kernels are lowered to, in the order of their launches."""
    found: list[Ops] = []

    def noted(*arguments: object) -> UOp:
        result = lowered(*arguments)  # type: ignore[arg-type]
        found.append(result.op)
        return result

    monkeypatch.setattr(program, "lowered", noted)
    with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
        yield found


@pytest.mark.few("tic_tac_toe", "shed")
@pytest.mark.parametrize("name", te.registered())
def test_games(name: str, kinds: list[Ops]) -> None:
    env = te.make(name)  # not one whose kernels are there already
    state = env.init(64, device="CPU")
    if name == "tic_tac_toe":
        te.rollout_from(state, "uniform", 3)  # which is two kernels: resets, the rollout
    te.VectorEnv(env, 64, device="CPU", observe=True).step_uniform()
    # keys of rows, first states; an observation, a step that writes the next
    assert kinds == [Ops.PROGRAM] * (6 if name == "tic_tac_toe" else 4)


def test_reductions_are_left_to_tinygrad(kinds: list[Ops]) -> None:
    assert ops.winner(Tensor([[1, 1, 1]], device="CPU"), k=3).item() == 1
    assert kinds == [Ops.SINK]


@pytest.mark.parametrize("off", ["switched off", "not there"])
def test_without_it_kernels_are_left_to_tinygrad(
    off: str, kinds: list[Ops], monkeypatch: pytest.MonkeyPatch
) -> None:
    if off == "switched off":
        monkeypatch.setenv("TENSOR_ENVS_LOWER", "0")
    else:  # another tinygrad, which has not what it is made of
        monkeypatch.setattr(lower, "AVAILABLE", False)
    lower.enabled.cache_clear()
    try:
        assert te.make("tic_tac_toe").init(64, device="CPU").ply.numpy().tolist() == [0] * 64
    finally:
        lower.enabled.cache_clear()
    assert set(kinds) == {Ops.SINK}


def fingerprint(name: str) -> str:
    """Of games, observations and returns."""
    env, digest = shared_env(name), hashlib.sha256()
    vector = te.VectorEnv(env, 33, seed=5, device="CPU", observe=True)
    for _ in range(5):
        vector.step_uniform()
    for _, column in sorted(vector.state.numpy().items()):
        digest.update(np.ascontiguousarray(column).tobytes())
    digest.update(vector.observation.numpy().tobytes())
    digest.update(te.rollout(env, "uniform", 33, 40, seed=5, device="CPU").returns.numpy().tobytes())
    return digest.hexdigest()


SOME = ["tic_tac_toe"]
SETS = [
    pytest.param(SOME, id="some"),
    pytest.param(
        [name for name in te.registered() if name not in SOME], id="the others", marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize("names", SETS)
def test_games_are_equal_without_it(names: list[str]) -> None:
    code = f"from tests.core.test_lower import fingerprint; print([fingerprint(name) for name in {names}])"
    environment = os.environ | {"TENSOR_ENVS_LOWER": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str([fingerprint(name) for name in names]), done.stderr[-2000:]


LANGUAGES = """
import json, os, sys
import tensor_envs as te
from tensor_envs.core.backend import program
from tests.core.every_kernel import use
found, lowered = {}, program.lowered
def noted(sink, renderer):
    made = lowered(sink, renderer)
    found.setdefault(sink.arg.name.split("_")[-1], set()).add(made.op.name)
    return made
program.lowered = noted
for name in sys.argv[1:]:
    use(te.make(name))
print(json.dumps({name: sorted(ops) for name, ops in found.items()}))
"""


@pytest.mark.parametrize("target", ("WGSL", "OPENCL"))
def test_languages_of_gpus(target: str) -> None:
    """Branches, counts of bits, words of 64 bits. Where WebGPU would need them for an index, tinygrad splits them."""
    environment = os.environ | {"DEV": f"NULL:{target}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LANGUAGES, "tic_tac_toe", "othello", "shed"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    left = {name for name, ops in found.items() if ops != ["PROGRAM"]}
    assert {"step", "uniform", "rollout", "observe"} <= found.keys() - left
    assert left == ({"seed", "read"} if target == "WGSL" else set())
