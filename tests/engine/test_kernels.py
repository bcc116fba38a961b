"""Costs of kernels: launches, bytes and arrays, and code for GPUs that are not installed."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import dtypes
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from tensor_envs._compiler.tape import Block, Tape
from tensor_envs._engine.batch_layout import BatchLayout
from tensor_envs._engine.engine import block_range
from tensor_envs._engine.kernels.step import Step
from tensor_envs._runtime.clang import OPTIONS, cpu_compiler
from tensor_envs._runtime.devices import opened
from tensor_envs._runtime.programs import printed
from tensor_envs._runtime.pytree import flatten_arrays
from tensor_envs.games.connect_four.rules import ConnectFour
from tests.engine.every_kernel import GAMES, classes
from tests.games.shared import shared_env

ROOT = Path(__file__).parents[2]
BATCH = 128
# words of a state: two sets of cells, player and flags, ply, episode; rewards, mask
WORDS = {
    "tic_tac_toe": (5, 2, 1),
    "qubic": (7, 2, 2),
    "gomoku": (19, 2, 8),
    "shed": (5, 2, 1),
    "tensor_stars": (5, 2, 1),
}
KEY, ACTION = 8, 4  # bytes of the uniform policy's key and of an action


def cost(call: object) -> tuple[int, float]:
    """Return how many kernels a call launches, and how many bytes a game they read and write."""
    assert callable(call)
    for _ in range(3):
        call()
    kernels, size = GlobalCounters.kernel_count, GlobalCounters.global_mem
    call()
    return GlobalCounters.kernel_count - kernels, (GlobalCounters.global_mem - size) / BATCH


def step_tape(env: te.Env, uniform: bool = False) -> tuple[Tape, BatchLayout]:
    """Return the kernel of a step on the CPU, which plays several games at once, and the layout of its state."""
    state = env.init(BATCH, device="CPU")
    words, row_keys, layout = state.buffers
    arrays = Step.Arrays(words, None, row_keys, layout.empty(1, dtypes.int32))
    parameters = [words, row_keys, arrays.actions, *block_range(layout.grid, "CPU")]
    recorder = env.engine.recorder(Step(uniform=uniform), layout.grid, flatten_arrays(arrays)[0])
    return recorder([(x.dtype, x.numel()) for x in parameters], False), layout


def test_rules_are_recorded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel takes several games at once by copies of its instructions, not by further calls of the rules."""
    played = []
    step = ConnectFour.step

    def counted(rules: ConnectFour, *given: Any) -> te.Outcome:
        played.append(given)
        return step(rules, *given)

    monkeypatch.setattr(ConnectFour, "step", counted)
    tape, layout = step_tape(te.make("connect_four"))
    (over_games,) = (x for x in tape.root.body if isinstance(x, Block))
    turns = [x.head.value for x in over_games.body if isinstance(x, Block)]
    assert max(turns) < layout.grid.lanes and len(played) == 1


def test_loops_over_lanes_are_innermost() -> None:
    """Go floods regions in loops of as many turns as a game needs, and compilers vectorise innermost loops only."""
    tape, layout = step_tape(shared_env("go"))

    def blocks(block: Block) -> list[Block]:
        inside = [x for x in block.body if isinstance(x, Block)]
        return [y for x in inside for y in (x, *blocks(x))]

    over_lanes = [x for x in blocks(tape.root) if x.head is not None and x.head.value == layout.grid.lanes]
    assert len(over_lanes) > 1 and not any(blocks(x) for x in over_lanes)
    assert sum(x.kind == "while" for x in blocks(tape.root)) == 3


@pytest.mark.few("shogi", "clobber")
@pytest.mark.parametrize("name", te.registered())
def test_steps_are_vectorised(name: str) -> None:
    """Steps of shogi have more words than clang tells apart by itself, and a choice of ways may become a switch."""
    tape, _ = step_tape(te.make(name), uniform=True)
    renderer = opened("CPU").renderer
    compiler = renderer.compiler
    options = [f"--target={compiler.arch}-none-unknown-elf", *compiler.args, "-Rpass=loop-vectorize"]
    command = [cpu_compiler(), *OPTIONS, *options, "-", "-o", os.devnull]
    said = subprocess.run(command, input=printed("step", tape, renderer)[2], capture_output=True, text=True, check=True)
    assert "vectorized loop" in said.stderr


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", WORDS)
def test_a_step_is_one_kernel_that_moves_the_state_in_and_out(name: str) -> None:
    """A step reads fields, flags, mask and the action or its key, and writes all words."""
    env, (fields, rewards, mask) = shared_env(name), WORDS[name]
    assert env.state_bytes == 4 * (fields + rewards + mask)
    step = 4 * (fields + mask) + env.state_bytes
    actions = np.zeros(BATCH, np.int32)
    state = env.init(BATCH)
    assert cost(lambda: env.step(state, actions)) == (1, step + ACTION)
    every = name == "tensor_stars"  # all modes of one game with its own keys suffice
    for autoreset in ("same_step", "next_step", "disabled") if every else ("same_step",):
        for final_states in (False, True) if every else (False,):
            vector = te.VectorEnv(env, BATCH, autoreset=autoreset, final_states=final_states)  # type: ignore[arg-type]
            assert cost(vector.step_uniform) == (1, step + KEY + ACTION)
            assert cost(lambda vector=vector: vector.step(actions)) == (1, step + ACTION)
    vector = te.VectorEnv(env, BATCH, observe=True)
    kernels, size = cost(vector.step_uniform)
    arrays = vector.numpy(copy=False)
    written = sum(array.nbytes for array in arrays.values()) / BATCH
    twice = 31 * (arrays["observation"].itemsize + 1)  # the last 32 entries may overlap those before
    assert kernels == 1 and size <= step + KEY + ACTION + written + twice + 4 * (2 * fields + rewards + mask)


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", ["tic_tac_toe", "three_will"])
def test_how_many_kernels_calls_take(name: str) -> None:
    env = shared_env(name)
    state = env.init(BATCH)
    assert cost(lambda: env.init(BATCH))[0] == 2, "keys of the rows, first states"
    assert cost(lambda: te.agents.uniform(state))[0] == 1
    assert cost(lambda: env.reset(state))[0] == cost(lambda: env.observe(state))[0] == 1
    assert cost(lambda: state.current_player)[0] == cost(lambda: state.legal_action_mask)[0] == 1
    assert cost(lambda: state.numpy())[0] == 0, "the host unpacks"
    assert cost(lambda: te.rollout_from(state, "uniform", 20))[0] == 2, "finished games start again, and all steps"
    counted = cost(lambda: te.rollout_from(state, "uniform", 20, autoreset="disabled", count_actions=True))
    assert counted[0] == 1, "all steps and their counts"
    vector = te.VectorEnv(env, BATCH)

    def step() -> None:
        vector.step_uniform()
        assert vector.state is vector.state

    assert cost(step)[0] == 2, "a snapshot is a copy"


