"""Whole games for the laboratory: by the uniform policy in one kernel, and by other policies ply by ply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensor_envs._runtime.exchange import to_numpy
from tensor_envs.envs.env import Env
from tensor_envs.envs.rollout import playout, rollout_from
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State
from tensor_envs.evaluation.matches import share_returns
from tensor_envs.search.policies import playout_policy

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Policy

LIMIT = 10_000  # plies after which a game counts as truncated
MOMENTS = 7  # number of equidistant moments of a game at which positions are valued
COUNTED = (2, 4, 6)  # the moments, at quarters of a game, from which playouts of a search are counted
PLAYOUTS = 32  # number of playouts of a position for each of two independent values
LANES = 64  # games of a block
REPLICA_BITS = 28  # first bit of the replica in the row number of policies
Tick = Callable[[float, float], object]  # callback with the work since the last call and an estimate of the rest


@dataclass(frozen=True)
class PlayedGames:
    """Results and counts of decisions of N finished games.

    Attributes:
        returns: returns of the players, float64 [N, P].
        first_players: player who moves first, int [N].
        plies, turns: number of plies, and of turns (runs of decisions of one player), int [N].
        truncated: whether a limit has ended the game, bool [N].
        legal_counts: number of decisions in which each action was legal, int [N, A].
        action_counts: number of decisions in which each player took each action, int [N, P, A].
        action_plies: sum of the plies, from 0, at which each action was taken, int [N, A].
        width_counts: number of decisions with 1..A legal actions, int [N, A].
        events: sum of each event that the rules report, int [N, E].
        values: mean returns of random games from `MOMENTS` positions of each game, as two independent estimates,
            float64 [N, 2, MOMENTS, P]; [N, 2, 0, P] if they were not computed.
        searched: for the playouts of a search from the `COUNTED` positions of each game, number of decisions in which
            each action was legal, and in which each player took it, int [N, 1 + P, A]; [N, 0, A] if not counted.
        zero_sum: whether the game's rewards sum to 0, bool [N].
    """

    returns: NDArray[Any]
    first_players: NDArray[Any]
    plies: NDArray[Any]
    turns: NDArray[Any]
    truncated: NDArray[Any]
    legal_counts: NDArray[Any]
    action_counts: NDArray[Any]
    action_plies: NDArray[Any]
    width_counts: NDArray[Any]
    events: NDArray[Any]
    values: NDArray[Any]
    searched: NDArray[Any]
    zero_sum: NDArray[Any] = field(default_factory=lambda: np.ones(1, bool))

    def __len__(self) -> int:
        """Return the number of games."""
        return len(self.plies)

    @property
    def points(self) -> NDArray[Any]:
        """Points of the players, float64 [N, P]: 1 for the highest return, which is shared in a tie, else 0."""
        best = self.returns == self.returns.max(1, keepdims=True)
        return np.asarray(best / best.sum(1, keepdims=True))

    @property
    def is_cooperative(self) -> bool:
        """Whether all players have equal returns in every game, and these are not just draws."""
        return share_returns(self.returns, bool(self.zero_sum.all()))

    def __add__(self, other: PlayedGames) -> PlayedGames:
        """Concatenate the games of both operands."""
        names = [column.name for column in fields(self)]
        return PlayedGames(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


def play_uniform(env: Env, games: int, seed: int, first_row: int = 0) -> PlayedGames:
    """Play games by the uniform policy, in one kernel."""
    start = env.init(games, seed, first_row=first_row)
    result = rollout_from(start, "uniform", LIMIT, autoreset="disabled", count_actions=True)
    end = result.state.numpy()
    events = np.zeros((games, len(env.spec.events)), np.int32)
    for number, count in enumerate(result.event_counts.values()):
        events[:, number] = to_numpy(count)
    return PlayedGames(
        returns=to_numpy(result.returns).astype(np.float64),
        first_players=to_numpy(start.current_player),
        plies=end["ply"],
        turns=to_numpy(result.turns),
        truncated=end["truncated"] | ~end["terminated"],
        legal_counts=to_numpy(result.legal_counts),
        action_counts=to_numpy(result.action_counts),
        action_plies=to_numpy(result.action_plies),
        width_counts=to_numpy(result.width_counts),
        events=events,
        values=np.zeros((games, 2, 0, env.num_players)),
        searched=np.zeros((games, 0, env.num_actions), np.int32),
        zero_sum=np.full(games, env.spec.zero_sum),
    )


@dataclass(frozen=True)
class Match:
    """Match between policies: games on consecutive rows of a seed.

    Attributes:
        policies: policy of each player. A call has some of the games in which that player is to move.
        games: number of games.
        first_row: number of the first row.
        replica: number of a repetition, 0..15, in which the policies have other random numbers, and the game's own
            chance is the same.
        opening: number of uniformly random plies at the start.
        valued: whether to value positions.
        counted: simulations of a search whose playouts from positions of the games are counted; 0 for none. It needs
            `valued`.
        work: simulations for a decision, for the estimate of the remaining time.
    """

    policies: tuple[Policy, ...]
    games: int
    first_row: int = 0
    replica: int = 0
    opening: int = 0
    valued: bool = False
    counted: int = 0
    work: float = 1.0


def play(
    env: Env, matches: Sequence[Match], seed: int, tick: Tick = lambda done, left: None, plies: float = 1.0
) -> list[PlayedGames]:
    """Play the games of all matches to their ends, and return the games of each match.

    All games are in one pool, each at its own ply. A call of a policy takes games of all matches that wait for it, in
    full blocks, so that there is little padding and every core has a block.

    Args:
        env: the environment.
        matches: the matches.
        seed: seed of the games.
        tick: callback after each call of a policy, with its work and an estimate of the remaining work.
        plies: expected length of a game, for this estimate.
    """
    pool = _GamePool(env, matches, seed)
    while pool.live.any():
        stepped = pool.step()
        live = pool.live
        remaining = pool.work[live] * np.maximum(plies - pool.plies[live], 1)
        tick(float(pool.work[stepped].sum()), float(remaining.sum()))
    return [pool.result(number, seed) for number in range(len(matches))]


class _GamePool:
    """Games in progress of several matches, with their counts."""

    def __init__(self, env: Env, matches: Sequence[Match], seed: int):
        starts = [env.init(match.games, seed, first_row=match.first_row) for match in matches]
        self.env = env
        self.matches = matches
        self.device = starts[0].device
        self.match = np.repeat(np.arange(len(matches)), [match.games for match in matches])  # match of each game
        # Matches share policies: each policy is called once per step for its games of all matches.
        order = dict.fromkeys([uniform, *(policy for match in matches for policy in match.policies)])
        self.policies = list(order)
        numbers = {policy: number for number, policy in enumerate(order)}
        seats = [[numbers[policy] for policy in match.policies] for match in matches]
        self.seats = np.array(seats)[self.match]
        self.rows = np.arange(len(self.match))
        self.opening = np.array([match.opening for match in matches])[self.match]
        self.valued = np.array([match.valued for match in matches])[self.match]
        self.work = np.array([match.work for match in matches])[self.match]
        # Games are rows of arrays on the host: a step gathers the live games of any match into one batch.
        self.words, self.keys = (
            np.concatenate([start.buffers.layout.download(getattr(start.buffers, name)) for start in starts])
            for name in ("words", "row_keys")
        )
        # Replicas have the same chance with other random numbers of the policies, for paired comparisons: searches use
        # the number of the row, and the uniform policy its own key.
        replica = np.array([match.replica for match in matches], np.uint32)[self.match]
        self.policy_keys = self.keys.copy()
        self.policy_keys[:, 2] += replica << np.uint32(REPLICA_BITS)
        self.policy_keys[:, 3] ^= replica
        values = env.engine.layout.unpack(self.words)
        self.mask = values["legal_action_mask"]
        self.mover = values["current_player"]
        self.first_players = self.mover.copy()
        self.live = np.asarray(self.mask.any(1))
        self.plies = np.zeros(len(self.rows), np.int64)
        self.turns = np.zeros(len(self.rows), np.int64)
        self.last_mover = np.full(len(self.rows), -1)
        self.returns = np.zeros((len(self.rows), env.num_players))
        self.legal_counts = np.zeros(self.mask.shape, np.int32)
        self.action_plies = np.zeros(self.mask.shape, np.int32)
        self.width_counts = np.zeros(self.mask.shape, np.int32)
        self.action_counts = np.zeros((len(self.rows), env.num_players, env.num_actions), np.int32)
        self.events = np.zeros((len(self.rows), len(env.spec.events)), np.int32)
        self.history: list[list[NDArray[Any]]] = [[] for _ in self.rows]  # words of each position, if they are valued

    def step(self) -> NDArray[Any]:
        """Call the policy with the most waiting games, play its actions, and return the numbers of these games."""
        next_policy = np.where(self.plies < self.opening, 0, self.seats[self.rows, self.mover])
        policy = int(np.bincount(next_policy[self.live]).argmax())
        waiting = np.flatnonzero(self.live & (next_policy == policy))
        # The number of blocks is a power of two, so that there are few batch sizes. Games with the fewest plies come
        # first.
        size = LANES << max((len(waiting) // LANES).bit_length() - 1, 0)
        games = waiting[np.argsort(self.plies[waiting], kind="stable")][:size]
        # Finished games are padding that takes no time.
        over = np.flatnonzero(~self.live)[:1]
        padded = np.concatenate([games, np.repeat(over if len(over) else games[:1], size - len(games))])
        state, policy_state = (
            State(self.env, self.env.engine.load(self.words[padded], keys[padded], self.device))
            for keys in (self.keys, self.policy_keys)
        )
        actions = np.asarray(to_numpy(self.policies[policy](policy_state)))
        self._record(games, actions[: len(games)])
        if self.env.spec.events:
            events = self.env.engine.events(state.buffers, self.env.action_buffer(state, actions))
            self.events[games] += to_numpy(events)[: len(games)]
        after = self.env.step(state, actions)
        self.words[games] = after.buffers.layout.download(after.buffers.words)[: len(games)]
        values = self.env.engine.layout.unpack(self.words[games])
        self.mask[games] = values["legal_action_mask"]
        self.mover[games] = values["current_player"]
        self.returns[games] += values["rewards"]
        self.live[games] = self.mask[games].any(1) & (self.plies[games] < LIMIT)
        return games

    def _record(self, games: NDArray[Any], actions: NDArray[Any]) -> None:
        """Count the decisions of some games, and store the positions that will be valued."""
        for game in games[self.valued[games]]:
            self.history[game].append(self.words[game].copy())
        self.legal_counts[games] += self.mask[games]
        self.action_counts[games, self.mover[games], actions] += 1
        self.action_plies[games, actions] += self.plies[games]
        self.width_counts[games, self.mask[games].sum(1) - 1] += 1
        self.turns[games] += self.mover[games] != self.last_mover[games]
        self.last_mover[games] = self.mover[games]
        self.plies[games] += 1

    def result(self, number: int, seed: int) -> PlayedGames:
        """Return the games of a match, by its number."""
        part = self.match == number
        match = self.matches[number]
        ends = self.env.engine.layout.unpack(self.words)
        truncated = ends["truncated"] | ~ends["terminated"]
        values = np.zeros((match.games, 2, 0, self.env.num_players))
        if match.valued:
            values = self._values(part, seed)
        searched = (
            self._searched(part, match.counted, seed) if match.counted else self.legal_counts[part][:, None][:, :0]
        )
        counts = self.legal_counts, self.action_counts, self.action_plies, self.width_counts, self.events
        counted = (self.returns, self.first_players, self.plies, self.turns, truncated, *counts)
        zero_sum = np.full(match.games, self.env.spec.zero_sum)
        return PlayedGames(*[*(x[part] for x in counted), values, searched, zero_sum])

    def _positions(self, part: NDArray[Any], moments: Sequence[int]) -> State:
        """Return the positions of games at some moments, ordered by moments."""
        history = [self.history[game] for game in np.flatnonzero(part)]
        table = [game[len(game) * moment // (MOMENTS + 1)] for moment in moments for game in history]
        keys = np.tile(self.keys[part], (len(moments), 1))
        return State(self.env, self.env.engine.load(np.array(table), keys, self.device))

    def _values(self, part: NDArray[Any], seed: int) -> NDArray[Any]:
        """Return two independent values of positions of games, float64 [N, 2, MOMENTS, P]."""
        positions = self._positions(part, range(1, MOMENTS + 1))
        values = [to_numpy(playout(positions, PLAYOUTS, seed=seed + 1 + half, limit=LIMIT)) for half in range(2)]
        return np.array(values, np.float64).reshape(2, MOMENTS, part.sum(), -1).transpose(2, 0, 1, 3)

    def _searched(self, part: NDArray[Any], num_simulations: int, seed: int) -> NDArray[Any]:
        """Return counts of decisions in the playouts of a search from positions of games, int [N, 1 + P, A]."""
        positions = self._positions(part, COUNTED)
        output = playout_policy(positions, num_simulations, seed=seed, limit=LIMIT, count_actions=True)
        counts = output.search_tree.playouts
        legal = to_numpy(counts.legal_counts)
        taken = to_numpy(counts.action_counts)
        table = np.concatenate([legal[:, None], taken], 1)
        return np.asarray(table.reshape(len(COUNTED), -1, *table.shape[1:]).sum(0))
