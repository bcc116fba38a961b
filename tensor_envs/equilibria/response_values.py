"""Values of best responses to a policy in games too large for a tree.

A policy that depends on nothing but what the player to move observes plays alike in all histories that have led to the
same state. For a player who responds to it, histories with the same state and the same own information are therefore
one, with the sum of their probabilities. What remains is a graph of states by ply, and pairs of a state and a sequence
of the player that responds (see `sequence_form`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.equilibria.sequence_form import ranks
from tensor_envs.solve.branches import PARENTS, Branches
from tensor_envs.solve.packed import Array, Packed, concat, groups, view_columns

PAIRS = 1 << 20  # maximum number of pairs whose successors are held at a time


class StatesOfPly(NamedTuple):
    """Unfinished states of a ply, and their edges in the order of states and actions.

    Attributes:
        player: player to move, int64 [n].
        view: what that player observes, a number, int64 [n].
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
        """Enumerate the states; the policy returns checked probabilities [B, A]. ValueError for too many states.

        name: what errors call the start.
        """
        self.game = game = Branches(start, name)
        self.states = 0
        self.players = game.spec.num_players
        self.plies = list[StatesOfPly]()
        # Equal first states are one, with the sum of their probabilities.
        same = groups(Packed.of(list(game.first_table.T)))
        table = game.first_table[same.first]
        share = np.bincount(same.number) / len(game.first_table)
        if isinstance(start, Env):
            buffers = game.engine.refresh(game.upload(table))
            table = buffers.layout.download(buffers.words)[: len(table)]
        live = ~game.over(table)
        # number of each starting game among the live ones; -1 if it is over
        self._number = np.where(live, np.cumsum(live) - 1, -1)[same.number]
        table = table[live]
        self.first = share[live]
        self.values: Array = np.zeros(self.players)
        reach: Array = self.first
        while len(table):
            self.states += len(table)
            if self.states > max_states:
                raise ValueError(
                    f"max_nodes must be at least {self.states} to hold the states of {game.env!r} to ply "
                    f"{game.ply + len(self.plies)}, got {max_states}"
                )
            # Chance and the policy weight the edges of the ply.
            ply, table = self._expanded(table, policy)
            self.plies.append(ply)
            weights = reach[np.repeat(np.arange(len(ply.player)), ply.edges)] * ply.policy * ply.chance
            self.values += weights @ ply.rewards
            goes_on = ply.child >= 0
            reach = np.bincount(ply.child[goes_on], weights[goes_on], len(table))

    def from_states(self) -> Array:
        """Return the expected return of every player from each game of the start on, by the policy, float64 [B, P]."""
        after: Array = np.zeros((0, self.players))
        # From the last ply back, a state earns the mean over its edges.
        for ply in reversed(self.plies):
            earned = ply.rewards.astype(np.float64)
            goes_on = ply.child >= 0
            earned[goes_on] += after[ply.child[goes_on]]
            after = np.add.reduceat((ply.policy * ply.chance)[:, None] * earned, ply.start)
        return np.append(after, np.zeros((1, self.players)), axis=0)[self._number]

    def best(self, player: int) -> float:
        """Return the value of a player's best response."""
        count = len(self.first)
        pairs = np.arange(count), np.zeros(count, np.int64), self.first
        return float(self._totals(player, 0, *pairs, 1)[0])

    def _totals(self, player: int, depth: int, state: Array, sequence: Array, weight: Array, count: int) -> Array:
        """Return what each sequence of a player earns from this ply on by a best response, float64 [count].

        Pairs of a state and a sequence, in the order of sequences, have weights: the probabilities of chance and of
        the other players.
        """
        if depth == len(self.plies) or not len(state):
            return np.zeros(count)
        # Sequences are independent of each other, so their pairs are split where memory would be short.
        if len(state) > PAIRS and count > 1:
            # All pairs of a sequence stay together, since their decisions are made together.
            middle = min(max(int(sequence[len(state) // 2]), 1), count - 1)
            at = int(np.searchsorted(sequence, middle))
            head = self._totals(player, depth, state[:at], sequence[:at], weight[:at], middle)
            tail = self._totals(player, depth, state[at:], sequence[at:] - middle, weight[at:], count - middle)
            return np.concatenate([head, tail])
        ply = self.plies[depth]
        moves = ply.player[state] == player
        # A response depends on what the player observes and has done, so states with the same view and sequence share
        # an action. Each such pair is an information state of the player.
        own = np.flatnonzero(moves)
        views = int(ply.view.max()) + 1
        pairs_of = sequence[own] * views + ply.view[state[own]]
        keys, first, number = np.unique(pairs_of, return_index=True, return_inverse=True)
        actions = ply.actions[state[own[first]]]
        starts = np.cumsum(actions) - actions
        base = sequence.copy()
        base[own] = count + starts[number]
        total = count + int(actions.sum())
        # every edge of every pair
        edges = ply.edges[state]
        pair = np.repeat(np.arange(len(state)), edges)
        edge = np.repeat(ply.start[state], edges) + ranks(edges)
        moved = moves[pair]
        after = base[pair] + np.where(moved, ply.rank[edge], 0)
        # The player's own actions have no probability: all of them are tried.
        likely = weight[pair] * ply.chance[edge] * np.where(moved, 1, ply.policy[edge])
        totals = np.bincount(after, likely * ply.rewards[edge, player], total)
        child = ply.child[edge]
        goes_on = np.flatnonzero((child >= 0) & (likely > 0))
        if len(goes_on):
            # Free large arrays before the next ply.
            del pair, edge, moved
            later, weights = _merged(child[goes_on], after[goes_on], likely[goes_on])
            del child, after, likely, goes_on
            reached, renumbered = np.unique(later[1], return_inverse=True)
            totals[reached] += self._totals(player, depth + 1, later[0], renumbered, weights, len(reached))
        values = totals[:count]
        # Now that the values of the new sequences are known, each information state takes the best one.
        if len(keys):
            values += np.bincount(keys // views, np.maximum.reduceat(totals[count:], starts), count)
        return np.asarray(values)

    def _expanded(self, table: Array, policy: Callable[[State], Array]) -> tuple[StatesOfPly, Array]:
        """Return a ply of these states, and the words of the next ply's states."""
        game = self.game
        player = game.number(table, game.player_slot)
        legal = game.legal(table)[:, :: game.outcomes]
        seen = list[Packed]()
        children = list[Packed]()
        rewards = list[Array]()
        over = list[Array]()
        # Chunks bound the device memory for successors, of which each state has one per edge.
        for begin in range(0, len(table), PARENTS):
            chunk = table[begin : begin + PARENTS]
            buffers = game.upload(chunk)
            seen.append(self._views(buffers, chunk))
            for _, _, _, after in game.after(buffers, len(chunk)):
                children.append(Packed.of(list(after.T)))
                rewards.append(game.paid(after))
                over.append(game.over(after))
        same = groups(concat(seen))
        view = same.number.astype(np.int64)
        # The policy is asked about one state of each view, since it may depend on nothing else.
        chances = policy(game.state(table[same.first]))[view]
        ended = np.concatenate(over)
        # States that several edges lead to are one on the next ply.
        every = concat(children)
        goes_on = np.flatnonzero(~ended)
        child = np.full(len(ended), -1)
        later = table[:0]
        if len(goes_on):
            rest = every[goes_on]
            same = groups(rest)
            child[goes_on] = same.number
            later = np.stack(rest[same.first].columns(), axis=1)
        # A state's edges are consecutive: legal actions in order, each with all of its equally likely outcomes.
        counts = legal.sum(1)
        edges = counts * game.outcomes
        rank = ranks(edges) // game.outcomes
        chosen = chances[legal].repeat(game.outcomes)
        chance = np.full(len(ended), 1 / game.outcomes)
        starts = np.cumsum(edges) - edges
        return StatesOfPly(
            player, view, counts, starts, edges, rank, child, chance, chosen, np.concatenate(rewards)
        ), later

    def _views(self, buffers: BatchBuffers, table: Array) -> Packed:
        """Return the observation and the legal actions of the player to move in each state."""
        game = self.game
        seen = game.engine.observe(buffers, None).numpy()[: len(table)].reshape(len(table), -1)
        ply, player = (game.number(table, slot) for slot in (game.ply_slot, game.player_slot))
        return Packed.of(view_columns(ply, player, game.legal(table)[:, :: game.outcomes], seen))


def _merged(state: Array, sequence: Array, weight: Array) -> tuple[tuple[Array, Array], Array]:
    """Add up the weights of equal pairs; return the pairs in the order of sequences, and their weights."""
    states = int(state.max()) + 1
    # One integer stands for a pair, with the sequence first: results are in the order of sequences.
    key = sequence * states + state
    order = np.argsort(key)
    key = key[order]
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    key = key[starts]
    return (key % states, key // states), np.add.reduceat(weight[order], starts)
