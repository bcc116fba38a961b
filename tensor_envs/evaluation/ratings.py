"""Elo ratings and mean returns of policies, by a round robin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tensor_envs._runtime.devices import DeviceName
from tensor_envs._validate import instance
from tensor_envs.envs.env import Env
from tensor_envs.evaluation.matches import LIMIT, Evaluation, Z, evaluate, share_returns

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Policy

ELO = 400 / np.log(10)  # Elo points per unit of log odds


@dataclass(frozen=True)
class Ratings:
    """Result of `te.arena`: Elo ratings and scores of a round robin.

    Attributes:
        names: names of the policies.
        elo: Elo ratings with mean 0, float64 [N].
        intervals: half the width of the 95 % interval of each rating, float64 [N].
        scores: mean points of each policy (row) against each other, float64 [N, N]; NaN on the diagonal.
        games: number of games of each pair.
        returns: in games with other returns than -1, 0 and 1, such as chips of poker, the mean return of each policy
            (row) against each other, float64 [N, N], NaN on the diagonal; else None. In cooperative games, whose
            players have equal returns, that of each policy with each other as its partner, on the diagonal with
            itself, NaN for pairs that have not played. There `elo` is NaN, `intervals` are those of the diagonal.
        return_intervals: half the width of the 95 % interval of each policy's mean return against all others,
            float64 [N]; None in cooperative games and where `returns` is None.

    Examples:
        >>> policies = {"uniform": te.agents.uniform, "first": lambda state: state.legal_action_mask.numpy().argmax(1)}
        >>> ratings = te.arena(te.make("tic_tac_toe"), policies, games=16)
        >>> ratings.names, ratings.elo.shape
        (('uniform', 'first'), (2,))
    """

    names: tuple[str, ...]
    elo: np.ndarray
    intervals: np.ndarray
    scores: np.ndarray
    games: int
    returns: np.ndarray | None = None
    return_intervals: np.ndarray | None = None

    def __str__(self) -> str:
        """Return a table of ratings and scores, the best policy first; of mean returns where `returns` has them."""
        width = max(map(len, self.names))
        if self.returns is not None and self.return_intervals is not None:
            return self._return_table(self.returns, self.return_intervals, width)
        if self.returns is not None:
            return self._team_table(self.returns, width)
        lines = [f"{'player':{width}}   Elo        against: {' '.join(self.names)}"]
        for k in np.argsort(-self.elo):
            row = " ".join(
                f"{score:{max(len(name), 5)}.3f}" if i != k else " " * max(len(name), 5)
                for i, (name, score) in enumerate(zip(self.names, self.scores[k], strict=True))
            )
            lines.append(f"{self.names[k]:{width}} {self.elo[k]:+6.0f} +- {self.intervals[k]:3.0f}    {row}")
        return "\n".join(lines)

    def _return_table(self, returns: np.ndarray, intervals: np.ndarray, width: int) -> str:
        """Return a table of mean returns against each other policy, beside Elo ratings, which count games won alone."""
        lines = [f"{'player':{width}}   mean return           Elo of wins   against: {' '.join(self.names)}"]
        mean = np.nanmean(returns, 1)
        for k in np.argsort(-mean):
            row = " ".join(
                f"{value:+{max(len(name), 8)}.3f}" if i != k else " " * max(len(name), 8)
                for i, (name, value) in enumerate(zip(self.names, returns[k], strict=True))
            )
            own = f"{mean[k]:+9.3f} +- {intervals[k]:<7.3f} {self.elo[k]:+6.0f} +- {self.intervals[k]:3.0f}"
            lines.append(f"{self.names[k]:{width}} {own}    {row}")
        return "\n".join(lines)

    def _team_table(self, returns: np.ndarray, width: int) -> str:
        """Return a table of mean returns with each policy as the partner."""
        lines = [f"{'team':{width}}   mean return    with: {' '.join(self.names)}"]
        own_team = np.diag(returns)
        for k in np.argsort(-np.where(np.isnan(own_team), np.nanmean(returns, 1), own_team)):
            row = " ".join(f"{x:{max(len(n), 5)}.3f}" for n, x in zip(self.names, returns[k], strict=True))
            own = " " * 17 if np.isnan(own_team[k]) else f"{own_team[k]:+8.3f} +- {self.intervals[k]:.3f}"
            lines.append(f"{self.names[k]:{width}} {own}    {row}")
        return "\n".join(lines)


def arena(
    env: Env,
    policies: Mapping[str, Policy],
    games: int,
    opening: int = 2,
    seed: int = 0,
    limit: int = LIMIT,
    device: DeviceName | None = None,
) -> Ratings:
    """Play a round robin of a game for two players, and estimate Elo ratings by maximum likelihood.

    In a game with other returns than -1, 0 and 1, such as chips of poker, the measure is the mean return, since Elo
    counts games won. So it is in a cooperative game, whose players have equal returns; there each policy also plays
    with itself.

    Args:
        env: an environment of two players.
        policies: at least two, by name.
        games: number of games of each pair, half of them with exchanged seats.
        opening, seed, limit, device: as in `evaluate`.

    Returns:
        Ratings. Each pair is credited one extra draw, so that a policy that loses every game has a finite rating.

    Raises:
        ValueError, TypeError: an argument out of range or of another type.

    Examples:
        >>> policies = {"search": te.agents.playout_search(32), "uniform": te.agents.uniform}
        >>> ratings = te.arena(te.make("tic_tac_toe"), policies, games=32)
        >>> bool(ratings.elo[0] > ratings.elo[1])
        True
    """
    instance("env", env, Env)
    instance("policies", policies, Mapping)
    if env.num_players != 2:
        raise ValueError(f"env must have two players, {env!r} has {env.num_players}")
    if len(policies) < 2:
        raise ValueError(f"policies must be two or more, got {len(policies)}")
    for name in policies:
        instance("a policy's name", name, str)
    names = tuple(policies)
    count = len(policies)
    points = np.zeros((count, count))
    results = dict[tuple[int, int], Evaluation]()
    for i, k in combinations(range(count), 2):
        pair = [policies[names[i]], policies[names[k]]]
        results[i, k] = evaluate(env, pair, games, "rotate", opening, seed, limit, device)
        points[i, k], points[k, i] = results[i, k].points.sum(0)
    returns = np.concatenate([result.returns for result in results.values()])
    if share_returns(returns, env.spec.zero_sum):
        for k, name in enumerate(names):
            results[k, k] = evaluate(env, [policies[name]] * 2, games, "rotate", opening, seed, limit, device)
        return _teams(names, results, games)
    ratings = ratings_of(names, points, games)
    if np.isin(returns, (-1, 0, 1)).all():
        return ratings
    mean_returns, intervals = _mean_returns(count, results)
    return replace(ratings, returns=mean_returns, return_intervals=intervals)


def _mean_returns(count: int, results: Mapping[tuple[int, int], Evaluation]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean returns of a round robin, `Ratings.returns` and `Ratings.return_intervals`."""
    returns = np.full((count, count), np.nan)
    of_games: list[list[np.ndarray]] = [[] for _ in range(count)]
    for (i, k), result in results.items():
        returns[i, k], returns[k, i] = result.mean_returns
        of_games[i].append(result.returns[:, 0])
        of_games[k].append(result.returns[:, 1])
    every = [np.concatenate(games) for games in of_games]
    intervals = np.array([Z * games.std() / np.sqrt(len(games)) for games in every])
    return returns, intervals


