"""Processes of engines, which read and write lines of text."""

from __future__ import annotations

import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

MAX_LINE = 2**16  # characters
MAX_WAITING = 2**10  # lines that are read ahead
END_SECONDS = 2.0  # to wait for the end of the output of an engine that was killed
SHOWN_LINES = 3  # an error quotes the last lines of an engine
DEBIAN = ("stockfish", "gnugo", "gnubg")  # packages that have the names of their programs
GAMES_FOLDER = "/usr/games"  # Debian's folder of games, which root does not search


def find_program(name: str) -> str | None:
    """Return the path of a program, or None if it is not installed."""
    return shutil.which(name) or shutil.which(name, path=GAMES_FOLDER)


class EngineError(RuntimeError):
    """Failure of an engine of others: it hangs, has ended, or answers what is no legal move."""


class EngineProcess:
    """Process of an engine. It ends with this object, with Python, and with any error.

    Attributes:
        name: name of the engine in errors.
        deadline: seconds for every answer.
        pid: id of the process.
    """

    def __init__(self, name: str, words: Sequence[str], deadline: float):
        self.name = name
        self.deadline = deadline
        program = find_program(words[0])
        if program is None:
            hint = f": on Debian, apt-get install {words[0]}" if words[0] in DEBIAN else ""
            raise FileNotFoundError(f"the engine {name!r} is not installed, there is no program {words[0]!r}{hint}")
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [program, *words[1:]],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            bufsize=1,
            start_new_session=True,  # the engine ends with all that it has started
        )
        assert process.stdin is not None and process.stdout is not None
        self.pid = process.pid
        self._input = process.stdin
        self._lines = queue.Queue[str | None](MAX_WAITING)
        self._last = deque[str](maxlen=SHOWN_LINES)
        # it has no reference to this object, which would never be collected
        reader = threading.Thread(target=_read, args=(process.stdout, self._lines), daemon=True)
        reader.start()
        self._finalizer = weakref.finalize(self, _end, process, reader, self._lines)
        self._command = shlex.join(words)

    def send(self, *lines: str) -> None:
        """Write lines. EngineError if the engine has ended."""
        try:
            self._input.writelines(f"{line}\n" for line in lines)
            self._input.flush()
        except (OSError, ValueError):  # ValueError after `close`
            raise self.failure("has ended") from None

    def wait_for(self, is_last: Callable[[str], bool]) -> list[str]:
        """Return the lines until the first that `is_last` accepts. EngineError if it does not come in time."""
        end = time.monotonic() + self.deadline
        lines = list[str]()
        while not lines or not is_last(lines[-1]):
            try:
                line = self._lines.get(timeout=max(end - time.monotonic(), 0))
            except queue.Empty:
                raise self.failure(f"has not answered within {self.deadline:g} s") from None
            if line is None:
                raise self.failure("has ended")
            lines.append(line)
            self._last.append(line)
        return lines

    def failure(self, what: str) -> EngineError:
        """End the engine, and return an error that says what it has done and what it has written last."""
        self.close()
        written = " | ".join(line for line in self._last if line) or "nothing"
        return EngineError(f"the engine {self.name!r} ({self._command}) {what}; it wrote: {written}")

    def close(self) -> None:
        """End the engine."""
        self._finalizer()


def _read(output: IO[str], lines: queue.Queue[str | None]) -> None:
    """Pass on all lines of an engine and None at their end, and close its output."""
    with output, suppress(OSError, ValueError):
        while line := output.readline(MAX_LINE):
            lines.put(line.rstrip())
    lines.put(None)


def _end(process: subprocess.Popen[str], reader: threading.Thread, lines: queue.Queue[str | None]) -> None:
    """Kill a process with its group, and wait for the thread that reads its output."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + END_SECONDS
    while reader.is_alive() and time.monotonic() < end:
        with suppress(queue.Empty):  # the thread may wait for room
            lines.get(timeout=0.01)
    # The thread closes the output, which a process that has left the group may keep open.
    assert process.stdin is not None
    with suppress(OSError):  # commands that were not read
        process.stdin.close()
