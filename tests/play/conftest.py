"""A server of scripts/play.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.scripts.here import SCRIPTS, complaints


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Serve a play page in another process that shows all warnings, and yield its address."""
    command = [sys.executable, "-W", "always", str(SCRIPTS / "play.py"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        assert line.startswith("open http://127.0.0.1:"), line
        yield line.split()[1]
    finally:
        process.terminate()
        errors = complaints(process.communicate(timeout=20)[1])
    assert errors == "", errors
