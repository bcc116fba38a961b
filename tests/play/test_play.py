"""tensor_envs.play: answers of its server, and refused requests."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.play import exact, opponents, server, tables
from tensor_envs.play.__main__ import main
from tensor_envs.registry import env_metadata
from tensor_envs.web.variants import VARIANTS
from tests.games.shared import shared_env
from tests.scripts.here import SCRIPTS, complaints, status

JSON = {"Content-Type": "application/json"}
TWO = ["person", "person"]


class Answer:
    def __init__(self, answer: http.client.HTTPResponse):
        self.status, self.headers, self.content = answer.status, answer.headers, answer.read()

    @property
    def json(self) -> Any:
        assert self.headers.get_content_type() == "application/json"
        return json.loads(self.content)


def ask(url: str, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    """Send a request; a body that is neither bytes nor None is sent as JSON."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, (JSON if body is not None else {}) | (headers or {}))
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def create(url: str, game: str = "tic_tac_toe", seats: list[str] = TWO, seed: int = 0) -> dict[str, Any]:
    answer = ask(url, "POST", "/api/tables", {"game": game, "seats": seats, "seed": seed, "actions": []})
    assert answer.status == 200, answer.content
    view: dict[str, Any] = answer.json
    return view


def act(url: str, view: dict[str, Any], action: int) -> Answer:
    return ask(url, "POST", f"/api/tables/{view['table']}/act", {"ply": view["ply"], "action": action})


# *** served requests ***


@pytest.mark.parametrize(
    ("path", "kind", "has"),
    [
        ("/", "text/html", b"<!doctype html>"),
        ("/?x=1", "text/html", b"<!doctype html>"),
        ("/server.js", "text/javascript", b"api/tables"),
        ("/page.css", "text/css", b"--ink"),
        ("/rules/shed_7", "text/plain", b"# Shed"),
    ],
)
def test_files(url: str, path: str, kind: str, has: bytes) -> None:
    answer = ask(url, "GET", path)
    assert answer.status == 200 and answer.headers.get_content_type() == kind and has in answer.content
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_every_game_is_offered(url: str) -> None:
    games = ask(url, "GET", "/games.json").json["games"]
    assert [game["game"] for game in games] == list(VARIANTS)
    offered = {variant.id for variant in VARIANTS.values()}
    assert offered == set(te.registered())
    players = {len(game["players"]) for game in games if "equilibrium" in game["game"]}
    assert players == {2, 3, 4}
    solved = {game["game"] for game in games if "perfect" in game["kinds"]}
    assert solved == {"tic_tac_toe", "shed_5", "shed_7", "shed_10", "shed_14"}
    trained = {game["game"] for game in games if "trained" in game["kinds"]}
    assert trained == {
        "tic_tac_toe", "connect_four", "shed_10", "tensor_stars", "tensor_equilibrium_2", "three_will", "othello",
        "breakthrough", "kalah", "ultimate_tic_tac_toe", "dots_and_boxes",
    }  # fmt: skip
    for game in games:
        assert ask(url, "GET", f"/{game['rules']}").status == 200


def test_custom_games() -> None:
    """Custom games are offered with their rules and without secrets, or refused if they cannot be displayed."""
    game = "tests.games.dice_race:GAME"
    served = server.Server(0, [game])
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    try:
        offered = ask(served.url, "GET", "/games.json").json["games"][-1]
        assert offered == {
            "game": game,
            "title": game,
            "rules": f"rules/{game}",
            "players": ["Player 0", "Player 1", "Player 2"],
            "kinds": ["person", "uniform", "search"],
            "hints": True,
        }
        assert b"dice_race:GAME with goal=12" in ask(served.url, "GET", f"/rules/{game}").content
        view = create(served.url, game, ["person", "uniform", "uniform"])
        view = act(served.url, view, view["actions"][0]["action"]).json
        assert view["ply"] == 1 and view["svg"]
        assert "You are player 0" in ask(served.url, "GET", f"/api/tables/{view['table']}/prompt/0").json["prompt"]
    finally:
        served.shutdown()
        thread.join()
        served.server_close()
    with pytest.raises(ValueError, match=r"--env tests.types.program:Nim cannot be shown: .* has no module for this"):
        server.Server(0, ["tests.types.program:Nim"])


