"""Values of best responses to a policy in games too large for a tree.

A policy that depends only on what the player to move observes has the same probabilities in all histories that lead to
the same state. For a player who responds to it, histories with the same state and the same own information are
therefore merged, with the sum of their probabilities. What remains is a graph of states by ply, and pairs of a state
and a sequence of the responding player (see `sequence_form`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.equilibria.sequence_form import ranks
from tensor_envs.solve.branches import PARENTS, Branches
from tensor_envs.solve.packed import Array, Packed, concat, groups

PAIRS = 1 << 20  # maximum number of pairs whose successors are held at a time


class StatesOfPly(NamedTuple):
    """Unfinished states of a ply, and their edges in the order of states and actions.

    Attributes:
        player: player to move, int64 [n].
        view: number of the information that this player observes, int64 [n].
        actions: number of legal actions, int64 [n].
        start, edges: first edge of each state and number of its edges, int64 [n].
        rank: number of each edge's action among the legal ones of its state, int64 [E].
        child: state of the next ply after each edge, int64 [E]; -1 for a game that is over.
        chance: probability of each edge's draws, float64 [E].
        policy: probability of each edge's action by the policy, float64 [E].
        rewards: rewards of the step, float32 [E, P].
    """

    player: Array
    view: Array
    actions: Array
    start: Array
    edges: Array
    rank: Array
    child: Array
    chance: Array
    policy: Array
    rewards: Array


class ResponseValues:
    """States of a game by ply, with the probabilities of a policy.

    Attributes:
        states: number of unfinished states.
        values: expected return of every player if all follow the policy, float64 [P].
    """

    def __init__(self, start: Env | State, policy: Callable[[State], Array], max_states: int, name: str = "start"):
        """Enumerate the states.

        Args:
            start: an environment, or games of one environment at the same ply.
            policy: function of a State to probabilities, float64 [B, A].
            max_states: upper bound for the number of unfinished states.
            name: name of the start in errors.

        Raises:
            ValueError: more states.
        """
        self.game = game = Branches(start, name)
        self.states = 0
        self.players = game.spec.num_players
        self.plies = list[StatesOfPly]()
        # Equal first states are one, with the sum of their probabilities.
        equal = groups(Packed.of(list(game.first_table.T)))
        table = game.first_table[equal.first]
        share = np.bincount(equal.number) / len(game.first_table)
        if isinstance(start, Env):
            buffers = game.engine.refresh(game.upload(table))
            table = buffers.layout.download(buffers.words)[: len(table)]
        live = ~game.is_over(table)
        # Store the number of each first game among the unfinished states of the first ply, -1 if it is over.
        self._number = np.where(live, np.cumsum(live) - 1, -1)[equal.number]
        table = table[live]
        self._first_reach = share[live]  # probability of each state of the first ply
        self.values: Array = np.zeros(self.players)
        reach: Array = self._first_reach
        while len(table):
            self.states += len(table)
            if self.states > max_states:
                raise ValueError(
                    f"max_nodes must be at least {self.states} to hold the states of {game.env!r} to ply "
                    f"{game.ply + len(self.plies)}, got {max_states}"
                )
            # Chance and the policy weight the edges of the ply.
            ply, table = self._expand_ply(table, policy)
            self.plies.append(ply)
            weights = reach[np.repeat(np.arange(len(ply.player)), ply.edges)] * ply.policy * ply.chance
            self.values += weights @ ply.rewards
            goes_on = ply.child >= 0
            reach = np.bincount(ply.child[goes_on], weights[goes_on], len(table))

    def from_states(self) -> Array:
        """Return the expected return of every player from each first game on under the policy, float64 [B, P]."""
        returns: Array = np.zeros((0, self.players))
        # From the last ply back, the return of a state is the mean over its edges.
        for ply in reversed(self.plies):
            edge_returns = ply.rewards.astype(np.float64)
            goes_on = ply.child >= 0
            edge_returns[goes_on] += returns[ply.child[goes_on]]
            returns = np.add.reduceat((ply.policy * ply.chance)[:, None] * edge_returns, ply.start)
        # Row -1 is for games that are over.
        return np.append(returns, np.zeros((1, self.players)), axis=0)[self._number]

    def best(self, player: int) -> float:
        """Return the value of a player's best response."""
        count = len(self._first_reach)
        pairs = np.arange(count), np.zeros(count, np.int64), self._first_reach
        return float(self._response_values(player, 0, *pairs, 1)[0])

    def _response_values(
        self, player: int, depth: int, state: Array, sequence: Array, weight: Array, count: int
    ) -> Array:
        """Return the value of each sequence of a player from a ply on under a best response, float64 [count].

        Args:
            player: the responding player.
            depth: number of plies since the start.
            state, sequence: pairs of a state of the ply and a sequence, in the order of sequences, int64 [pairs].
            weight: probability that chance and the other players lead to each pair, float64 [pairs].
            count: number of sequences.
        """
        if depth == len(self.plies) or not len(state):
            return np.zeros(count)
        # Sequences are independent of each other, so many pairs are split in two to bound the memory.
        if len(state) > PAIRS and count > 1:
            # All pairs of a sequence stay together, since their decisions are made together.
            middle = min(max(int(sequence[len(state) // 2]), 1), count - 1)
            split = int(np.searchsorted(sequence, middle))
            pairs = state[:split], sequence[:split], weight[:split]
            later_pairs = state[split:], sequence[split:] - middle, weight[split:]
            head = self._response_values(player, depth, *pairs, middle)
            tail = self._response_values(player, depth, *later_pairs, count - middle)
            return np.concatenate([head, tail])
        ply = self.plies[depth]
        is_own = ply.player[state] == player
        # A response depends on what the player observes and has done, so states with the same view and sequence share
        # an action. Each such pair of view and sequence is an information state of the player.
        own = np.flatnonzero(is_own)
        views = int(ply.view.max()) + 1
        own_keys = sequence[own] * views + ply.view[state[own]]
        keys, first, number = np.unique(own_keys, return_index=True, return_inverse=True)
        # The actions of information states are new sequences, numbered from `count` on.
        actions = ply.actions[state[own[first]]]
        starts = np.cumsum(actions) - actions
        base = sequence.copy()
        base[own] = count + starts[number]
        total = count + int(actions.sum())
        # Follow every edge of every pair. All actions of the player itself are tried, so they have no probability.
        edges = ply.edges[state]
        pair = np.repeat(np.arange(len(state)), edges)
        edge = np.repeat(ply.start[state], edges) + ranks(edges)
        is_own_edge = is_own[pair]
        next_sequence = base[pair] + np.where(is_own_edge, ply.rank[edge], 0)
        next_weight = weight[pair] * ply.chance[edge] * np.where(is_own_edge, 1, ply.policy[edge])
        values = np.bincount(next_sequence, next_weight * ply.rewards[edge, player], total)
        child = ply.child[edge]
        goes_on = np.flatnonzero((child >= 0) & (next_weight > 0))
        if len(goes_on):
            # Free large arrays before the next ply.
            del pair, edge, is_own_edge
            next_pairs, weights = _merge_pairs(child[goes_on], next_sequence[goes_on], next_weight[goes_on])
            del child, next_sequence, next_weight, goes_on
            reached, renumbered = np.unique(next_pairs[1], return_inverse=True)
            values[reached] += self._response_values(
                player, depth + 1, next_pairs[0], renumbered, weights, len(reached)
            )
        result = values[:count]
        # Now that the values of the new sequences are known, each information state takes the best one.
        if len(keys):
            result += np.bincount(keys // views, np.maximum.reduceat(values[count:], starts), count)
        return np.asarray(result)

    def _expand_ply(self, table: Array, policy: Callable[[State], Array]) -> tuple[StatesOfPly, Array]:
        """Expand the states of a ply.

        Args:
            table: words of the states, uint32 [n, words].
            policy: function of a State to probabilities, float64 [B, A].

        Returns:
            The states with their edges, and the words of the next ply's states.
        """
        game = self.game
        player = game.players(table)
        legal = game.legal_actions(table)
        views = list[Packed]()
        children = list[Packed]()
        rewards = list[Array]()
        over = list[Array]()
        # Chunks bound the device memory for successors, of which each state has one per edge.
        for begin in range(0, len(table), PARENTS):
            chunk = table[begin : begin + PARENTS]
            buffers = game.upload(chunk)
            views.append(Packed.of(game.view_columns(buffers, chunk)))
            for _, _, _, after in game.play_all(buffers, len(chunk)):
                children.append(Packed.of(list(after.T)))
                rewards.append(game.rewards(after))
                over.append(game.is_over(after))
        equal = groups(concat(views))
        view = equal.number.astype(np.int64)
        # The policy is computed for one state of each view, since it may depend on nothing else.
        probabilities = policy(game.state(table[equal.first]))[view]
        ended = np.concatenate(over)
        # If several edges lead to equal states, these are one state of the next ply.
        goes_on = np.flatnonzero(~ended)
        child = np.full(len(ended), -1)
        next_table = table[:0]
        if len(goes_on):
            unfinished = concat(children)[goes_on]
            equal = groups(unfinished)
            child[goes_on] = equal.number
            next_table = np.stack(unfinished[equal.first].columns(), axis=1)
        # A state's edges are consecutive: legal actions in order, each with all of its equally likely outcomes.
        counts = legal.sum(1)
        edges = counts * game.outcomes
        rank = ranks(edges) // game.outcomes
        edge_policy = probabilities[legal].repeat(game.outcomes)
        chance = np.full(len(ended), 1 / game.outcomes)
        starts = np.cumsum(edges) - edges
        ply = StatesOfPly(
            player, view, counts, starts, edges, rank, child, chance, edge_policy, np.concatenate(rewards)
        )
        return ply, next_table


def _merge_pairs(state: Array, sequence: Array, weight: Array) -> tuple[tuple[Array, Array], Array]:
    """Return the different pairs of state and sequence, in the order of sequences, and the sums of their weights."""
    states = int(state.max()) + 1
    # A pair is one integer with the sequence in front, so that sorting orders pairs by sequences.
    key = sequence * states + state
    order = np.argsort(key)
    key = key[order]
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    key = key[starts]
    return (key % states, key // states), np.add.reduceat(weight[order], starts)
