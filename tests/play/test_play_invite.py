"""tensor_envs.play: invitations to seats, which are all that their holders know."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.play import server
from tensor_envs.play.__main__ import main
from tensor_envs.play.tables import MAX_TABLES, Tables
from tests.games.shared import shared_env
from tests.play.client import TWO, act, ask, create
from tests.scripts.here import run_here

FIRST_CARDS = 12  # seeds that are searched for deals of a card


@pytest.fixture(scope="module")
def inviting() -> Iterator[str]:
    """Serve a page with invitations on all addresses, and yield the one by which others reach it."""
    served = server.Server(0, host=server.EVERYWHERE)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    try:
        assert served.tables.invites is not None
        yield served.tables.invites
    finally:
        served.shutdown()
        served.server_close()
        thread.join()


def guest_of(view: dict[str, Any], inviting: str) -> str:
    """Return the key of the only other person of a game."""
    (invite,) = view["invites"]
    assert invite["player"] == 1 and invite["link"].startswith(f"{inviting}#table=")
    return str(invite["link"].partition("=")[2])


def seen(url: str, key: str) -> Any:
    """Return the view of a seat, without its key."""
    view = ask(url, "GET", f"/api/tables/{key}").json
    assert view.pop("table") == key
    return view


def test_two_people_play_from_two_screens(inviting: str) -> None:
    own = create(inviting)
    key = guest_of(own, inviting)
    assert own["table"] != key and len(key) >= 24
    guest = seen(inviting, key)
    assert (own["seat"], guest["seat"]) == (0, 1) and own["actions"] and not guest["actions"]
    assert guest["waiting"] and guest["computer"] and not own["waiting"]
    early = ask(inviting, "POST", f"/api/tables/{key}/act", {"ply": 0, "action": 4})
    assert early.status == 409 and "it is the turn of player 0, who sits elsewhere" in early.json["error"]
    assert ask(inviting, "POST", f"/api/tables/{key}/advance", {"ply": 0}).json["ply"] == 0, "it waits"
    assert act(inviting, own, 4).status == 200
    late = ask(inviting, "POST", f"/api/tables/{key}/advance", {"ply": 0})
    assert late.status == 409 and "the game is at ply 1" in late.json["error"]
    guest = seen(inviting, key)
    assert [entry["action"] for entry in guest["actions"]] == [0, 1, 2, 3, 5, 6, 7, 8] and guest["position"] is None
    taken = ask(inviting, "POST", f"/api/tables/{key}/undo", {"ply": 1})
    assert taken.status == 409 and "no move is taken back" in taken.json["error"]
    after = ask(inviting, "POST", f"/api/tables/{key}/act", {"ply": 1, "action": 0}).json
    assert after["ply"] == 2 and after["table"] == key
    assert seen(inviting, own["table"])["actions"]


def test_a_game_against_the_computer_invites_nobody(inviting: str) -> None:
    view = create(inviting, seats=["person", "uniform"])
    assert "invites" not in view and view["seat"] is None and view["position"]


def deals(env: te.Env, card: int) -> list[int]:
    """Return seeds whose second player has a card and whose first players have different ones."""
    found: dict[int, int] = {}
    for seed in range(FIRST_CARDS):
        first, second = env.state_to_dict(env.init(1, seed))["cards"][:2]
        if second == card:
            found.setdefault(first, seed)
    return list(found.values())


def test_a_guest_learns_nothing_of_hidden_cards(inviting: str) -> None:
    """All that a seat's key can ask is the same for every card of the other player, until the game is over."""
    env = shared_env("kuhn_poker")
    seeds = next(found for card in range(3) if len(found := deals(env, card)) > 1)
    answers = []
    for seed in seeds:
        own = create(inviting, "kuhn_poker", seed=seed)
        key = guest_of(own, inviting)
        told = [seen(inviting, key)]
        act(inviting, own, 1)
        told += [seen(inviting, key)]
        for path in ("at/0", "at/1", "prompt/0", "prompt/1", "hint/1", "hint/0", "at/2"):
            told.append(ask(inviting, "GET", f"/api/tables/{key}/{path}").json)
        told.append(ask(inviting, "POST", f"/api/tables/{key}/undo", {"ply": 1}).json)
        answers.append(json.dumps([entry for entry in told if not is_search(entry)], sort_keys=True))
        over = ask(inviting, "POST", f"/api/tables/{key}/act", {"ply": 1, "action": 1}).json
        assert over["over"] and over["seed"] == seed, "then both cards are shown"
    assert len(answers) > 1 and len(set(answers)) == 1


def is_search(answer: dict[str, Any]) -> bool:
    """Return whether an answer is a hint, which is drawn from a search's own guesses of the cards."""
    return "distance" in answer


def test_only_this_machine_begins_games(inviting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.Handler, "is_from_here", lambda handler: False)  # as from another address
    for path in ("/api/tables", "/api/games"):
        body = {"game": "tic_tac_toe", "seats": TWO, "seed": None, "actions": []}
        answer = ask(inviting, "POST", path, body)
        assert answer.status == 403 and "games are begun on the machine that invites" in answer.json["error"]
    assert ask(inviting, "GET", "/games.json").status == 200
    assert ask(inviting, "GET", "/", headers={"Host": "example.org"}).status == 403
    assert ask(inviting, "GET", "/api/tables/" + "A" * 24).status == 410


def test_closed_tables_leave_no_keys() -> None:
    tables = Tables(invites="http://127.0.0.1/")
    try:
        views = [tables.create("tic_tac_toe", TWO, 0) for _ in range(MAX_TABLES + 1)]
        assert len(tables.seats) == 2 * MAX_TABLES and views[0]["table"] not in tables.seats
        assert views[1]["table"] in tables.seats
    finally:
        tables.close()


@pytest.mark.parametrize("options", [["--invite"], ["--host", "0.0.0.0"]])
def test_host_and_invite_need_each_other(options: list[str]) -> None:
    code, _, errors = run_here(main, options)
    assert code == 2 and "--host and --invite need each other" in errors