def test_a_game_between_persons(url: str) -> None:
    view = create(url)
    assert (view["ply"], view["player"], view["viewer"], view["computer"]) == (0, 0, 0, False)
    assert len(view["actions"]) == 9 and view["actions"][5] == {"action": 5, "name": "(1,2)"}
    for ply, action in enumerate((4, 0, 3, 1, 5)):
        assert (view["ply"], view["player"], view["over"]) == (ply, ply % 2, False)
        view = act(url, view, action).json
    assert view["over"] and view["returns"] == [1, -1] and view["actions"] == []
    assert view["player"] is None and "has a line of 3" in view["svg"]
    assert [move["name"] for move in view["moves"]] == ["(1,1)", "(0,0)", "(1,0)", "(0,1)", "(1,2)"]
    assert ask(url, "GET", f"/api/tables/{view['table']}").json == view
    assert act(url, view, 8).status == 409


def test_a_game_against_the_computer(url: str) -> None:
    view = create(url, seats=["uniform", "person"], seed=5)
    assert view["computer"] and view["actions"] == []
    assert act(url, view, 0).status == 409
    path = f"/api/tables/{view['table']}/advance"
    after = ask(url, "POST", path, {"ply": 0}).json
    assert after["ply"] == 1 and not after["computer"] and len(after["actions"]) == 8
    assert ask(url, "POST", path, {"ply": 1}).status == 409
    again = create(url, seats=["uniform", "person"], seed=5)
    assert ask(url, "POST", f"/api/tables/{again['table']}/advance", {"ply": 0}).json["svg"] == after["svg"]


@pytest.mark.parametrize("kind", ["search", "trained"])
def test_other_kinds_of_players(url: str, kind: str) -> None:
    """Agents complete a line of two when they can, which wins at once."""
    body = {**GAME, "seats": [kind, "person"], "actions": [0, 3, 1, 4]}
    view = ask(url, "POST", "/api/tables", body).json
    view = ask(url, "POST", f"/api/tables/{view['table']}/advance", {"ply": 4}).json
    assert view["over"] and view["returns"] == [1, -1] and view["moves"][-1]["name"] == "(0,2)"


def test_moves_are_taken_back(url: str) -> None:
    """Undo returns to a person's last move, and a position follows from its moves alone."""
    view = create(url, seats=["uniform", "person"], seed=5)
    path = f"/api/tables/{view['table']}"
    assert ask(url, "POST", f"{path}/undo", {"ply": 0}).status == 409  # no moves yet
    before = ask(url, "POST", f"{path}/advance", {"ply": 0}).json
    after = act(url, before, before["actions"][0]["action"]).json
    after = ask(url, "POST", f"{path}/advance", {"ply": 2}).json
    assert after["ply"] == 3 and ask(url, "POST", f"{path}/undo", {"ply": 2}).status == 409
    position = ask(url, "GET", f"{path}/position").json
    assert ask(url, "POST", f"{path}/undo", {"ply": 3}).json == before
    again = ask(url, "POST", "/api/tables", position).json
    assert {**again, "table": after["table"]} == after


def test_a_link_reveals_no_hidden_cards(url: str) -> None:
    """A seed reveals cards and dice, so that such games have no link before the end."""
    open_games = {"tic_tac_toe": True, "connect_four": True, "othello": True}
    closed = dict.fromkeys(("three_will", "kuhn_poker", "leduc_poker", "2048", "backgammon", "tensor_stars"), False)
    for game, is_open in (open_games | closed).items():
        seats = ["uniform"] * te.make(game).num_players
        view = create(url, game=game, seats=seats, seed=5)
        answer = ask(url, "GET", f"/api/tables/{view['table']}/position")
        assert answer.status == (200 if is_open else 409), game
    for seats in (["person", "uniform"], ["person"] * 2):
        view = create(url, game="kuhn_poker", seats=seats, seed=5)
        answer = ask(url, "GET", f"/api/tables/{view['table']}/position")
        assert answer.status == 409 and view["seed"] is None


def test_the_seed_is_shown_at_the_end() -> None:
    """The seed reveals hidden cards, so it is shown at the end; without a seed one is drawn."""
    env, seen = te.make("tensor_stars"), set()
    room = tables.Tables()
    room.envs["tensor_stars"] = env
    for _ in range(4):
        view = room.create("tensor_stars", ["uniform"] * 2, None)
        assert view["seed"] is None
        table = room.open[view["table"]]
        seen.add(table.seed)
        while not table.over:
            view = room.change(view["table"], "advance", len(table.moves))
            assert (view["seed"] is None) == (not table.over)
        assert view["seed"] == table.seed
    assert len(seen) == 4 and all(seed <= tables.MAX_SEED for seed in seen)
    room.solver.close()


