"""Whole games of players of text: records, scores, ratings and the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.evaluation.matches import Z
from tensor_envs.files.records import NO_ACTION
from tensor_envs.referee import (
    Participant,
    Settings,
    command,
    endpoint,
    function,
    packaged,
    play,
    ratings,
    scores,
    tournament,
)
from tensor_envs.referee.report import page
from tests.games.shared import shared_env
from tests.referee.players import TTT, first, learning, reader, resigning, scattered

READER, FIRST, SCATTERED = (
    Participant("reader", ask=reader),
    Participant("first", ask=first),
    Participant("scattered", ask=scattered),
)
SILENT = Participant("silent", ask=resigning)


@pytest.mark.few("kuhn_poker", "connect_four", "shed")
@pytest.mark.parametrize("name", te.registered())
def test_a_whole_game_in_every_id(name: str) -> None:
    """Two players that read the legal moves off their prompts play to the end, and no answer is wrong."""
    env = shared_env(name)
    game = play(env, [(SCATTERED, FIRST)[seat % 2] for seat in range(env.num_players)], seed=3)
    assert te.replay(game).env is not env and te.Record.from_json(game.to_json()) == game
    assert game.terminated or game.truncated
    moves = game.notes["moves"]
    assert len(moves) == len(game.actions) >= 2 and moves[:2] == [None, None] and NO_ACTION not in game.actions
    assert all(noted["illegal"] + noted["unparsable"] == 0 and len(noted["answers"]) == 1 for noted in moves[2:])


@pytest.mark.slow
def test_a_reader_of_boards_never_loses() -> None:
    players = [READER, packaged("uniform", TTT), packaged("perfect", TTT)]
    records = list(tournament(TTT, players, games=6, seed=5, settings=Settings(opening=0)))
    by_name = {score.name: score for score in scores(records)}
    assert len(records) == 18 and list(by_name) == ["reader", "uniform", "perfect"]
    score = by_name["reader"]
    assert score.lost == score.regret == score.illegal == score.unparsable == 0 and score.won > 2
    assert score.answers == score.moves > 40 and score.tokens is None and by_name["uniform"].regret > 0.1
    assert by_name["uniform"].lost == score.won + by_name["perfect"].won and by_name["uniform"].won == 0
    elo = ratings(records)
    assert elo.names == ("reader", "uniform", "perfect") and elo.elo[0] > elo.elo[1] and elo.games == 6
    assert elo.scores[0, 2] == elo.scores[2, 0] == 0.5 and (elo.intervals > 0).all()


def test_scores_are_those_of_the_arena() -> None:
    """Policies that a tournament plays have the points and ratings that `te.arena` gives them."""
    policies = {
        "perfect": te.agents.perfect(),
        "last": lambda state: 8 - state.legal_action_mask.numpy()[:, ::-1].argmax(1),
    }
    players = [Participant(name, policy=policy) for name, policy in policies.items()]
    records = list(tournament(TTT, players, games=2, settings=Settings(opening=0)))
    assert ratings(records).elo == pytest.approx(te.arena(TTT, policies, games=2, opening=0).elo)
    assert (records[0].players, records[0].notes["players"]) == ((*[0, 1] * 9,)[: len(records[0].players)], [*policies])
    assert records[1].notes["players"] == ["last", "perfect"]


def test_answers_that_are_none_lose() -> None:
    """After all tries a player loses by the action -1, whose regret is the position's value and 1."""
    records = list(tournament(TTT, [SILENT, SCATTERED], games=2, settings=Settings(tries=4, opening=0)))
    silent, other = scores(records)
    assert (silent.lost, silent.mean_return, silent.answers, silent.unparsable, silent.illegal) == (2, -1, 8, 1, 0)
    assert (other.tokens, other.unparsable) == (7, 0) and silent.tokens is None
    assert [game.actions[-1] for game in records] == [NO_ACTION] * 2 and records[0].notes["regret"] == [1.0]
    assert records[0].notes["moves"][0]["answers"] == ["I resign."] * 4
    asked = list[str]()

    def unlucky(text: str) -> str:
        asked.append(text)
        return "(0,0)"

    game = play(
        TTT, [Participant("unlucky", ask=unlucky), Participant("learning", ask=learning)], settings=Settings(opening=0)
    )
    assert game.actions == (0, 8, -1) and game.rewards[-1] == (-1.0, 1.0)
    noted = game.notes["moves"][1]
    assert (noted["answers"][0], noted["illegal"], noted["unparsable"]) == ("(9,9), or (0,0)", 1, 0)
    assert len(asked) == 4 and asked[2].startswith(asked[1])
    assert asked[3].endswith("\nYour answer was: (0,0)\nIt cannot be played: it names a move that is not legal.\n")
    assert "Moves so far, each after its player: X (0,0); O (2,2)\n" in asked[1] and "# Hyperdimensional" in asked[1]
    cut = Participant("cut", ask=lambda text: "half an emoji: \ud83d")
    game = play(TTT, [cut, cut], settings=Settings(tries=1, opening=0))
    assert game.notes["moves"][0]["answers"] == ["half an emoji: ?"]  # what every client can be sent


