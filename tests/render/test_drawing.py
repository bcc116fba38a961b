"""The drawing kit and the pictures of hyperdimensional tic-tac-toe."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tensor_envs.games.hyper_tic_tac_toe import render
from tensor_envs.games.hyper_tic_tac_toe.paint import COLOURS, GOLD
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.render import Drawing
from tests.games.hyper_tic_tac_toe.reference import lines

SVG = "{http://www.w3.org/2000/svg}"


def elements(svg: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    return list(root)


def pixels(path: Path) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def near(pixel: np.ndarray, colour: str) -> bool:
    return all(abs(int(p) - int(colour[i : i + 2], 16)) <= 2 for p, i in zip(pixel, (1, 3, 5), strict=True))


def sample() -> Drawing:
    drawing = Drawing(100, 60, background="#eeeeee")
    drawing.rect(10, 10, 20, 20, fill="#ff0000")
    drawing.circle((50, 20), 10, fill="#00ff00")
    drawing.circle((80, 20), 8, stroke="#0000ff", width=4)
    drawing.line((10, 40), (50, 40), (50, 55), stroke="#000000", width=4)
    drawing.polygon([(60, 35), (90, 35), (90, 55), (60, 55)], fill="#ff0000", opacity=0.5)
    drawing.text((75, 45), "a < b & c", size=8, bold=True)
    return drawing


def test_svg() -> None:
    shapes = elements(sample().to_svg())
    names = [element.tag.removeprefix(SVG) for element in shapes]
    assert names == ["rect", "polygon", "circle", "circle", "polyline", "polygon", "text"]
    assert shapes[-1].text == "a < b & c" and shapes[-1].get("font-weight") == "bold"
    assert shapes[1].get("points") == "10,10 30,10 30,30 10,30"
    assert shapes[5].get("opacity") == "0.5"


def test_png(tmp_path: Path) -> None:
    sample().save_png(tmp_path / "a.png", scale=2)
    image = pixels(tmp_path / "a.png")
    assert image.shape == (120, 200, 3)
    at = {
        (2, 2): "#eeeeee",
        (20, 20): "#ff0000",
        (50, 20): "#00ff00",
        (80, 20): "#eeeeee",  # inside the ring
        (88, 20): "#0000ff",
        (89.5, 20): "#0000ff",  # half the stroke is outside the radius, as in SVG
        (30, 40): "#000000",
        (50, 50): "#000000",
        (62, 53): "#f67777",  # half red on grey
    }
    for (x, y), colour in at.items():
        assert near(image[round(2 * y), round(2 * x)], colour), (x, y)
    assert (image[80:100, 130:170] < 60).all(axis=2).any(), "no text"
    again = sample()
    again.shapes.pop()
    again.save_png(tmp_path / "b.png")
    assert (pixels(tmp_path / "b.png") != image).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.rect(0, 0, 1, 1, fill="red"), "fill must be '#rrggbb' or 'none', got 'red'"),
        (lambda d: d.line((0, 0), (1, 1), stroke="#f00"), "stroke must be '#rrggbb' or 'none', got '#f00'"),
        (lambda d: d.text((0, 0), "a", fill=3), "fill must be '#rrggbb' or 'none', got 3"),
        (lambda d: d.text((0, 0), "a", anchor="left"), "anchor must be one of 'start', 'middle', 'end', got 'left'"),
        (lambda d: d.circle((0, float("nan")), 1), "coordinates and sizes must be finite, got Circle"),
        (
            lambda d: d.polygon([(0, 0), (1, 1)], width=float("inf")),
            "coordinates and sizes must be finite, got Outline",
        ),
        (lambda d: d.image(0), "scale must be in 0.1..100, got 0"),
        (lambda d: d.image("1"), "scale must be a number, got '1' of type str"),
    ],
)
def test_shapes_without_a_picture(call: Callable[[Drawing], object], message: str) -> None:
    drawing = Drawing(10, 10)
    with pytest.raises((ValueError, TypeError), match=message):
        call(drawing)
    assert not drawing.shapes


def test_invisible_text() -> None:
    pytest.importorskip("PIL")
    drawing = Drawing(10, 10)
    drawing.text((5, 5), "a", fill="none")
    assert len(drawing.image().getcolors()) == 1


def test_png_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'tensor_envs\[draw\]'"):
        sample().save_png(tmp_path / "a.png")


# *** hyperdimensional tic-tac-toe ***


def position(shape: tuple[int, ...], first: list[int], second: list[int]) -> dict[str, Any]:
    board = [0] * int(np.prod(shape))
    for cells, mark in ((first, 1), (second, -1)):
        for cell in cells:
            board[cell] = mark
    return {"board": board, "current_player": int(len(first) > len(second))}


@pytest.mark.parametrize(("shape", "k"), [((7,), 3), ((3, 3), 3), ((4, 2, 5, 3), 3), ((2, 2, 2), 2), ((2, 3), 1)])
def test_completed_lines_are_the_references(shape: tuple[int, ...], k: int) -> None:
    rules, chance = HyperTicTacToe(shape, k), np.random.default_rng(1)
    for _ in range(5):
        board = chance.integers(-1, 2, rules.cells).tolist()
        drawn = [
            (mark, frozenset(int(np.ravel_multi_index(cell, shape)) for cell in cells))
            for mark, cells in render.marks_and_lines(rules, board)[1]
        ]
        expected = {
            (mark, frozenset(line))
            for mark in (1, -1)
            for line in lines(shape, k)
            if all(board[c] == mark for c in line)
        }
        assert len(drawn) == len(set(drawn)) and set(drawn) == expected


def test_text_of_a_grid() -> None:
    text = render.to_string(HyperTicTacToe((3, 3), 3), position((3, 3), [0, 4, 8], [1, 3]))
    assert text.split("\n") == [
        "   0  1  2",
        "0 (X) O  .",
        "1  O (X) .",
        "2  .  . (X)",
        "",
        "X has a line of 3: (0,0) (1,1) (2,2)",
    ]


def test_text_of_a_row() -> None:
    text = render.to_string(HyperTicTacToe((4,), 2), position((4,), [0], [2]))
    assert text.split("\n") == ["   0  1  2  3", "   X  .  O  .", "", "X to move"]


def test_text_of_slices() -> None:
    text = render.to_string(HyperTicTacToe((2, 2, 2), 2), position((2, 2, 2), [1], [0, 7]))
    assert text.split("\n") == [
        "[0, :, :]  [1, :, :]",
        "   0  1       0  1",
        "0 (O) X    0  .  .",
        "1  .  .    1  . (O)",
        "",
        "Blue (O) has a line of 2: (0,0,0) (1,1,1)",
    ]


def test_text_of_many_slices_is_wrapped_by_rows_of_the_table() -> None:
    text = render.to_string(HyperTicTacToe((3, 4, 5, 5), 3), position((3, 4, 5, 5), [], []))
    titles = [re.findall(r"\[\d, \d, :, :\]", line) for line in text.split("\n") if "[" in line]
    assert [len(row) for row in titles] == [4, 4, 4] and max(map(len, text.split("\n"))) <= render.TEXT_WIDTH
    assert titles[1][2] == "[1, 2, :, :]"


def test_text_of_a_draw() -> None:
    text = render.to_string(HyperTicTacToe((3, 3), 3), position((3, 3), [0, 2, 5, 3, 7], [1, 4, 6, 8]))
    assert text.endswith("a draw") and "(" not in text


@pytest.mark.parametrize("shape", [(5,), (3, 3), (3, 3, 3), (2, 3, 4), (3, 3, 3, 3), (2, 3, 2, 2, 3)])
def test_pictures_show_all_marks_and_lines(shape: tuple[int, ...], tmp_path: Path) -> None:
    k = 3
    line = sorted(lines(shape, k)[-1])
    others = [cell for cell in range(int(np.prod(shape))) if cell not in line][:2]
    rules, state = HyperTicTacToe(shape, k), position(shape, line, others)
    svg = render.draw(rules, state).to_svg()
    shapes = elements(svg)
    winner = "Orange" if len(shape) == 3 else "X"
    assert f"{winner} has a line of 3" in "".join(e.text or "" for e in shapes)
    count = {colour: sum(e.get("stroke") == colour for e in shapes) for colour in (COLOURS[1], COLOURS[-1], GOLD)}
    if len(shape) == 3:
        balls = svg.count(COLOURS[1]), svg.count(COLOURS[-1])
        assert balls == (2 * len(line), len(others)) and count[GOLD] == 3  # a line's balls are drawn twice
    else:
        assert count == {COLOURS[1]: 2 * len(line), COLOURS[-1]: len(others), GOLD: int(len(shape) <= 2)}
    width, height = (float(x) for x in re.findall(r'(?:width|height)="([\d.]+)"', svg)[:2])
    for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", " ".join(e.get("points") or "" for e in shapes)):
        assert 0 <= float(x) <= width and 0 <= float(y) <= height
    render.draw(rules, state).save_png(tmp_path / "a.png", scale=1)
    assert pixels(tmp_path / "a.png").shape == (round(height), round(width), 3)
