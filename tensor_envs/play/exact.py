"""Exact values of single positions, searched in a separate process and for a few seconds at most."""

from __future__ import annotations

import functools
import json
import select
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from tensor_envs.envs.registry import env_metadata, env_of
from tensor_envs.envs.state import State

SECONDS = 2.0  # time of a search, without the compilation of its kernel
TICK = 0.1  # seconds after which the time is looked at
PATIENCE = 60.0  # seconds that a question may wait for its answer: a kernel may be compiled for it first
MEMORY = 2**26  # bytes of the transposition tables
MAX_ANSWERS = 256


class Exact(NamedTuple):
    """Result of a position with best play.

    Attributes:
        value: return of the player to move: 1, 0 or -1.
        best: actions that lead to it: if the distance is known, the fastest wins or the longest resistance, else all.
        distance: plies to the end of a win or loss; None for a draw, or if it takes too long to find.
    """

    value: int
    best: list[int]
    distance: int | None


class PositionSolver:
    """Process that searches one position at a time. Its answers are polled, so no caller waits for it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: OrderedDict[str, Exact | None] = OrderedDict()
        self._searched: str | None = None  # the question that the process works on
        self._deadlines: dict[str, float] = {}

    def ask(self, state: State) -> tuple[Exact | None, bool]:
        """Return the result of a batch of one game that is searchable, if it is known, and whether to ask again."""
        question = json.dumps([env_metadata(state.env), state.env.state_to_dict(state)])
        self._receive()
        if question not in self._answers:
            self._send(question)
            if len(self._deadlines) > MAX_ANSWERS:  # deadlines of abandoned tables would pile up
                self._deadlines.clear()
            deadline = self._deadlines.setdefault(question, time.monotonic() + PATIENCE)
            if time.monotonic() < deadline:
                return None, True
        self._deadlines.pop(question, None)
        return self._answers.get(question), False

    def _receive(self) -> None:
        """Store the answer of the process, if there is one; none is exact if the process has ended."""
        if self._process is None or self._searched is None:
            return
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], 0)[0]:
            return
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else None
        self._answers[self._searched] = Exact(*answer) if answer else None
        self._searched = None
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        if not line:
            self.close()

    def _send(self, question: str) -> None:
        if self._searched is not None:
            return
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which `_receive` finds
            self._process.stdin.write(f"{question}\n".encode())
            self._process.stdin.flush()
        self._searched = question

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = self._searched = None


# *** the other process ***


@contextmanager
def bounded(solution: Any) -> Iterator[None]:
    """Raise TimeoutError in a block whose search takes longer than `SECONDS`; its kernel may be compiled first."""
    began: float | None = None

    def expire(*_: Any) -> None:
        nonlocal began
        if not solution.nodes:  # the kernel is being compiled
            return
        began = began or time.monotonic()
        if time.monotonic() >= began + SECONDS:
            raise TimeoutError

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def exact(solution: Any, state: State) -> Exact | None:
    """Search a batch of one game. Returns None if that takes too long, or if the game cannot be searched."""
    answer = None
    with suppress(TimeoutError, ValueError), bounded(solution):
        value = int(solution.value(state)[0])
        if value > 0 and len(won := winning_actions(state)):  # no other action needs a search
            return Exact(value, won.tolist(), 1)
        answer = Exact(value, np.flatnonzero(solution.best_actions(state)[0]).tolist(), None)
        if value:
            distance = int(solution.distance(state)[0])
            answer = Exact(value, np.flatnonzero(solution.fastest_actions(state)[0]).tolist(), distance)
    return answer


def winning_actions(state: State) -> np.ndarray:
    """Return the actions that win a batch of one game at once."""
    legal = np.flatnonzero(state.numpy()["legal_action_mask"][0])
    after = state.env.step(state[np.zeros(len(legal), np.int32)], legal).numpy()
    won: np.ndarray = legal[after["rewards"][:, state.numpy()["current_player"][0]] > 0]
    return won


@functools.lru_cache(2)
def solution_of(metadata: str) -> Any:
    """Return the search of a game."""
    from tensor_envs.solve.enumeration import solve

    return solve(env_of(json.loads(metadata)), method="search", memory=MEMORY)


def serve() -> None:
    """Answer the questions of the standard input, a line each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's, which closes the input
    for line in sys.stdin:
        metadata, game = json.loads(line)
        solution = solution_of(json.dumps(metadata))
        result = exact(solution, solution.env.state_from_dicts([game]))
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    serve()