def test_earlier_positions_are_shown(url: str) -> None:
    view = create(url)
    views = [view]
    for action in (4, 0, 3):
        views.append(view := act(url, view, action).json)
    path = f"/api/tables/{view['table']}/at"
    for ply, then in enumerate(views):
        shown = ask(url, "GET", f"{path}/{ply}").json
        assert (shown["svg"], shown["moves"]) == (then["svg"], [move["name"] for move in then["moves"]])
    for wrong in ("4", "-1", "x", "1" * 30):
        assert ask(url, "GET", f"{path}/{wrong}").status == 404
    assert ask(url, "POST", f"{path}/1", {"ply": 1}).status == 405


def test_prompts_are_shown(url: str) -> None:
    """The prompt of every position is that of `te.text.prompt`, and a viewer's is without what is hidden."""
    ttt, kuhn = shared_env("tic_tac_toe"), shared_env("kuhn_poker")
    view, actions = create(url), list[int]()
    for action in (4, 0, 3):
        view, actions = act(url, view, action).json, [*actions, action]
    path = f"/api/tables/{view['table']}/prompt"
    for ply in range(4):
        game = te.record(ttt, actions[:ply])
        expected = te.text.prompt(te.replay(game), history=game)
        assert ask(url, "GET", f"{path}/{ply}").json == {"prompt": expected}
    assert ask(url, "GET", f"{path}/4").status == 404 and ask(url, "POST", f"{path}/1", {}).status == 405
    table = create(url, "kuhn_poker", ["uniform", "person"], seed=3)["table"]
    assert ask(url, "GET", f"/api/tables/{table}/prompt/0").json["prompt"] == te.text.prompt(
        kuhn.init(1, 3), player=1, history=te.record(kuhn, [], seed=3)
    )


def exact_hint(url: str) -> dict[str, Any]:
    """Ask for a hint until no exact one is being computed."""
    while (hint := ask(url, "GET", urlsplit(url).path).json)["waiting"]:
        time.sleep(0.1)
    found: dict[str, Any] = hint
    return found


@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        # three of player 0's discs stand in column 3, and the fourth wins
        ([3, 0, 3, 0, 3, 1], {"actions": [3], "value": 1, "distance": 1}),
        # player 0 wins at either end of three discs in a row, so that all answers lose as soon
        ([2, 2, 3, 3, 4], {"actions": [0, 1, 2, 3, 4, 5, 6], "value": -1, "distance": 2}),
    ],
)
def test_an_exact_hint(url: str, columns: list[int], answer: dict[str, Any]) -> None:
    table = ask(url, "POST", "/api/tables", {**GAME, "game": "connect_four", "actions": columns}).json
    hint = exact_hint(f"{url}api/tables/{table['table']}/hint/{len(columns)}")
    assert hint == {**answer, "exact": True, "waiting": False}


def test_hints(url: str) -> None:
    """Hints are for a person who is to move: the search's at once, and the exact ones of a game that is solved."""
    won = ask(url, "POST", "/api/tables", {**GAME, "game": "shed_5", "actions": []}).json
    shed = exact_hint(f"{url}api/tables/{won['table']}/hint/0")
    solution = te.agents.solution_of(te.make("shed", cards=5))
    state = solution.env.init(1, 0)
    best = np.flatnonzero(solution.best_actions(state)[0]).tolist()
    assert shed == {
        "actions": best,
        "value": solution.value(state)[0],
        "exact": True,
        "distance": None,
        "waiting": False,
    }
    kalah = create(url, "kalah")
    path = f"/api/tables/{kalah['table']}/hint"
    hint = ask(url, "GET", f"{path}/0").json
    assert len(hint["actions"]) == 1 and -1 < hint["value"] < 1 and not hint["exact"] and hint["waiting"]
    assert ask(url, "GET", f"{path}/3").status == 409
    race = create(url, "2048", ["person"])
    assert not ask(url, "GET", f"/api/tables/{race['table']}/hint/0").json["waiting"]
    computers = create(url, seats=["uniform", "person"])
    assert ask(url, "GET", f"/api/tables/{computers['table']}/hint/0").status == 409
    assert ask(url, "GET", "/api/tables/none/hint/0").status == 404


