"""tinygrad's kernel cache on disk, of which no run dies.

Many processes that begin at once on one cache, a full disk or a damaged file make SQLite fail. Then the process goes on
without the cache, after a warning. tinygrad opens it for one thread; here any thread may compile, one at a time.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import warnings
from pathlib import Path
from typing import Any

from tinygrad import device, helpers

_get, _put = helpers.diskcache_get, helpers.diskcache_put
FAILURES = (Exception,)  # pickle raises nearly any of what is damaged


class _Cache:
    """The two functions by which compilers use the cache, until one of them fails."""

    works = True

    def get(self, table: str, key: Any) -> Any:
        try:
            _connect()
            return _get(table, key) if self.works else None
        except FAILURES as error:
            return self.fail(error)

    def put(self, table: str, key: Any, value: Any, prepickled: bool = False) -> Any:
        try:
            if self.works:
                _connect()
                _put(table, key, value, prepickled)
        except FAILURES as error:
            self.fail(error)
        return value

    def fail(self, error: Exception) -> None:
        self.works = False
        warnings.warn(
            f"kernels are compiled anew, since tinygrad's cache {helpers.CACHEDB} fails: {error}",
            RuntimeWarning,
            stacklevel=2,
        )


@functools.cache
def _connect() -> None:
    """Open the cache as tinygrad would, but for all threads: `device.LOCK` lets one compile at a time."""
    path = Path(helpers.CACHEDB)
    path.parent.mkdir(parents=True, exist_ok=True)
    connection: Any = sqlite3.connect(path, 60, isolation_level="IMMEDIATE", check_same_thread=False)
    with contextlib.suppress(sqlite3.OperationalError):  # another process is about to set it, or has
        connection.execute("PRAGMA journal_mode=WAL").fetchone()
    connection.execute("PRAGMA synchronous=NORMAL")
    helpers._db_connection = connection


def guard_kernel_cache() -> None:
    """Let compilers go on without the cache when it fails."""
    if device.diskcache_get is _get:  # type: ignore[attr-defined]
        cache = _Cache()
        device.diskcache_get, device.diskcache_put = cache.get, cache.put  # type: ignore[attr-defined, assignment]
