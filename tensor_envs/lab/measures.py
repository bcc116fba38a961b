"""Measures of played games, which README.md of this folder defines."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensor_envs.lab.estimates import Measurement, estimate, quantile, ratio, sums

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env
    from tensor_envs.lab.play import PlayedGames

LN10 = math.log(10)
MAX_TREE = 6.0  # log10 of the estimated size up to which a game tree is counted exactly
MAX_PLIES = 64  # plies of the longest game up to which a game tree is counted exactly
MAX_SPREAD = 0.1  # relative standard error up to which a mean of tree sizes is reported
MAX_ACTIONS = 12  # number of actions up to which they are listed one by one, not by kind
QUARTERS = (0.25, 0.5, 0.75)
MAX_ELO = 1200.0
ELO = "Elo per doubling"


@dataclass(frozen=True)
class ActionUse:
    """Shares of decisions in which a kind of actions is legal and taken, by player and moment.

    Attributes:
        legal: share of decisions in which the action is legal; for a kind, its number of legal actions for each
            decision, at most 1 in each game.
        taken: share of decisions in which an action of the kind is taken.
        chosen: share of the legal actions of the kind that are taken; None if fewer than two games had legal ones.
        players: share of each player in the actions taken; empty if they were taken in fewer than two games.
        moment: mean moment at which they are taken, from 0 at the start of a game to 1 at its end; None if they were
            taken in fewer than two games, and for playouts of a search.

    Examples:
        >>> report = te.lab.measure(te.make("kuhn_poker"), players=["uniform"], games=64)
        >>> use = report.base.actions["uniform"]["bet"]
        >>> use.legal.value, bool(use.chosen.low < 0.5 < use.chosen.high)
        (1.0, True)
    """

    legal: Measurement
    taken: Measurement
    chosen: Measurement | None
    players: tuple[Measurement, ...]
    moment: Measurement | None


# *** outcomes and lengths ***


def scores(games: PlayedGames) -> Iterator[tuple[str, Measurement]]:
    """Yield the score of each player and, if the first player to move differs among games, of that player.

    Games for one player and cooperative games have returns instead of scores.
    """
    points = games.points
    players = games.returns.shape[1]
    if players == 1 or games.is_cooperative:
        yield "return", estimate(games.returns[:, 0])
        return
    for number in range(1 if players == 2 else players):
        yield f"score of player {number}", estimate(points[:, number], share=True)
    if len(set(games.first_players.tolist())) > 1:
        yield "score of who begins", estimate(points[np.arange(len(points)), games.first_players], share=True)


def outcomes(games: PlayedGames) -> Iterator[tuple[str, Measurement]]:
    """Yield scores, draws, truncations and lengths."""
    yield from scores(games)
    if games.returns.shape[1] > 1 and not games.is_cooperative:
        yield "draws", estimate(np.all(games.points < 1, 1), share=True)
    yield "truncated", estimate(games.truncated, share=True)
    yield "plies", estimate(games.plies)
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        yield f"plies, {share * 100:g} % quantile", quantile(games.plies, share)
    yield "turns", estimate(games.turns)


def choices(games: PlayedGames) -> Iterator[tuple[str, Measurement]]:
    """Yield the number of legal actions of a decision, and the number of actions that a game uses."""
    actions = games.legal_counts.shape[1]
    yield "legal actions", estimate(games.width_counts @ np.arange(1, actions + 1), games.plies, of=ratio)
    yield "forced moves", estimate(games.width_counts[:, 0], games.plies, of=ratio, share=True)
    yield "coverage", estimate(games.action_counts.any(1).mean(1), share=True)


def events(env: Env, games: PlayedGames) -> Iterator[tuple[str, Measurement]]:
    """Yield the mean number per game of each event that the rules report."""
    for number, name in enumerate(env.spec.events):
        yield f"{name}, per game", estimate(games.events[:, number])


def tree_size(env: Env, games: PlayedGames) -> Iterator[tuple[str, Measurement]]:
    """Yield the size of the game tree, exact if it is small, else from games by the uniform policy (Knuth 1975)."""
    logs = games.width_counts @ np.log(np.arange(1, env.num_actions + 1))
    products = estimate(np.exp(logs - logs.max()))
    spread = products.error / products.value if products.value > 0 else math.inf
    if spread < MAX_SPREAD:
        shift = float(logs.max())
        size = estimate(np.exp(logs - shift), scale=lambda x: (math.log(max(x, 1e-300)) + shift) / LN10)
    else:
        # The mean of so wide a distribution does not converge. Use Cox's estimate of its logarithm, which assumes that
        # the products have a log-normal distribution.
        size = estimate(logs, logs * logs, of=lambda m: (m[0] + (m[1] - m[0] * m[0]) / 2) / LN10)
    small = size.value < MAX_TREE and games.plies.max() <= MAX_PLIES and not games.truncated.any()
    if small and env.spec.perfect_information and not env.spec.chance:
        from tensor_envs.solve.perft import perft  # imported late, since only such games need it

        counts = perft(env)
        yield "game tree, log10", Measurement.exactly(math.log10(sum(counts.games.values())))
        yield "positions, log10", Measurement.exactly(math.log10(sum(counts.positions)))
    else:
        yield "game tree, log10", size


def perfect(env: Env) -> Iterator[tuple[str, Measurement]]:
    """Yield the score of player 0 under perfect play, in small games for two without chance."""
    if env.num_players == 2 and env.spec.zero_sum and env.spec.perfect_information and not env.spec.chance:
        from tensor_envs.evaluation.agents import MAX_POSITIONS
        from tensor_envs.solve.enumeration import solve  # imported late, since only such games need it

        try:
            value = solve(env, max_positions=MAX_POSITIONS).value(env.init(1))[0]
        except (ValueError, NotImplementedError):  # too large, or of another kind
            return
        yield "score of player 0", Measurement.exactly((float(np.sign(value)) + 1) / 2)


# *** tension ***


def tension(games: PlayedGames) -> Iterator[tuple[str, Measurement]]:
    """Yield the winners' lead over the game, and drama, from the values of positions."""
    won = (games.points == 1).any(1)
    if games.values.shape[2] == 0 or games.returns.shape[1] < 2 or won.sum() < 2:
        return
    values = games.values[won]
    winner = games.points[won].argmax(1)
    others = np.where(np.arange(values.shape[3]) == winner[:, None, None, None], -np.inf, values).max(3)
    own = np.take_along_axis(values, winner[:, None, None, None], 3)[..., 0]
    lead = (own - others) / max(float(np.ptp(games.returns)), 1e-9)  # [games, 2, moments], -1..1
    for share in QUARTERS:
        moment = round(share * (values.shape[2] + 1)) - 1
        yield f"winner's lead at {share:g}", estimate(lead[:, :, moment].mean(1))
    # One of the two independent values decides whether the winner is behind, the other one measures by how much.
    behind = [np.where(lead[:, k] < 0, -lead[:, 1 - k], 0) for k in range(2)]
    yield "drama", estimate(np.mean(behind, 0).mean(1))