def test_exact_values_are_those_of_the_whole_game() -> None:
    """In tic-tac-toe every value, distance and best action by search is that of the solved game."""
    env = te.make("tic_tac_toe")
    solution, search = te.agents.solution_of(env), exact.solution_of(json.dumps(env_metadata(env)))
    state = env.init(1)
    for action in (0, 1, 4, 8, 3):
        found = exact.exact(search, state)
        distance = int(solution.distance(state)[0])
        assert found is not None and found.value == solution.value(state)[0]
        assert (found.distance or -1) == distance
        keeps = solution.best_actions(state)[0]
        after = [int(solution.distance(env.step(state, [a]))[0]) for a in found.best]
        assert keeps[found.best].all() and (not found.value or {1 + plies for plies in after} == {distance})
        state = env.step(state, [action])


def test_a_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A position that takes long has no exact value, and the wait for it ends, also for a process that has died."""
    monkeypatch.setattr(exact, "SECONDS", 0.01)
    env = te.make("connect_four")
    search = exact.solution_of(json.dumps(env_metadata(env)))
    assert exact.exact(search, env.init(1)) is None and search.nodes > 0
    solver = exact.PositionSolver()
    monkeypatch.setattr(exact, "PATIENCE", 0.0)
    assert solver.ask(env.init(1)) == (None, False)
    monkeypatch.setattr(exact, "PATIENCE", 60.0)
    assert solver._process is not None
    solver._process.kill()
    solver._process.wait()
    assert solver.ask(env.init(1)) == (None, False) and solver._process is None
    assert solver.ask(te.make("kuhn_poker").init(1)) == solver.ask(te.make("2048").init(1)) == (None, False)


def test_a_game_is_solved_once_and_aside(url: str) -> None:
    """The table answers `waiting` until the game is solved, and other tables continue."""
    first, second = (create(url, "shed_14", ["perfect", "person"], seed) for seed in (1, 2))
    path = f"/api/tables/{first['table']}/advance"
    after = ask(url, "POST", path, {"ply": 0}).json
    assert after["waiting"] and after["ply"] == 0, "it takes longer than this"
    other = create(url)
    assert act(url, other, 4).json["ply"] == 1
    while ask(url, "GET", f"/api/tables/{first['table']}").json["ply"] == 0:
        after = ask(url, "POST", path, {"ply": 0}).json
        assert after["waiting"] == (after["ply"] == 0)
        time.sleep(0.2)
    assert ask(url, "POST", f"/api/tables/{second['table']}/advance", {"ply": 0}).json["ply"] == 1


def test_a_solve_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = opponents.ShedSolver()
    monkeypatch.setattr(opponents, "SOLVE", "import nothing")
    solver.start(3)
    solver.start(3)
    assert len(solver._processes) == 1
    solver._processes[3].wait()
    with pytest.raises(RuntimeError, match="solving shed with 3 cards has failed"):
        solver.table(3, "CPU")
    monkeypatch.undo()
    assert solver.table(3, "CPU") is None
    solver._processes[3].wait()
    assert solver.table(3, "CPU") is solver.table(3, "CPU") is not None
    solver.close()


@pytest.fixture
def served() -> Iterator[server.Server]:
    """Run a server in this process."""
    with server.Server(0) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.05,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


@contextmanager
def drip(served: server.Server, count: int) -> Iterator[list[socket.socket]]:
    """Open connections that send a byte of a request every 0.1 s."""
    slow = [socket.create_connection((server.ADDRESS, served.server_port)) for _ in range(count)]
    stop = threading.Event()

    def send() -> None:
        for byte in b"GET / HTTP/1.1\r\nX: " + b"x" * 10_000:
            for connection in slow:
                with suppress(OSError):
                    connection.send(bytes([byte]))
            if stop.wait(0.1):
                break

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield slow
    finally:
        stop.set()
        thread.join()
        for connection in slow:
            connection.close()


def test_slow_clients_block_no_others(served: server.Server) -> None:
    """A browser's six connections are served beside 70 slow ones, and the number of threads is bounded."""
    before = threading.active_count()
    with drip(served, 70), ThreadPoolExecutor(6) as browser:
        time.sleep(0.5)
        start = time.monotonic()
        files = list(browser.map(lambda path: ask(served.url, "GET", path).status, ["/", "/server.js"] * 3))
        after = act(served.url, create(served.url), 4).json
        assert time.monotonic() - start < 2
        assert files == [200] * 6 and after["ply"] == 1
        assert threading.active_count() <= before + server.MAX_CONNECTIONS + 10


