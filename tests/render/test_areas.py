"""Pictures that a page can be played on: areas for actions, and what is hidden from a player."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.render import Drawing
from tests.render.test_drawing import elements

# For each game the pattern of legal actions without an area in the picture.
GAMES: dict[str, tuple[dict[str, Any], str]] = {
    "hyper_tic_tac_toe": ({"shape": (2, 3, 2, 3), "k": 3}, ""),
    "qubic": ({}, ""),
    "gomoku": ({}, ""),
    "connect_four": ({}, ""),
    "othello": ({}, ""),
    "ultimate_tic_tac_toe": ({}, ""),
    "kalah": ({}, ""),
    "oware": ({}, ""),
    "breakthrough": ({"rows": 5, "columns": 4}, ""),
    "clobber": ({"rows": 3, "columns": 4}, ""),
    "lines_of_action": ({}, ""),
    "kuhn_poker": ({}, ""),
    "leduc_poker": ({}, ""),
    "texas_holdem": ({}, ""),
    "hanabi": ({"players": 3}, ""),
    "gin_rummy": ({}, ""),
    "barrage_stratego": ({}, ""),
    "2048": ({}, ""),
    "backgammon": ({}, ""),
    "chess": ({}, ""),
    "gardner_chess": ({}, ""),
    "shogi": ({}, ""),
    "minishogi": ({}, ""),
    "animal_shogi": ({}, ""),
    "xiangqi": ({}, ""),
    "checkers": ({}, ""),
    "chinese_checkers": ({"players": 3}, ""),
    "dots_and_boxes": ({"rows": 2}, ""),
    "amazons": ({"size": 6}, ""),
    "nine_mens_morris": ({}, ""),
    "quoridor": ({"size": 5, "walls": 3}, ""),
    "hex": ({"size": 5}, ""),
    "y": ({"size": 5}, ""),
    "havannah": ({"size": 4}, ""),
    "yahtzee": ({}, ""),
    "liars_dice": ({}, ""),
    "dark_hex": ({}, ""),
    "phantom_tic_tac_toe": ({}, ""),
    "go": ({"size": 5}, ""),
    "shed": ({"cards": 6}, ""),
    "tensor_stars": ({"points_to_win": 3}, ""),
    "tensor_equilibrium": ({"players": 3}, r"PASS|STOP"),
    "three_will": ({}, r"pass"),
}


def actions_of_areas(svg: str) -> list[list[int]]:
    areas = (element.get("data-actions") for element in elements(svg))
    return [[int(action) for action in area.split()] for area in areas if area]


def test_areas_of_a_drawing() -> None:
    picture = Drawing(60, 40)
    picture.rect(0, 0, 20, 20, "#ff0000")
    picture.area([(0, 0), (20, 0), (20.126, 20)], 3, 14)
    picture.circle((30, 30), 5, "#00ff00")
    shapes = elements(picture.to_svg())
    assert [element.tag.rpartition("}")[2] for element in shapes] == ["rect", "polygon", "circle", "path"]
    assert shapes[-1].attrib == {
        "d": "M0 0L20 0L20.13 20Z", "fill": "none", "pointer-events": "all", "data-actions": "3 14"
    }  # fmt: skip


@pytest.mark.few("connect_four", "kuhn_poker")
@pytest.mark.parametrize("name", GAMES)
def test_legal_actions_are_in_the_picture(name: str) -> None:
    fields, elsewhere = GAMES[name]
    env, seen, missing = te.make(name, **fields), set(), set()
    state = env.init(1, seed=7)
    for ply in range(200):
        mask = state.numpy()["legal_action_mask"][0]
        if not mask.any():
            break
        if env.num_actions < 200 or ply % 10 == 0:
            in_picture = {action for actions in actions_of_areas(env.render(state)) for action in actions}
            assert in_picture <= set(range(env.num_actions))
            seen |= (legal := set(np.flatnonzero(mask).tolist()))
            missing |= legal - in_picture
        state = env.step(state, te.agents.uniform(state))
    assert not [a for a in missing if not re.fullmatch(elsewhere, env.action_names[a])]
    if name == "tensor_equilibrium":
        kinds, all_kinds = ({env.action_names[a][:4] for a in some} for some in (seen, range(env.num_actions)))
        assert kinds == all_kinds


def test_cells_that_are_taken_stand_for_nothing() -> None:
    for shape in ((3, 3), (3, 3, 3), (2, 2, 2, 2)):
        env = te.make("hyper_tic_tac_toe", shape=shape, k=2)
        state = env.step(env.init(1), [3])
        assert sorted(actions_of_areas(env.render(state))) == [[a] for a in range(env.num_actions) if a != 3]


# *** hidden information ***


def placed(env: te.Env, first: list[int], second: list[int]) -> te.State:
    """Return Tensor (stars) after both players have placed these cards."""
    state = env.init(1)
    for action in (*first, *second):
        state = env.step(state, [action])
    assert not state.terminated.item()
    return state


def test_cards_face_down_are_not_drawn_for_the_opponent() -> None:
    env = te.make("tensor_stars")
    for n in (1, 2, 3):
        one, two = placed(env, [9, 7, 5][:n], []), placed(env, [0, 1, 4][:n], [])
        assert env.render(one) != env.render(two) and env.to_string(one) != env.to_string(two)
        assert env.render(one, 0, 0) != env.render(two, 0, 0)
        assert env.render(one, 0, 1) == env.render(two, 0, 1)
        assert env.to_string(one, 0, 1) == env.to_string(two, 0, 1)
    one, two = placed(env, [9, 7, 5], [9, 8]), placed(env, [9, 7, 5], [0, 1])
    assert env.render(one, 0, 0) == env.render(two, 0, 0) and env.render(one, 0, 1) != env.render(two, 0, 1)
    assert "[?]" in env.to_string(one, 0, 0) and "[?]" not in env.to_string(one)


def test_cards_face_up_are_drawn_for_both() -> None:
    """Black's 2 on red asks for an order: red's two cards lie open, the others do not."""
    env = te.make("tensor_stars")
    for yellow in (9, 0):
        state = placed(env, [2, 7, yellow], [9, 8, 7])
        assert env.state_to_dict(state)["phase"] == 1 and state.current_player.item() == 0
        texts = [env.to_string(state, 0, player).splitlines()[-2:] for player in (0, 1)]
        assert texts[0] == [
            f"Black: red 2, blue [7], yellow [{yellow}]; in hand "
            + " ".join(str(n) for n in range(10) if n not in (2, 7, yellow)),
            "White: red 9, blue [?], yellow [?]; in hand 0 1 2 3 4 5 6 7 8",
        ]
        assert texts[1][0] == "Black: red 2, blue [?], yellow [?]; in hand 0 1 3 4 5 6 7 8 9"


def test_numbers_and_top_card_are_hidden_until_the_end() -> None:
    env = te.make("three_will")
    state = env.init(32)
    games = [env.state_to_dict(state, i) for i in range(32)]
    alike = [i for i in range(32) if all(games[i][f] == games[0][f] for f in ("die", "player"))]
    assert len({str(games[i]["ids"]) for i in alike}) > 1 and len({games[i]["ces"] for i in alike}) > 1
    assert (
        len({env.render(state, i, player) for i in alike for player in (0, 1)}) == 2
    )  # one picture from each player's side
    seen = env.entry.load("render").seen_by(env.rules, games[0], 1)
    assert seen["ids"] == [0] * 16 and seen["ces"] == -1
    rows = [env.to_string(state, 0, player).splitlines()[:9] for player in (0, 1)]
    assert [row.split()[0] for row in rows[0]] == [*"76543210", "0"]
    assert [row.split()[0] for row in rows[1]] == [*"01234567", "7"]


@pytest.mark.parametrize("player", [-1, 2, True, "0"])
def test_wrong_players(player: Any) -> None:
    env = te.make("tensor_stars")
    with pytest.raises((ValueError, TypeError), match="player must be"):
        env.render(env.init(1), 0, player)


@pytest.mark.slow
def test_games_that_hide_nothing_look_alike_to_all() -> None:
    for name in ("tic_tac_toe", "shed", "tensor_equilibrium"):
        env = te.make(name)
        state = env.init(1)
        assert env.render(state, 0, 1) == env.render(state) and env.to_string(state, 0, 0) == env.to_string(state)
