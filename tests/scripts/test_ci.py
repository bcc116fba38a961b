"""The parts of `.ci/run`: each is a job of the workflow, and others are refused."""

from __future__ import annotations

import re
import subprocess

from tests.scripts.here import SCRIPTS

ROOT = SCRIPTS.parent
RUN = ROOT / ".ci" / "run"


def test_every_part_is_a_job() -> None:
    """The workflow shows which part has failed."""
    text = RUN.read_text()
    parts = re.findall(r'^parts="(.*)"$', text, re.MULTILINE)[0].split()
    jobs = re.findall(r"^ +part: \[(.*)\]$", (ROOT / ".github" / "workflows" / "ci.yml").read_text(), re.MULTILINE)
    assert jobs == [", ".join(parts)]
    # the comment at the top describes each, and each runs if it is chosen
    assert re.findall(r"^#   (\w+) ", text, re.MULTILINE) == parts
    assert set(re.findall(r"wants (\w+)", text)) == set(parts)


def test_an_unknown_part_is_refused() -> None:
    done = subprocess.run([str(RUN), "lint", "nothing"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and "there is no part nothing, of: readme package" in done.stderr


def test_every_folder_has_its_slow_tests_run() -> None:
    """The weekly workflow has a job for each folder of tests."""
    text = (ROOT / ".github" / "workflows" / "slow.yml").read_text()
    jobs = re.findall(r"^ +part: \[(.*)\]$", text, re.MULTILINE)
    folders = sorted({path.parent.relative_to(ROOT / "tests").parts[0] for path in ROOT.glob("tests/*/**/test_*.py")})
    assert jobs == [", ".join([*folders, "test_*.py"])]