def test_prompts_without_history_and_legal_moves() -> None:
    asked = list[str]()

    def curious(text: str) -> str:
        asked.append(text)
        return "I do not know"

    play(TTT, [Participant("curious", ask=curious)] * 2, settings=Settings(history=False, legal=False, tries=2))
    assert len(asked) == 2 and not re.search(r"Moves so far|Legal moves|\(\d,\d\)", asked[1].partition("You are ")[2])


@pytest.mark.slow
def test_games_for_one_and_for_three() -> None:
    """Who plays alone is compared on the same seeds; of three seats a pair takes two and one, in turn."""
    env = shared_env("2048", max_plies=20)
    players = [packaged("playout:16", env), packaged("uniform", env)]
    records = list(tournament(env, players, games=2, seed=4, oracle=te.PlayoutOracle(8)))
    assert [game.seed for game in records] == [4, 4, 5, 5] and all(game.truncated for game in records)
    alone = [sum(reward for (reward,) in game.rewards) for game in records]
    wins = sum(alone[k] > alone[k + 1] for k in (0, 2))
    assert scores(records)[0].won == wins and scores(records)[0].mean_return == (alone[0] + alone[2]) / 2
    race = te.make("tests.games.dice_race:DiceRace")
    pair = [Participant(name, policy=te.agents.uniform) for name in ("a", "b")]
    records = list(tournament(race, pair, games=2, oracle=te.PlayoutOracle(8), settings=Settings(opening=1)))
    assert [game.notes["players"] for game in records] == [["a", "b", "a"], ["b", "a", "b"]]
    totals = [np.sum(game.rewards, axis=0).tolist() for game in records]
    of_a = [(totals[0][0] + totals[0][2]) / 2, totals[1][1]]
    assert scores(records)[0].mean_return == pytest.approx(sum(of_a) / 2)


