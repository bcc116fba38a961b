"""Animations of a game, and contact sheets of many."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.render import Drawing
from tensor_envs.render.compose import Picture, film, merged
from tests.games import dice_race
from tests.render.test_drawing import SVG, elements
from tests.test_files import room_for


def game(name: str = "tic_tac_toe", plies: int = 100, batch: int = 1, **fields: Any) -> list[te.State]:
    env = te.make(name, **fields)
    states = [env.init(batch, seed=2)]
    while len(states) <= plies and states[-1].numpy()["legal_action_mask"].any():
        states.append(env.step(states[-1], te.agents.uniform(states[-1])))
    return states


def shown(svg: str, time: float) -> list[str]:
    """Return the elements that a viewer paints at a time under SMIL."""
    painted = []
    for element in elements(svg):
        if element.tag != f"{SVG}g":
            painted.append(element)
            continue
        *inside, animate = list(element)
        assert animate.tag == f"{SVG}animate" and animate.get("calcMode") == "discrete"
        share = time / float(str(animate.get("dur")).removesuffix("s")) % 1
        times = [float(t) for t in str(animate.get("keyTimes")).split(";")]
        values = str(animate.get("values")).split(";")
        assert times[0] == 0 and times == sorted(set(times)) and len(times) == len(values)
        if values[sum(t <= share for t in times) - 1] == "visible":
            painted += inside
    return [text_of(element) for element in painted]


def text_of(element: ElementTree.Element) -> str:
    element.tail = None
    return ElementTree.tostring(element, "unicode")


@pytest.mark.parametrize("name", ["tic_tac_toe", "shed", "tensor_stars"])
def test_an_animation_shows_every_position_in_its_turn(name: str, tmp_path: Path) -> None:
    states = game(name, plies=15)
    te.save_animation(states, tmp_path / "game.svg", seconds=0.5, hold=3)
    svg, n = (tmp_path / "game.svg").read_text(), len(states)
    assert f'dur="{0.5 * n + 3:g}s" repeatCount="indefinite"' in svg and "<script" not in svg
    for ply, state in enumerate(states):
        expected = [text_of(e) for e in elements(state.env.render(state)) if not e.get("data-actions")]
        assert shown(svg, 0.5 * ply + 0.01) == expected == shown(svg, 0.5 * ply + 0.49), ply
    assert shown(svg, 0.5 * n + 2.9) == expected != shown(svg, 0)
    still = [e for e in elements(svg) if e.get("visibility") != "hidden"]  # what viewers without SMIL paint
    assert [text_of(p) for e in still for p in (list(e)[:-1] if list(e) else [e])] == expected
    assert len(svg) < 0.5 * sum(len(state.env.render(state)) for state in states)


def test_an_animation_that_stops() -> None:
    pictures = [Drawing(20, 10, background=colour).to_svg() for colour in ("#ff0000", "#00ff00")]
    svg = film(pictures, seconds=1, hold=0, loop=False)
    assert svg.count('dur="2s" fill="freeze"') == 2 and "repeatCount" not in svg


def test_pictures_of_several_sizes_share_a_canvas() -> None:
    sizes = [(20, 10), (10, 30)]
    svg = film([Drawing(*size).to_svg() for size in sizes], 1, 0, True)
    root = ElementTree.fromstring(svg)
    assert (root.get("width"), root.get("height")) == ("20", "30")
    frames = [element for element in root.iter(f"{SVG}svg") if element is not root]
    assert [(frame.get("width"), frame.get("height")) for frame in frames] == [("20", "10"), ("10", "30")]


def test_one_position_does_not_move(tmp_path: Path) -> None:
    te.save_animation(game(plies=0), tmp_path / "one.svg")
    assert "<animate" not in (tmp_path / "one.svg").read_text()


def test_merged_frames() -> None:
    chance = np.random.default_rng(0)
    for _ in range(50):
        frames = [[str(x) for x in chance.integers(0, 5, chance.integers(0, 8))] for _ in range(4)]
        parts = merged(frames)
        for number, frame in enumerate(frames):
            assert [text for text, numbers in parts if number in numbers] == frame


def test_the_game_and_the_player_are_chosen(tmp_path: Path) -> None:
    states = game("tensor_stars", plies=4, batch=3)
    texts = []
    for i, player in ((0, None), (2, None), (2, 1), (2, 0)):
        te.save_animation(states, tmp_path / "a.svg", i, player=player)
        texts.append((tmp_path / "a.svg").read_text())
    assert len(set(texts)) == 4


@pytest.mark.slow
def test_gif(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    states = game("tensor_stars", plies=5)
    te.save_animation(states, tmp_path / "game.GIF", seconds=0.299, hold=1.2, scale=0.5)
    with image.open(tmp_path / "game.GIF") as gif:
        width, height = Picture.of(states[0].env.render(states[0])).size
        assert gif.size == (round(width / 2), round(height / 2)) and gif.n_frames == len(states)
        assert gif.info["loop"] == 0
        times, frames = [], []
        for number in range(gif.n_frames):
            gif.seek(number)
            times.append(gif.info["duration"])
            frames.append(np.asarray(gif.convert("RGB"), dtype=int))
    assert times == [300] * (len(states) - 1) + [1500]
    draw = states[0].env.entry.load("render").draw
    for state, frame in zip(states, frames, strict=True):
        drawn = np.asarray(draw(state.env.rules, state.env.state_to_dict(state)).image(0.5), dtype=int)
        assert abs(drawn - frame).mean() < 2
    te.save_animation(states, tmp_path / "once.gif", loop=False, scale=0.5)
    with image.open(tmp_path / "once.gif") as gif:
        assert "loop" not in gif.info


@pytest.mark.parametrize("suffix", ["gif", "svg"])
def test_a_failed_save_leaves_the_old_animation(suffix: str, tmp_path: Path) -> None:
    path, states = tmp_path / f"game.{suffix}", game(plies=1)
    if suffix == "gif":
        pytest.importorskip("PIL")
    te.save_animation(states, path)
    old = path.read_bytes()
    with room_for(100), pytest.raises(OSError, match="cannot save: File too large"):
        te.save_animation(states, path)
    assert path.read_bytes() == old and list(tmp_path.iterdir()) == [path]


def test_gif_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'tensor_envs\[draw\]'"):
        te.save_animation(game(plies=1), tmp_path / "a.gif")


@pytest.mark.slow
def test_contact_sheet() -> None:
    state = game(batch=20, plies=4)[-1]
    root = ElementTree.fromstring(te.contact_sheet(state, [3, 19, 0, 3, 7], columns=2, width=100))
    frames = [(frame.get("x"), frame.get("y"), frame.get("width")) for frame in root.findall(f"{SVG}svg")]
    assert [(x, width) for x, _, width in frames] == [("12", "100"), ("124", "100")] * 2 + [("12", "100")]
    heights = [float(str(y)) for _, y, _ in frames]
    assert heights == sorted(heights) and len(set(heights)) == 3
    assert [e.text for e in root.findall(f"{SVG}text")] == [f"game {i}" for i in (3, 19, 0, 3, 7)]
    assert "data-actions" not in te.contact_sheet(state)
    assert len(ElementTree.fromstring(te.contact_sheet(state)).findall(f"{SVG}svg")) == 16
    inner = [text_of(e) for e in root.findall(f"{SVG}svg")[1]]
    assert inner == [text_of(e) for e in elements(state.env.render(state, 19)) if not e.get("data-actions")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"states": []}, "states must be at least one"),
        ({"states": [3]}, r"states\[0\] must be of type State"),
        ({"path": "a.png"}, r"path must end in .svg or .gif, got 'a.png'"),
        ({"row": 2}, "row must be in 0..1, got 2"),
        ({"row": "0"}, "row must be an int"),
        ({"seconds": 0}, "seconds must be in 0.01..3600, got 0"),
        ({"seconds": float("nan")}, "seconds must be in"),
        ({"seconds": "1"}, "seconds must be a number, got '1' of type str"),
        ({"hold": -1}, "hold must be in 0..3600"),
        ({"hold": 655, "path": "a.gif"}, "seconds \\+ hold must be at most 655.35 in a GIF, got 0.8 \\+ 655"),
        (
            {"seconds": 400, "hold": 0, "states": 2 * game(plies=0), "row": 0, "path": "a.gif"},
            "equal pictures must be at most 655.35",
        ),
        ({"loop": 1}, "loop must be of type bool"),
        ({"player": 2}, "player must be in 0..1, got 2"),
        ({"scale": 100}, "scale must be in 0.1..8"),
    ],
)
def test_wrong_arguments_of_an_animation(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    good: dict[str, Any] = {"states": game(plies=1, batch=2), "path": "a.svg"}
    used = {**good, **arguments}
    path = tmp_path / used.pop("path")
    with pytest.raises((ValueError, TypeError), match=message.replace("'a.png'", ".*a.png'")):
        te.save_animation(used.pop("states"), path, **used)
    assert not path.exists()


def test_states_of_two_games_make_no_animation(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"states\[1\] is of <Env shed"):
        te.save_animation([*game(plies=0), *game("shed", plies=0)], tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"state": None}, "state must be of type State"),
        ({"rows": []}, "rows must have one or more entries"),
        ({"rows": [0, 2]}, "rows.* must be in 0..1, got 2"),
        ({"rows": [True]}, "rows.* must be an int"),
        ({"columns": 0}, "columns must be in 1..1000"),
        ({"width": 1}, "width must be in 16..4000"),
        ({"player": -1}, "player must be in 0..1"),
    ],
)
def test_wrong_arguments_of_a_sheet(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        te.contact_sheet(**{"state": game(plies=0, batch=2)[0], **arguments})


@pytest.mark.parametrize(
    "svg", ["<svg", "<g/>", "<svg/>", '<svg width="100%" height="3"/>', '<svg width="0" height="3"/>']
)
def test_invalid_pictures(svg: str) -> None:
    with pytest.raises(ValueError, match="a picture"):
        Picture.of(svg)


def test_a_game_without_drawings(tmp_path: Path) -> None:
    """A registered game's SVG may be anything with a size; GIFs need `draw`."""
    env = te.Env(dice_race.GAME, dice_race.GAME.load_rules()(), "dice_race")
    with pytest.raises(ValueError, match="'dice_race' has no `draw` for pixels"):
        te.save_animation([env.init(1)], tmp_path / "a.gif")
    with pytest.raises(ValueError, match="width and height"):
        te.contact_sheet(env.init(1))
