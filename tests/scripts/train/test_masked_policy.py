"""scripts/train/masked_policy.py plays and learns with masked logits."""

import re
import subprocess
import sys

import pytest

from tests.scripts.here import SCRIPTS, run_here
from train.masked_policy import main

SCRIPT = SCRIPTS / "train" / "masked_policy.py"


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_it_runs() -> None:
    done = run("--updates", "2", "--batch", "32")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"seat 0 wins 0\.\d{3} .*\n  after 2 updates of 32 decisions in .* s: 0\.\d{3}", done.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "0"], "argument --batch: must be in 1..2147483647, got 0"),
        (["--updates", "-1"], "argument --updates: must be in 1..2147483647, got -1"),
        (["--rate", "nan"], "argument --rate: must be above 0 and at most 1, got nan"),
        (["--rate", "-0.5"], "argument --rate: must be above 0 and at most 1, got -0.5"),
        (["--seed", "-1"], "argument --seed: must be in 0..4294967294, got -1"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    assert run_here(main, arguments) == (2, "", f"masked_policy.py: error: {message}\n")


@pytest.mark.slow
def test_it_learns() -> None:
    done = run("--updates", "150", "--batch", "512")
    before, after = (float(rate) for rate in re.findall(r"(0\.\d{3})", done.stdout))
    assert after > before + 0.05, done.stdout
