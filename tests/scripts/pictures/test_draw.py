"""scripts/pictures/draw.py reproduces the stored pictures."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tensor_envs as te
from pictures import draw
from tests.render.test_drawing import SVG
from tests.scripts.here import SCRIPTS, run_here

CUBE = SCRIPTS.parent / "cube.png"
KILOBYTES = 60  # upper bound of a picture


@pytest.mark.few("shed")
@pytest.mark.parametrize("name", draw.FILMS)
def test_the_readmes_pictures_are_up_to_date(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "FILMS", {name: draw.FILMS[name]})
    assert run_here(draw.main, [tmp_path])[0] == 0
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert drawn == {path: kept()[path] for path in (f"{name}.svg", "batch.svg", "speed.svg", "equilibrium.svg")}


def test_every_game_has_a_small_picture() -> None:
    families = {type(te.make(name).rules).__module__.split(".")[-2] for name in te.registered()}
    assert {f"{family}.svg" for family in families} <= kept().keys()
    for name, svg in kept().items():
        assert len(svg.encode()) < 1000 * KILOBYTES, name
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg" and not re.search(r"href|url\(|<script", svg)


def kept() -> dict[str, str]:
    return {path.name: path.read_text() for path in (SCRIPTS / "pictures").glob("*.svg")}


def test_speeds_are_the_pages() -> None:
    row = "| tic_tac_toe | 5 | 9 | 4 | 9 | 2 | 9 |"
    found = draw.speeds(
        f"**50 times** its rate at 4,096 games, **9 times** at 65,536.\n{row}\n| go | 10 | 1 | 8 | 1 | 8 | 1 |\n"
    )
    assert [(name, rate) for name, rate, _ in found] == [
        ("tic_tac_toe, observation and mask read", 200),
        ("tic_tac_toe, Pgx, by the ratio above", 4),
        ("tic_tac_toe, bare step", 250),
        ("tic_tac_toe, bare rollout", 500),
        ("go, observation and mask read", 100),
        ("go, bare step", 125),
        ("go, bare rollout", 125),
    ]
    with pytest.raises(ValueError, match="no table of speed"):
        draw.speeds("# Speed")


def test_cube(tmp_path: Path) -> None:
    """Compare cube.png with the script's picture; versions of Pillow may smooth letters differently."""
    image = pytest.importorskip("PIL.Image")
    code, out, errors = run_here(draw.main, ["--cube", tmp_path / "cube.png"])
    assert (code, errors) == (0, "") and "cube.png: " in out
    pictures = []
    for path in (tmp_path / "cube.png", CUBE):
        with image.open(path) as picture:
            pictures.append(np.asarray(picture.convert("L"), dtype=int))
    assert pictures[0].shape == pictures[1].shape and abs(pictures[0] - pictures[1]).mean() < 0.2


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    code, out, errors = run_here(draw.main, ["--cube", tmp_path / "no" / "cube.png"])
    assert (
        (code, out) == (2, "") and errors.startswith("draw.py: error: argument --cube: ") and "no directory" in errors
    )
