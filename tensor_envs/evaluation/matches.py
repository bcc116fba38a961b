"""Matches between policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tensor_envs._engine.inputs import host_ints
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._validate import function, instance, integer, one_of, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Policy

Z = 1.96  # half the width of a 95 % interval, in standard errors
MAX_GAMES = 2**24
LIMIT = 10_000  # plies


def share_returns(returns: np.ndarray, zero_sum: bool = True) -> bool:
    """Return whether games are cooperative: all of several players have equal returns in each.

    Args:
        returns: [games, P].
        zero_sum: whether the rules say so. Then returns that are always 0 are draws.
    """
    equal = returns.shape[1] > 1 and (returns == returns[:, :1]).all()
    return bool(equal and (returns.any() or not zero_sum))


@dataclass(frozen=True)
class Evaluation:
    """Result of `te.evaluate`: returns and lengths of games between policies.

    Attributes:
        returns: return of every policy in every game, float32 [games, P].
        players: player that each policy was, int32 [games, P].
        plies: length of every game, int32 [games].
        unfinished: number of games that the limit cut off.
        zero_sum: whether the rules say that rewards sum to 0.

    Examples:
        >>> result = te.evaluate(te.make("tic_tac_toe"), [te.agents.uniform] * 2, games=64)
        >>> result.returns.shape, (result.scores.sum() == 1).item()
        ((64, 2), True)
    """

    returns: np.ndarray
    players: np.ndarray
    plies: np.ndarray
    unfinished: int
    zero_sum: bool = True

    @property
    def points(self) -> np.ndarray:
        """Points, float64 [games, P]: 1 for the highest return, shared equally in a tie, else 0."""
        best = self.returns == self.returns.max(1, keepdims=True)
        return best / best.sum(1, keepdims=True)

    @property
    def wins(self) -> np.ndarray:
        """Number of games that each policy wins, int64 [P]: it alone has the highest return."""
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

    def score_range(self, policy: int) -> tuple[float, float]:
        """Return the ends of the 95 % interval of a policy's score by Wilson's method.

        It is right for few games and for scores near 0 and 1, and too wide where many games are drawn.

        Examples:
            >>> lost = te.Evaluation(*np.array([[[-1, 1]], [[0, 1]]]).repeat(10, 1), np.full(10, 9), 0)
            >>> [round(end, 3) for end in lost.score_range(0)]
            [0.0, 0.278]
        """
        games = len(self.returns)
        score = float(self.scores[policy])
        centre = score + Z * Z / (2 * games)
        width = Z * np.sqrt(score * (1 - score) / games + (Z / (2 * games)) ** 2)
        scale = 1 + Z * Z / games
        return max(float((centre - width) / scale), 0.0), min(float((centre + width) / scale), 1.0)

    @property
    def is_cooperative(self) -> bool:
        """Whether the players have equal returns in every game, and no draws. Then the mean return is the measure."""
        return share_returns(self.returns, self.zero_sum)

    def by_player(self) -> np.ndarray:
        """Return the mean return of each policy as each player, float64 [P, P]; NaN where it was never that player."""
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
        errors = self.interval()
        returns = self.interval(self.returns)
        if self.is_cooperative:  # all share every result
            return f"{lines[0]}; the team's mean return {self.mean_returns[0]:+.3f} +- {returns[0]:.3f}"
        if len(returns) == 1:  # a game for one player has no score
            return f"{lines[0]}; mean return {self.mean_returns[0]:+.3f} +- {returns[0]:.3f}"
        for k, (score, value) in enumerate(zip(self.scores, self.mean_returns, strict=True)):
            interval = f"score {score:.3f} +- {errors[k]:.3f}, mean return {value:+.3f} +- {returns[k]:.3f}"
            lines.append(f"policy {k}: {self.tally(k)}; {interval}")
        return "\n".join(lines)

    def tally(self, policy: int) -> str:
        """Return how many games a policy has won, drawn and lost, as text."""
        won = self.wins[policy]
        drawn = self.draws[policy]
        return f"{won} won, {drawn} drawn, {len(self.returns) - won - drawn} lost"


def evaluate(
    env: Env,
    policies: Sequence[Policy],
    games: int,
    seats: Literal["rotate", "fixed"] = "rotate",
    opening: int = 0,
    seed: int = 0,
    limit: int = LIMIT,
    device: DeviceName | None = None,
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
        ValueError, TypeError: an argument out of range or of another type, a policy that returns no actions, or no game
            that goes on after the opening.

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
    opening = integer("opening", opening, 0, LIMIT)
    limit = integer("limit", limit, 1, 2**31 - 1)
    # the same deals for each rotation of the policies among the players
    parts = []
    for turn in range(turns):
        # policy p is player (p + turn) mod P
        order = [chosen[(player - turn) % players] for player in range(players)]
        state = env.init(games // turns, seed, device)
        returns, plies, unfinished = play_games(state, order, opening, limit)
        # returns are of players; the result has those of policies
        seated = np.array([(p + turn) % players for p in range(players)], np.int32)
        parts.append((returns[:, seated], np.tile(seated, (len(returns), 1)), plies, unfinished))
    returns, seated, plies = (np.concatenate([part[k] for part in parts]) for k in range(3))
    # else the result would be that of random play
    if opening and (plies <= opening).all():
        raise ValueError(f"opening must leave decisions to the policies, no game has more than {opening} plies")
    return Evaluation(returns, seated, plies, sum(part[3] for part in parts), env.spec.zero_sum)


def play_games(
    state: State, policies: Sequence[Policy], opening: int, limit: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Play games to their ends. Returns returns [B, P] by player, plies [B], and the number of unfinished games."""
    env = state.env
    values = state.numpy()
    returns = np.zeros((state.batch, env.num_players), np.float32)
    # policies such as `te.agents.engine` follow the games
    watchers = [policy.watch for policy in policies if hasattr(policy, "watch")]
    for ply in range(limit):
        live = ~(values["terminated"] | values["truncated"])
        if not live.any():
            break
        if ply < opening:
            actions = actions_of(uniform, state)
        else:
            actions = np.zeros(state.batch, np.int32)
            mover = values["current_player"]
            for player in np.unique(mover[live]):
                actions = np.where(mover == player, actions_of(policies[player], state, mover == player), actions)
        for watch in watchers:
            watch(state, actions)
        state = env.step(state, actions.astype(np.int32))
        values = state.numpy()
        returns += values["rewards"]
    live = ~(values["terminated"] | values["truncated"])
    return returns, values["ply"], int(live.sum())


def actions_of(policy: Policy, state: State, rows: np.ndarray | None = None) -> np.ndarray:
    """Return a policy's actions as int32 [B]. TypeError or ValueError for anything but B integers.

    Policies that watch games are asked for the actions of `rows` alone, bool [B].
    """
    wanted = (rows,) if hasattr(policy, "watch") else ()
    return host_ints("a policy's actions", policy(state, *wanted), state.batch)
