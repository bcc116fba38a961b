"""Playout searches in processes of their own, so that no other table waits for them or for the compiler."""

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
from typing import Any, NamedTuple

from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State
from tensor_envs.search.policies import playout_policy

MAX_ANSWERS = 256  # answers that are kept: some are for tables that have moved on
MAX_PROCESSES = 2  # processes that are kept: of the game that is played, and of the one before
NICENESS = 10  # niceness of these processes: their compilers would slow down the server


class Searched(NamedTuple):
    """Result of a search: the best action, its value for the player to move, and whether the value is proven."""

    action: int
    value: float
    proven: bool


class Searcher:
    """Process that searches one position of a game after another. Its answers are polled, so that no caller waits."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: OrderedDict[int, bytes] = OrderedDict()  # questions; the process works on the first one
        self._answers: OrderedDict[int, list[float] | str] = OrderedDict()
        self._last = 0
        self._has_answered = False

    @property
    def is_compiling(self) -> bool:
        """Whether the first answer is pending, which waits for the compilation of the game's kernels."""
        return bool(self._waiting) and not self._has_answered

    def prepare(self, state: State, exploration: float | None) -> None:
        """Start to compile the kernels of a game, unless a search has done so."""
        if not self._last:
            self._ask(compiled, state, exploration)
        elif self.is_compiling and self._process is None:
            self._send()

    def start(self, state: State, num_simulations: int, exploration: float | None) -> int:
        """Start a playout search of a batch of one game and return its number."""
        return self._ask(searched, state, num_simulations, exploration)

    def _ask(self, *question: Any) -> int:
        self._last += 1
        self._waiting[self._last] = b64encode(pickle.dumps(question)) + b"\n"
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
        if self._process is None:  # it was closed for another game
            self._send()
        assert self._process is not None and self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return False
        line = self._process.stdout.readline()
        number, _ = self._waiting.popitem(last=False)
        self._has_answered = True
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
        """End the process; a question that still waits starts another one when it is asked for its answer."""
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):
                self._process.communicate()
        self._process = None


class Searchers:
    """Searcher of each game, so that no search waits for the compiler of another game's kernels."""

    def __init__(self) -> None:
        self._searchers: OrderedDict[str, Searcher] = OrderedDict()

    def of(self, game: str) -> Searcher:
        """Return the searcher of a game that is played now, and end the processes of games played long ago."""
        self._searchers.setdefault(game, Searcher())
        self._searchers.move_to_end(game)
        for older in [*self._searchers.values()][:-MAX_PROCESSES]:
            older.close()
        return self._searchers[game]

    def close(self) -> None:
        """End all processes."""
        for searcher in self._searchers.values():
            searcher.close()


# *** the other process ***


def serve() -> None:
    """Answer the questions of the standard input, a line each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's, which closes the input
    os.nice(NICENESS)
    for line in sys.stdin:
        try:
            function, *arguments = pickle.loads(b64decode(line))
            answer: Searched | str = function(*arguments)
        except Exception as error:
            answer = repr(error)
        print(json.dumps(answer), flush=True)


def searched(state: State, num_simulations: int, exploration: float | None) -> Searched:
    """Return the result of a playout search."""
    output = playout_policy(state, num_simulations, exploration)
    action = int(output.action.item())
    summary = output.search_tree.summary()
    return Searched(action, float(summary["qvalues"][0, action]), bool(summary["proven"][0]))


def compiled(state: State, exploration: float | None) -> Searched:
    """Compile a step, which the server finds in the cache of programs then, and a search."""
    state.env.step(state, uniform(state))
    return searched(state, 1, exploration)


if __name__ == "__main__":
    serve()
