"""Computer players of the play page: random, trained weights, perfect; `searches` has those by playout search."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from tensor_envs.games.shed.tablebase import Tablebase
from tensor_envs.rollouts.sampling import uniform
from tensor_envs.state import State

if TYPE_CHECKING:
    from tensor_envs.solve.enumeration import Solution

Choose = Callable[[State], int | None]  # the action in a batch of one game; None while it is being computed
SOLVE = """
import sys
from tensor_envs.games.shed.solve import solve
solve(int(sys.argv[1]), progress=False, path=sys.argv[2])
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


class ShedSolver:
    """Tablebases of Shed, each solved once in a separate process, so that other tables stay responsive."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._tables: dict[int, Tablebase] = {}

    def _path(self, cards: int) -> str:
        self._folder = self._folder or TemporaryDirectory(prefix="tensor_envs-")
        return str(Path(self._folder.name) / f"shed_{cards}.safetensors")

    def start(self, cards: int) -> None:
        if cards not in self._processes:
            command = [sys.executable, "-c", SOLVE, str(cards), self._path(cards)]
            null = subprocess.DEVNULL
            self._processes[cards] = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)

    def table(self, cards: int, device: Any) -> Tablebase | None:
        """Return a tablebase, or None while it is being solved.

        Raises:
            RuntimeError: the solving process failed.
        """
        self.start(cards)
        if cards not in self._tables:
            code = self._processes[cards].poll()
            if code is None:
                return None
            if code:
                del self._processes[cards]  # the next call tries again
                raise RuntimeError(f"solving shed with {cards} cards has failed, with exit code {code}")
            self._tables[cards] = Tablebase.load(self._path(cards), device)
        return self._tables[cards]

    def close(self) -> None:
        for process in self._processes.values():
            process.terminate()
            process.wait()
        if self._folder is not None:
            self._folder.cleanup()


def perfect(seed: int, solver: ShedSolver) -> Choose:
    """Return a player that draws among the actions that keep the position's value.

    It wins won games: at least one of these actions brings the win nearer, and it is drawn sooner or later.
    """
    random = np.random.default_rng(seed)

    def choose(state: State) -> int | None:
        solution = solution_for(state, solver)
        return None if solution is None else int(random.choice(best_of(solution, state)))

    return choose


def solution_for(state: State, solver: ShedSolver) -> Solution | Tablebase | None:
    """Return the solution of a state's game, or None while it is being solved."""
    from tensor_envs.evaluation.agents import solution_of  # the solver, which not every table needs

    if hasattr(state.env.rules, "cards"):
        return solver.table(state.env.rules.cards, state.device)
    return solution_of(state.env)


def best_of(solution: Solution | Tablebase, state: State) -> np.ndarray:
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
    """

    actions: list[int]
    value: float | None
    exact: bool = False
    distance: int | None = None
    waiting: bool = False


def solved(state: State, solver: ShedSolver) -> Advice | None:
    """Return the advice of Shed's solution, or None while it is being computed."""
    solution = solver.table(state.env.rules.cards, state.device)
    if solution is None:
        return None
    return Advice(best_of(solution, state).tolist(), float(solution.value(state).item()), exact=True)
