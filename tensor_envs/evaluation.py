"""How good players are: against each other, and against perfect play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from tinygrad import Tensor

from tensor_envs._engine.inputs import host_ints
from tensor_envs._validate import function, instance, integer, one_of, shown, wrong_type
from tensor_envs.agents import Oracle, Policy
from tensor_envs.env import Env
from tensor_envs.sampling import uniform
from tensor_envs.state import State

Z = 1.96  # standard errors in an interval of 95 %
ELO = 400 / np.log(10)
MAX_GAMES = 2**24
LIMIT = 10_000


@dataclass(frozen=True)
class Evaluation:
    """Games that policies have played.

    Attributes:
        returns: float32 [games, P], of every policy.
        players: int32 [games, P], which player each policy was.
        plies: int32 [games].
        unfinished: games that had reached the limit.
    """

    returns: np.ndarray
    players: np.ndarray
    plies: np.ndarray
    unfinished: int

    @property
    def points(self) -> np.ndarray:
        """float64 [games, P]: 1 for the highest return alone, an equal share of it with others, else 0."""
        best = self.returns == self.returns.max(1, keepdims=True)
        return best / best.sum(1, keepdims=True)

    @property
    def wins(self) -> np.ndarray:
        """int64 [P]: games that a policy alone did best in."""
        return (self.points == 1).sum(0)

    @property
    def draws(self) -> np.ndarray:
        """int64 [P]: games that others did as well in."""
        return ((self.points > 0) & (self.points < 1)).sum(0)

    @property
    def scores(self) -> np.ndarray:
        """float64 [P]: mean points."""
        return np.asarray(self.points.mean(0))

    @property
    def mean_returns(self) -> np.ndarray:
        """float64 [P]."""
        return np.asarray(self.returns.mean(0, dtype=np.float64))

    def interval(self, values: np.ndarray | None = None) -> np.ndarray:
        """Half the width of a 95 % interval of the means of `values` [games, P]; default: of the points."""
        values = self.points if values is None else values
        return np.asarray(Z * values.std(0) / np.sqrt(len(values)))

    def by_player(self) -> np.ndarray:
        """float64 [P, P]: mean return of each policy as each player; NaN where it never was."""
        count = self.returns.shape[1]
        table = np.full((count, count), np.nan)
        for policy in range(count):
            for player in range(count):
                here = self.players[:, policy] == player
                if here.any():
                    table[policy, player] = self.returns[here, policy].mean()
        return table

    def __str__(self) -> str:
        lines = [f"{len(self.returns)} games of {self.plies.mean():.1f} plies, {self.unfinished} unfinished"]
        errors, returns = self.interval(), self.interval(self.returns)
        for k, (score, value) in enumerate(zip(self.scores, self.mean_returns, strict=True)):
            lost = len(self.returns) - self.wins[k] - self.draws[k]
            lines.append(
                f"policy {k}: {self.wins[k]} won, {self.draws[k]} drawn, {lost} lost; score {score:.3f} "
                f"+- {errors[k]:.3f}, mean return {value:+.3f} +- {returns[k]:.3f}"
            )
        return "\n".join(lines)


def evaluate(
    env: Env,
    policies: Sequence[Policy],
    games: int,
    seats: Literal["rotate", "fixed"] = "rotate",
    opening: int = 0,
    seed: int = 0,
    limit: int = LIMIT,
    device: Any = None,
) -> Evaluation:
    """Let policies play against each other.

    Args:
        env: the environment.
        policies: one for every player.
        games: how many; with "rotate" a multiple of the number of players.
        seats: "rotate": every deal is played as often as there are players, each policy being each of them once;
            "fixed": policy p is player p.
        opening: plies that are random, so that policies without chance do not play one game again and again.
        seed: of the games.
        limit: plies after which a game is left as it is.
        device: as in `Env.init`.

    Returns:
        Returns, points and lengths, with 95 % intervals.

    Raises:
        ValueError, TypeError: other arguments, or a policy that gives no actions.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> result = te.evaluate(env, [te.agents.perfect(), te.agents.uniform], games=64)
        >>> int(result.wins[1]), bool(result.scores[0] > 0.8)
        (0, True)
    """
    instance("env", env, Env)
    if not isinstance(policies, (list, tuple)):
        raise wrong_type("policies", "a list of functions of a State", policies)
    players = env.num_players
    if len(policies) != players:
        raise ValueError(f"policies must be {players}, one for every player, got {len(policies)}")
    chosen = [function(f"policies[{p}]", policy) for p, policy in enumerate(policies)]
    one_of("seats", seats, ("rotate", "fixed"))
    games = integer("games", games, 1, MAX_GAMES)
    turns = players if seats == "rotate" else 1
    if games % turns:
        raise ValueError(f"games must be a multiple of the {turns} players, got {games}")
    opening, limit = integer("opening", opening, 0, LIMIT), integer("limit", limit, 1, 2**31 - 1)
    found = []
    for turn in range(turns):
        # policy p is player (p + turn) mod P
        order = [chosen[(player - turn) % players] for player in range(players)]
        state = env.init(games // turns, seed, device)
        returns, plies, left = _play(state, order, opening, limit)
        who = np.array([(p + turn) % players for p in range(players)], np.int32)
        found.append((returns[:, who], np.tile(who, (len(returns), 1)), plies, left))
    returns, seated, plies = (np.concatenate([part[k] for part in found]) for k in range(3))
    return Evaluation(returns, seated, plies, sum(part[3] for part in found))


def _play(
    state: State, policies: Sequence[Policy], opening: int, limit: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Games to their ends -> returns [B, P] by player, plies, games that are not over."""
    env, now = state.env, state.numpy()
    returns = np.zeros((state.batch, env.num_players), np.float32)
    for ply in range(limit):
        live = ~(now["terminated"] | now["truncated"])
        if not live.any():
            break
        if ply < opening:
            state = env.step(state, uniform(state))
        else:
            actions, mover = np.zeros(state.batch, np.int32), now["current_player"]
            for player in np.unique(mover[live]):
                actions = np.where(mover == player, _actions(policies[player], state), actions)
            state = env.step(state, actions.astype(np.int32))
        now = state.numpy()
        returns += now["rewards"]
    live = ~(now["terminated"] | now["truncated"])
    return returns, now["ply"], int(live.sum())