# *** contests ***


def stronger(points: NDArray[Any], doublings: float | None = None) -> Iterator[tuple[str, Measurement]]:
    """Yield the gain of the stronger player of a contest.

    Args:
        points: points by seat of the stronger player, replica, deal and player, float64 [S, R, D, P].
        doublings: number of doublings of simulations from one player to the other; None if they differ otherwise.
    """
    seats = range(len(points))
    score = np.mean([points[seat, :, :, seat].mean(0) for seat in seats], 0)
    yield "score of the stronger", estimate(score, share=True)
    if doublings and len(seats) == 2:
        yield ELO, estimate(score, share=True, scale=functools.partial(_elo, doublings=doublings))


def contest(points: NDArray[Any], doublings: float | None = None) -> Iterator[tuple[str, Measurement]]:
    """Yield the gain of the stronger player, and the shares of luck and skill; for the arguments see `stronger`."""
    yield from stronger(points, doublings)
    players = points.shape[3]
    replicas = points.shape[1]
    games = points.reshape(players * replicas, *points.shape[2:])  # [games of a deal, D, P]
    if not np.ptp(games, (0, 1)).any():
        return  # all results are equal
    # Add deals to the sample for the intervals only, since a sample in which all games agree would have an interval of
    # width 0: luck decides these deals, but in one replica of two of them skill does.
    added = np.tile(np.eye(players), (players, replicas, 1, 1))
    added[:, 0, 0] = np.eye(players)
    added[:, 0, 1] = (1 - np.eye(players)) / (players - 1)
    columns = _columns(games)
    more = _columns(added.reshape(len(games), players, players))
    yield "luck", estimate(*columns, of=functools.partial(_luck, players=players), more=more)
    yield "skill", estimate(*columns, of=functools.partial(_skill, players=players), more=more)


def _columns(games: NDArray[Any]) -> NDArray[Any]:
    """Return columns of values of each deal, float64 [columns, D]: luck and skill are functions of their means."""
    count, _, players = games.shape
    # The mean product of two different games of a deal follows from the square of their sum.
    pairs = (games.sum(0) ** 2 - np.square(games).sum(0)) / (count * (count - 1))
    moments = np.concatenate([games, pairs[None], np.square(games).mean(0)[None]])  # [games + 2, D, P]
    return np.asarray(moments.transpose(2, 0, 1).reshape(players * (count + 2), -1))


