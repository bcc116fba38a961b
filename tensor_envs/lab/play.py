"""Whole games for the laboratory: by the uniform policy in one kernel, by others ply by ply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs.env import Env
from tensor_envs.interop import to_numpy
from tensor_envs.rollout import playout, rollout_from
from tensor_envs.sampling import uniform
from tensor_envs.state import State

if TYPE_CHECKING:
    from tensor_envs.agents import Policy

LIMIT = 10_000  # plies after which a game counts as truncated
MOMENTS = 7  # of each game, at equal distances, in which its positions are valued
PLAYOUTS = 32  # of a position, for each of two independent values
LANES = 64  # batches are rounded up to whole blocks, so that there are few sizes
Array = np.ndarray[Any, Any]
Tick = Callable[[int], object]  # called with numbers of finished games


@dataclass(frozen=True)
class Played:
    """Games that were played, N of them.

    Attributes:
        returns: float64 [N, P].
        begins: the player who moves first, int [N].
        plies, turns: int [N]; a turn is a run of decisions of one player.
        truncated: bool [N].
        legal, taken: decisions in which each action was legal, and in which it was taken, int [N, A].
        widths: decisions with 1..A legal actions, int [N, A].
        values: mean returns of random games from `MOMENTS` positions of each game, two independent ones, float64
            [N, 2, MOMENTS, P]; [N, 2, 0, P] if they were not computed.
    """

    returns: Array
    begins: Array
    plies: Array
    turns: Array
    truncated: Array
    legal: Array
    taken: Array
    widths: Array
    values: Array

    def __len__(self) -> int:
        """Return the number of games."""
        return len(self.plies)

    @property
    def points(self) -> Array:
        """Points, float64 [N, P]: 1 for the highest return, shared equally in a tie, else 0."""
        best = self.returns == self.returns.max(1, keepdims=True)
        return np.asarray(best / best.sum(1, keepdims=True))

    def __add__(self, other: Played) -> Played:
        """Return these games and others."""
        names = [field.name for field in fields(self)]
        return Played(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


def play_uniform(env: Env, games: int, seed: int, first_row: int = 0) -> Played:
    """Play games by the uniform policy, in one kernel."""
    start = env.init(games, seed, first_row=first_row)
    result = rollout_from(start, "uniform", LIMIT, autoreset=False, count_actions=True)
    end = result.state.numpy()
    legal, taken, widths = map(to_numpy, (result.legal_counts, result.action_counts, result.width_counts))
    none = np.zeros((games, 2, 0, env.num_players))
    returns, begins = to_numpy(result.returns).astype(np.float64), to_numpy(start.current_player)
    truncated = end["truncated"] | ~end["terminated"]
    turns = to_numpy(result.turns)
    return Played(returns, begins, end["ply"], turns, truncated, legal, taken, widths, none)


def play(
    env: Env,
    policies: Sequence[Policy],
    games: int,
    seed: int,
    first_row: int = 0,
    opening: int = 0,
    value: bool = False,
    tick: Tick = lambda games: None,
) -> Played:
    """Play games to their ends, ply by ply.

    Args:
        policies: one for each player. A policy is called with the games in which its player is to move.
        opening: number of uniformly random plies at the start.
        value: whether to value positions.
        tick: is called with the number of games that end.
    """
    state = env.init(games, seed, first_row=first_row)
    rows, actions = np.arange(games), env.num_actions
    returns, turns = np.zeros((games, env.num_players)), np.zeros(games, int)
    legal, taken, widths = (np.zeros((games, actions), np.int32) for _ in range(3))
    values, last, history = state.numpy(), np.full(games, -1), []
    begins = mover = values["current_player"]
    for ply in range(LIMIT):
        mask, mover = values["legal_action_mask"], values["current_player"]
        live = mask.any(1)
        tick(games - int(live.sum()))
        games = int(live.sum())
        if not games:
            break
        history += [state.buffers.layout.table(state.buffers.words)] if value else []
        chosen = np.zeros(len(rows), np.int32)
        for player in np.unique(mover[live]):
            here = np.flatnonzero(live & (mover == player))
            chosen[here] = _chosen(uniform if ply < opening else policies[player], state, here)
        legal += mask
        taken[rows[live], chosen[live]] += 1
        widths[rows[live], mask[live].sum(1) - 1] += 1
        turns += live & (mover != last)
        last = np.where(live, mover, last)
        state = env.step(state, chosen)
        values = state.numpy()
        returns += values["rewards"]
    plies = values["ply"]
    valued = _values(state, history, plies, seed) if value else np.zeros((len(rows), 2, 0, env.num_players))
    truncated = values["truncated"] | ~values["terminated"]
    return Played(returns, begins, plies, turns, truncated, legal, taken, widths, valued)


def _chosen(policy: Policy, state: State, rows: Array) -> Array:
    """Return a policy's actions in some games, int [len(rows)]."""
    if len(rows) == state.batch:
        return np.asarray(to_numpy(policy(state)))
    padded = np.concatenate([rows, np.full(-len(rows) % LANES, rows[-1])])
    return np.asarray(to_numpy(policy(state.env.take(state, padded))))[: len(rows)]


def _values(state: State, history: list[Array], plies: Array, seed: int) -> Array:
    """Return the values of positions of games; `history` has the words of the games at every ply."""
    env, layout, games = state.env, state.buffers.layout, np.arange(state.batch)
    tables = [
        np.stack([history[ply][game] for game, ply in zip(games, plies * k // (MOMENTS + 1), strict=True)])
        for k in range(1, MOMENTS + 1)
    ]
    keys = np.tile(layout.table(state.buffers.row_keys), (MOMENTS, 1))
    positions = State(env, env.engine.load(np.concatenate(tables), keys, state.device))
    values = [to_numpy(playout(positions, PLAYOUTS, seed=seed + 1 + half, limit=LIMIT)) for half in range(2)]
    return np.array(values, np.float64).reshape(2, MOMENTS, len(games), -1).transpose(2, 0, 1, 3)
