"""Tables of tensor_envs.play: hidden information and results."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.play import searches, tables
from tensor_envs.web.variants import Variant
from tests.play.client import MINUTE, TWO, sleep


def test_the_computers_cards_are_hidden() -> None:
    """Games that differ only in the computer's hidden cards have equal views."""
    env, views = te.make("tensor_stars"), []
    for cards in ((9, 7, 5), (0, 1, 4)):
        table = tables.Table("tensor_stars", env, ["uniform", "person"], 0)
        seen = [table.view()]
        for card in cards:
            table._play(card)
            seen.append(table.view())
        views.append(seen)
    assert views[0] == views[1] and views[0][3]["moves"][0]["name"] == "a card, face down"
    assert views[0][1]["actions"] == [] and len(views[0][3]["actions"]) == 10
    for card in (5, 6, 8):
        table.act(table.view()["ply"], card)
    names = [move["name"].partition(" for")[0] for move in table.view()["moves"]]
    assert names == [f"card {card}" for card in (0, 1, 4, 5, 6, 8)]  # laid aside


def test_the_log_names_face_up_cards() -> None:
    """The log names face-up cards: Black's 2 on red asks for an order while blue and yellow are face down."""
    table = tables.Table("tensor_stars", te.make("tensor_stars"), TWO, 0)
    for card in (2, 7, 0, 9, 8, 7):
        assert table.viewer == table.player
        table._play(card)
    view = table.view()
    assert view["viewer"] == 0 and view["secret"] and [a["name"] for a in view["actions"]] == ["PRINTED", "REVERSED"]
    names = [move["name"].partition(" for")[0] for move in view["moves"]]
    assert names == ["card 2", "card 7", "card 0", "card 9", *["a card, face down"] * 2]


def test_three_wills_hidden_numbers_are_hidden() -> None:
    env = te.make("three_will")
    games = [tables.Table("three_will", env, ["person", "uniform"], seed) for seed in range(24)]
    hidden = [env.state_to_dict(game.state) for game in games]
    alike = [i for i in range(24) if all(hidden[i][f] == hidden[0][f] for f in ("die", "player"))]
    assert len({str(hidden[i]["ids"]) for i in alike}) > 1
    assert len({json.dumps({**games[i].view(), "seed": 0}) for i in alike}) == 1


def test_all_is_shown_to_those_who_only_watch() -> None:
    table = tables.Table("tensor_stars", te.make("tensor_stars"), ["uniform", "uniform"], 0)
    table.advance(0)
    assert table.view()["viewer"] is None and table.view()["moves"][0]["name"].startswith("card 4 for red")


def test_tables_are_closed_for_newer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_TABLES", 2)
    room = tables.Tables()
    first, second = (room.create("tic_tac_toe", TWO, 0)["table"] for _ in range(2))
    room.change(first, "act", 0, 4)
    third = room.create("tic_tac_toe", TWO, 0)["table"]
    assert list(room.open) == [first, third]
    with pytest.raises(tables.BadRequest, match="there is no table"):
        room.view(second)


def test_tables_search_with_the_servers_exploration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level is a number of simulations; a hint has the most. Both kernels are compiled from the beginning."""
    asked = list[tuple[int, float]]()
    found = searches.Searched(0, 0.5, False)

    def start(_: Any, state: te.State, simulations: int, exploration: float) -> int:
        asked.append((simulations, exploration))
        return len(asked)

    monkeypatch.setattr(searches.Searcher, "prepare", lambda _, state, weight: asked.append((state.ply.item(), weight)))
    monkeypatch.setattr(searches.Searcher, "start", start)
    monkeypatch.setattr(searches.Searcher, "answer", lambda *_: found)
    room = tables.Tables(0.5)
    name = room.create("tic_tac_toe", ["person", "playout:4"], 0)["table"]
    hint = room.find(name).hint(0)
    room.change(name, "act", 0, 4)
    room.change(name, "advance", 1)
    room.close()
    assert asked == [(0, 0.5), (512, 0.5), (4, 0.5)] and hint["actions"] == [0] and hint["value"] == 0.5


def test_no_table_waits_for_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint and the computer's move are polled while a process searches, and other tables go on."""
    monkeypatch.setattr(searches.Searcher, "_send", sleep)
    begin = time.monotonic()
    room = tables.Tables()
    name = room.create("kalah", ["person", "playout:512"], 0)["table"]
    hint = room.find(name).hint(0)
    assert hint["waiting"] and hint["compiling"] and hint["actions"] == [] and hint["value"] is None
    room.change(name, "act", 0, 0)
    view = room.change(name, "advance", 1)
    assert view["waiting"] and view["compiling"] and view["ply"] == 1
    other = room.create("tic_tac_toe", TWO, 0)["table"]
    assert room.change(other, "act", 0, 4)["ply"] == 1
    room.close()
    assert time.monotonic() - begin < MINUTE, "nothing has waited for a search"


def answer(searcher: Any) -> None:
    """Start a process that answers one question at once, in place of the one before."""
    searcher.close()
    command = [sys.executable, "-c", "print('[0, 0.5, false]', flush=True)"]
    searcher._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_no_search_waits_for_the_compiler_of_another_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each game has a process, which begins when a table with such a player is opened; few of them are kept."""
    monkeypatch.setattr(searches.Searcher, "_send", sleep)
    room = tables.Tables()
    slow = room.create("kalah", ["person", "playout:4"], 0)["table"]
    process = room.find(slow).searcher._process
    assert process is not None and room.find(slow).hint(0)["compiling"]
    monkeypatch.setattr(searches.Searcher, "_send", answer)
    fast = room.create("tic_tac_toe", TWO, 0)["table"]
    assert room.find(fast).searcher._process is None, "nobody has asked for a search"
    while (hint := room.find(fast).hint(0))["actions"] == []:
        assert hint["compiling"]
    assert hint["value"] == 0.5 and process.poll() is None
    assert room.find(slow).hint(0)["compiling"] and not room.find(fast).hint(0)["compiling"]
    for game in ("othello", "hex")[: searches.MAX_PROCESSES]:
        room.create(game, TWO, 0)
    assert process.poll() is not None
    while room.find(slow).hint(0)["actions"] == []:  # it is asked for again, and another process begins
        pass
    room.close()


def test_searches_that_fail_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = searches.Searcher()
    number = searcher.start(te.make("tic_tac_toe").init(1), -1, 1.0)
    with pytest.raises(RuntimeError, match="num_simulations must be"):
        searcher.answer(number, MINUTE)
    assert searcher._process is not None
    searcher._process.kill()
    number = searcher.start(te.make("tic_tac_toe").init(1), 4, 1.0)
    with pytest.raises(RuntimeError, match="has ended"):
        searcher.answer(number, MINUTE)
    searcher.close()


def test_secrets_of_other_games() -> None:
    """Bets are public; in a custom game with secrets, others' moves are hidden until the end."""
    seats = ["person", "person"]
    poker = te.make("kuhn_poker")
    public = tables.Table("kuhn_poker", poker, seats, 0)
    own = tables.Table("own", poker, seats, 0, variant=Variant("Own", "kuhn_poker", secret=True, custom=True))
    for table in (public, own):
        table.act(0, 0)
    assert public.view()["moves"][0]["name"] == poker.action_to_string(0)
    assert own.view()["viewer"] == 1 and own.view()["moves"][0]["name"] == "a move, not shown"
    own.act(1, 0)
    assert own.view()["over"] and own.view()["moves"][0]["name"] == poker.action_to_string(0)
