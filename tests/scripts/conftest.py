"""A server of scripts/play.py, and the modules that it is made of."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a page to play at, served by a process of its own."""
    command = [sys.executable, str(SCRIPTS / "play.py"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        assert line.startswith("open http://127.0.0.1:"), line
        yield line.split()[1]
    finally:
        process.terminate()
        errors = process.communicate(timeout=20)[1]
    assert errors == "", errors


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("play_tables")


@pytest.fixture
def opponents(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("play_opponents")
