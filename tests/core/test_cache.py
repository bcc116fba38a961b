"""Programs are found again; a kernel cache that fails costs compilations, and a warning; nothing else."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensor_envs.core.backend import cache

ROOT = Path(__file__).parents[2]
PLAY = "import tensor_envs as te; print(te.make('tic_tac_toe').init(3, seed=1).ply.numpy().tolist())"


def play(database: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CACHEDB": str(database), "PYTHONPATH": str(ROOT), "DEV": "CPU"}
    return subprocess.run(
        [sys.executable, "-c", before + PLAY], env=environment, capture_output=True, text=True, check=False
    )


def test_a_program_is_made_once(tmp_path: Path) -> None:
    database = tmp_path / "cache.db"
    assert play(database).stdout == "[0, 0, 0]\n"
    nothing = "from tensor_envs.core.backend import program; program.lowered = None; "
    assert play(database, nothing).stdout == "[0, 0, 0]\n"
    for other in (
        "program._makers = lambda: []; ",  # by another tinygrad
        "import tinygrad.helpers as h; h.DEBUG.value = 3; ",  # whose user wants to see how
    ):
        assert "'NoneType' object is not callable" in play(database, nothing + other).stderr


def test_a_damaged_cache(tmp_path: Path) -> None:
    database = tmp_path / "cache.db"
    for content in (b"no database" * 100, b""):
        database.write_bytes(content)
        done = play(database)
        assert (done.returncode, done.stdout) == (0, "[0, 0, 0]\n"), done.stderr
        assert ("RuntimeWarning: kernels are compiled anew" in done.stderr) == bool(content)
    assert database.stat().st_size, "a cache in order is used"
    for content in (b"no pickle", b""):
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            tables = [
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            assert len(tables) > 1
            for table in tables:
                connection.execute(f"UPDATE '{table}' SET val = ?", (content,))
        done = play(database)
        assert (done.returncode, done.stdout) == (0, "[0, 0, 0]\n"), done.stderr


def test_a_cache_that_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of many processes that begin at once: one warning, and it is not asked again."""
    calls = []

    def locked(*arguments: Any) -> None:
        calls.append(arguments)
        raise sqlite3.OperationalError("locking protocol")

    monkeypatch.setattr(cache, "_get", locked)
    monkeypatch.setattr(cache, "_put", locked)
    for first, second in (("get", "put"), ("put", "get")):
        guarded = cache._Cache()
        functions = {"get": lambda c: c.get("table", "key"), "put": lambda c: c.put("table", "key", b"value")}
        calls.clear()
        with pytest.warns(RuntimeWarning, match=r"cache .* fails: locking protocol"):
            assert functions[first](guarded) == (b"value" if first == "put" else None)
        assert functions[second](guarded) == (b"value" if second == "put" else None)
        assert len(calls) == 1
