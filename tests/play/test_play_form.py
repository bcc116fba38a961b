"""The form of tensor_envs.play: a game under custom rules is made, named, played and refused."""

from __future__ import annotations

import random
import sys
from typing import Any
from urllib.parse import quote

import pytest

import tensor_envs as te
from tensor_envs.play import tables
from tensor_envs.web import form
from tensor_envs.web.variants import LEVELS
from tests.games.shared import shared_env
from tests.play.client import act, advance, ask, create
from tests.web.shown import svg_after

SMALL = "hyper_tic_tac_toe(shape=(4, 4))"
OWN = "tests.games.dice_race:GAME"


def named(url: str, id: str, fields: dict[str, str]) -> Any:
    return ask(url, "POST", "/api/games", {"id": id, "fields": fields})


def test_the_form_is_made_from_the_rules(url: str) -> None:
    form = ask(url, "GET", "/api/games/hypercube/form").json
    assert form["id"] == "hyper_tic_tac_toe"
    assert [(field["name"], field["text"]) for field in form["fields"]] == [
        ("shape", "(3, 3, 3, 3)"),
        ("k", "3"),
        ("misere", "False"),
        ("gravity", "False"),
    ]
    assert form["fields"][1]["allowed"] == "must be in 1..2147483647"
    assert [field["choices"] for field in form["fields"]] == [[], [], *[["False", "True"]] * 2]
    rules = ask(url, "GET", "/api/games/tensor_equilibrium_3/form").json["fields"]
    fields = {field["name"]: (field["text"], field["choices"]) for field in rules}
    assert fields["players"] == ("3", []) and fields["setup_order"] == ("turn", ["turn", "seat"])
    assert ask(url, "GET", f"/api/games/{quote(SMALL)}/form").json["fields"][0]["text"] == "(4, 4)"
    assert ask(url, "GET", "/api/games/2048/form").json == {"id": "2048", "fields": []}


def test_a_game_of_the_form_is_played_to_its_end(url: str) -> None:
    """A game of the form equals the environment's, with picture and text, and the computer plays the uniform policy."""
    offered = ask(url, "GET", "/games.json").json
    answer = named(url, "hyper_tic_tac_toe", {"shape": "4, 4", "k": "3", "misere": "False"}).json
    rules = f"rules/{quote(SMALL)}"
    assert answer == {
        "game": SMALL,
        "title": SMALL,
        "rules": rules,
        "picture": rules.replace("rules/", "pictures/"),
        "chance": False,
        "players": ["X", "O"],
        "kinds": ["person", "uniform", *LEVELS],
        "hints": True,
    }
    assert ask(url, "GET", f"/api/games/{quote(SMALL)}").json == answer
    env, chance = shared_env("hyper_tic_tac_toe", shape=(4, 4)), random.Random(1)
    assert ask(url, "GET", f"/{rules}").content.decode() == te.text.describe(env)
    assert "## About this game" in ask(url, "GET", "/rules/tic_tac_toe").content.decode()
    assert offered == ask(url, "GET", "/games.json").json  # as another browser tab gets it
    view, state = create(url, SMALL, ["person", "uniform"], seed=7), env.init(1, 7)
    actions = list[int]()
    while not view["over"]:
        assert view["svg"] == svg_after(env, actions, 7, 0)
        if view["computer"]:
            action = int(te.agents.uniform(state).item())
            view = ask(url, "POST", f"/api/tables/{view['table']}/advance", {"ply": view["ply"]}).json
        else:
            legal = state.legal_action_mask.numpy()[0].nonzero()[0].tolist()
            assert [chosen["action"] for chosen in view["actions"]] == legal
            action = chance.choice(legal)
            view = act(url, view, action).json
        state = env.step(state, [action])
        actions.append(action)
    assert state.terminated.item() and view["ply"] == state.ply.item() > 4
    assert view["svg"] == svg_after(env, actions, 7, 0)
    assert [view["returns"]] == state.rewards.tolist()
    position = view["position"]
    assert position["game"] == SMALL
    again = ask(url, "POST", "/api/tables", position).json
    assert {**again, "table": view["table"]} == view
    back = ask(url, "POST", f"/api/tables/{again['table']}/undo", {"ply": again["ply"]}).json
    assert back["ply"] in (view["ply"] - 1, view["ply"] - 2) and not back["computer"]


def test_the_computer_searches_a_game_of_the_form(url: str) -> None:
    """The search completes a line of two, which wins."""
    position = {"game": SMALL, "seats": ["playout:64", "person"], "seed": 0, "actions": [5, 0, 6, 3]}
    view = ask(url, "POST", "/api/tables", position).json
    view = advance(url, view, 4)
    assert view["over"] and view["returns"] == [1, -1]


def test_hidden_cards_are_hidden_in_a_game_of_the_form(url: str) -> None:
    game = named(url, "tensor_stars", {"points_to_win": "2"}).json
    assert game["game"] == "tensor_stars(points_to_win=2)"
    view = create(url, game["game"])
    assert view["secret"]
    view = act(url, view, view["actions"][0]["action"]).json
    while view["player"] == 0:
        view = act(url, view, view["actions"][0]["action"]).json
    assert {move["name"] for move in view["moves"]} == {"a card, face down"}
    assert view["position"] is None


