"""Cooperative games: players share every return, so the mean return of a team is the measure everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.lab.play import play_uniform
from tensor_envs.referee import Participant, Settings, ratings, scores, tournament
from tensor_envs.rules import Chance, Field, GameState, Mask, Outcome, Scalar, Spec, int32, one_hot
from tensor_envs.train.config import PPOConfig
from tensor_envs.train.rating import Judges, rate


@dataclass(frozen=True)
class Together:
    """Both players in turn name a number that they see; for each hit both get 1."""

    turns: int = 6

    @property
    def spec(self) -> Spec:
        return Spec(2, 3, (3,), (Field("number", high=2),), chance=True, zero_sum=False)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"number": chance.draw(0, 3)}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [True] * 3

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        hit = int32(action == s.number)
        after = s.replace(number=chance.draw(s.ply + 1, 3), current_player=1 - s.current_player)
        return Outcome(after, (hit, hit), s.ply + 1 == self.turns)

    def observe(self, s: GameState, player: Scalar) -> Any:
        return [one_hot(s.number, 3)]


ENV = te.make(f"{__name__}:Together")


def hits(state: te.State) -> Any:
    return state.number


def misses(state: te.State) -> Any:
    return (te.to_numpy(state.number) + 1) % 3


@pytest.mark.slow
def test_matches_report_the_return_of_the_team() -> None:
    result = te.evaluate(ENV, [hits, misses], games=32)
    assert result.is_cooperative and result.mean_returns.tolist() == [3, 3]
    assert str(result) == "32 games of 6.0 plies, 0 unfinished; the team's mean return +3.000 +- 0.000"
    nothing = te.evaluate(ENV, [misses, misses], games=32)  # a team that returns 0 has not drawn
    assert str(nothing) == "32 games of 6.0 plies, 0 unfinished; the team's mean return +0.000 +- 0.000"
    short = play_uniform(te.make(f"{__name__}:Together", turns=1), games=1, seed=2)
    assert short.is_cooperative and not short.returns.any()
    zero_sum = te.evaluate(te.make("tic_tac_toe"), [te.agents.uniform] * 2, games=16)
    assert not zero_sum.is_cooperative and "won" in str(zero_sum)


def test_a_round_robin_compares_teams() -> None:
    ratings = te.arena(ENV, {"misses": misses, "hits": hits, "uniform": te.agents.uniform}, games=64, opening=0)
    assert ratings.returns is not None and np.isnan(ratings.elo).all()
    assert ratings.returns[:2, :2].tolist() == [[0, 3], [3, 6]] and (ratings.returns == ratings.returns.T).all()
    assert 1 < ratings.returns[2, 2] < 3 and ratings.intervals[0] == 0 < ratings.intervals[2]
    heading, first, *_ = str(ratings).splitlines()
    assert "mean return" in heading and first.split()[:4] == ["hits", "+6.000", "+-", "0.000"]
    missing = te.arena(ENV, {"misses": misses, "again": misses}, games=32, opening=0)
    assert missing.returns is not None and (missing.returns == 0).all()
    assert te.arena(te.make("tic_tac_toe"), {"a": te.agents.uniform, "b": te.agents.uniform}, 16).returns is None


def test_runs_are_rated_by_the_return_of_their_team() -> None:
    config = PPOConfig(rating_games=32, rating_opening=0)
    metrics = rate(ENV, hits, lambda state: np.eye(3), config, Judges(None, False), None)
    assert metrics == {"mean_return": 6}
    rated = rate(te.make("tic_tac_toe"), te.agents.uniform, lambda state: None, config, Judges(None, False), None)
    assert {"score", "score_interval", "mean_return"} == {*rated}


@pytest.mark.slow
def test_the_laboratory_measures_returns() -> None:
    report = te.lab.measure(ENV, players=["uniform", 16], games=64)
    numbers = report.base.numbers
    assert 1 < numbers["uniform", "return"].value < 3
    contests = {who for who, what in numbers if what == "return" and "against" in who}
    assert contests and not any("score" in what or what == "draws" for _, what in numbers)
    assert report.ranking == [] and "return" in report.to_markdown()


@pytest.mark.slow
def test_the_referee_reports_the_returns_of_partners() -> None:
    players = [Participant(name, policy=policy) for name, policy in (("hits", hits), ("misses", misses))]
    records = list(tournament(ENV, players, games=2, settings=Settings(opening=0), num_simulations=8))
    elo = ratings(records)
    assert elo.returns is not None and np.isnan(elo.elo).all() and elo.returns[0, 1] == elo.returns[1, 0] == 3
    assert np.isnan(np.diag(elo.returns)).all() and "nan +-" not in str(elo)
    for score in scores(records):
        assert (score.won, score.drawn, score.lost, score.mean_return) == (0, 0, 0, 3) and "drawn" not in str(score)


@pytest.mark.slow
def test_a_team_of_searches_scores_more_in_hanabi() -> None:
    """Search resamples the own hand and reaches most of six points; uniform players lose nearly all they have."""
    env = te.make("hanabi", colors=2, ranks=3, hand_size=2, information_tokens=3)
    teams = ([te.agents.playout_search(64)] * 2, [te.agents.uniform] * 2)
    searched, uniform = (te.evaluate(env, team, games=64) for team in teams)
    assert searched.mean_returns[0] > 3 > 1.6 > uniform.mean_returns[0] > 0.5
    report = str(te.evaluate(te.make("hanabi"), [te.agents.uniform] * 2, games=64))
    assert report.endswith("the team's mean return +0.000 +- 0.000")
