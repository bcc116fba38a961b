"""Who plays at a table when nobody clicks: the uniform player, and perfect play where a game is solved."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs.games.shed.tablebase import Tablebase

Choose = Callable[[te.State], int | None]  # the action of a batch of one game; None: not known yet, ask again
SHED = Path(__file__).resolve().parents[1] / "shed.py"


def uniform(state: te.State) -> int:
    """A random legal action, a function of the game's seed and ply."""
    return int(te.random_policy(state).item())


class Solver:
    """Tables of Shed, each solved once, by a process of its own: nobody waits for it at another table."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._tables: dict[int, Tablebase] = {}

    def _path(self, cards: int) -> str:
        self._folder = self._folder or TemporaryDirectory(prefix="tensor_envs-")
        return str(Path(self._folder.name) / f"shed_{cards}.safetensors")

    def begin(self, cards: int) -> None:
        if cards not in self._processes:
            command = [sys.executable, str(SHED), "solve", str(cards), "--save", self._path(cards), "--quiet"]
            self._processes[cards] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C in the server's terminal is for the server
            )

    def table(self, cards: int, device: Any) -> Tablebase | None:
        """None while it is being solved. RuntimeError if that has failed."""
        self.begin(cards)
        if cards not in self._tables:
            code = self._processes[cards].poll()
            if code is None:
                return None
            if code:
                del self._processes[cards]  # the next who asks tries again
                raise RuntimeError(f"solving shed with {cards} cards has failed, with exit code {code}")
            self._tables[cards] = Tablebase.load(self._path(cards), device)
        return self._tables[cards]

    def close(self) -> None:
        for process in self._processes.values():
            process.terminate()
            process.wait()
        if self._folder is not None:
            self._folder.cleanup()


def perfect(seed: int, solver: Solver) -> Choose:
    """A player of random actions among those that keep the position's value.

    It wins what is won: of the actions that keep a win one at least brings it nearer, and sooner or later is drawn.
    """
    chance = np.random.default_rng(seed)

    def choose(state: te.State) -> int | None:
        if hasattr(state.env.rules, "cards"):
            table = solver.table(state.env.rules.cards, state.device)
            if table is None:
                return None
            best = table.best_actions(state).numpy()
        else:
            best = te.search.best_actions(state)
        return int(chance.choice(np.flatnonzero(best[0])))

    return choose
