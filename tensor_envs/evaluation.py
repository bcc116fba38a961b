"""Evaluation of policies: matches, Elo ratings, and regret against perfect play."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from tinygrad import Tensor

from tensor_envs._engine.inputs import host_ints
from tensor_envs._validate import function, instance, integer, one_of, shown, wrong_type
from tensor_envs.env import Env
from tensor_envs.interop import to_numpy
from tensor_envs.sampling import uniform
from tensor_envs.search.policies import MAX_SIMULATIONS, playout_policy
from tensor_envs.state import State

if TYPE_CHECKING:
    from tensor_envs.agents import Oracle, Policy

Z = 1.96  # half the width of a 95 % interval, in standard errors
ELO = 400 / np.log(10)  # Elo points per unit of log odds
MAX_GAMES = 2**24
LIMIT = 10_000  # plies
SHED_CARDS = 14  # of the largest game of Shed that `oracle_of` solves
MAX_NODES = 100_000  # of the largest tree of a game that `oracle_of` solves
EXPLOITABILITY = 1e-4


@dataclass(frozen=True)
class Evaluation:
    """Result of `te.evaluate`: returns and lengths of games between policies.

    Attributes:
        returns: return of every policy in every game, float32 [games, P].
        players: player that each policy was, int32 [games, P].
        plies: length of every game, int32 [games].
        unfinished: number of games that the limit cut off.

    Examples:
        >>> result = te.evaluate(te.make("tic_tac_toe"), [te.agents.uniform] * 2, games=64)
        >>> result.returns.shape, (result.scores.sum() == 1).item()
        ((64, 2), True)
    """

    returns: np.ndarray
    players: np.ndarray
    plies: np.ndarray
    unfinished: int

    @property
    def points(self) -> np.ndarray:
        """Points, float64 [games, P]: 1 for the highest return, shared equally in a tie, else 0."""
        best = self.returns == self.returns.max(1, keepdims=True)
        return best / best.sum(1, keepdims=True)

    @property
    def wins(self) -> np.ndarray:
        """Games in which a policy alone has the highest return, int64 [P]."""
        return (self.points == 1).sum(0)

    @property
    def draws(self) -> np.ndarray:
        """Games in which a policy shares the highest return, int64 [P]."""
        return ((self.points > 0) & (self.points < 1)).sum(0)

    @property
    def scores(self) -> np.ndarray:
        """Mean points, float64 [P]."""
        return np.asarray(self.points.mean(0))

    @property
    def mean_returns(self) -> np.ndarray:
        """Mean returns, float64 [P]."""
        return np.asarray(self.returns.mean(0, dtype=np.float64))

    def interval(self, values: np.ndarray | None = None) -> np.ndarray:
        """Return half the width of the 95 % interval of a mean, float64 [P].

        Args:
            values: [games, P]. Default: the points.
        """
        values = self.points if values is None else values
        return np.asarray(Z * values.std(0) / np.sqrt(len(values)))

    def by_player(self) -> np.ndarray:
        """Return the mean return of each policy as each player, float64 [P, P]; NaN for a player it never was."""
        count = self.returns.shape[1]
        table = np.full((count, count), np.nan)
        for policy in range(count):
            for player in range(count):
                here = self.players[:, policy] == player
                if here.any():
                    table[policy, player] = self.returns[here, policy].mean()
        return table

    def __str__(self) -> str:
        """Return a line for all games and a line for each policy."""
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
    """Play matches between policies.

    Args:
        env: the environment.
        policies: one for each player.
        games: number of games; with "rotate" a multiple of the number of players.
        seats: "rotate" plays every deal once for each rotation of the policies among the players; with "fixed" policy p
            is player p.
        opening: number of uniformly random plies at the start, so that games of deterministic policies differ.
        seed: seed of the games.
        limit: plies after which a game is cut off.
        device: as in `Env.init`.

    Returns:
        Returns, points and lengths, with 95 % intervals.

    Raises:
        ValueError, TypeError: an argument out of range or of another type, or a policy that returns no actions.

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
    parts = []
    for turn in range(turns):
        # policy p is player (p + turn) mod P
        order = [chosen[(player - turn) % players] for player in range(players)]
        state = env.init(games // turns, seed, device)
        returns, plies, unfinished = _play(state, order, opening, limit)
        seated = np.array([(p + turn) % players for p in range(players)], np.int32)
        parts.append((returns[:, seated], np.tile(seated, (len(returns), 1)), plies, unfinished))
    returns, seated, plies = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return Evaluation(returns, seated, plies, sum(part[3] for part in parts))


def _play(state: State, policies: Sequence[Policy], opening: int, limit: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Play games to their ends. Returns returns [B, P] by player, plies [B], and the number of unfinished games."""
    env, values = state.env, state.numpy()
    returns = np.zeros((state.batch, env.num_players), np.float32)
    for ply in range(limit):
        live = ~(values["terminated"] | values["truncated"])
        if not live.any():
            break
        if ply < opening:
            state = env.step(state, uniform(state))
        else:
            actions, mover = np.zeros(state.batch, np.int32), values["current_player"]
            for player in np.unique(mover[live]):
                actions = np.where(mover == player, actions_of(policies[player], state), actions)
            state = env.step(state, actions.astype(np.int32))
        values = state.numpy()
        returns += values["rewards"]
    live = ~(values["terminated"] | values["truncated"])
    return returns, values["ply"], int(live.sum())


def actions_of(policy: Policy, state: State) -> np.ndarray:
    """Return a policy's actions as int32 [B]. TypeError or ValueError for anything but B integers."""
    actions = policy(state)
    actions = to_numpy(actions) if isinstance(actions, Tensor) else actions
    return host_ints("a policy's actions", actions, state.batch)


@dataclass(frozen=True)
class Ratings:
    """Result of `te.arena`: Elo ratings and scores of a round robin.

    Attributes:
        names: names of the policies.
        elo: Elo ratings with mean 0, float64 [N].
        intervals: half the width of the 95 % interval of each rating, float64 [N].
        scores: mean points of each policy (row) against each other, float64 [N, N]; NaN on the diagonal.
        games: number of games of each pair.

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

    def __str__(self) -> str:
        """Return a table of ratings and scores, the best policy first."""
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
    """Play a round robin of a game for two players, and estimate Elo ratings by maximum likelihood.

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
    names, count = tuple(policies), len(policies)
    points = np.zeros((count, count))
    for i, k in combinations(range(count), 2):
        pair = [policies[names[i]], policies[names[k]]]
        result = evaluate(env, pair, games, "rotate", opening, seed, limit, device)
        points[i, k], points[k, i] = result.points.sum(0)
    return ratings_of(names, points, games)


def ratings_of(names: Sequence[str], points: np.ndarray, games: int) -> Ratings:
    """Return the ratings of a round robin from the points [N, N] of each player (row) against each other."""
    with np.errstate(invalid="ignore"):
        scores = points / (points + points.T)
    credited = points + 0.5 * (1 - np.eye(len(points)))  # a draw for each pair
    elo, errors = _elo(credited)
    return Ratings(tuple(names), elo, Z * errors, scores, games)


def _elo(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ratings by Newton's method from points [N, N], and their standard errors."""
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


@dataclass(frozen=True)
class ExploitabilityBound:
    """Result of `te.exploitability_bound`: what responses gain against a policy, in games of a sample.

    Attributes:
        gains: what each player gains by its response, in returns, float64 [games, P].
        responses: number of each player's response among those given.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> bound = te.exploitability_bound(env, te.agents.uniform, [te.agents.playout_search(64)], games=2048)
        >>> bound.responses, bool(0.1 < bound.lower < bound.value < 0.5)
        ((0, 0), True)
    """

    gains: np.ndarray
    responses: tuple[int, ...]

    @property
    def value(self) -> float:
        """Mean gain over the games and players, an estimate of a lower bound of the exploitability."""
        return float(self.gains.mean())

    @property
    def interval(self) -> float:
        """Half the width of the 95 % interval of the value."""
        return float(Z * self.gains.mean(1).std() / np.sqrt(len(self.gains)))

    @property
    def lower(self) -> float:
        """Lower end of the 95 % interval."""
        return self.value - self.interval


def exploitability_bound(
    env: Env, policy: Policy, responses: Sequence[Policy], games: int = 1024, seed: int = 0, device: Any = None
) -> ExploitabilityBound:
    """Estimate a lower bound of the exploitability of a policy, in a game of any size, by given responses.

    No response gains more than a best one, so what any of them gains is a lower bound of what `te.exploitability`
    computes from a game's tree. Each player's best response among those given is chosen in games that do not count.

    Args:
        env: the environment.
        policy: the policy of all other players.
        responses: policies that respond, such as searches or trained players.
        games: number of games that count, for each player.
        seed, device: as in `Env.init`.

    Returns:
        The gains, with their mean and a 95 % interval.

    Raises:
        ValueError, TypeError: an argument out of range or of another type, or a policy that returns no actions.

    Examples:
        >>> env = te.make("tensor_stars")
        >>> bound = te.exploitability_bound(env, te.agents.uniform, [te.agents.playout_search(32)], games=64)
        >>> bool(bound.lower > 0.5)
        True
    """
    instance("env", env, Env)
    function("policy", policy)
    instance("responses", responses, Sequence)
    if not responses:
        raise ValueError(f"responses must be one policy or more, got {shown(responses)}")
    chosen = [function(f"responses[{k}]", response) for k, response in enumerate(responses)]
    games = integer("games", games, 2, MAX_GAMES)

    def gains(first_row: int, player: int, response: Policy, returns: np.ndarray) -> np.ndarray:
        order = [response if p == player else policy for p in range(env.num_players)]
        state = env.init(games, seed, device, first_row)
        return np.asarray(_play(state, order, 0, LIMIT)[0][:, player].astype(np.float64) - returns[:, player])

    baselines = [
        _play(env.init(games, seed, device, first_row), [policy] * env.num_players, 0, LIMIT)[0]
        for first_row in (0, games)
    ]
    best, columns = list[int](), list[np.ndarray]()
    for player in range(env.num_players):
        means = [gains(0, player, response, baselines[0]).mean() for response in chosen] if len(chosen) > 1 else [0]
        best.append(int(np.argmax(means)))
        columns.append(gains(games, player, chosen[best[-1]], baselines[1]))
    return ExploitabilityBound(np.stack(columns, axis=1), tuple(best))


def regret(
    env: Env, policy: Policy, oracle: Oracle, games: int = 256, seed: int = 0, device: Any = None, opening: int = 0
) -> float:
    """Return the mean loss of exact value per decision of a policy that plays all players.

    Args:
        env: an environment that the oracle covers.
        policy: the policy.
        oracle: exact values, such as a `Solution` by `te.solve` or Shed's `Tablebase`.
        games: number of games.
        seed, device: as in `Env.init`.
        opening: number of uniformly random plies at the start, which do not count.

    Returns:
        The mean regret of a decision: 0 for perfect play.

    Raises:
        ValueError, TypeError: an argument out of range or of another type.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> solution = te.solve(env)
        >>> te.regret(env, te.agents.perfect(solution), solution, games=8)
        0.0
    """
    instance("env", env, Env)
    function("policy", policy)
    judge = function("oracle.regret", getattr(oracle, "regret", None))
    state = env.init(integer("games", games, 1, MAX_GAMES), seed, device)
    for _ in range(integer("opening", opening, 0, LIMIT)):
        state = env.step(state, uniform(state))
    total, decisions = 0.0, 0
    for _ in range(LIMIT):
        values = state.numpy()
        live = ~(values["terminated"] | values["truncated"])
        if not live.any():
            break
        actions = actions_of(policy, state)
        lost = judge(state, actions)
        lost = np.asarray(to_numpy(lost) if isinstance(lost, Tensor) else lost)
        if lost.shape != live.shape or lost.dtype.kind not in "biuf" or not np.isfinite(lost[live]).all():
            raise ValueError(f"oracle.regret must give finite numbers [{len(live)}], got {shown(lost)}")
        total += float(lost[live].sum())
        decisions += int(live.sum())
        state = env.step(state, actions)
    return total / max(decisions, 1)


class PlayoutOracle:
    """Oracle that estimates values by `te.search.playout_policy`, for games without exact values.

    Attributes:
        num_simulations: simulations for each position, 1..2^20.

    Examples:
        >>> oracle = te.PlayoutOracle(num_simulations=256)
        >>> env = te.make("tic_tac_toe")
        >>> state = env.step(env.init(2), [0, 0])
        >>> lost = oracle.regret(state, [4, 1])  # only the centre does not lose
        >>> bool(lost[0] < lost[1])
        True
    """

    def __init__(self, num_simulations: int = 1024):
        self.num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)

    def __repr__(self) -> str:
        return f"<PlayoutOracle of {self.num_simulations} simulations>"

    def best_actions(self, state: State) -> np.ndarray:
        """Return the most visited action, bool [B, A]."""
        best, _ = self._search(state)
        return (np.arange(state.env.num_actions) == best[:, None]) & to_numpy(state.legal_action_mask)

    def regret(self, state: State, action: Any) -> np.ndarray:
        """Return how much less an action is worth than the most visited one, at least 0, float32 [B].

        An illegal action, or -1, is worth -1. In a finished game the regret is 0.
        """
        actions = host_ints("action", action, state.batch, state.env.num_actions, low=-1)
        best, values = self._search(state)
        rows, legal = np.arange(state.batch), to_numpy(state.legal_action_mask)
        worth = np.where(legal[rows, actions] & (actions >= 0), values[rows, actions], -1)
        return np.where(legal.any(1), np.maximum(values[rows, best] - worth, 0), 0)

    def _search(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the most visited actions [B], and the mean returns of all actions [B, A]."""
        output = playout_policy(state, self.num_simulations)
        return to_numpy(output.action), output.search_tree.summary()["qvalues"]


@functools.lru_cache(8)
def oracle_of(env: Env, num_simulations: int = 1024) -> Oracle:
    """Return the exact values of a game that is solved in seconds, or estimates by playout search."""
    # a game imports the package's public names, and is itself imported with its first environment
    from tensor_envs.agents import solution_of
    from tensor_envs.games.shed.rules import Shed
    from tensor_envs.games.shed.solve import solve as solve_shed
    from tensor_envs.solve.equilibrium import equilibrium
    from tensor_envs.solve.game_tree import game_tree

    try:
        if isinstance(env.rules, Shed) and env.rules.cards <= SHED_CARDS:
            return solve_shed(env.rules.cards, progress=False)
        if env.spec.perfect_information:
            return solution_of(env)
        if env.num_players == 2 and env.spec.zero_sum:
            return equilibrium(game_tree(env, max_nodes=MAX_NODES), until=EXPLOITABILITY)
    except ValueError:  # too large, or of rules that the solvers do not take
        pass
    return PlayoutOracle(num_simulations)
