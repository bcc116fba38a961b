"""Whole games for the laboratory: by the uniform policy in one kernel, by others ply by ply."""

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
MOMENTS = 7  # equally distant moments of a game at which positions are valued
COUNTED = (2, 4, 6)  # moments, at quarters of a game, from which playouts of a search are counted
PLAYOUTS = 32  # playouts of a position for each of two independent values
LANES = 64  # games of a block
REPLICA_BITS = 28  # position of the replica in the number of a row
Tick = Callable[[float, float], object]  # called with the work that is done, and an estimate of what is left


@dataclass(frozen=True)
class Played:
    """Games that were played, N of them.

    Attributes:
        returns: float64 [N, P].
        begins: the player who moves first, int [N].
        plies, turns: int [N]; a turn is a run of decisions of one player.
        truncated: bool [N].
        legal: decisions in which each action was legal, int [N, A].
        taken: decisions in which each player took each action, int [N, P, A].
        when: sums of the plies, from 0, at which each action was taken, int [N, A].
        widths: decisions with 1..A legal actions, int [N, A].
        events: sums of the events that the rules report, int [N, E].
        values: mean returns of random games from `MOMENTS` positions of each game, two independent ones, float64
            [N, 2, MOMENTS, P]; [N, 2, 0, P] if they were not computed.
        searched: decisions in the playouts of a search from `COUNTED` positions of each game, in which each action was
            legal, and in which each player took it, int [N, 1 + P, A]; [N, 0, A] if they were not counted.
        zero_sum: whether the rules say that rewards sum to 0, bool [N].
    """

    returns: NDArray[Any]
    begins: NDArray[Any]
    plies: NDArray[Any]
    turns: NDArray[Any]
    truncated: NDArray[Any]
    legal: NDArray[Any]
    taken: NDArray[Any]
    when: NDArray[Any]
    widths: NDArray[Any]
    events: NDArray[Any]
    values: NDArray[Any]
    searched: NDArray[Any]
    zero_sum: NDArray[Any] = field(default_factory=lambda: np.ones(1, bool))

    def __len__(self) -> int:
        """Return the number of games."""
        return len(self.plies)

    @property
    def points(self) -> NDArray[Any]:
        """Points, float64 [N, P]: 1 for the highest return, shared equally in a tie, else 0."""
        best = self.returns == self.returns.max(1, keepdims=True)
        return np.asarray(best / best.sum(1, keepdims=True))

    @property
    def is_cooperative(self) -> bool:
        """Whether the players have equal returns in every game, and no draws."""
        return share_returns(self.returns, bool(self.zero_sum.all()))

    def __add__(self, other: Played) -> Played:
        """Concatenate the games of two sets of matches."""
        names = [one.name for one in fields(self)]
        return Played(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


def play_uniform(env: Env, games: int, seed: int, first_row: int = 0) -> Played:
    """Play games by the uniform policy, in one kernel."""
    start = env.init(games, seed, first_row=first_row)
    result = rollout_from(start, "uniform", LIMIT, autoreset="disabled", count_actions=True)
    end = result.state.numpy()
    tensors = result.legal_counts, result.action_counts, result.action_plies, result.width_counts
    legal, taken, when, widths = map(to_numpy, tensors)
    none = np.zeros((games, 2, 0, env.num_players))
    events = np.zeros((games, len(env.spec.events)), np.int32)
    for number, count in enumerate(result.event_counts.values()):
        events[:, number] = to_numpy(count)
    returns = to_numpy(result.returns).astype(np.float64)
    begins = to_numpy(start.current_player)
    truncated = end["truncated"] | ~end["terminated"]
    turns = to_numpy(result.turns)
    more = none, legal[:, None][:, :0], np.full(games, env.spec.zero_sum)
    return Played(returns, begins, end["ply"], turns, truncated, legal, taken, when, widths, events, *more)


@dataclass(frozen=True)
class Match:
    """Match between policies: games on consecutive rows of a seed.

    Attributes:
        policies: one for each player, called with some of the games in which that player is to move.
        games: number of games.
        first_row: number of the first row.
        replica: number of a repetition, 0..15: the policies get other random numbers, and the chance of a row is the
            same.
        opening: number of uniformly random plies at the start.
        valued: whether to value positions.
        counted: simulations of a search whose playouts from positions of the games are counted; 0 for none. The games
            must be valued.
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
) -> list[Played]:
    """Play the games of all matches to their ends, by one pool of all games.

    Each game is at a ply of its own. A call of a policy takes games of all matches that wait for it, in full blocks, so
    that few lanes are padding and the cores have a block each.

    Args:
        tick: is called after decisions with their work, and with an estimate of what is left.
        plies: expected length of a game, for this estimate.
    """
    pool = _GamePool(env, matches, seed)
    while pool.live.any():
        played = pool.step()
        live = pool.live
        left = pool.work[live] * np.maximum(plies - pool.plies[live], 1)
        tick(float(pool.work[played].sum()), float(left.sum()))
    return [pool.played(number, seed) for number in range(len(matches))]


class _GamePool:
    """Games of several matches."""

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
        # Games lie in rows on the host: a step gathers the live games of any match into one batch.
        self.words, self.keys = (
            np.concatenate([start.buffers.layout.download(getattr(start.buffers, name)) for start in starts])
            for name in ("words", "row_keys")
        )
        # Replicas replay the same chance with other draws of the policies, for paired comparisons.
        replica = np.array([match.replica for match in matches], np.uint32)[self.match]
        self.policy_keys = self.keys.copy()  # by which policies draw: searches by the row, uniform play by its own key
        self.policy_keys[:, 2] += replica << np.uint32(REPLICA_BITS)
        self.policy_keys[:, 3] ^= replica
        values = env.engine.layout.unpack(self.words)
        self.mask = values["legal_action_mask"]
        self.mover = values["current_player"]
        self.begins = self.mover.copy()
        self.live = np.asarray(self.mask.any(1))
        self.plies, self.turns, self.last = (np.full(len(self.rows), n) for n in (0, 0, -1))
        self.returns = np.zeros((len(self.rows), env.num_players))
        self.legal, self.when, self.widths = (np.zeros(self.mask.shape, np.int32) for _ in range(3))
        self.taken = np.zeros((len(self.rows), env.num_players, env.num_actions), np.int32)
        self.events = np.zeros((len(self.rows), len(env.spec.events)), np.int32)
        self.history: list[list[NDArray[Any]]] = [[] for _ in self.rows]

    def step(self) -> NDArray[Any]:
        """Call the policy with the most waiting games, play its actions, and return the games."""
        who = np.where(self.plies < self.opening, 0, self.seats[self.rows, self.mover])
        policy = int(np.bincount(who[self.live]).argmax())
        waiting = np.flatnonzero(self.live & (who == policy))
        full = LANES << max((len(waiting) // LANES).bit_length() - 1, 0)  # blocks: a power of two, for few sizes
        here = waiting[np.argsort(self.plies[waiting], kind="stable")][:full]  # the fewest plies come first
        over = np.flatnonzero(~self.live)[:1]  # padding of finished games takes no time
        padded = np.concatenate([here, np.repeat(over if len(over) else here[:1], full - len(here))])
        state, shown = (
            State(self.env, self.env.engine.load(self.words[padded], keys[padded], self.device))
            for keys in (self.keys, self.policy_keys)
        )
        chosen = np.asarray(to_numpy(self.policies[policy](shown)))
        self._record(here, chosen[: len(here)])
        if self.env.spec.events:
            events = self.env.engine.events(state.buffers, self.env.action_buffer(state, chosen))
            self.events[here] += to_numpy(events)[: len(here)]
        after = self.env.step(state, chosen)
        self.words[here] = after.buffers.layout.download(after.buffers.words)[: len(here)]
        values = self.env.engine.layout.unpack(self.words[here])
        self.mask[here] = values["legal_action_mask"]
        self.mover[here] = values["current_player"]
        self.returns[here] += values["rewards"]
        self.live[here] = self.mask[here].any(1) & (self.plies[here] < LIMIT)
        return here

    def _record(self, here: NDArray[Any], chosen: NDArray[Any]) -> None:
        """Count the decisions of some games, and keep the positions of those that are valued."""
        for game in here[self.valued[here]]:
            self.history[game].append(self.words[game].copy())
        self.legal[here] += self.mask[here]
        self.taken[here, self.mover[here], chosen] += 1
        self.when[here, chosen] += self.plies[here]
        self.widths[here, self.mask[here].sum(1) - 1] += 1
        self.turns[here] += self.mover[here] != self.last[here]
        self.last[here] = self.mover[here]
        self.plies[here] += 1

    def played(self, number: int, seed: int) -> Played:
        """Return the games of a match."""
        part = self.match == number
        match = self.matches[number]
        ends = self.env.engine.layout.unpack(self.words)
        truncated = ends["truncated"] | ~ends["terminated"]
        values = np.zeros((match.games, 2, 0, self.env.num_players))
        if match.valued:
            values = self._values(part, seed)
        searched = self._searched(part, match.counted, seed) if match.counted else self.legal[part][:, None][:, :0]
        counts = self.legal, self.taken, self.when, self.widths, self.events
        counted = (self.returns, self.begins, self.plies, self.turns, truncated, *counts)
        zero_sum = np.full(match.games, self.env.spec.zero_sum)
        return Played(*[*(x[part] for x in counted), values, searched, zero_sum])

    def _positions(self, part: NDArray[Any], moments: Sequence[int]) -> State:
        """Return the positions of games at some moments, moment by moment."""
        history = [self.history[game] for game in np.flatnonzero(part)]
        table = [game[len(game) * moment // (MOMENTS + 1)] for moment in moments for game in history]
        keys = np.tile(self.keys[part], (len(moments), 1))
        return State(self.env, self.env.engine.load(np.array(table), keys, self.device))

    def _values(self, part: NDArray[Any], seed: int) -> NDArray[Any]:
        """Return the values of positions of games."""
        positions = self._positions(part, range(1, MOMENTS + 1))
        values = [to_numpy(playout(positions, PLAYOUTS, seed=seed + 1 + half, limit=LIMIT)) for half in range(2)]
        return np.array(values, np.float64).reshape(2, MOMENTS, part.sum(), -1).transpose(2, 0, 1, 3)

    def _searched(self, part: NDArray[Any], num_simulations: int, seed: int) -> NDArray[Any]:
        """Return counts of the playouts of a search from positions of games."""
        positions = self._positions(part, COUNTED)
        output = playout_policy(positions, num_simulations, seed=seed, limit=LIMIT, count_actions=True)
        counts = output.search_tree.playouts
        legal = to_numpy(counts.legal_counts)
        taken = to_numpy(counts.action_counts)
        table = np.concatenate([legal[:, None], taken], 1)
        return np.asarray(table.reshape(len(COUNTED), -1, *table.shape[1:]).sum(0))
