"""scripts/shard_rollout.py: processes that know their ranks alone play the games of one process, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shard_rollout as script
import tensor_envs as te
from tests.scripts.here import SCRIPTS, run_here

GAME = "tests.core.dice_race:DiceRace"  # a user's, which draws in every step
ARGUMENTS = ("--env", GAME, "--batch", "130", "--steps", "60", "--seed", "5")


def same(folder: Path, count: int) -> None:
    parts = [np.load(path) for path in sorted(folder.iterdir())]
    whole = te.rollout(te.make(GAME), "uniform", 130, 60, 5)
    assert len(parts) == count and whole.episodes.numpy().any()
    for name in ("returns", "wins", "episodes"):
        np.testing.assert_array_equal(
            np.concatenate([part[name] for part in parts]), getattr(whole, name).numpy()
        )


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


def test_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    for rank, rows in ((2, "86 to 129"), (0, "0 to 42"), (1, "43 to 85")):
        monkeypatch.setenv("RANK", str(rank))
        code, out, errors = run_here(script.main, [*ARGUMENTS, "--save", tmp_path / "parts"])
        assert (code, errors) == (0, "") and out.startswith(f"rows {rows} of 130 on "), errors
        assert f"{GAME}: " in out
    same(tmp_path / "parts", 3)


@pytest.mark.extra("torch")
def test_torchrun(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    environment = os.environ | {"DEV": "CPU", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(SCRIPTS / "shard_rollout.py"), *ARGUMENTS, "--save", str(tmp_path / "parts")],
        env=environment,
        cwd=SCRIPTS.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "on CPU:1\n" in done.stdout
    same(tmp_path / "parts", 2)
