"""Messages about work that takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def announced(message: str, seconds: float) -> Iterator[None]:
    """Print a message, such as "compiling ...", on stderr if the block takes longer."""
    timer = threading.Timer(seconds, lambda: print(f"{message} ...", file=sys.stderr, flush=True))
    timer.daemon = True
    with suppress(RuntimeError):  # no thread can be started while the interpreter ends
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
