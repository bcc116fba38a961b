"""Exported files, compiled and run, and the transcript that they must write."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs._runtime.buffers import download
from tests.games.shared import shared_env

SEED, TURNS = 2**63 + 2**31 + 7, 32
CC = [sys.executable, "-m", "ziglang", "cc", "-O1", "-std=c11"]
# Before zig links its first program it builds a C library, which takes 20 s.
LINKER = [shutil.which("cc")] if shutil.which("cc") else CC
CLANG = [sys.executable, "-m", "ziglang", "clang", "-std=c11"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Undefined behaviour ends the program. C11 leaves left shifts of negative numbers undefined; gcc and clang define them.
TRAPS = ["-fsanitize=undefined", "-fsanitize-trap=undefined", "-fno-sanitize=shift"]


def run(command: Sequence[object], folder: Path, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder, and expect an exit code and, after success, no warning of a compiler."""
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, check=False)
    assert done.returncode == code, done.stderr.decode()
    assert b"warning" not in done.stderr, done.stderr.decode()
    return done


def build(program: str, sources: Sequence[str | Path], folder: Path, flags: Sequence[str] = ()) -> None:
    """Compile C sources without a warning, and link them and objects (`.o`) to a program in a folder."""
    objects = []
    for source in map(Path, sources):
        objects.append(source.with_suffix(".o").name)
        if source.suffix != ".o":
            run([*CC, *flags, "-c", source, "-o", objects[-1]], folder)
    run([*LINKER, *objects, "-o", program], folder)


@functools.cache
def transcript(name: str, games: int, steps: int) -> list[bytes]:
    """Return the arrays that the programs of this folder write, as the Python environment computes them."""
    env, parts = shared_env(name), list[Tensor | np.ndarray]()
    state = env.init(games, SEED, "CPU")
    rows, finished, illegal = np.arange(games), 0, 0
    parts += [state.tensors[1], state.tensors[0]]
    for step in range(steps):
        actions = download(te.agents.uniform(state)).copy()
        turns = rows + step
        chosen = turns % 13 == 0
        actions[chosen] = np.where(turns % 26, turns % (env.num_actions + 2) - 1, -1)[chosen]
        mask = state.legal_action_mask.numpy()
        inside = (actions >= 0) & (actions < env.num_actions)
        illegal += int((~inside | ~mask[rows, np.where(inside, actions, 0)])[chosen].sum())
        state = env.step(state, actions)
        parts += [actions, state.tensors[0]]
        finished += int((state.terminated.numpy() | state.truncated.numpy()).sum())
        if step % 8 == 0:
            parts += [state.legal_action_mask.numpy(), env.observe(state).numpy()]
        if step % 2:
            state = env.reset(state)
    rollout = te.rollout_from(env.reset(state), "uniform", TURNS)
    parts += [rollout.state.tensors[0], rollout._totals]
    assert illegal >= games // 13, "hardly any action is illegal"
    assert finished >= games, "hardly any game ends"
    assert rollout.returns.numpy().any() or env.num_players == 2
    arrays = (download(part) if isinstance(part, Tensor) else part for part in parts)
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def compare(written: bytes, expected: list[bytes]) -> None:
    """Assert that a program has written these arrays."""
    assert len(written) == sum(map(len, expected))
    place = 0
    for k, array in enumerate(expected):
        assert written[place : place + len(array)] == array, f"array {k} of {len(expected)} differs"
        place += len(array)
