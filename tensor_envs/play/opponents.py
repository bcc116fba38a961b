"""Computer players of the play page: random, trained weights, perfect; `searches` has those by playout search."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from tensor_envs.envs.registry import env_metadata
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env
    from tensor_envs.evaluation.agents import Oracle

Choose = Callable[[State], int | None]  # the action in a batch of one game; None while it is being computed
SOLVE = """
import json, sys
from tensor_envs.envs.registry import env_of
env = env_of(json.loads(sys.argv[1]))
env.entry.find("oracle").solve(env.rules).write(sys.argv[2])
"""


def at_random(state: State) -> int:
    """Return a random legal action, a function of the game's seed and ply."""
    return int(uniform(state).item())


@functools.cache
def trained(id: str) -> Choose:
    """Return the player that takes the best action of the packaged weights."""
    from tensor_envs.evaluation.agents import load  # networks, which not every table needs

    policy = load(id, 0)
    return lambda state: int(policy(state).item())


class OracleSolver:
    """Games solved by their own oracles, each once in a separate process, so that other tables stay responsive."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._processes: dict[Any, subprocess.Popen[bytes]] = {}  # by rules
        self._files: dict[Any, str] = {}
        self._solved: dict[Any, Any] = {}

    def start(self, env: Env) -> None:
        """Start the solving process of a game, unless it has been started."""
        rules = env.rules
        if rules not in self._processes:
            self._folder = self._folder or TemporaryDirectory(prefix="tensor_envs-")
            self._files[rules] = str(Path(self._folder.name) / f"{env.id}_{len(self._files)}.safetensors")
            command = [sys.executable, "-c", SOLVE, json.dumps(env_metadata(env)), self._files[rules]]
            null = subprocess.DEVNULL
            self._processes[rules] = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)

    def oracle(self, env: Env, device: Any) -> Any:
        """Return the values of a game, or None while it is being solved.

        Raises:
            RuntimeError: the solving process failed.
        """
        self.start(env)
        rules = env.rules
        if rules not in self._solved:
            code = self._processes[rules].poll()
            if code is None:
                return None
            if code:
                del self._processes[rules]  # the next call tries again
                raise RuntimeError(f"solving {env!r} has failed, with exit code {code}")
            self._solved[rules] = env.entry.find("oracle").load(self._files[rules], device)
        return self._solved[rules]

    def close(self) -> None:
        for process in self._processes.values():
            process.terminate()
            process.wait()
        if self._folder is not None:
            self._folder.cleanup()


def perfect(seed: int, solver: OracleSolver) -> Choose:
    """Return a player that draws among the actions that keep the position's value.

    It wins won games: at least one of these actions brings the win nearer, and it is drawn sooner or later.
    """
    random = np.random.default_rng(seed)

    def choose(state: State) -> int | None:
        solution = solution_for(state, solver)
        return None if solution is None else int(random.choice(best_of(solution, state)))

    return choose


def solution_for(state: State, solver: OracleSolver) -> Oracle | None:
    """Return the solution of a state's game, or None while it is being solved."""
    from tensor_envs.evaluation.agents import solution_of  # the solver, which not every table needs

    if state.env.entry.find("oracle") is not None:
        return solver.oracle(state.env, state.device)
    return solution_of(state.env)


def best_of(solution: Oracle, state: State) -> np.ndarray:
    """Return the actions that keep the value of a batch of one game."""
    best = solution.best_actions(state)
    return np.flatnonzero(best.numpy() if isinstance(best, Tensor) else best)


class Advice(NamedTuple):
    """Advice for the player to move.

    Attributes:
        actions: the best actions; none while they are being searched.
        value: the return that this player can expect; None while it is being searched.
        exact: whether the value and the actions are those of perfect play.
        distance: plies to the end of a game that is won or lost; None if that is unknown.
        waiting: whether another answer is being computed.
        compiling: whether the kernel of the search is being compiled first.
    """

    actions: list[int]
    value: float | None
    exact: bool = False
    distance: int | None = None
    waiting: bool = False
    compiling: bool = False


def solved(state: State, solver: OracleSolver) -> Advice | None:
    """Return the advice of a game's own oracle, or None while it is being computed."""
    solution = solver.oracle(state.env, state.device)
    if solution is None:
        return None
    return Advice(best_of(solution, state).tolist(), float(solution.value(state).item()), exact=True)