def _actions(policy: Policy, state: State) -> np.ndarray:
    """int32 [B] on the host. TypeError or ValueError for what is none."""
    given = policy(state)
    return host_ints("a policy's actions", given.numpy() if isinstance(given, Tensor) else given, state.batch)


@dataclass(frozen=True)
class Ratings:
    """What a round robin says of players.

    Attributes:
        names: of the players.
        elo: float64 [N], with mean 0.
        intervals: float64 [N], half the width of a 95 % interval of each.
        scores: float64 [N, N], mean points of the one against the other; NaN against itself.
        games: of every pair.
    """

    names: tuple[str, ...]
    elo: np.ndarray
    intervals: np.ndarray
    scores: np.ndarray
    games: int

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"{'player':{width}}   Elo        against: {' '.join(self.names)}"]
        for k in np.argsort(-self.elo):
            row = " ".join(
                f"{score:{max(len(name), 5)}.3f}" if i != k else " " * max(len(name), 5)
                for i, (name, score) in enumerate(zip(self.names, self.scores[k], strict=True))
            )
            lines.append(f"{self.names[k]:{width}} {self.elo[k]:+6.0f} +- {self.intervals[k]:3.0f}    {row}")
        return "\n".join(lines)


def arena(
    env: Env,
    policies: Mapping[str, Policy],
    games: int,
    opening: int = 2,
    seed: int = 0,
    limit: int = LIMIT,
    device: Any = None,
) -> Ratings:
    """A round robin of a game for two, and Elo ratings by maximum likelihood.

    Args:
        env: an environment of two players.
        policies: by name, at least two.
        games: of every pair, half of them from either side.
        opening, seed, limit, device: as in `evaluate`.

    Returns:
        Ratings. A draw more for every pair is counted, so that who has lost every game has a rating, too.

    Raises:
        ValueError, TypeError: other arguments.
    """
    instance("env", env, Env)
    instance("policies", policies, Mapping)
    if env.num_players != 2:
        raise ValueError(f"env must have two players, {env!r} has {env.num_players}")
    if len(policies) < 2:
        raise ValueError(f"policies must be two or more, got {len(policies)}")
    for name in policies:
        instance("a policy's name", name, str)
    names, count = tuple(policies), len(policies)
    points, scores = np.zeros((count, count)), np.full((count, count), np.nan)
    for i, k in combinations(range(count), 2):
        pair = [policies[names[i]], policies[names[k]]]
        result = evaluate(env, pair, games, "rotate", opening, seed, limit, device)
        scores[i, k], scores[k, i] = result.scores
        points[i, k], points[k, i] = result.points.sum(0) + 0.5
    elo, errors = _elo(points)
    return Ratings(names, elo, Z * errors, scores, games)


def _elo(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ratings by Newton's method from the points of the one against the other, and their standard errors."""
    games, strength = points + points.T, np.zeros(len(points))
    centre = np.eye(len(points)) - 1 / len(points)
    for _ in range(100):
        expected = 1 / (1 + np.exp(strength[None] - strength[:, None]))
        spread = games * expected * (1 - expected)
        information = np.diag(spread.sum(1)) - spread
        step = np.linalg.pinv(information) @ (points - games * expected).sum(1)
        strength += np.clip(centre @ step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    return strength * ELO, np.sqrt(np.diag(np.linalg.pinv(information))) * ELO


def regret(
    env: Env,
    policy: Policy,
    oracle: Oracle,
    games: int = 256,
    seed: int = 0,
    device: Any = None,
    opening: int = 0,
) -> float:
    """How much of a position's exact value a policy gives away, on average over the decisions of its own games.

    Args:
        env: an environment that the oracle knows.
        policy: plays all players.
        oracle: such as a `Solution` of `te.solve`, or Shed's `Tablebase`.
        games: how many.
        seed, device: as in `Env.init`.
        opening: plies before these that are random, as in `evaluate`; they do not count.

    Returns:
        The mean regret of a decision: 0 for perfect play.

    Raises:
        ValueError, TypeError: other arguments.
    """
    instance("env", env, Env)
    function("policy", policy)
    judge = function("oracle.regret", getattr(oracle, "regret", None))
    state = env.init(integer("games", games, 1, MAX_GAMES), seed, device)
    for _ in range(integer("opening", opening, 0, LIMIT)):
        state = env.step(state, uniform(state))
    total, decisions = 0.0, 0
    for _ in range(LIMIT):
        now = state.numpy()
        live = ~(now["terminated"] | now["truncated"])
        if not live.any():
            break
        actions = _actions(policy, state)
        given = judge(state, actions)
        lost = np.asarray(given.numpy() if isinstance(given, Tensor) else given)
        if lost.shape != live.shape or lost.dtype.kind not in "biuf" or not np.isfinite(lost[live]).all():
            raise ValueError(f"oracle.regret must give finite numbers [{len(live)}], got {shown(given)}")
        total += float(lost[live].sum())
        decisions += int(live.sum())
        state = env.step(state, actions)
    return total / max(decisions, 1)
