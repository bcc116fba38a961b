"""Enumeration of the histories of a small game, and of the information states of its players."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs._runtime.progress import Reports
from tensor_envs.envs.env import Env
from tensor_envs.equilibria.ends import Ends, all_merged, merged, sorted_ends
from tensor_envs.equilibria.sequence_form import LEAF, OFFER, forms_of, ranks
from tensor_envs.equilibria.storage import GrowingTable, Storage
from tensor_envs.equilibria.tree_parts import Belief, Cut, Parts
from tensor_envs.solve.branches import PARENTS, Branches, counter
from tensor_envs.solve.packed import Array, Numbering, Packed, concat, groups, view_columns

BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1)  # number of ones in each byte


class Nodes(NamedTuple):
    """Unfinished histories of one depth.

    Attributes:
        table: words of their games, uint32 [n, words].
        chance: probability of all draws so far, float64 [n].
        paid: returns so far, float64 [n, P].
        sequence: last sequence of every player, int64 [n, P].
        number: number of what the player to move observes, and later that of its information state, int64 [n].
    """

    table: Array
    chance: Array
    paid: Array
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
            storage: place of the arrays.
            cut: depth limit; None: histories go to the end of the game.
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
        # unfinished histories of the next depth, and their views
        self.next = GrowingTable(storage)
        self.seen = Numbering()

    def built(self, progress: bool) -> Parts:
        self._first()
        depth = 0
        reports = Reports()  # stand for the bar where none is shown
        while self.next.count and (self.cut is None or depth < self.cut.depth):
            ply = self.game.ply + depth
            nodes = Nodes(*self.next.columns())
            places = self.seen.places()
            # This depth is read while the next one is written.
            seen = self.seen
            self.next = GrowingTable(self.storage)
            self.seen = Numbering()
            # Information states need numbers before their actions can extend sequences.
            first = self._number(nodes, seen.rows, places, ply)
            slices = list(self.storage.slices(len(nodes.table)))
            # The bound is checked before the histories are made, since they may not fit in memory.
            total = self.nodes + sum(int(self._counts(nodes.table[rows]).sum()) for rows in slices)
            if total > self.max_nodes:
                raise ValueError(
                    f"max_nodes must be at least {total} to hold the histories of {self.game.env!r} to ply {ply + 1}, "
                    f"got {self.max_nodes}; there are {self.nodes} to ply {ply}"
                )
            bar = counter(f"ply {ply + 1}", len(nodes.table), progress)
            for done in self._expand(nodes, first):
                bar.update(done - bar.n)
                if not progress and (seconds := reports.due()) is not None:
                    self._report(seconds, ply + 1, done / len(nodes.table))
            depth += 1
            bar.update(0, close=True)
        if self.cut is not None:
            self.cut = self._leaves(self.cut) if self.next.count else None  # all games have ended before
        return self._finished()

    def _report(self, seconds: float, ply: int, share: float) -> None:
        """Print how far the enumeration is: the share of a ply that is done."""
        whole = seconds * self.max_nodes / self.nodes
        print(
            f"enumerating {self.game.env!r}: {self.nodes:,} histories in {seconds:.0f} s, ply {ply} is {share:.0%} "
            f"done; max_nodes={self.max_nodes:,} would take about {whole:,.0f} s ...",
            file=sys.stderr,
            flush=True,
        )

    def _first(self) -> None:
        table = self.game.first_table
        weights = self.belief.weights
        # Until `_finished` numbers sequences for each player, sequence p is the empty one of player p.
        sequence = np.tile(np.arange(self.players), (len(table), 1))
        if self.belief.player >= 0:
            self._offer(table, sequence)
        # Equal first games are one history, with the sum of their probabilities.
        same = groups(Packed.of(list(table.T)))
        table = table[same.first]
        chance = np.bincount(same.number, weights)
        sequence = sequence[same.first]
        buffers = self.game.upload(table)
        if isinstance(self.game.origin, Env):
            buffers = self.game.engine.refresh(buffers)
            table = buffers.layout.download(buffers.words)[: len(table)]
        self._split(buffers, table, chance, np.zeros((len(table), self.players)), sequence)

    def _offer(self, table: Array, sequence: Array) -> None:
        """Let the belief's player end the games for its values, or play: information states of actions 0 and 1.

        sequence: that of every player in each game, which is changed in place.
        """
        weights, player, values = self.belief
        same = groups(first_views(self.game, player))
        count = len(same.starts)
        # Two sequences for each information state: play on, or end the game for its value.
        plays = self.sequences + 2 * same.number.astype(np.int64)
        ended = sequence.copy()
        ended[:, player] = plays + 1
        sequence[:, player] = plays
        # The game has zero sum: the other player pays what the belief's player gets.
        payoffs = np.where(np.arange(self.players) == player, 1, -1) * (weights * values)[:, None]
        self.ends.add(*merged(Ends(ended, weights, payoffs)))
        every = np.ones(count, np.int64)
        states = {"player": player * every, "before": player * every, "view": OFFER * every}
        self._add(states, self.game.ply, table[same.first], 2 * every, np.tile([0, 1], count))
        self.nodes += len(table)

    def _leaves(self, cut: Cut) -> Cut:
        """End histories by the values of leaves, among which the belief's player chooses by what it observes there."""
        nodes = Nodes(*self.next.columns())
        player = self.belief.player
        states = Numbering()
        numbers = list[Array]()
        for begin in range(0, len(nodes.table), PARENTS):
            table = nodes.table[begin : begin + PARENTS]
            before = nodes.sequence[begin : begin + PARENTS, player]
            # A leaf's information state is what the player observes there, and its own actions until then.
            numbers.append(states.add(Packed.of([*seen_by(self.game, table, player), before.astype(np.uint32)])))
        number = np.concatenate(numbers)
        cut = cut.with_leaves(self.game.state(nodes.table))
        every = np.ones(len(states.rows), np.int64)
        choices = cut.values.shape[1]
        for choice in range(choices):
            sequence = nodes.sequence.copy()
            # Each choice of a continuation is an action of the leaf's information state.
            sequence[:, player] = self.sequences + choices * number + choice
            paid = nodes.paid + np.where(np.arange(self.players) == player, 1, -1) * cut.values[:, choice, None]
            self.ends.add(*merged(Ends(sequence, nodes.chance, nodes.chance[:, None] * paid)))
        row = np.zeros_like(every)
        # One history represents each information state; any will do.
        row[number] = np.arange(len(number))
        columns = {"player": player * every, "before": nodes.sequence[row, player], "view": LEAF * every}
        actions = np.tile(np.arange(choices), len(every))
        self._add(columns, self.game.ply + cut.depth, nodes.table[row], choices * every, actions)
        return cut

    def _add(self, states: dict[str, Array], ply: int, words: Array, counts: Array, actions: Array) -> None:
        """Add information states of a ply with the words of a game of each, and with their actions."""
        self.depths.append(states | {"ply": np.full(len(counts), ply), "counts": counts, "actions": actions})
        self.words.add(words)
        self.sequences += len(actions)

    def _counts(self, table: Array) -> Array:
        """Return the number of legal actions in each game, int64 [n]."""
        mask = np.ascontiguousarray(table[:, self.game.layout.mask :]).view(np.uint8)
        return BITS_OF_BYTE[mask].sum(1, dtype=np.int64) // self.game.outcomes

    def _number(self, nodes: Nodes, views: Packed, places: Array, ply: int) -> Array:
        """Number the information states of a depth. Returns the first sequence of each, by the numbers in `nodes`.

        views: what the players to move observe; `places` sorts them.
        """
        game = self.game
        states = Numbering()
        firsts = list[Array]()
        # The views of all depths become one table, so their numbers go on from depth to depth.
        base = sum(map(len, self.views))
        for rows in self.storage.slices(len(nodes.table)):
            player = game.number(nodes.table[rows], game.player_slot)
            # Perfect recall: the player's sequence until here and the present view identify the information state.
            before = nodes.sequence[rows][np.arange(len(player)), player]
            num_known = len(states.rows)
            view = base + places[nodes.number[rows]]
            number = states.add(Packed.of([view.astype(np.uint32), before.astype(np.uint32)]))
            nodes.number[rows] = number
            fresh = np.empty(len(states.rows) - num_known, np.int64)
            new = np.flatnonzero(number >= num_known)[::-1]
            fresh[number[new] - num_known] = rows.start + new  # of equal indices, NumPy stores the last
            firsts.append(fresh)
        # Sorted states have the same numbers for any division into slices.
        order = np.argsort(places_of_states := states.places())
        row = np.concatenate(firsts)[order]
        view, before = (column[order].astype(np.int64) for column in states.rows.columns())
        # `places` sorts the views, and their numbers in the information states are the sorted ones.
        self.views.append(views[np.argsort(places)])
        sorted_counts = list[Array]()
        for rows in self.storage.slices(len(row)):
            table = nodes.table[row[rows]]
            legal, actions = np.nonzero(game.legal(table)[:, :: game.outcomes])
            counts = np.bincount(legal, minlength=len(table))
            if not counts.all():
                raise ValueError(f"start must be of a game in which whoever is to move can, {game.env!r} is not")
            sorted_counts.append(counts)
            columns = {"player": game.number(table, game.player_slot), "before": before[rows], "view": view[rows]}
            self._add(columns, ply, table, counts, actions)
        counts = np.concatenate(sorted_counts)
        # The sequences of this depth were added last, so the first one of each state is counted from the end.
        return (self.sequences - np.cumsum(counts[::-1])[::-1])[places_of_states]

    def _expand(self, nodes: Nodes, first: Array) -> Iterator[int]:
        """Play every legal action in the histories of a depth: the unfinished ones after it are in `next`.

        first: first sequence of each information state. Yields the number of histories that are done, part by part.
        """
        game = self.game
        for begin in range(0, len(nodes.table), PARENTS):
            part = Nodes(*(column[begin : begin + PARENTS] for column in nodes))
            player = game.number(part.table, game.player_slot)
            counts = self._counts(part.table)
            # The sequence of an edge is its state's first one plus the rank of its action.
            base = first[part.number] - (np.cumsum(counts) - counts)
            at = 0
            for parents, _, after, table in game.after(game.upload(part.table), len(part.table)):
                edges = (at + np.arange(len(parents))) // game.outcomes
                at += len(parents)
                share = np.ones(len(parents))
                # Draws with equal results are one history, with the sum of their probabilities.
                if game.outcomes > 1:
                    same = groups(Packed.of([edges.astype(np.uint32), *table.T]))
                    distinct = np.sort(same.first)
                    share = np.bincount(same.number)[same.number[distinct]] / game.outcomes
                    parents = parents[distinct]
                    edges = edges[distinct]
                    table = table[distinct]
                    after = game.gather(after, distinct)
                sequence = part.sequence[parents]
                sequence[np.arange(len(parents)), player[parents]] = base[parents] + edges
                paid = part.paid[parents] + game.paid(table)
                self._split(after, table, part.chance[parents] * share, paid, sequence)
                yield begin + int(parents[-1]) + 1

    def _split(self, buffers: BatchBuffers, table: Array, chance: Array, paid: Array, sequence: Array) -> None:
        """Add histories to the ends or to the next depth."""
        game = self.game
        over = self.game.over(table)
        self.nodes += len(table)
        if self.nodes > self.max_nodes:  # chance multiplies histories
            raise ValueError(f"max_nodes must be more than {self.max_nodes} to hold the histories of {game.env!r}")
        if over.any():
            self.ends.add(*merged(Ends(sequence[over], chance[over], chance[over, None] * paid[over])))
        live = np.flatnonzero(~over)
        if not len(live):
            return
        table = table[live]
        # Only the player to move needs a view: its information states are those that the next depth numbers.
        seen = game.engine.observe(buffers, None).numpy()[: len(over)].reshape(len(over), -1)[live]
        ply, player = (game.number(table, slot) for slot in (game.ply_slot, game.player_slot))
        views = Packed.of(view_columns(ply, player, game.legal(table)[:, :: game.outcomes], seen))
        self.next.add(table, chance[live], paid[live], sequence[live], self.seen.add(views))

    def _finished(self) -> Parts:
        """Renumber information states and sequences by player and level, and sort the ends for every player."""
        if not self.depths:
            raise ValueError(f"start must be of a game in which a player can act, got {self.game.env!r}")
        ends = all_merged(self.ends)
        states = {name: np.concatenate([depth[name] for depth in self.depths]) for name in self.depths[0]}
        player = states["player"]
        before = states["before"]
        counts = states["counts"]
        owner = np.concatenate([np.full(self.players, -1), np.repeat(np.arange(len(player)), counts)])
        level = np.zeros(len(player), np.int64)
        offset = 0
        for depth in self.depths:  # a state's sequence before it stands in an earlier depth
            here = slice(offset, offset := offset + len(depth["player"]))
            # A state is one level below the state of the sequence that leads to it.
            earlier = owner[before[here]]
            level[here] = np.where(earlier < 0, 0, level[earlier] + 1)
        # Sequence forms want the states of each player together, level by level.
        order = np.lexsort((level, player))
        firsts = self.players + np.cumsum(counts) - counts
        spread = np.repeat(firsts[order], counts[order]) + ranks(counts[order])  # old sequences in the new order
        actions = states.pop("actions")[spread - self.players]
        states = {name: column[order] for name, column in (states | {"level": level}).items()}
        sizes = np.bincount(states["player"], states["counts"], self.players).astype(np.int64)
        number = np.zeros(self.sequences, np.int64)  # number of each sequence among its player's
        # Number 0 of every player is its empty sequence.
        number[spread] = 1 + ranks(sizes)
        states["before"] = number[states["before"]]
        storage = self.storage
        (words,) = self.words.columns()
        sorted_words = storage.empty(words.shape, words.dtype, "words")
        for rows in storage.slices(len(order)):
            sorted_words[rows] = words[order[rows]]
        every = [sorted_ends(ends, p, p, number, int(size) + 1, storage, f"ends{p}_") for p, size in enumerate(sizes)]
        states |= {"actions": actions, "words": sorted_words}
        forms = forms_of(states, every, storage)
        return Parts(self.game, self.belief, states, concat(self.views), forms, self.nodes, self.cut)


def seen_by(game: Branches, table: Array, player: int) -> list[Array]:
    """Return the information visible to a player: its observation, and its legal actions where it is to move.

    The columns are 32-bit words.
    """
    mover = game.number(table, game.player_slot)
    seen = game.engine.observe(game.upload(table), player).numpy()[: len(table)].reshape(len(table), -1)
    legal = game.legal(table)[:, :: game.outcomes] & (mover == player)[:, None]
    return view_columns(game.number(table, game.ply_slot), mover, legal, seen)


def first_views(game: Branches, player: int) -> Packed:
    """Return the information visible to a player in the first games, see `seen_by`."""
    return Packed.of(seen_by(game, game.first_table, player))