@pytest.mark.parametrize(
    ("id", "fields", "message"),
    [
        ("hyper_tic_tac_toe", {"k": "5"}, "no line of k=5 fits on shape (3, 3, 3): k is at most 3"),
        ("hyper_tic_tac_toe", {"shape": "abc"}, "shape must be a tuple of ints, got 'abc'"),
        ("hyper_tic_tac_toe", {"misere": "2"}, "misere must be of type bool, got 2"),
        ("shed", {"cards": "33"}, "cards must be in 1..32, got 33"),
        ("shed", {"deck": "3"}, "'shed' has no rule field 'deck'; its fields are cards, max_plies"),
        ("hex", {"size": "1in 2"}, "size must be an int"),
        ("hex", {"size": "'\\d'"}, "size must be an int"),
        ("hex", {"illegal": "raise"}, "'hex' has no rule field 'illegal'; its fields are size"),
        ("hex", {"illegal": "'lose'"}, "'hex' has no rule field 'illegal'; its fields are size"),
        ("hex", {"size": "[[[]]]"}, "size must be an int"),
        ("hex", {"size": "(" * 9000}, "size must be an int"),
        ("go", {"komi": "1e999"}, "komi must be a number, got '1e999'"),
        ("hex", {"size": "11.0"}, "size must be an int, got 11.0"),
        ("hyper_tic_tac_toe", {"misere": "0"}, "misere must be of type bool, got 0"),
        ("tensor_equilibrium", {"setup_order": "x"}, "setup_order must be one of 'turn', 'seat', got 'x'"),
        ("tiddlywinks", {}, "the game must be "),
        ("os:system", {}, "(field=value, ...), got 'os:system'"),
        ("hex", {"size": 5}, "fields must be strings, got {'size': 5}"),
        # rules whose kernels would take a minute to compile
        (
            "hyper_tic_tac_toe",
            {"shape": "600, 600"},
            "hyper_tic_tac_toe is too large for a page: 135,020 bytes, at most 1,024",
        ),
        ("hyper_tic_tac_toe", {"shape": "(2,) * 12"}, "shape must be a tuple of ints, got '(2,) * 12'"),
        (
            "hyper_tic_tac_toe",
            {"shape": str((2,) * 8), "k": "2"},
            "hyper_tic_tac_toe is too large for a page: its fields are memory",
        ),
        ("go", {"size": "19", "superko": "64"}, "go is too large for a page: 6,788 bytes, at most 1,024"),
        (
            "tensor_stars",
            {"board": str({"lines": (*(((0, y), (63, y)) for y in range(64)), ((4, 0), (4, 63)))})},
            "tensor_stars is too large for a page: 12,387 numbers in an observation, at most 2,048",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_values_are_one_sentence(url: str, id: str, fields: dict[str, Any], message: str) -> None:
    answer = named(url, id, fields)
    assert answer.status == 400 and message in answer.json["error"]


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("tiddlywinks", 404, "there is no game 'tiddlywinks'"),
        ("tiddlywinks()", 400, "the game must be "),
        ("hex)", 400, "the game must be "),
        ("hex(5)", 400, "the rules of hex must be field=value, ..., got '5'"),
        ("hex(size=5, size=7)", 400, "the rules of hex must be field=value, ..., got 'size=5, size=7'"),
        ("hex(size=3)(swap=True)", 400, "the rules of hex must be"),
        ("hex(size=open('/'))", 400, "the rules of hex must be"),
        ("hex(" + "-" * 9000 + "1)", 400, "the rules of hex must be"),
        ("hex(illegal='lose')", 400, "'hex' has no rule field 'illegal'; its fields are size"),
        ("hex(x=open('/'))", 400, "'hex' has no rule field 'x'; its fields are size"),
        ("hex(**{'size': 3})", 400, "'hex' has no rule field 'None'"),
        ("hex(size=1in 2)", 400, "the rules of hex must be"),
        ("hex(size='\\d')", 400, "size must be an int"),
        ("hex(size=0)", 400, "size must be in 1..19, got 0"),
        ("wsgiref.validate:validator()", 400, "the game must be "),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_names_are_refused(url: str, name: str, status: int, message: str) -> None:
    body = {"game": name, "seats": ["person"] * 2, "seed": 0, "actions": []}
    for answer in (
        ask(url, "GET", f"/api/games/{quote(name, safe='')}"),
        ask(url, "GET", f"/api/games/{quote(name, safe='')}/form"),
        ask(url, "POST", "/api/tables", body),
    ):
        assert answer.status == status and message in answer.json["error"]


def test_values_of_unknown_fields_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "literal", lambda text: pytest.fail(f"{text} is evaluated"))
    for make_game in (
        lambda: form.name_of("hex", {"illegal": "1", "x": "2"}, ["hex"]),
        lambda: form.env_of("hex(size=3, x=2)", ["hex"]),
    ):
        with pytest.raises(TypeError, match="'hex' has no rule field"):
            make_game()


def test_a_custom_game_has_a_form_where_it_is_offered() -> None:
    room = tables.Tables()
    with pytest.raises(tables.BadRequest, match="the game must be"):
        room.entry("wsgiref.validate:validator()")
    assert "wsgiref.validate" not in sys.modules  # only modules named with --env are imported
    room.add(OWN)
    form = room.form(OWN)
    assert (form["id"], [field["name"] for field in form["fields"]]) == (OWN, ["goal"])
    game = room.named(OWN, {"goal": "5"})
    assert game["game"] == f"{OWN}(goal=5)" and len(game["players"]) == 3
    view = room.create(game["game"], ["person"] * 3, 0)
    assert view["ply"] == 0 and "goal=5" in room.rules(game["game"])


def test_games_of_the_form_are_evicted_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_CUSTOM", 2)
    room = tables.Tables()
    view = room.create("connect_four(rows=4)", ["person"] * 2, 0)
    for k in (2, 3):
        room.entry(f"connect_four(rows=4, k={k})")
    assert [*room.custom] == ["connect_four(rows=4, k=2)", "connect_four(rows=4, k=3)"]
    assert room.change(view["table"], "act", 0, 3)["ply"] == 1  # running games continue
    assert room.create("connect_four(rows=4)", ["person"] * 2, 0)["svg"] == view["svg"]
