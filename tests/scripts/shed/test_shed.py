"""scripts/shed.py, in a separate process and within this one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tinygrad import Device

from shed import main as script
from shed.claims import Claim
from tests.scripts.here import SCRIPTS, complaints, run_here

FACTS = json.loads((Path(__file__).parents[2] / "data" / "shed.json").read_text())["N"]
SCRIPT = SCRIPTS / "shed.py"
ANSWERS = ("value", "solve", "play", "plot")  # commands that solve the game


def run(*arguments: object, code: int = 0, typed: str = "", path: Path | None = None) -> str:
    """Run the script and return its output or, for an exit code, its error; with `path` in a separate process.

    path: a folder at the front of that process's PYTHONPATH.
    """
    quiet = ["--quiet", "--device", "CPU"] if arguments and arguments[0] in ANSWERS else []
    if path is None:
        found, out, errors = run_here(script.main, [*arguments, *quiet], typed)
    else:
        places = os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, str(SCRIPT), *map(str, arguments), *quiet],
            input=typed,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONPATH": places},
            check=False,
        )
        found, out, errors = done.returncode, done.stdout, complaints(done.stderr)
    assert found == code, errors
    if code:
        assert re.match(r"python scripts/shed\.py( \w+)?: error: ", errors) and errors.count("\n") == 1
        return errors
    assert errors == ""
    return out


@pytest.mark.slow
def test_solve(tmp_path: Path) -> None:
    path = tmp_path / "six.safetensors"
    text = run("solve", 6, "--checksum", "--verify", "--save", path)
    counts, end = json.JSONDecoder().raw_decode(text)
    assert counts["device"] == "CPU"
    assert (counts["win"], counts["loss"], counts["draw"], counts["start"]) == (423, 298, 8, "loss")
    assert f"sha256 {FACTS['6']['sha256']}" in text[end:] and "verified" in text[end:]
    for hand, value in (("5-1", "loses"), ("5-2", "wins")):  # the 1 is better than the 2, says the post
        text = run("value", f"{hand}+ [] -", "--cards", 6, "--table", path)
        assert f"{hand}+ [] -: the player to move {value}" in text
    assert "not for 7" in run("solve", 7, "--save", path, code=2)


@pytest.mark.slow
def test_values_of_the_post() -> None:
    """Check values of positions in which the left player has just moved, or is to move."""
    assert "7-2+ [] 6-3: the player to move loses" in run("value", "7-2+ [] 6-3")
    text = run("value", "7-3+ [] 6-1")
    assert "the player to move wins" in text and "\nby " in text
    assert "10-9-6-5-2-1+ [] 8-7-4-3: the player to move wins" in run("value", "10-9-6-5-2-1^+ □ 8-7-4-3")
    assert "7+ [4-2] 6-3: the player to move" in run("value", "7+ [4-2] 6-3", "--cards", 8)


@pytest.mark.slow
def test_distance() -> None:
    text = run("value", "4-2+ [] 3-1", "--distance")
    assert text.endswith("the end is 9 moves or 4 tricks away: who wins hurries, the other does not\n")
    assert "away" not in run("value", "5-4-2+ [] 6-1", "--distance")


def test_play() -> None:
    text = run("play", 1, typed="2\n1\n")
    assert "'2' is none of them" in text and "the table: pick up" in text and "You have won." in text
    assert "your move (1, 2, 3): 'x' is none of them" in run("play", 3, typed="x\n3\n")
    text = run("play", 2, "--second", typed="pick up\n" * 50)
    assert text.startswith("the table: 2 cards, solved on CPU\nthe table: ")


def test_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Claim("n7", "of seven cards", [1], [2], "yes", "by hand"), Claim("n8", "of eight", 3, 3, "partly")
    monkeypatch.setattr(script, "claims", lambda: known)
    text = "n7: of seven cards\n    post [1]\n    here [2]: yes (by hand)\n"
    assert run("claims") == f"computed on {Device.DEFAULT}\n{text}n8: of eight\n    post 3\n    here 3: partly\n"


@pytest.mark.slow
def test_claims_of_the_post() -> None:
    """Check the output; the values are tested with the neuron."""
    text = run("claims")
    assert text.count(": agrees") > 20 and "does not agree" not in text
    assert "7 cards: values of 7-2+ [] 6-3, 7-2+ [] 6-1, 7-3+ [] 6-1" in text


@pytest.mark.slow
def test_plot(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    sizes = []
    for cards in ((6, 7), (1,), (10,)):
        path = tmp_path / "weights.png"
        text = run("plot", "--cards", *cards, "--out", path)
        assert text.count("\n") == len(cards) + 1 and text.endswith(f"drawn as {path}\n")
        if cards == (6, 7):
            assert "right in 64 of 64 endgames; 8 of 729 quiet positions drawn" in text
            assert "the largest share in 0-3: 1 of 20" in text
            assert "right in 126 of 128 endgames; 0 of 2,187 quiet positions drawn\n" in text
        with image.open(path) as picture:
            sizes.append(picture.size)
            assert len(set(picture.convert("RGB").getcolors(1 << 24))) > 50
    assert sizes[0][1] > sizes[2][1] > sizes[1][1] and all(width > 1000 for width, _ in sizes)


@pytest.mark.slow
def test_plot_without_pillow(tmp_path: Path) -> None:
    (tmp_path / "PIL.py").write_text("raise ImportError")
    message = run("plot", "--out", tmp_path / "a.png", path=tmp_path, code=2)
    assert "pip install 'tensor_envs[draw]'" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "required: command"),
        (("shuffle",), "invalid choice"),
        (("solve",), "required: cards"),
        (("solve", "six"), "invalid int value: 'six'"),
        (("solve", 0), "argument cards: must be at least 1, got 0"),
        (("solve", 33), "cards must be in 1..21"),
        (("solve", 6, "--memory", "-1"), "argument --memory: must be above 0 and at most"),
        (("solve", 5, "--memory", "0.00001"), "takes 6.7e-05 GiB on CPU, and there are 1e-05 GiB"),
        (("solve", 6, "--save", SCRIPT), "holds no 'tensor_envs shed table 3'"),
        (("solve", 3, "--save", "/nowhere/at/all/table"), "/nowhere/at/all"),
        (("value", "7-2+ [] 6-3", "--table", "/nowhere/at/all"), "no file '/nowhere/at/all'"),
        (("value", "7-2 [] 6-3"), "exactly one hand must end in +"),
        (("value", "7-2+ 6-3"), "a position is written"),
        (("value", "7-2+ [] 6-2"), "the cards must be different"),
        (("value", "7-2+ [] 6-3", "--cards", 5), "in 1..5"),
        (("value", "7-x+ [] 6-3"), "joined by hyphens"),
        (("play", 0), "cards"),
        (("play", 3, "--seed", -1), "--seed"),
        (("claims", 3), "unrecognized arguments"),
        (("plot", "--cards", 0), "argument --cards: must be in 1..16"),
        (("plot", "--cards", 6, 17), "argument --cards: must be in 1..16"),
        (("plot", "--cards"), "expected at least one argument"),
        (("plot", "--epochs", 0), "argument --epochs: must be at least 1"),
        (("plot", "--out", "weights.svg"), "--out must be a .png file"),
        (("plot", "--out", "/nowhere/at/all/a.png"), "/nowhere/at/all is no directory to write a.png to"),
        (("plot", "--bogus"), "unrecognized arguments"),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, tuple) else "",
)
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    assert message in run(*arguments, code=2)
