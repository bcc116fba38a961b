"""Devices whose kernels run one thread per game agree with the CPU bit for bit.

CL is OpenCL (on any processor by PoCL: Debian's pocl-opencl-icd), CUDA an NVIDIA card and NVRTC (extra cuda), WEBGPU
tinygrad's WebGPU (Dawn from the wheel dawn-python, by WEBGPU_PATH; on any processor by Debian's mesa-vulkan-drivers). A
missing device is skipped. If the environment variable TENSOR_ENVS_TEST_DEVICES is set, its devices must exist, and no
others are tested.
"""

from __future__ import annotations

import functools
import itertools
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs._compiler import dialects
from tensor_envs._engine import engine
from tensor_envs._runtime import opening
from tensor_envs.envs.rollout import RolloutReset
from tensor_envs.search import flat_monte_carlo
from tests.games.shared import shared_env

ROOT = Path(__file__).parents[1]
LLVM_14 = Path("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1")
NamedArrays = Iterator[tuple[str, np.ndarray]]  # pairs of name and values
ASKED = os.environ.get("TENSOR_ENVS_TEST_DEVICES")
DEVICES = ("CL", "CUDA", "WEBGPU") if ASKED is None else tuple(ASKED.split())
FAST = ("tic_tac_toe", "shed")  # quick to compile, tested at more batch sizes
LONG = (  # compile for up to 10 s
    "chess", "shogi", "minishogi", "xiangqi", "hyper_tic_tac_toe", "qubic", "quoridor", "amazons", "lines_of_action"
)  # fmt: skip
MEMORY = "9x9x9, in memory"
IN_OPENCL = (
    *FAST, MEMORY,
    "connect_four", "hanabi", "kuhn_poker", "liars_dice", "othello", "oware", "tensor_stars", "three_will",
)  # fmt: skip
LIMIT = 9  # limit of actions in a playout


@functools.cache
def problem(device: str) -> str | None:
    """Return the reason why a device cannot be used, or None."""
    try:
        te.make("tic_tac_toe").init(1, device=device)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.skipif(not LLVM_14.exists(), reason="Debian's LLVM 14 is not here")
