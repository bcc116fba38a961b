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
KILOBYTES = 60  # upper bound of a picture; the strip is one of several
OTHERS = ["batch.svg", "strip.svg", "equilibrium.svg", *(f"{name}.svg" for name in draw.CHARTS)]


@pytest.mark.few("shed")
@pytest.mark.parametrize("name", draw.FILMS)
def test_the_readmes_pictures_are_up_to_date(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "FILMS", {name: draw.FILMS[name]})
    assert run_here(draw.main, [tmp_path])[0] == 0
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert drawn == {path: kept()[path] for path in (f"{name}.svg", *OTHERS)}


def test_every_game_has_a_small_picture() -> None:
    families = {type(te.make(name).rules).__module__.split(".")[-2] for name in te.registered()}
    assert {f"{family}.svg" for family in families} <= kept().keys()
    for name, svg in kept().items():
        assert len(svg.encode()) < 1000 * KILOBYTES * (2 if name == "strip.svg" else 1), name
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg" and not re.search(r"href|url\(|<script", svg)


def kept() -> dict[str, str]:
    return {path.name: path.read_text() for path in (SCRIPTS / "pictures").glob("*.svg")}


def everything() -> tuple[list[str], str, str, str]:
    libraries, colours = draw.CHARTS["speed"]
    return libraries, *colours


def test_the_strip_is_of_boards_in_motion() -> None:
    """Each tile is a film; the paper is transparent, so that the strip fits light and dark pages."""
    root = ElementTree.fromstring(draw.draw_strip())
    tiles = root.findall(f"{SVG}svg")
    assert len(tiles) == len(draw.STRIP) >= 5 and not root.findall(f"{SVG}rect")
    for tile in tiles:
        assert tile.findall(f"{SVG}g/{SVG}animate") and not tile.findall(f"{SVG}rect") + tile.findall(f"{SVG}text")


def test_speeds_are_the_pages() -> None:
    page = """| game | bare, M steps/s | read, M steps/s | times Pgx | times OpenSpiel |
| --- | ---: | ---: | ---: | ---: |
| chess | 4.0 | 3.1 | 1,342 (1,300 to 1,400) | 33 (31 to 33.5) |
| oware | 14 | 9 |  | 2.5 (2 to 3) |

| other | 1 |
"""
    found = draw.speeds(page)
    assert found == [
        ("chess", "Pgx", (1342, 1300, 1400)),
        ("chess", "OpenSpiel", (33, 31, 33.5)),
        ("oware", "OpenSpiel", (2.5, 2, 3)),
    ]
    svg = draw.draw_speeds(page, *everything()).to_svg()
    axis = ("1", "10", "100", "1,000", "10,000")
    assert all(f">{text}</text>" in svg for text in ("1,342", "33", "2.5", "chess", "oware", "Pgx", *axis))
    dark = draw.draw_speeds(page, ["Pgx"], "#000000", "#ffffff", "#333333").to_svg()
    assert ">1,342</text>" in dark and ">33</text>" not in dark and 'fill="#000000"' in dark.split("\n")[2]
    with pytest.raises(ValueError, match="no table of ratios"):
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
        (code, out) == (2, "")
        and errors.startswith("python scripts/pictures/draw.py: error: argument --cube: ")
        and "no directory" in errors
    )
