"""tensor_envs.play: after a game, its review, its files, and other ways on from an earlier position."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import tensor_envs as te
from tests.games.shared import shared_env
from tests.play.client import TWO, act, ask, create

LOSES = [0, 1, 4, 2, 8]  # O lets X complete the diagonal


def played(url: str, game: str, actions: list[int]) -> dict[str, Any]:
    """Return the view of a table at which two people have played."""
    body = {"game": game, "seats": TWO, "seed": 0, "actions": actions}
    view: dict[str, Any] = ask(url, "POST", "/api/tables", body).json
    return view


def judged(url: str, view: dict[str, Any], ply: int) -> Any:
    while (found := ask(url, "GET", f"/api/tables/{view['table']}/judge/{ply}").json)["waiting"]:
        time.sleep(0.02)
    return found


def test_a_finished_game_is_reviewed(url: str) -> None:
    """The search sees that X wins after 1. (0,0) (0,1) (1,1), whose threat O ignores."""
    view = played(url, "tic_tac_toe", LOSES)
    assert view["over"] and view["files"] == [".jsonl", ".txt"]
    assert judged(url, view, 5) == {"returns": [1.0, -1.0], "waiting": False}
    assert judged(url, view, 4)["value"] == 1 and judged(url, view, 4)["best"] == "(2,2)"
    assert judged(url, view, 3)["value"] < -0.2, "O is to move"
    early = ask(url, "GET", f"/api/tables/{create(url)['table']}/judge/0")
    assert early.status == 409 and "a game is reviewed when it is over" in early.json["error"]
    assert ask(url, "GET", f"/api/tables/{view['table']}/judge/6").status == 404


@pytest.mark.few(2)
@pytest.mark.parametrize(("game", "ending"), [("tic_tac_toe", ".jsonl"), ("othello", ".txt"), ("chess", ".pgn")])
def test_files_come_back(url: str, game: str, ending: str) -> None:
    env = shared_env(game)
    actions = list[int]()
    state = env.init(1)
    for _ in range(5):
        actions.append(next(iter(env.legal_actions(state))))
        state = env.step(state, [actions[-1]])
    view = played(url, game, actions)
    text = ask(url, "GET", f"/api/tables/{view['table']}/file/{ending}").json["text"]
    read = ask(url, "POST", "/api/files", {"game": game, "ending": ending, "text": text}).json
    assert read["actions"] == actions and read["seats"] == TWO and read["game"] == game


def test_wrong_files_are_refused(url: str) -> None:
    record = te.record(shared_env("tic_tac_toe"), LOSES).to_json()
    for game, ending, text, message in (
        ("othello", ".jsonl", record, "must have a game of <Env othello-v0> from its start, got one of tic_tac_toe"),
        ("chess", ".pgn", "1. e5", "e5"),
        ("chess", "pgn", "1. e4", "ending must be like .pgn"),
        ("tic_tac_toe", ".jsonl", json.dumps({"game": 1}), "game"),
    ):
        answer = ask(url, "POST", "/api/files", {"game": game, "ending": ending, "text": text})
        assert answer.status == 400 and message in answer.json["error"], answer.json
    view = played(url, "tic_tac_toe", [])
    assert ask(url, "GET", f"/api/tables/{view['table']}/file/.pgn").status == 404


def test_a_game_with_secrets_is_saved_at_its_end(url: str) -> None:
    view = create(url, "kuhn_poker")
    path = f"/api/tables/{view['table']}/file/.jsonl"
    early = ask(url, "GET", path)
    assert early.status == 409 and "its seed would give hidden things away" in early.json["error"] and not view["files"]
    for ply in range(2):
        act(url, {**view, "ply": ply}, 1)
    assert ask(url, "GET", path).status == 200
