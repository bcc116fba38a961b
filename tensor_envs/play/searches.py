"""Playout searches in a process of their own, so that no other table waits for them or for the compiler."""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import subprocess
import sys
from base64 import b64decode, b64encode
from collections import OrderedDict
from contextlib import suppress
from typing import NamedTuple

from tensor_envs.envs.state import State
from tensor_envs.search.policies import playout_policy

MAX_ANSWERS = 256  # answers that are kept: some are for tables that have moved on


class Searched(NamedTuple):
    """Result of a search: the best action, its value for the player to move, and whether the value is proven."""

    action: int
    value: float
    proven: bool


class Searcher:
    """Process that searches one position after another. Its answers are polled, so that no caller waits for it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: OrderedDict[int, bytes] = OrderedDict()  # questions; the process works on the first one
        self._answers: OrderedDict[int, list[float] | str] = OrderedDict()
        self._last = 0

    def start(self, state: State, simulations: int, exploration: float) -> int:
        """Start a playout search of a batch of one game and return its number."""
        self._last += 1
        self._waiting[self._last] = b64encode(pickle.dumps((state, simulations, exploration))) + b"\n"
        if len(self._waiting) == 1:
            self._send()
        return self._last

    def answer(self, number: int, seconds: float) -> Searched | None:
        """Return the result of a search, or None if it takes longer than so many seconds.

        Raises:
            RuntimeError: the search has failed, or its process has ended.
        """
        while number in self._waiting and self._receive(seconds):
            pass
        found = self._answers.get(number)
        if isinstance(found, str):
            raise RuntimeError(f"a search has failed: {found}")
        return None if found is None else Searched(int(found[0]), found[1], bool(found[2]))

    def _receive(self, seconds: float) -> bool:
        """Store the answer to the first question if it comes in time, and return whether it has."""
        assert self._process is not None and self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return False
        line = self._process.stdout.readline()
        number, _ = self._waiting.popitem(last=False)
        self._answers[number] = json.loads(line) if line else "its process has ended"
        if len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        if not line:
            self.close()
        if self._waiting:
            self._send()
        return True

    def _send(self) -> None:
        """Send the first question to the process."""
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # custom games may be anywhere
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
            )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which `_receive` finds
            self._process.stdin.write(next(iter(self._waiting.values())))
            self._process.stdin.flush()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):
                self._process.communicate()
        self._process = None


# *** the other process ***


def serve() -> None:
    """Answer the questions of the standard input, a line each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's, which closes the input
    for line in sys.stdin:
        try:
            answer: Searched | str = searched(*pickle.loads(b64decode(line)))
        except Exception as error:
            answer = repr(error)
        print(json.dumps(answer), flush=True)


def searched(state: State, simulations: int, exploration: float) -> Searched:
    """Return the result of a playout search."""
    output = playout_policy(state, simulations, exploration)
    action = int(output.action.item())
    summary = output.search_tree.summary()
    return Searched(action, float(summary["qvalues"][0, action]), bool(summary["proven"][0]))


if __name__ == "__main__":
    serve()
