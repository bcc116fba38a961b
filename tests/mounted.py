"""Programs that run with a small or a read-only disk, mounted for that process alone."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@functools.cache
def unshare() -> tuple[str, ...]:
    """Return the prefix of a command that runs it with private mounts; skip the test where the system allows none."""
    own = () if os.name == "posix" and os.geteuid() == 0 else ("--map-root-user",)
    command = ("unshare", "--mount", *own)
    if shutil.which("unshare") and shutil.which("mount"):
        tried = [*command, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/tmp"]
        if subprocess.run(tried, capture_output=True, check=False).returncode == 0:
            return command
    pytest.skip("the system allows no mounts here")


def run_mounted(
    folder: Path, size: int, code: str, before: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program where `folder` is a disk of `size` KiB. The mount ends with the program.

    Args:
        code: in Python; `folder` is the path.
        before: in sh, once the disk is there and before the program.
    """
    script = f'mount -t tmpfs -o size={size}k tmpfs "$0" && {before or ":"} && exec "$@"'
    program = f"import sys; from pathlib import Path; folder = Path(sys.argv[1])\n{code}"
    command = [*unshare(), "sh", "-c", script, str(folder), sys.executable, "-c", program, str(folder)]
    return subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