SOME = ["dice_race"]
SETS = [
    pytest.param(SOME, id="some"),
    pytest.param([name for name in GAMES if name not in SOME], id="the others", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize("games", SETS)
def test_kernels_get_the_arrays_that_they_use(games: list[str]) -> None:
    """OpenCL counts a slot among the arrays that are passed, and WebGPU allows eight."""
    for name, kernels in launched_for_webgpu("all", games).items():
        launched = {kernel for kernel, _ in kernels}
        missing = classes().keys() - launched - ({"rollout", "playout"} if name == "in memory" else set())
        missing -= set() if GAMES[name]().spec.events else {"events"}
        assert not missing and "uniform" in launched, f"{name}: {missing} not launched"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker"])
def test_kernels_of_searches_get_at_most_eight_arrays(name: str) -> None:
    """Nodes with states, and nodes that resample hidden information, need at most eight arrays."""
    (kernels,) = launched_for_webgpu("search", [name]).values()
    assert {"search", "init_root", "gather_noise", "expand_and_select", "finalize"} <= {kernel for kernel, _ in kernels}


def launched_for_webgpu(what: str, games: Sequence[str]) -> dict[str, list[tuple[str, list[int]]]]:
    """Return the kernels of games and the slots of their arrays; check that devices can pass them."""
    environment = os.environ | {"DEV": "NULL:WGSL", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.engine.every_kernel", what, *games]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    kernels_by_game: dict[str, list[tuple[str, list[int]]]] = json.loads(done.stdout)
    for name, kernels in kernels_by_game.items():
        for kernel, places in kernels:
            assert places == list(range(len(places))), f"{name}, {kernel}: {places}"
            assert len(places) <= 8, f"{name}, {kernel}: {len(places)} arrays"
    return kernels_by_game


def compiled_for(target: str, games: Sequence[str], kernels: Sequence[str]) -> list[list[str]]:
    """Return the rows of `scripts/benchmark/gpu_kernels.py`, which cross-compiles kernels for a GPU."""
    script = str(ROOT / "scripts" / "benchmark" / "gpu_kernels.py")
    command = [sys.executable, script, "--target", target, "--kernel", *kernels, "--env", *games]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("| `")
    ]
    assert [(name, kernel) for name, kernel, *_ in rows] == [(f"`{g}`", kernel) for g in games for kernel in kernels]
    return rows


FEW = ["uniform", "rollout"]
INSTRUCTION = 16  # bytes
EVERY = [
    "step", "uniform, next_step", "uniform, disabled", "uniform, observe", "rollout, disabled", "playout", "observe",
    "gather", "reset", "refresh",
]  # fmt: skip
# bytes of local memory
MORE = {
    "`three_will`": 96, "`chess`": 2048, "`gardner_chess`": 224, "`minishogi`": 216, "`shogi`": 1384, "`xiangqi`": 640,
}  # fmt: skip
QUICK = ["tic_tac_toe", "gomoku"]  # quick to compile
KERNELS = [
    pytest.param(QUICK, FEW, id="few"),
    pytest.param(
        [name for name in te.registered() if name not in QUICK], FEW, id="of the longer", marks=pytest.mark.slow
    ),
    pytest.param(te.registered(), EVERY, id="the others", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("games", "kernels"), KERNELS)
def test_kernels_compile_for_webgpu(games: list[str], kernels: list[str]) -> None:
    assert all(int(code.replace(",", "")) > 500 for *_, code, _ in compiled_for("WGSL", games, kernels))


@pytest.mark.parametrize(("games", "kernels"), KERNELS)
def test_kernels_compile_for_cuda(games: list[str], kernels: list[str]) -> None:
    """Local memory is slow: kernels use little of it, except those of chess and its kin."""
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    for name, kernel, registers, local, code, resident in compiled_for("CUDA:sm_90", games, kernels):
        # Arrays hold lookup tables of loops: an observation's parts, and the parts of a first state in a branch.
        array = 192 if "observe" in kernel else 32
        assert int(local) <= max(array, MORE.get(name, 0)), (name, kernel)
        if (name, kernel) == ("`three_will`", "uniform"):  # loops in a branch compute its first states
            assert int(code.replace(",", "")) <= 2100 * INSTRUCTION
        assert int(resident) >= (2048 if name == "`tic_tac_toe`" else 256), (name, kernel, registers)
