"""Enumeration of the histories of a small game, and of the information states of its players."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs._runtime.progress import Reports
from tensor_envs.envs.env import Env
from tensor_envs.equilibria.ends import Ends, merge, merge_table, sorted_ends
from tensor_envs.equilibria.sequence_form import LEAF, OFFER, forms_of, ranks
from tensor_envs.equilibria.storage import GrowingTable, Storage
from tensor_envs.equilibria.tree_parts import Belief, Cut, Parts
from tensor_envs.solve.branches import PARENTS, Branches, progress_bar
from tensor_envs.solve.packed import Array, Numbering, Packed, concat, groups

BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1)  # number of ones in each byte


class Nodes(NamedTuple):
    """Unfinished histories of one depth.

    Attributes:
        table: words of their games, uint32 [n, words].
        chance: probability of all draws so far, float64 [n].
        returns: returns so far, float64 [n, P].
        sequence: last sequence of every player, int64 [n, P].
        number: number of the player to move's view, which `_number` replaces by that of its information state,
            int64 [n].
    """

    table: Array
    chance: Array
    returns: Array
    sequence: Array
    number: Array


class Histories:
    """Enumeration of a tree, breadth first."""

    def __init__(self, game: Branches, max_nodes: int, belief: Belief, storage: Storage, cut: Cut | None = None):
        """Prepare an enumeration.

        Args:
            game: the game.
            max_nodes: upper bound for the number of histories.
            belief: the games at the start.
            storage: memory or files for the arrays.
            cut: depth limit; None for histories to the end of the game.
        """
        self.game = game
        self.max_nodes = max_nodes
        self.players = game.spec.num_players
        self.belief = belief
        self.storage = storage
        self.cut = cut
        self.nodes = 0
        self.ends = GrowingTable(storage)
        self.words = GrowingTable(storage)
        self.views: list[Packed] = []
        self.depths: list[dict[str, Array]] = []  # information states of each depth, but for the words of their games
        self.sequences = self.players  # number of all players' sequences so far; the first of each player is empty
        # unfinished histories of the next depth, and the different views of their players to move
        self.next = GrowingTable(storage)
        self.next_views = Numbering()

    def build(self, progress: bool) -> Parts:
        """Enumerate all histories, depth by depth, and return the parts of the tree."""
        self._add_start()
        depth = 0
        reports = Reports()  # instead of the bar if none is shown
        while self.next.count and (self.cut is None or depth < self.cut.depth):
            ply = self.game.ply + depth
            nodes = Nodes(*self.next.columns())
            views = self.next_views
            # This depth is read while the next one is written.
            self.next = GrowingTable(self.storage)
            self.next_views = Numbering()
            # Information states need numbers before their actions can extend sequences.
            first = self._number(nodes, views, ply)
            slices = list(self.storage.slices(len(nodes.table)))
            # The bound is checked before the histories are made, since they may not fit in memory.
            total = self.nodes + sum(int(self._counts(nodes.table[rows]).sum()) for rows in slices)
            if total > self.max_nodes:
                raise ValueError(
                    f"max_nodes must be at least {total} to hold the histories of {self.game.env!r} to ply {ply + 1}, "
                    f"got {self.max_nodes}; there are {self.nodes} to ply {ply}"
                )
            bar = progress_bar(f"ply {ply + 1}", len(nodes.table), progress)
            for expanded in self._expand(nodes, first):
                bar.update(expanded - bar.n)
                if not progress and (seconds := reports.due()) is not None:
                    self._report(seconds, ply + 1, expanded / len(nodes.table))
            depth += 1
            bar.update(0, close=True)
        # There are no leaves if all games have ended before the depth limit.
        if self.cut is not None:
            self.cut = self._add_leaves(self.cut) if self.next.count else None
        return self._finish()

    def _report(self, seconds: float, ply: int, share: float) -> None:
        """Print the progress of the enumeration, of which a share of a ply is done."""
        limit_seconds = seconds * self.max_nodes / self.nodes
        print(
            f"enumerating {self.game.env!r}: {self.nodes:,} histories in {seconds:.0f} s, ply {ply} is {share:.0%} "
            f"done; max_nodes={self.max_nodes:,} would take about {limit_seconds:,.0f} s ...",
            file=sys.stderr,
            flush=True,
        )

    def _add_start(self) -> None:
        """Add the first games, and the offers to end them if a player has them."""
        table = self.game.first_table
        weights = self.belief.weights
        # Until `_finish` numbers sequences for each player, sequence p is the empty one of player p.
        sequence = np.tile(np.arange(self.players), (len(table), 1))
        if self.belief.player >= 0:
            self._add_offers(table, sequence)
        # Equal first games are one history, with the sum of their probabilities.
        equal = groups(Packed.of(list(table.T)))
        table = table[equal.first]
        chance = np.bincount(equal.number, weights)
        sequence = sequence[equal.first]
        buffers = self.game.upload(table)
        if isinstance(self.game.origin, Env):
            buffers = self.game.engine.refresh(buffers)
            table = buffers.layout.download(buffers.words)[: len(table)]
        self._add_histories(buffers, table, chance, np.zeros((len(table), self.players)), sequence)

    def _add_offers(self, table: Array, sequence: Array) -> None:
        """Add information states in which the belief's player begins a game (action 0) or ends it for its value (1).

        Args:
            table: words of the first games, uint32 [n, words].
            sequence: sequence of every player in each game, int64 [n, P], extended in place by action 0.
        """
        weights, player, values = self.belief
        # Games with the same view are one information state.
        equal = groups(views_of_start(self.game, player))
        count = len(equal.starts)
        begins = self.sequences + 2 * equal.number.astype(np.int64)
        declined = sequence.copy()
        declined[:, player] = begins + 1
        sequence[:, player] = begins
        # The game has zero sum: the other player pays what the belief's player gets.
        payoffs = np.where(np.arange(self.players) == player, 1, -1) * (weights * values)[:, None]
        self.ends.add(*merge(Ends(declined, weights, payoffs)))
        ones = np.ones(count, np.int64)
        states = {"player": player * ones, "before": player * ones, "view": OFFER * ones}
        self._add_states(states, self.game.ply, table[equal.first], 2 * ones, np.tile([0, 1], count))
        self.nodes += len(table)

    def _add_leaves(self, cut: Cut) -> Cut:
        """End the histories at the depth limit: the belief's player chooses among the values of each leaf.

        Returns the limit with the values of the leaves.
        """
        nodes = Nodes(*self.next.columns())
        player = self.belief.player
        states = Numbering()
        numbers = list[Array]()
        for begin in range(0, len(nodes.table), PARENTS):
            table = nodes.table[begin : begin + PARENTS]
            before = nodes.sequence[begin : begin + PARENTS, player]
            # A leaf's information state is what the player observes there, and its own actions until then.
            view = self.game.view_columns(self.game.upload(table), table, player)
            numbers.append(states.add(Packed.of([*view, before.astype(np.uint32)])))
        number = np.concatenate(numbers)
        cut = cut.with_leaves(self.game.state(nodes.table))
        choices = cut.values.shape[1]
        for choice in range(choices):
            sequence = nodes.sequence.copy()
            # Each choice of a continuation is an action of the leaf's information state.
            sequence[:, player] = self.sequences + choices * number + choice
            returns = nodes.returns + np.where(np.arange(self.players) == player, 1, -1) * cut.values[:, choice, None]
            self.ends.add(*merge(Ends(sequence, nodes.chance, nodes.chance[:, None] * returns)))
        ones = np.ones(len(states.rows), np.int64)
        row = np.zeros_like(ones)
        # Any history of an information state can represent it.
        row[number] = np.arange(len(number))
        columns = {"player": player * ones, "before": nodes.sequence[row, player], "view": LEAF * ones}
        actions = np.tile(np.arange(choices), len(ones))
        self._add_states(columns, self.game.ply + cut.depth, nodes.table[row], choices * ones, actions)
        return cut

    def _add_states(self, states: dict[str, Array], ply: int, words: Array, counts: Array, actions: Array) -> None:
        """Add information states of a ply.

        Args:
            states: columns "player", "before" (sequence before the state) and "view", int64 [n] each.
            ply: the ply.
            words: words of a game of each state, uint32 [n, words].
            counts: number of actions of each state, int64 [n].
            actions: actions of all states, int64 [sum of counts].
        """
        self.depths.append(states | {"ply": np.full(len(counts), ply), "counts": counts, "actions": actions})
        self.words.add(words)
        self.sequences += len(actions)

    def _counts(self, table: Array) -> Array:
        """Return the number of legal actions in each game, int64 [n]."""
        mask = np.ascontiguousarray(table[:, self.game.layout.mask :]).view(np.uint8)
        return BITS_OF_BYTE[mask].sum(1, dtype=np.int64) // self.game.outcomes

    def _number(self, nodes: Nodes, views: Numbering, ply: int) -> Array:
        """Add the information states of a depth, and replace `nodes.number` by the number of each history's state.

        Args:
            nodes: histories of the depth.
            views: different views of the players to move.
            ply: ply of the histories.

        Returns:
            The first sequence of each information state, by these numbers, int64 [states].
        """
        game = self.game
        states = Numbering()
        first_rows = list[Array]()
        # Views are stored in sorted order. Those of all depths become one table, so their numbers continue.
        view_ranks = views.ranks()
        num_views = sum(map(len, self.views))
        self.views.append(views.rows[np.argsort(view_ranks)])
        for rows in self.storage.slices(len(nodes.table)):
            player = game.players(nodes.table[rows])
            # Perfect recall: the player's sequence until here and the present view identify the information state.
            before = nodes.sequence[rows][np.arange(len(player)), player]
            view = num_views + view_ranks[nodes.number[rows]]
            num_known = len(states.rows)
            number = states.add(Packed.of([view.astype(np.uint32), before.astype(np.uint32)]))
            nodes.number[rows] = number
            # Find the first history of each new state: of equal indices, NumPy stores the last.
            new = np.flatnonzero(number >= num_known)[::-1]
            first_row = np.empty(len(states.rows) - num_known, np.int64)
            first_row[number[new] - num_known] = rows.start + new
            first_rows.append(first_row)
        # Sorted states have the same numbers for any division into slices.
        state_ranks = states.ranks()
        order = np.argsort(state_ranks)
        row = np.concatenate(first_rows)[order]
        view, before = (column[order].astype(np.int64) for column in states.rows.columns())
        sorted_counts = list[Array]()
        for rows in self.storage.slices(len(row)):
            table = nodes.table[row[rows]]
            state, actions = np.nonzero(game.legal_actions(table))
            counts = np.bincount(state, minlength=len(table))
            if not counts.all():
                raise ValueError(f"start must be of a game in which whoever is to move can, {game.env!r} is not")
            sorted_counts.append(counts)
            columns = {"player": game.players(table), "before": before[rows], "view": view[rows]}
            self._add_states(columns, ply, table, counts, actions)
        counts = np.concatenate(sorted_counts)
        # The sequences of this depth were added last, so the first one of each state is counted from the end.
        return (self.sequences - np.cumsum(counts[::-1])[::-1])[state_ranks]

    def _expand(self, nodes: Nodes, first: Array) -> Iterator[int]:
        """Play every legal action in the histories of a depth, and add the histories after them.

        Args:
            nodes: histories of the depth.
            first: first sequence of each information state, int64 [states].

        Yields:
            The number of histories that are expanded, after each part.
        """
        game = self.game
        for begin in range(0, len(nodes.table), PARENTS):
            part = Nodes(*(column[begin : begin + PARENTS] for column in nodes))
            player = game.players(part.table)
            counts = self._counts(part.table)
            # The sequence of an edge is its state's first one plus the rank of its action.
            base = first[part.number] - (np.cumsum(counts) - counts)
            num_edges = 0
            for parents, _, after, table in game.play_all(game.upload(part.table), len(part.table)):
                actions = (num_edges + np.arange(len(parents))) // game.outcomes  # numbered in this part
                num_edges += len(parents)
                share = np.ones(len(parents))
                # Draws with equal results are one history, with the sum of their probabilities.
                if game.outcomes > 1:
                    equal = groups(Packed.of([actions.astype(np.uint32), *table.T]))
                    distinct = np.sort(equal.first)
                    share = np.bincount(equal.number)[equal.number[distinct]] / game.outcomes
                    parents = parents[distinct]
                    actions = actions[distinct]
                    table = table[distinct]
                    after = game.gather(after, distinct)
                sequence = part.sequence[parents]
                sequence[np.arange(len(parents)), player[parents]] = base[parents] + actions
                returns = part.returns[parents] + game.rewards(table)
                self._add_histories(after, table, part.chance[parents] * share, returns, sequence)
                yield begin + int(parents[-1]) + 1

    def _add_histories(
        self, buffers: BatchBuffers, table: Array, chance: Array, returns: Array, sequence: Array
    ) -> None:
        """Add finished histories to the ends, and the others to the next depth.

        Args:
            buffers: batch of the games.
            table: words of the games without padding, uint32 [n, words].
            chance, returns, sequence: columns of `Nodes`.
        """
        game = self.game
        over = game.is_over(table)
        self.nodes += len(table)
        if self.nodes > self.max_nodes:  # chance multiplies histories
            raise ValueError(f"max_nodes must be more than {self.max_nodes} to hold the histories of {game.env!r}")
        if over.any():
            self.ends.add(*merge(Ends(sequence[over], chance[over], chance[over, None] * returns[over])))
        live = np.flatnonzero(~over)
        if not len(live):
            return
        # Only the player to move needs a view: its information states are those that the next depth numbers.
        views = Packed.of([column[live] for column in game.view_columns(buffers, table)])
        self.next.add(table[live], chance[live], returns[live], sequence[live], self.next_views.add(views))

    def _finish(self) -> Parts:
        """Renumber information states and sequences by player and level, and sort the ends for every player."""
        if not self.depths:
            raise ValueError(f"start must be of a game in which a player can act, got {self.game.env!r}")
        ends = merge_table(self.ends)
        states = {name: np.concatenate([depth[name] for depth in self.depths]) for name in self.depths[0]}
        player = states["player"]
        before = states["before"]
        counts = states["counts"]
        # Find the state of each sequence, -1 for the empty ones, and from it the level of each state.
        owner = np.concatenate([np.full(self.players, -1), np.repeat(np.arange(len(player)), counts)])
        level = np.zeros(len(player), np.int64)
        offset = 0
        for depth in self.depths:
            rows = slice(offset, offset := offset + len(depth["player"]))
            # A state is one level below the state of the sequence before it, which belongs to an earlier depth.
            earlier = owner[before[rows]]
            level[rows] = np.where(earlier < 0, 0, level[earlier] + 1)
        # Sequence forms have the states of each player together, level by level.
        order = np.lexsort((level, player))
        first = self.players + np.cumsum(counts) - counts
        old_sequences = np.repeat(first[order], counts[order]) + ranks(counts[order])  # in the new order
        actions = states.pop("actions")[old_sequences - self.players]
        states = {name: column[order] for name, column in (states | {"level": level}).items()}
        sizes = np.bincount(states["player"], states["counts"], self.players).astype(np.int64)
        # Sequences are numbered for each player. Number 0 is its empty sequence.
        number = np.zeros(self.sequences, np.int64)
        number[old_sequences] = 1 + ranks(sizes)
        states["before"] = number[states["before"]]
        storage = self.storage
        (words,) = self.words.columns()
        sorted_words = storage.empty(words.shape, words.dtype, "words")
        for rows in storage.slices(len(order)):
            sorted_words[rows] = words[order[rows]]
        players_ends = [
            sorted_ends(ends, p, p, number, int(size) + 1, storage, f"ends{p}_") for p, size in enumerate(sizes)
        ]
        states |= {"actions": actions, "words": sorted_words}
        forms = forms_of(states, players_ends, storage)
        return Parts(self.game, self.belief, states, concat(self.views), forms, self.nodes, self.cut)


def views_of_start(game: Branches, player: int) -> Packed:
    """Return the information visible to a player in the first games."""
    table = game.first_table
    return Packed.of(game.view_columns(game.upload(table), table, player))
