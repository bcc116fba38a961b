"""scripts/masked_policy.py plays and learns with masked logits."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "masked_policy.py"


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


def test_it_runs() -> None:
    done = run("--updates", "2", "--batch", "32")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"seat 0 wins 0\.\d{3} .*\n  after 2 updates of 32 decisions in .* s: 0\.\d{3}", done.stdout
    )


def test_wrong_arguments() -> None:
    done = run("--batch", "0")
    assert (
        done.returncode == 2
        and done.stderr.strip() == "masked_policy.py: batch must be in 1..2147483647, got 0"
    )


@pytest.mark.slow
def test_it_learns() -> None:
    done = run("--updates", "150", "--batch", "512")
    before, after = (float(rate) for rate in re.findall(r"(0\.\d{3})", done.stdout))
    assert after > before + 0.05, done.stdout
