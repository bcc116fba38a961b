"""Playout searches in a process of their own, so that no other table waits for them or for the compiler."""

from __future__ import annotations

import multiprocessing
import signal
from collections import OrderedDict
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from tensor_envs.search.policies import playout_policy
from tensor_envs.state import State

MAX_ANSWERS = 256  # answers that are kept: some are for tables that have moved on


class Searched(NamedTuple):
    """Result of a search: the best action, its value for the player to move, and whether the value is proven."""

    action: int
    value: float
    proven: bool


class Searcher:
    """Process that searches one position after another. Its answers are polled, so that no caller waits for it."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._answers: OrderedDict[int, Searched | str] = OrderedDict()
        self._last = 0

    def start(self, state: State, simulations: int, exploration: float) -> int:
        """Start a playout search of a batch of one game and return its number."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        self._last += 1
        self._connection.send((self._last, state, simulations, exploration))
        return self._last

    def answer(self, number: int, seconds: float) -> Searched | None:
        """Return the result of a search, or None if it takes longer than so many seconds.

        Raises:
            RuntimeError: the search has failed, or its process has ended.
        """
        while number not in self._answers and self._connection.poll(seconds):
            try:
                last, answer = self._connection.recv()
            except EOFError:
                self.close()
                raise RuntimeError("the process that searches has ended") from None
            self._answers[last] = answer
            if len(self._answers) > MAX_ANSWERS:
                self._answers.popitem(last=False)
        found = self._answers.get(number)
        if isinstance(found, str):
            raise RuntimeError(f"a search has failed: {found}")
        return found

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = None


# *** the other process ***


def serve(connection: Connection) -> None:
    """Answer searches until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's
    while True:
        try:
            number, *question = connection.recv()
        except EOFError:
            return
        try:
            answer: Searched | str = searched(*question)
        except Exception as error:
            answer = repr(error)
        connection.send((number, answer))


def searched(state: State, simulations: int, exploration: float) -> Searched:
    """Return the result of a playout search."""
    output = playout_policy(state, simulations, exploration)
    action = int(output.action.item())
    summary = output.search_tree.summary()
    return Searched(action, float(summary["qvalues"][0, action]), bool(summary["proven"][0]))