def test_a_request_has_a_deadline(served: server.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline holds for headers and body together, however often a byte arrives."""
    monkeypatch.setattr(server, "CLIENT_SECONDS", 0.5)
    with drip(served, 1) as (slow,):
        start = time.monotonic()
        slow.settimeout(10)
        assert slow.recv(1) == b"" and 0.4 < time.monotonic() - start < 2
    with socket.create_connection((server.ADDRESS, served.server_port)) as slow:
        head = f"POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1:{served.server_port}\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode())
        slow.settimeout(10)
        assert b"200" not in slow.recv(100)


def test_many_at_once(url: str) -> None:
    """Threads read and one worker plays: of equal requests one is carried out."""
    view = create(url)
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda i: act(url, view, i % 9).status, range(16)))
    assert sorted(statuses) == [200] + [409] * 15


def test_a_silent_connection_blocks_no_others(url: str) -> None:
    silent = socket.create_connection((urlsplit(url).hostname, urlsplit(url).port or 0))
    assert ask(url, "GET", "/").status == 200
    silent.close()


# *** refused requests ***

GAME = {"game": "tic_tac_toe", "seats": TWO, "seed": 0, "actions": []}


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"game": "tiddlywinks"}, 404, "there is no game 'tiddlywinks'; there are tic_tac_toe"),
        ({"game": 3}, 400, "game must be of type str, got 3"),
        ({"seats": "person"}, 400, "seats must be of type list"),
        ({"seats": ["person"]}, 400, "seats must be 2 of person, uniform, search, trained, perfect, got person"),
        ({"seats": ["person", "god"]}, 400, "seats must be 2 of"),
        ({"seats": ["person", None]}, 400, "seats must be strings"),
        ({"game": "cube", "seats": ["person", "perfect"]}, 400, "seats must be 2 of person, uniform, search, got"),
        ({"seed": -1}, 400, "seed must be in 0..9007199254740991, got -1"),
        ({"seed": 2**53}, 400, "seed must be in 0.."),
        ({"seed": True}, 400, "seed must be of type int, got True"),
        ({"seed": 0.5}, 400, "seed must be of type int"),
        ({"actions": [0, "4"]}, 400, "actions must be integers"),
        ({"actions": [4, 4]}, 400, "action 4 is illegal here; legal are 0, 1, 2, 3, 5"),
        ({"actions": [0, 3, 1, 4, 2, 5]}, 400, "action 5 is illegal here; the game is over"),
        ({"more": 1}, 400, "the body must have game, seats, seed, actions, got game, seats, seed, actions, more"),
    ],
)
def test_wrong_games(url: str, change: dict[str, Any], status: int, message: str) -> None:
    answer = ask(url, "POST", "/api/tables", {**GAME, **change})
    assert answer.status == status and message in answer.json["error"]


@pytest.mark.parametrize(
    ("body", "headers", "status", "message"),
    [
        (b"{", {}, 400, "the body is no JSON"),
        (b"\xff\xfe", {}, 400, "the body is no JSON"),
        (b"[" * 30_000, {}, 400, "the body"),
        (b'{"seed": ' + b"9" * 30_000 + b"}", {}, 400, "the body"),
        (b"[1]", {}, 400, "the body must be a JSON object, got list"),
        (b"{}", {}, 400, "the body must have game, seats, seed, actions, got nothing"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "Content-Type must be application/json, got text/plain"),
        (b" " * 32769, {}, 413, "a body may have 32768 bytes, got 32769"),
        (b"{}", {"Content-Length": "9" * 5000}, 413, "a body may have 32768 bytes"),
        (b"{}", {"Content-Length": "-2"}, 400, "Content-Length must be a number"),
        (b"0\r\n\r\n", {"Transfer-Encoding": "chunked"}, 411, "Content-Length is needed"),
    ],
)
def test_malformed_bodies(url: str, body: bytes, headers: dict[str, str], status: int, message: str) -> None:
    answer = ask(url, "POST", "/api/tables", body, headers)
    assert answer.status == status and message in answer.json["error"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/play.py", 404),
        ("GET", "/../play.py", 404),
        ("GET", "/rules/../../pyproject.toml", 404),
        ("GET", "/rules/tiddlywinks", 404),
        ("GET", "/api/tables/none", 404),
        ("POST", "/api/tables/none/act", 404),
        ("POST", "/api/tables/none/advance", 404),
        ("POST", "/nothing", 404),
        ("GET", "/api/tables", 405),
        ("GET", "/api/tables/none/advance", 405),
        ("POST", "/", 405),
        ("POST", "/games.json", 405),
        ("POST", "/api/tables/none/undo", 404),
        ("GET", "/api/tables/none/position", 404),
        ("PUT", "/", 405),
        ("DELETE", "/api/tables/none", 405),
    ],
)
def test_paths_and_methods(url: str, method: str, path: str, status: int) -> None:
    body = {"ply": 0, "action": 0} if path.endswith("act") else {"ply": 0} if method == "POST" else None
    answer = ask(url, method, path, body)
    assert answer.status == status and answer.json["error"]


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"action": 4}, 400, "action 4 is illegal here; legal are 0, 1, 2, 3, 5"),
        ({"action": 9}, 400, "action 9 is illegal"),
        ({"action": -1}, 400, "action -1 is illegal"),
        ({"action": "4"}, 400, "action must be of type int, got '4'"),
        ({"action": 10**30}, 400, "is illegal"),
        ({"ply": 0}, 409, "the game is at ply 1, not at 0"),
        ({"ply": 2}, 409, "the game is at ply 1, not at 2"),
        ({"ply": None}, 400, "ply must be of type int"),
    ],
)
def test_wrong_actions_change_nothing(url: str, change: dict[str, Any], status: int, message: str) -> None:
    view = act(url, create(url), 4).json
    path = f"/api/tables/{view['table']}"
    answer = ask(url, "POST", f"{path}/act", {"ply": 1, "action": 0, **change})
    assert answer.status == status and message in answer.json["error"]
    assert ask(url, "GET", path).json == view


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "localhost.evil.example:80"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_other_names_and_pages_are_refused(url: str, headers: dict[str, str]) -> None:
    for method, path, body in (("GET", "/", None), ("POST", "/api/tables", GAME)):
        answer = ask(url, method, path, body, headers)
        assert answer.status == 403 and answer.json["error"]


def test_requests_by_hostname_are_served(url: str) -> None:
    port = urlsplit(url).port
    for name in ("localhost", "127.0.0.1", "LOCALHOST"):
        headers = {"Host": f"{name}:{port}", "Origin": f"http://{name.lower()}:{port}"}
        assert ask(url, "POST", "/api/tables", GAME, headers).status == 200


@pytest.mark.parametrize(
    "text",
    [
        "GET",
        "\x00\x01",
        "GET / HTTP/9.9",
        "GET / HTTP/1.1",  # no host
        "GET http://[/ HTTP/1.1\r\nHost: HOST",
        "GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST",
        "GET /" + "x" * 70000 + " HTTP/1.1\r\nHost: HOST",
        "GET / HTTP/1.1\r\nHost: HOST\r\n" + "A: B\r\n" * 200,
    ],
    ids=lambda text: repr(text[:40]),
)
def test_malformed_requests(url: str, text: str) -> None:
    server = urlsplit(url)
    with socket.create_connection((server.hostname, server.port or 0), timeout=20) as line:
        line.sendall(text.replace("HOST", server.netloc).encode() + b"\r\n\r\n")
        answer = b""
        while part := line.recv(4096):
            answer += part
    assert b'{"error": ' in answer and re.match(rb"HTTP/1.\d 4\d\d |{", answer)


def test_listens_on_this_machine_alone(url: str) -> None:
    others = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), 80, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, urlsplit(url).port or 0), timeout=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "65536"], "argument --port: must be in 0..65535"),
        (["--port", "x"], "invalid int value"),
        (["y"], "y"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    command = [sys.executable, str(SCRIPTS / "play.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and message in done.stderr and "\ntensor_envs.play: error: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "65536"], "argument --port: must be in 0..65535, got 65536"),
        (
            ["--env", "chess960"],
            "unknown id 'chess960'; did you mean 'chess' or 'checkers'? registered() has all of them",
        ),
    ],
)
def test_the_package_has_the_command_too(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(main, arguments) == 2
    assert complaints(capsys.readouterr().err) == f"tensor_envs.play: error: {message}\n"


def test_a_port_that_is_taken(url: str) -> None:
    port = str(urlsplit(url).port)
    command = [sys.executable, str(SCRIPTS / "play.py"), "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and f"127.0.0.1:{port} cannot be served" in done.stderr
