"""scripts/train/maskable_ppo.py and torchrl_ppo.py: a tiny budget, a saved learner, and a copy in another folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.here import SCRIPTS

SCRIPT = {"maskable_ppo": "sb3_contrib", "torchrl_ppo": "torchrl"}
TINY = ["--env", "tic_tac_toe", "--player=1", "--num-envs=16", "--decisions=2000", "--games=64"]


@pytest.mark.few("maskable_ppo")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.extra(package)) for name, package in SCRIPT.items()]
)
def test_a_copy_learns_and_saves(name: str, tmp_path: Path) -> None:
    """The score is above that of random play in the second seat, .35 to .36 in many games."""
    shutil.copy(SCRIPTS / "train" / f"{name}.py", tmp_path)
    command = [sys.executable, f"{name}.py", *TINY, "--save", "learner.zip"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(
        r"^<Env tic_tac_toe-v0 .*>: score (\S+) against random play, ([\d,]+) decisions$", done.stdout, re.M
    )
    assert found and float(found[1]) > 0.45 and found[2] == "2,048"
    assert (tmp_path / "learner.zip").stat().st_size > 1000