class Tags(HTMLParser):
    """Tags, and texts, of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.opened, self.texts = list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.opened.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_report_has_scores_and_boards() -> None:
    players = [SCATTERED._replace(name="<b>a & b</b>"), packaged("perfect", TTT)]
    records = list(tournament(TTT, players, games=4, seed=2, settings=Settings(disguise=("symmetry",))))
    text = page(records, scores(records), ratings(records))
    tags = Tags(text)
    regrets = [max((lost or 0 for lost in game.notes["regret"]), default=0) for game in records]
    assert tags.opened.count("details") == 4 and "b" not in tags.opened
    assert tags.opened.count("img") == 4 + sum(regret > 0 for regret in regrets) > 4
    assert tags.opened.count("li") == sum(len(game.actions) for game in records)
    assert "<b>a & b</b>" in tags.texts and f"{scores(records)[0].regret:.4f} ± " in text


class Nobody:
    """Oracle to which all moves are the same."""

    def best_actions(self, state: te.State) -> np.ndarray:
        return state.legal_action_mask.numpy()

    def regret(self, state: te.State, action: Any) -> np.ndarray:
        return np.zeros(len(state))


def test_a_game_for_three_is_played_in_all_rotations_of_each_group() -> None:
    """Each player sits in each seat of the same deal, and scores by seat are those of the records."""
    env = shared_env("liars_dice", players=3)
    players = [packaged("uniform", env), FIRST, SCATTERED, SILENT]
    judge = Nobody()
    records = list(tournament(env, players, games=3, seed=5, settings=Settings(opening=0), oracle=judge))
    names = [tuple(game.notes["players"]) for game in records]
    groups = [*combinations([player.name for player in players], 3)]
    assert names == [(*group[k:], *group[:k]) for group in groups for k in range(3)]
    assert [game.seed for game in records] == [5] * 12
    for score in scores(records):
        for seat, (count, mean, half) in enumerate(score.seats):
            totals = [
                sum(rewards[seat] for rewards in g.rewards) for g in records if g.notes["players"][seat] == score.name
            ]
            assert count == len(totals) == 3 and mean == pytest.approx(sum(totals) / 3)
            assert half == pytest.approx(Z * np.std(totals) / 3**0.5)
        assert str(score).count(" +- ") == 4 and score.won + score.drawn + score.lost == 18
    assert scores(records)[-1].mean_return < 0 and ratings(records).names[-1] == "silent"
    with pytest.raises(ValueError, match="games must be a multiple of 3, so that seats are exchanged, got 4"):
        tournament(env, players, games=4)
    pair = list(tournament(env, players[:2], games=2, settings=Settings(opening=0), oracle=judge))
    assert [game.notes["players"] for game in pair] == [["uniform", "first", "uniform"], ["first", "uniform", "first"]]


@pytest.mark.parametrize(
    ("players", "games", "message"),
    [
        ([FIRST], 2, "players must be two or more with different names, got first"),
        ([FIRST, FIRST], 2, "with different names, got first, first"),
        ([FIRST, SCATTERED], 3, "games must be even, so that seats are exchanged, got 3"),
        ([FIRST, SCATTERED], 0, r"games must be in 1\.\."),
    ],
)
def test_wrong_tournaments(players: list[Participant], games: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next(tournament(TTT, players, games))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env": "hex"}, "env must be of type Env, got 'hex'"),
        ({"players": ["a", "b"]}, r"players\[0\] must be of type Participant, got 'a'"),
        ({"settings": {}}, "settings must be of type Settings, got {}"),
        ({"settings": "x"}, "settings must be of type Settings, got 'x'"),
        ({"seed": "a"}, "seed must be an int, got 'a'"),
        ({"seed": -1}, r"seed must be in 0\.\."),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"env": TTT, "players": [FIRST, SCATTERED]}
    for start in (play, tournament):  # a tournament refuses them before its first game
        with pytest.raises((ValueError, TypeError), match=message):
            start(**good | arguments)
    with pytest.raises(ValueError, match=r"seed must be in 0\.\.18446744073709551612, got"):
        tournament(**good, games=4, seed=2**64 - 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parallel": 0}, r"parallel must be in 1\.\."),
        ({"parallel": 1.0}, "parallel must be an int, got 1.0"),
        ({"num_simulations": 0}, r"num_simulations must be in 1\.\."),
        ({"played": 3}, "played must be of type Sequence, got 3"),
        ({"players": [FIRST, Participant("b")]}, r"players\[1\] must have one of policy and ask, got Participant"),
        ({"players": [FIRST, Participant("b", lambda s: [0], len)]}, r"players\[1\] must have one of policy and ask"),
        ({"players": [FIRST, Participant("b", ask=3)]}, r"players\[1\].ask must be a function, got 3"),  # type: ignore[arg-type]
        ({"players": [FIRST, Participant("b", policy=3)]}, r"players\[1\].policy must be a function, got 3"),  # type: ignore[arg-type]
        ({"players": [FIRST, Participant(3, ask=len)]}, r"players\[1\].name must be of type str, got 3"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_of_a_tournament(arguments: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"env": TTT, "players": [FIRST, SCATTERED]}
    with pytest.raises((ValueError, TypeError), match=message):
        tournament(**good | arguments)


def test_records_hold_numbers_of_numpy() -> None:
    settings = Settings(tries=np.int64(1), time_limit=np.float32(60))  # type: ignore[arg-type]
    game = play(TTT, [FIRST, Participant("b", ask=str.upper, options={"heat": np.float32(0.5)})], settings=settings)
    again = te.Record.from_json(game.to_json()).notes
    assert again["settings"]["tries"] == 1 and again["options"] == {"b": {"heat": 0.5}}


def test_no_records_have_no_scores() -> None:
    for table in (scores, ratings):
        with pytest.raises(ValueError, match="records must be those of a tournament, got none"):
            table([])
        with pytest.raises(TypeError, match=r"records\[0\] must be of type Record, got 3"):
            table([3])  # type: ignore[list-item]
        with pytest.raises(
            ValueError, match=r"records\[0\] must be of a tournament, got one without notes of moves, pl"
        ):
            table([te.record(TTT, [0])])


def test_wrong_players_and_settings() -> None:
    disguises: list[dict[str, Any]] = [{"disguise": "renamed"}, {"disguise": ("x",)}]
    for wrong in (*disguises, {"tries": 0}, {"opening": -1}, {"limit": 0}, {"legal": 1}, {"history": None}):
        with pytest.raises((ValueError, TypeError), match=f"{next(iter(wrong))} must be "):
            Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="players must be 2, one for every seat, got 1"):
        play(TTT, [FIRST])
    with pytest.raises(TypeError, match="the player 'mute' must answer with a str, got NoneType"):
        play(TTT, [Participant("mute", ask=lambda text: None)] * 2)
    with pytest.raises(ValueError, match=r"tokens must be in 0\.\."):
        play(TTT, [Participant("cheap", ask=lambda text: ("(0,0)", -1))] * 2)
    with pytest.raises(ValueError, match=r"a player must be uniform, playout:SIMULATIONS.* got 'nobody'"):
        packaged("nobody", TTT)
    with pytest.raises(ValueError, match="state must be of"):
        packaged("tensor_envs/weights/shed.safetensors", TTT)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (packaged, (5, TTT), "name must be of type str, got 5"),
        (packaged, ("uniform", "hex"), "env must be of type Env, got 'hex'"),
        (function, (5,), "name must be of type str, got 5"),
        (endpoint, (5, "a-model"), "url must be of type str, got 5"),
        (command, ("echo hi",), "words must be a program and its arguments, got 'echo hi'"),
        (command, ([],), "words must be a program and its arguments, got none"),
    ],
)
def test_wrong_participants(make: Callable[..., Participant], arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(*arguments)
