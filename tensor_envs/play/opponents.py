"""Computer players of the play page: random, search, trained weights, perfect."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tensor_envs.games.shed.tablebase import Tablebase
from tensor_envs.sampling import uniform
from tensor_envs.search.policies import playout_policy
from tensor_envs.state import State

Choose = Callable[[State], int | None]  # the action in a batch of one game; None while it is being computed
SOLVE = """
import sys
from tensor_envs.games.shed.solve import solve
solve(int(sys.argv[1]), progress=False, path=sys.argv[2])
"""


def at_random(state: State) -> int:
    """Return a random legal action, a function of the game's seed and ply."""
    return int(uniform(state).item())


def searching(simulations: int) -> Choose:
    """Return the player that takes the best action of a playout search."""
    return lambda state: int(playout_policy(state, simulations).action.item())


@functools.cache
def trained(id: str) -> Choose:
    """Return the player that takes the best action of the packaged weights."""
    from tensor_envs.agents import load  # networks, which not every table needs

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
    from tensor_envs.agents import solution_of  # the solver, which not every table needs

    random = np.random.default_rng(seed)

    def choose(state: State) -> int | None:
        if hasattr(state.env.rules, "cards"):
            table = solver.table(state.env.rules.cards, state.device)
            if table is None:
                return None
            best = table.best_actions(state).numpy()
        else:
            best = solution_of(state.env).best_actions(state)
        return int(random.choice(np.flatnonzero(best[0])))

    return choose
