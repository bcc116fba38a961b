"""scripts/train/grpo.py: positions as prompts, and two steps of a tiny random model by the library TRL."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env
from tests.scripts.here import SCRIPTS
from train import grpo

TTT = shared_env("tic_tac_toe")


def test_positions_are_those_of_the_prompts() -> None:
    rows = grpo.positions(TTT, 40, 5, seed=3)
    plies = set[int]()
    for row in rows:
        state = TTT.state_from_dicts([json.loads(row["position"])])
        assert row["prompt"] == [{"role": "user", "content": te.text.prompt(state, rules=True)}]
        plies.add(int(np.count_nonzero(TTT.state_to_dict(state)["board"])))
    assert plies == {*range(6)} and 30 < len(rows) <= 40


@pytest.mark.slow
@pytest.mark.extra("trl")
def test_a_random_model_learns_and_is_saved(tmp_path: Path) -> None:
    """Rewards of some answers differ, so that weights change; a copy of the script reads the saved model."""
    pytest.importorskip("trl")
    shutil.copy(SCRIPTS / "train" / "grpo.py", tmp_path)

    def run(*options: str) -> list[float]:
        command = [sys.executable, "-W", "ignore", "grpo.py", "--positions", "8", "--steps", "2", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [float(number) for number in re.findall(r"^step \d: mean reward (\S+)$", done.stdout, re.M)]

    rewards = run("--save", "first")
    assert len(rewards) == 2 and all(-2 < reward < 0 for reward in rewards)
    assert len(run("--model", "first", "--save", "second")) == 2
    from safetensors.numpy import load_file

    first: dict[str, Any]
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "second"))
    assert first.keys() == second.keys() and any((first[name] != second[name]).any() for name in first)