def test_an_llvm_that_is_too_old_is_refused() -> None:
    """One line says what is supported; LLVM 14 cannot read tinygrad's registers."""
    command = [sys.executable, "scripts/hyperdimensional_tictactoe.py", "--batch", "8"]
    environment = os.environ | {"DEV": "CPU:LLVM", "LLVM_PATH": str(LLVM_14)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert (
        "device 'CPU' would be programmed by an LLVM that is older than 17" in last and "Traceback" not in done.stderr
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a renderer for x86")
def test_a_renderer_that_computes_wrong_games_is_refused() -> None:
    command = [sys.executable, "scripts/hyperdimensional_tictactoe.py", "--batch", "8"]
    environment = os.environ | {"DEV": "CPU:X86"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    *_, last = done.stderr.splitlines()  # a busy machine prints other lines before the error
    assert re.fullmatch(
        r".*device 'CPU' would be programmed by tinygrad's X86Renderer; kernels are written in C, .*", last
    )


def test_cuda_without_nvrtc_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """tinygrad then writes PTX, which the package has no dialect for; the error says what to install."""

    class PTXRenderer:
        """Renderer that tinygrad takes where NVRTC is missing."""

    monkeypatch.setattr(opening, "opened", lambda name: SimpleNamespace(renderer=PTXRenderer()))
    with pytest.raises(ValueError, match=r"device 'CUDA' needs NVRTC.*pip install 'tensor_envs\[cuda\]'.* NVRTC_PATH"):
        opening.open_device("CUDA")


def test_an_adapter_that_computes_nothing_is_refused() -> None:
    """Dawn offers a null adapter where it finds no driver."""
    if sys.platform != "linux" or problem("WEBGPU"):
        pytest.skip(problem("WEBGPU") or "only Vulkan can be hidden")
    command = [sys.executable, "-c", "import tensor_envs as te; te.make('tic_tac_toe').init(1)"]
    environment = os.environ | {"DEV": "WEBGPU", "VK_DRIVER_FILES": "/none", "VK_ICD_FILENAMES": "/none"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ValueError: device 'WEBGPU' opens here, but what it computes is wrong" in done.stderr


def env_of(game: str) -> te.Env:
    return shared_env("hyper_tic_tac_toe", shape=(9, 9, 9), k=4) if game == MEMORY else shared_env(game)


def words(state: te.State) -> np.ndarray:
    """Return all bits of a state, one row per game."""
    layout = state.buffers.layout
    return np.concatenate([layout.download(tensor) for tensor in state.tensors], axis=1)


def mixed_actions(state: te.State, ply: int) -> np.ndarray:
    """Return actions of the uniform policy, among them some that are illegal or no actions."""
    actions, count = te.agents.uniform(state).numpy(), state.env.num_actions
    rows = np.arange(len(actions))
    actions[(rows + ply) % 11 == 5] = count - 1
    actions[(rows + 3 * ply) % 13 == 7] = (-1, count, 2**31 - 1)[ply % 3]
    return actions


def played(env: te.Env, batch: int, device: str, plies: int = 6) -> te.State:
    state = env.init(batch, seed=3, device=device)
    for ply in range(plies):
        state = env.step(state, mixed_actions(state, ply))
    return state


def steps(env: te.Env, batch: int, device: str) -> NamedArrays:
    state = env.init(batch, seed=3, device=device, first_row=2**31 - 3)
    for ply in range(6):
        yield f"ply {ply}", words(state)
        actions = mixed_actions(state, ply)
        yield f"actions of ply {ply}", actions
        state = env.step(state, Tensor(actions, device=device).realize() if ply % 2 else actions)
    yield "end", words(state)


def resets(env: te.Env, batch: int, device: str) -> NamedArrays:
    state = played(env, batch, device)
    yield "reset", words(env.reset(state))
    yield "masked reset", words(env.reset(state, np.arange(batch) % 3 == 1))
    yield "recomputed", words(te.State(env, env.engine.refresh(state.buffers)))


def looks(env: te.Env, batch: int, device: str) -> NamedArrays:
    state = played(env, batch, device)
    for player in (None, *range(env.num_players), np.arange(batch) % env.num_players):
        yield f"observation of {player}", env.observe(state, player).numpy()
    for name in (*env.spec_fields, "rewards", "terminated", "truncated", "legal_action_mask", "action_key"):
        yield name, getattr(state, name).numpy()
    yield from state.numpy().items()


def copies(env: te.Env, batch: int, device: str) -> NamedArrays:
    state = played(env, batch, device)
    rows = np.arange(3 * batch)[::-2] % batch
    yield "taken", words(env.take(state, rows))
    yield "taken by a tensor", words(env.take(state, Tensor(rows.astype(np.int32), device=device).realize()))
    with tempfile.TemporaryDirectory() as folder:
        te.save_state(state, Path(folder) / "state")
        yield "file", np.frombuffer((Path(folder) / "state").read_bytes(), np.uint8)
        yield "loaded", words(te.load_state(Path(folder) / "state", device))
    yield "of dictionaries", words(env.state_from_dicts([env.state_to_dict(state)] * 2, 5, device))


def vectors(env: te.Env, batch: int, device: str, autoreset: Any) -> NamedArrays:
    for full in (False, True):
        vector = te.VectorEnv(env, batch, 4, device, autoreset, observe=full, final_states=full)
        for ply in range(12):
            prefix = f"{full}, ply {ply}: "
            actions = mixed_actions(vector.state, ply)
            transition = vector.step(actions) if ply % 3 else vector.step_uniform()
            for name, values in transition.numpy().items():
                yield prefix + name, values
            if full:
                for name, values in vector.numpy().items():
                    yield prefix + name, values
                yield prefix + "final state", words(transition.final_state)
                yield prefix + "final observation", transition.final_observation().numpy()
            yield prefix + "state", words(vector.state)
        yield f"{full}, reset", words(vector.reset(np.arange(batch) % 2 == 0))


same_step, next_step, disabled = (
    functools.partial(vectors, autoreset=mode) for mode in ("same_step", "next_step", "disabled")
)


def many_steps(env: te.Env, batch: int, device: str) -> NamedArrays:
    state = played(env, batch, device, plies=2)
    for autoreset in get_args(RolloutReset):
        result = te.rollout_from(state, "uniform", 400, autoreset=autoreset, count_actions=True)
        yield f"state, {autoreset}", words(result.state)
        for name in ("returns", "wins"):
            yield f"{name}, {autoreset}", getattr(result, name).numpy()
        yield from counts(result)
    for name, event in env.events(state, mixed_actions(state, 7)).items():
        yield f"{name} of one action", event.numpy()


def counts(counted: te.DecisionCounts) -> NamedArrays:
    for name in ("legal_counts", "action_counts", "action_plies", "width_counts", "turns"):
        yield name, getattr(counted, name).numpy()
    for name, count in counted.event_counts.items():
        yield name, count.numpy()


def searches(env: te.Env, batch: int, device: str) -> NamedArrays:
    state = played(env, batch, device, plies=1)
    yield "playouts", te.playout(state, 3, seed=1, limit=LIMIT).numpy()
    yield "after actions", te.playout(state, 3, mixed_actions(state, 7), seed=1, limit=LIMIT).numpy()
    yield "best actions", flat_monte_carlo(env.init(min(batch, 7), device=device), 4, limit=LIMIT)
    result = te.search.playout_policy(state, 6, seed=1, limit=LIMIT, count_actions=True)
    yield "searched actions", result.action.numpy()
    yield "visits", result.search_tree.summary()["visit_counts"]  # OpenCL does not define how quotients are rounded
    yield from counts(result.search_tree.playouts)


def jitted(env: te.Env, batch: int, device: str) -> NamedArrays:
    @te.jit
    def call(state: te.State, shift: Tensor) -> tuple[te.State, Tensor, Tensor]:
        mask = state.legal_action_mask
        action = (mask.cast(dtypes.int32) * Tensor.arange(1, env.num_actions + 1)).max(1) - 1
        after = env.reset(env.step(state, action + shift), state.terminated)
        return after, env.observe(after), action

    state = played(env, batch, device, plies=1)
    for ply in range(5):  # run, captured, replayed
        state, seen, action = call(state, Tensor([int(ply == 2)], dtype=dtypes.int32, device=device).realize())
        yield f"ply {ply}", words(state)
        yield f"observation, ply {ply}", seen.numpy()
        yield f"action, ply {ply}", action.numpy()


Task = Callable[[te.Env, int, str], NamedArrays]
TASKS: dict[str, Task] = {
    "steps": steps,
    "resets": resets,
    "looks": looks,
    "copies": copies,
    "same_step": same_step,
    "next_step": next_step,
    "disabled": disabled,
    "many_steps": many_steps,
    "searches": searches,
    "jitted": jitted,
}
WITHOUT_MEMORY = ("many_steps", "searches")


@functools.lru_cache(len(DEVICES))
def on_cpu(task: str, game: str, batch: int) -> dict[str, np.ndarray]:
    return dict(TASKS[task](env_of(game), batch, "CPU"))


def soon(device: str, game: str, batch: int, task: str) -> bool:
    """Return whether a case is in the fast set. PoCL compiles ten times as long as other devices."""
    if game in LONG or (device == "CL" and game not in IN_OPENCL):
        return False
    if game == "shed" and device == "CL":
        return batch == 7 or (batch == 1 and task == "steps")
    return batch in (7, 70) and task == "steps"


def cases() -> Iterator[Any]:
    for game in (*te.registered(), MEMORY):
        batches = (1, 7, 64) if game in FAST else (70,)
        for task, batch, device in itertools.product(TASKS, (*batches, 1000, 4096), DEVICES):
            if game != MEMORY or task not in WITHOUT_MEMORY:
                marks = [] if soon(device, game, batch, task) else [pytest.mark.slow]
                yield pytest.param(device, game, batch, task, id=f"{device}-{game}-{batch}-{task}", marks=marks)


@pytest.mark.slow
def test_games_in_opencl_have_every_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast set's games there have each operation, on each dtype, that any game has but the long ones."""
    game, found = "", defaultdict[str, set[object]](set)
    source = dialects.C.source

    def recorded(language: dialects.C, name: str) -> str:
        found[game] |= {
            (x.op, x.dtype, *(operand.dtype for operand in x.operands)) for x, _ in language.tape.instructions()
        }
        return source(language, name)

    monkeypatch.setattr(dialects.C, "source", recorded)
    device = next((device for device in DEVICES if not problem(device)), "CPU")
    for game in (*te.registered(), MEMORY):
        if game not in LONG:
            engine._shared_engine.cache_clear()  # an engine records a kernel once
            env = env_of(game)
            for _ in steps(te.Env(env.entry, env.rules, env.id), 70, device):
                pass
    assert set().union(*found.values()) == set().union(*(found[game] for game in IN_OPENCL))


def skip_without(device: str) -> None:
    """Skip a test of a device that is not here; if the environment names it, fail."""
    if why := problem(device):
        assert ASKED is None, why
        pytest.skip(why)


@pytest.mark.parametrize(("device", "game", "batch", "task"), list(cases()))
def test_same_as_on_the_cpu(device: str, game: str, batch: int, task: str) -> None:
    skip_without(device)
    expected, actual = on_cpu(task, game, batch), dict(TASKS[task](env_of(game), batch, device))
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        assert actual[name].dtype == values.dtype, name
        np.testing.assert_array_equal(actual[name], values, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("game", "dtype"), (("tic_tac_toe", "bool"), ("backgammon", "int8"), ("kalah", "int16"), ("three_will", "float32"))
)
def test_observations_of_every_dtype(device: str, game: str, dtype: str) -> None:
    skip_without(device)
    env = env_of(game)
    assert env.spec.observation_dtype == dtype
    seen, expected = (env.observe(played(env, 7, name)).numpy() for name in (device, "CPU"))
    assert seen.dtype == expected.dtype and (seen == expected).all() and seen.any()
