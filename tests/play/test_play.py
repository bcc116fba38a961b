"""tensor_envs.play: answers of its server."""

from __future__ import annotations

import threading

import pytest

import tensor_envs as te
from tensor_envs.play import server, tables
from tensor_envs.web.variants import LEVELS, VARIANTS
from tests.games.shared import shared_env
from tests.play.client import GAME, act, advance, ask, create


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
        "breakthrough", "kalah", "oware", "ultimate_tic_tac_toe", "dots_and_boxes", "qubic", "go", "lines_of_action",
        "nine_mens_morris", "hex", "gomoku", "cube", "amazons", "quoridor", "backgammon", "checkers",
        "yahtzee", "2048", "chess", "dark_hex", "phantom_tic_tac_toe", "animal_shogi", "minishogi", "gardner_chess",
        "xiangqi", "havannah", "hanabi", "texas_holdem", "clobber", "gin_rummy", "shogi",
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
            "picture": f"pictures/{game}",
            "chance": True,
            "players": ["Player 1", "Player 2", "Player 3"],
            "kinds": ["person", "uniform", *LEVELS],
            "hints": True,
        }
        assert b"dice_race:GAME with goal=12" in ask(served.url, "GET", f"/rules/{game}").content
        view = create(served.url, game, ["person", "uniform", "uniform"])
        view = act(served.url, view, view["actions"][0]["action"]).json
        assert view["ply"] == 1 and view["svg"]
        assert "You are Player 1" in ask(served.url, "GET", f"/api/tables/{view['table']}/prompt/0").json["prompt"]
    finally:
        served.shutdown()
        thread.join()
        served.server_close()
    with pytest.raises(ValueError, match=r"--env tests.render.test_default:Secret cannot be shown: .* have seen_by"):
        server.Server(0, ["tests.render.test_default:Secret"])
    server.Server(0, ["tests.render.test_default:Field"]).server_close()  # without a render module


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


@pytest.mark.parametrize("kind", ["playout:64", "trained"])
def test_other_kinds_of_players(url: str, kind: str) -> None:
    """Agents complete a line of two when they can, which wins at once."""
    body = {**GAME, "seats": [kind, "person"], "actions": [0, 3, 1, 4]}
    view = ask(url, "POST", "/api/tables", body).json
    view = advance(url, view, 4)
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
    position = after["position"]
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
        position = {"game": game, "seats": seats, "seed": 5, "actions": []}
        assert view["position"] == (position if is_open else None), game
    for seats in (["person", "uniform"], ["person"] * 2):
        view = create(url, game="kuhn_poker", seats=seats, seed=5)
        assert view["position"] is None and view["seed"] is None


@pytest.mark.slow
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
