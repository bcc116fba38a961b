"""Sessions of clients that learn: pictures, and several players of the other seats."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.referee import Settings
from tensor_envs.referee.sessions import Session

HERE = "tests.referee.players"
DICE: dict[str, Any] = {"game": "liars_dice", "rules": {"players": 3}, "custom": True}


def test_pictures_are_those_of_prompts() -> None:
    """A disguise by symmetry shows another picture, and one of labels, which pictures have, is refused."""
    session = Session("tic_tac_toe", player=0, image=True)
    image = session.reset(seed=2).image
    state = session.episode.state
    assert image == te.text.prompt(state, image=True)[1] and image.startswith(b"\x89PNG")
    assert session.step("(0,0)").image == te.text.prompt(session.episode.state, image=True)[1] != image
    assert Session("tic_tac_toe").reset(seed=2).image is None
    turned = Session("tic_tac_toe", player=1, image=True, settings=Settings(tries=1, disguise=("symmetry",)))
    seen = [turned.reset(seed).image == te.text.prompt(turned.episode.state, image=True)[1] for seed in range(6)]
    assert False in seen
    with pytest.raises(ValueError, match="disguise must be symmetry alone where pictures are shown, got renamed"):
        Session("tic_tac_toe", image=True, settings=Settings(disguise=("renamed",)))


def test_pictures_need_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pixels need Pillow: pip install 'tensor_envs\[draw\]'"):
        Session("tic_tac_toe", image=True)
    assert Session("tic_tac_toe").reset(seed=1).prompt


def test_each_other_seat_has_its_player() -> None:
    """Two seats of the client and one model of another, in the order of the seats."""
    session = Session(**DICE, opponent=["self", f"{HERE}:first"], player=1)
    seen = session.reset(seed=1)
    asked = list[int]()
    while not seen.done:
        asked.append(seen.player)
        seen = session.step(f"move: {seen.legal_moves[0]}")
    assert set(asked) == {0, 1} and session.record.notes["players"] == ["client", "client", f"{HERE}:first"]
    assert len(seen.returns) == 3 and sum(seen.returns) == pytest.approx(0)
    assert Session(**DICE, opponent="uniform").record.notes["players"] == ["client", "uniform", "uniform"]
    with pytest.raises(ValueError, match=r"opponent must be one, or one for each of 2 seats, got \['uniform'\]"):
        Session(**DICE, opponent=["uniform"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"settings": 3}, "settings must be of type Settings, got 3"),
        ({"custom": "yes"}, "custom must be of type bool, got 'yes'"),
        ({"image": 1}, "image must be of type bool, got 1"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Session(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": "1"}, "seed must be an int, got '1'"),
        ({"seed": 1.5}, "seed must be an int, got 1.5"),
        ({"game": 3}, "game must be of type str, got 3"),
        ({"game": ["hex"]}, r"game must be of type str, got \['hex'\]"),
        ({"rules": [1]}, r"rules must be of type dict, got \[1\]"),
        ({"opponent": 3}, "opponent must be a name or a list of names, got 3"),
        ({"opponent": {"a": 1}}, "opponent must be a name or a list of names, got {'a': 1}"),
        ({"opponent": [3]}, "opponent must be of type str, got 3"),
    ],
)
def test_wrong_arguments_of_a_reset(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Session("tic_tac_toe").reset(**arguments)


def test_an_answer_is_a_text() -> None:
    session = Session("tic_tac_toe", player=0)
    with pytest.raises(TypeError, match="answer must be of type str, got 4"):
        session.step(4)  # type: ignore[arg-type]
    assert session.step("(1,1)").error == ""
