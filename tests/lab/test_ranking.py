"""Sweeps, the order of variants, and the similarity of games."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs.lab import Measurement, VariantReport
from tensor_envs.lab import __main__ as command
from tensor_envs.lab.about import about
from tensor_envs.lab.play import play_uniform
from tensor_envs.lab.ranking import ranking
from tensor_envs.lab.report import MAX_COLUMNS
from tensor_envs.lab.similarity import FILE, GAMES, closest, distance, profile, profiles
from tests.games.shared import shared_env
from tests.lab.games import coin_race, nim


def variant(name: str, score: float, lead: float | None, begins: float = 0.5) -> VariantReport:
    """Return a report of a search with these results."""
    values = {"score of player 0": score, "score of who begins": begins, "draws": 0.25, "plies": 9.0}
    if lead is not None:
        values["winner's lead at 0.5"] = lead
    numbers = {("search 4", what): Measurement(x, x - 0.1, x + 0.1, 0.05) for what, x in values.items()}
    return VariantReport(name, {"search 4": 64}, numbers, {"uniform": {}, "search 4": {}}, {}, {}, 0.0)


def test_the_front_comes_first() -> None:
    """Nothing exceeds a in balance and c in decisiveness; d is exceeded by both of b, and who begins counts as well."""
    made = [variant("d", 0.8, 0.1), variant("a", 0.5, 0.1), variant("b", 0.6, 0.2), variant("c", 0.2, 0.5)]
    order = ranking([*made, variant("e", 0.5, 0.15, begins=0.9)])
    assert [one.variant.name for one in order] == ["a", "b", "c", "d", "e"]
    assert [one.front for one in order] == [True, True, True, False, False]
    balance = {one.variant.name: one.balance.value for one in order}
    assert balance == pytest.approx({"a": 1, "b": 0.8, "c": 0.4, "d": 0.4, "e": 0.2})
    assert order[1].balance.half_width == pytest.approx(0.2) and order[1].decisiveness.value == pytest.approx(0.15)


def test_without_values_of_positions_draws_decide() -> None:
    order = ranking([variant("a", 0.5, 0.3), variant("b", 0.5, None)])
    assert [one.decisiveness.value for one in order] == [0.75, 0.75]


@pytest.mark.slow
def test_balance_of_games_with_known_answers() -> None:
    """A start of two points unbalances a race of coins; a game for one player has no ranking."""
    order = te.lab.measure({"base": coin_race(), "bonus": coin_race(2)}, ["uniform"], 64).ranking
    assert [one.variant.name for one in order] == ["base", "bonus"]
    assert order[1].balance.high < order[0].balance.value
    # who is two ahead of five has won with probability 1 - P(at least 5 of 7 coins fall for the other)
    won = 1 - sum(math.comb(7, k) for k in (5, 6, 7)) / 2**7
    assert order[1].balance.low < 1 - 2 * (won - 0.5) < order[1].balance.high
    assert te.lab.measure(te.make("2048", max_plies=20), ["uniform"], 32).ranking == []


def test_sweeps() -> None:
    """All switches, up to some at once; presets stay as they are, and refused combinations are left out."""
    base = te.make("three_will")
    switches = [name for name, value in vars(base.rules).items() if isinstance(value, bool)]
    singles, pairs = te.lab.variants(base), te.lab.variants(base, together=2)
    assert len(switches) == 7 and len(singles) == 8 and len(pairs) == 1 + 7 + 21
    rules = pairs["loan=False, challenge=False"].rules
    assert not rules.loan and not rules.challenge and rules.supplementary  # type: ignore[attr-defined]
    board = te.make("hyper_tic_tac_toe", shape=(3, 3), k=2)
    boards = te.lab.variants(board, {"shape": [(2, 2)], "k": [3], "misere": []}, together=3)
    assert [*boards][1:] == ["shape=(2, 2)", "k=3", "misere=True", "shape=(2, 2), misere=True", "k=3, misere=True"]
    with pytest.raises(ValueError, match="together must be in 1"):
        te.lab.variants(base, together=0)


@pytest.mark.slow
def test_command_sweeps(tmp_path: Path) -> None:
    """More variants than columns: the ranking has them all, the other table those that differ most from the base."""
    file = tmp_path / "report.md"
    few = ["--games", "32", "--players", "uniform", "--rules", "shape=(3, 3)", "--out", str(file)]
    command.main(["hyper_tic_tac_toe", *few, "--sweep", "2"])
    text = file.read_text()
    file.unlink()
    assert "| misere=True, gravity=True" in text and "| best variants | balance | decisiveness |" in text
    command.main(["hyper_tic_tac_toe", *few, "--sweep", "3", "--vary", "misere", "gravity", "k=2", "shape=(4,4)"])
    tables = file.read_text().split("\n\n")
    assert 3 < tables[0].count("\n| ") < 15 and tables[1].splitlines()[0].count("|") == MAX_COLUMNS + 2


@pytest.mark.slow
def test_similar_games() -> None:
    """A board of 3x3 is tic-tac-toe by another name; a distance is a metric with the games' own scale."""
    board = shared_env("hyper_tic_tac_toe", shape=(3, 3), k=3)
    own = profile(board, play_uniform(board, 256, 5))
    (first, near), (_, next_one) = closest(own, 2, "hyper_tic_tac_toe")
    assert first == "tic_tac_toe" and near < 0.2 < next_one
    stored = profiles()
    chess, go, hex_game = (stored[id] for id in ("chess", "go", "hex"))
    assert distance(chess, chess) == 0 < distance(chess, go) == distance(go, chess)
    assert distance(chess, go) <= distance(chess, hex_game) + distance(hex_game, go)
    report = te.lab.measure(board, ["uniform"], 32)
    assert "By uniform play the most similar games are tic_tac_toe (" in str(report)
    assert json.loads(report.to_json())[0]["profile"].keys() == own.keys()


@pytest.mark.slow
def test_a_profile_by_hand() -> None:
    """Nim of a single object: a single ply, which wins."""
    env = nim(1)
    assert profile(env, play_uniform(env, 32, 0)) == {
        "players": 1, "chance": 0, "hidden information": 0, "advantage": 1, "draws": 0, "truncated": 0,
        "plies, log10": 0, "spread of plies": 0, "turns per ply": 1, "legal actions, log10": 0, "forced moves": 1,
        "coverage": 1, "game tree, log10 of log10": 0,
    }  # fmt: skip


@pytest.mark.slow
def test_profiles_are_those_of_all_games() -> None:
    """The file has every id, and what the command writes for two of them."""
    stored = json.loads(FILE.read_text())
    assert stored.keys() == {*te.registered()}
    for id in ("tic_tac_toe", "kuhn_poker"):
        env = shared_env(id)
        assert stored[id] == profile(env, play_uniform(env, GAMES, 0))


def test_about_a_game() -> None:
    """Tic-tac-toe has 7.6 plies at random; rules other than those of an id have no section."""
    text = about(shared_env("tic_tac_toe"))
    assert "## About this game" in text and "| plies | 8 |" in text and "connect_four (" in text
    assert "winner" not in about(shared_env("2048")) and "plies" in about(shared_env("2048"))
    assert "winner" not in about(shared_env("hanabi")) and "plies" in about(shared_env("hanabi"))
    assert about(shared_env("hyper_tic_tac_toe", shape=(3, 3), k=3)) == ""