def _elo(score: float, doublings: float) -> float:
    """Return the Elo difference of a score for each doubling, within `MAX_ELO` for all of them."""
    odds = max(score, 1e-9) / max(1 - score, 1e-9)
    return min(max(400 * math.log10(odds), -MAX_ELO), MAX_ELO) / doublings


def _moments(means: NDArray[Any], players: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Split means of `_columns` into points [P, games of a deal, ...], products of two points, and variances."""
    table = means.reshape(players, -1, *means.shape[1:])
    games = table[:, :-2]
    return games, table[:, -2], table[:, -1] - games.mean(1) ** 2


def _luck(means: NDArray[Any], players: int) -> NDArray[Any]:
    """Return the share of the variance that the deals explain: the covariance of two games of a deal."""
    games, pairs, variance = _moments(means, players)
    count = games.shape[1]
    products_of_means = (games.sum(1) ** 2 - np.square(games).sum(1)) / (count * (count - 1))
    return np.asarray((pairs - products_of_means).sum(0) / variance.sum(0))


def _skill(means: NDArray[Any], players: int) -> NDArray[Any]:
    """Return the share of the variance that the seat of the stronger player explains."""
    games, _, variance = _moments(means, players)
    seats = games.reshape(players, players, -1, *games.shape[2:]).mean(2)  # mean over the replicas of a seating
    return np.asarray(seats.var(1).sum(0) / variance.sum(0))


# *** actions ***


def action_uses(env: Env, games: PlayedGames) -> dict[str, ActionUse]:
    """Return the use of each action, or in games with many actions of each kind, by name."""
    return _uses(env, games.legal_counts, games.action_counts, games.action_plies)


def searched_uses(env: Env, games: PlayedGames) -> dict[str, ActionUse]:
    """Return the use of actions in the playouts of a search; {} if fewer than two games have counts of decisions."""
    if not games.searched.size:
        return {}
    legal = games.searched[:, 0]
    taken = games.searched[:, 1:]
    has_counts = taken.any((1, 2))
    return _uses(env, legal[has_counts], taken[has_counts]) if has_counts.sum() > 1 else {}


def _uses(
    env: Env, legal_counts: NDArray[Any], taken_counts: NDArray[Any], plies: NDArray[Any] | None = None
) -> dict[str, ActionUse]:
    """Return the use of actions, by name or kind.

    Args:
        env: the environment.
        legal_counts: number of decisions in which each action was legal, int [N, A].
        taken_counts: number of decisions in which each player took each action, int [N, P, A].
        plies: sum of the plies at which each action was taken, int [N, A]; None if they are unknown.
    """
    names = list(env.action_names)
    decisions = taken_counts.sum((1, 2))
    if len(names) > MAX_ACTIONS:
        names = [kind(name) for name in names]
    uses = {}
    ply_sums = np.zeros_like(legal_counts) if plies is None else plies
    tables = [legal_counts, ply_sums, *taken_counts.transpose(1, 0, 2)]
    for name, (legal, ply_sum, *by_player) in sums(tables, names).items():
        taken = np.sum(by_player, 0)
        players = [_share(part, taken) for part in by_player]
        uses[name] = ActionUse(
            estimate(np.minimum(legal, decisions), decisions, of=ratio, share=True),
            estimate(taken, decisions, of=ratio, share=True),
            _share(taken, legal),
            tuple(share for share in players if share is not None),
            # A ply counts at its middle, so that the mean moment of all plies of a game is 1/2.
            None if plies is None else _share((ply_sum + taken / 2) / decisions, taken),
        )
    return uses


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Measurement | None:
    """Estimate the ratio of sums over games, [N] each; None unless two games count, since the jackknife omits one."""
    return estimate(part, whole, of=ratio, share=True) if np.count_nonzero(whole) > 1 else None


def kind(name: str) -> str:
    """Return the kind of an action: "CELL" for "CELL(0,-3)", else its name with # for numbers and coordinates."""
    short = re.sub(r"(?<=\w)\(.*\)", "", name)
    return re.sub(r"[-+]?\d+", "#", re.sub(r"\(.*\)", "#", short)).strip()


def unused(env: Env, legal_counts: NDArray[Any], taken_counts: NDArray[Any]) -> dict[str, list[str]]:
    """Return the names of actions that were never legal, and of those that were legal and never taken."""
    legal = legal_counts.any(0)
    taken = taken_counts.any((0, 1))
    names = env.action_names
    groups = {"never legal": ~legal, "legal, never taken": legal & ~taken}
    return {label: [names[action] for action in np.flatnonzero(members)] for label, members in groups.items()}
