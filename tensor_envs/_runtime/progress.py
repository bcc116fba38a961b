"""Messages about work that takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

FIRST_REPORT = 5.0  # seconds before the first report on long work
NEXT_REPORT = 30.0  # seconds between reports


class Reports:
    """Timer of long work that reports its progress on stderr."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._next = FIRST_REPORT

    def due(self) -> float | None:
        """Return the seconds since the start if a report is due, else None."""
        seconds = time.monotonic() - self._begin
        if seconds < self._next:
            return None
        self._next = seconds + NEXT_REPORT
        return seconds


@contextmanager
def announced(message: str, seconds: float) -> Iterator[None]:
    """Print a message, such as "compiling ...", on stderr if the block takes longer than `seconds`."""
    timer = threading.Timer(seconds, lambda: print(f"{message} ...", file=sys.stderr, flush=True))
    timer.daemon = True
    with suppress(RuntimeError):  # no thread can be started while the interpreter ends
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