def _teams(names: tuple[str, ...], results: Mapping[tuple[int, int], Evaluation], games: int) -> Ratings:
    """Return the mean returns of all pairs of policies in a cooperative game."""
    count = len(names)
    returns = np.zeros((count, count))
    intervals = np.zeros(count)
    scores = np.full((count, count), 0.5)
    np.fill_diagonal(scores, np.nan)
    for (i, k), result in results.items():
        returns[i, k] = returns[k, i] = result.mean_returns[0]
        if i == k:
            intervals[i] = result.interval(result.returns)[0]
    return Ratings(names, np.full(count, np.nan), intervals, scores, games, returns)


def ratings_of(names: Sequence[str], points: np.ndarray, games: int) -> Ratings:
    """Return the ratings of a round robin from the points [N, N] of each player (row) against each other."""
    with np.errstate(invalid="ignore"):
        scores = points / (points + points.T)
    credited = points + 0.5 * (1 - np.eye(len(points)))  # a draw for each pair
    elo, errors = _elo(credited)
    return Ratings(tuple(names), elo, Z * errors, scores, games)


def _elo(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ratings by Newton's method from points [N, N], and their standard errors."""
    games = points + points.T
    strength = np.zeros(len(points))
    centre = np.eye(len(points)) - 1 / len(points)
    for _ in range(100):
        expected = 1 / (1 + np.exp(strength[None] - strength[:, None]))
        spread = games * expected * (1 - expected)
        information = np.diag(spread.sum(1)) - spread
        step = np.linalg.pinv(information) @ (points - games * expected).sum(1)
        strength += centre @ np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    return strength * ELO, np.sqrt(np.diag(np.linalg.pinv(information))) * ELO
