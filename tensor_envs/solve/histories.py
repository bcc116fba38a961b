"""Enumeration of the histories of a small game, and of the information states of its players."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs.env import Env
from tensor_envs.solve.branches import PARENTS, Branches, counter
from tensor_envs.solve.packed import Array, Packed, concat, groups, view_columns
from tensor_envs.solve.sequence_form import OFFER, Belief, Parts, SequenceForm, SortedEnds, ranks

BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1)  # of each byte


class Nodes(NamedTuple):
    """Unfinished histories of one depth.

    Attributes:
        table: words of their games, uint32 [n, words].
        chance: probability of all draws so far, float64 [n].
        paid: returns so far, float64 [n, P].
        sequence: last sequence of every player, int64 [n, P].
        view: what the player to move observes, a number, int64 [n].
    """

    table: Array
    chance: Array
    paid: Array
    sequence: Array
    view: Array


class Ends(NamedTuple):
    """Finished histories by the last sequences of all players.

    Attributes:
        sequence: int64 [n, P].
        chance: probability of the draws, float64 [n].
        payoffs: returns times that probability, float64 [n, P].
    """

    sequence: Array
    chance: Array
    payoffs: Array


class Histories:
    """Enumeration of a tree, breadth first."""

    def __init__(self, game: Branches, max_nodes: int, belief: Belief):
        self.game, self.max_nodes, self.players = game, max_nodes, game.spec.num_players
        self.belief = belief
        self.nodes = 0
        self.ends: list[Ends] = []
        self.views: list[Packed] = []
        self.found: list[dict[str, Array]] = []  # information states of each depth
        self.sequences = self.players  # of all players so far; the first ones are empty

    def built(self, progress: bool) -> Parts:
        nodes, depth = self._first(), 0
        while len(nodes.table):
            ply = self.game.ply + depth
            info, first = self._number(nodes, ply)
            counts = self._counts(nodes.table)
            if (total := self.nodes + int(counts.sum())) > self.max_nodes:
                raise ValueError(
                    f"max_nodes must be at least {total} to hold the histories of {self.game.env!r} to ply {ply + 1}, "
                    f"got {self.max_nodes}; there are {self.nodes} to ply {ply}"
                )
            bar = counter(f"ply {ply + 1}", len(nodes.table), progress)
            nodes, depth = self._next(nodes, first[info], counts, bar), depth + 1
            bar.update(0, close=True)
        return self._finished()

    def _first(self) -> Nodes:
        table, weights = self.game.first_table, self.belief.weights
        sequence = np.tile(np.arange(self.players), (len(table), 1))
        if self.belief.player >= 0:
            self._offer(table, sequence)
        same = groups(Packed.of(list(table.T)))
        table, chance = table[same.first], np.bincount(same.number, weights)
        sequence = sequence[same.first]
        buffers = self.game.upload(table)
        if isinstance(self.game.origin, Env):
            buffers = self.game.engine.refresh(buffers)
            table = buffers.layout.table(buffers.words)[: len(table)]
        return self._joined([self._split(buffers, table, chance, np.zeros((len(table), self.players)), sequence)])

    def _offer(self, table: Array, sequence: Array) -> None:
        """Let the belief's player end the games for its values, or play: information states of actions 0 and 1.

        sequence: that of every player in each game, which is changed in place.
        """
        weights, player, values = self.belief
        same = groups(first_views(self.game, player))
        count, plays = len(same.starts), self.sequences + 2 * same.number.astype(np.int64)
        ended = sequence.copy()
        ended[:, player], sequence[:, player] = plays + 1, plays
        payoffs = np.where(np.arange(self.players) == player, 1, -1) * (weights * values)[:, None]
        self.ends.append(_merged(Ends(ended, weights, payoffs)))
        numbers = {"player": player, "before": player, "counts": 2, "view": OFFER, "ply": self.game.ply}
        columns = {name: np.full(count, number) for name, number in numbers.items()}
        self.found.append(columns | {"words": table[same.first], "actions": np.tile([0, 1], count)})
        self.sequences += 2 * count
        self.nodes += len(table)

    def _counts(self, table: Array) -> Array:
        """Return the number of legal actions in each game, int64 [n]."""
        mask = np.ascontiguousarray(table[:, self.game.layout.mask :]).view(np.uint8)
        return BITS[mask].sum(1, dtype=np.int64) // self.game.outcomes

    def _next(self, nodes: Nodes, first: Array, counts: Array, bar: Any) -> Nodes:
        """Return the unfinished histories one ply later, and keep the finished ones.

        first: number of the sequence of the first legal action in each history.
        """
        game, parts, offsets = self.game, list[tuple[Nodes, Packed | None]](), np.cumsum(counts) - counts
        player = game.number(nodes.table, game.player_slot)
        for begin in range(0, len(nodes.table), PARENTS):
            chunk = nodes.table[begin : begin + PARENTS]
            at = int(offsets[begin]) * game.outcomes
            for rows, _, after, table in game.after(game.upload(chunk), len(chunk)):
                parents, edges = rows + begin, (at + np.arange(len(rows))) // game.outcomes
                at += len(rows)
                share = np.ones(len(rows))
                if game.outcomes > 1:  # draws with equal results
                    same = groups(Packed.of([edges.astype(np.uint32), *table.T]))
                    kept = np.sort(same.first)
                    share = np.bincount(same.number)[same.number[kept]] / game.outcomes
                    parents, edges, table, after = parents[kept], edges[kept], table[kept], game.gather(after, kept)
                sequence = nodes.sequence[parents]
                sequence[np.arange(len(parents)), player[parents]] = first[parents] + edges - offsets[parents]
                paid = nodes.paid[parents] + game.paid(table)
                parts.append(self._split(after, table, nodes.chance[parents] * share, paid, sequence))
                bar.update(int(parents[-1]) + 1 - bar.n)
        return self._joined(parts)

    def _split(
        self, buffers: BatchBuffers, table: Array, chance: Array, paid: Array, sequence: Array
    ) -> tuple[Nodes, Packed | None]:
        """Keep the finished histories. Returns the others, with their views among the different ones of this part."""
        game, over = self.game, self.game.over(table)
        self.nodes += len(table)
        if self.nodes > self.max_nodes:  # chance has added to them
            raise ValueError(f"max_nodes must be more than {self.max_nodes} to hold the histories of {game.env!r}")
        if over.any():
            self.ends.append(_merged(Ends(sequence[over], chance[over], chance[over, None] * paid[over])))
        live = np.flatnonzero(~over)
        if not len(live):
            return Nodes(table[:0], chance[:0], paid[:0], sequence[:0], np.zeros(0, np.int64)), None
        table = table[live]
        seen = game.engine.observe(buffers, None).numpy()[: len(over)].reshape(len(over), -1)[live]
        ply, player = (game.number(table, slot) for slot in (game.ply_slot, game.player_slot))
        views = Packed.of(view_columns(ply, player, game.legal(table)[:, :: game.outcomes], seen))
        same = groups(views)
        return Nodes(table, chance[live], paid[live], sequence[live], same.number), views[same.first]

    def _joined(self, parts: list[tuple[Nodes, Packed | None]]) -> Nodes:
        """Concatenate the parts of a depth, and number their views among all views."""
        nodes = [part for part, views in parts if views is not None]
        if not nodes:
            return parts[0][0]
        views = [views for _, views in parts if views is not None]
        whole, offset = concat(views), 0
        same = groups(whole)
        number, base = same.number.astype(np.int64), sum(map(len, self.views))
        for k, part in enumerate(nodes):
            nodes[k] = part._replace(view=base + number[offset + part.view])
            offset += len(views[k])
        self.views.append(whole[same.first])
        return Nodes(*(np.concatenate(columns) for columns in zip(*nodes, strict=True)))

    def _number(self, nodes: Nodes, ply: int) -> tuple[Array, Array]:
        """Number the information states of a depth. Returns that of each history, and their first sequences."""
        game = self.game
        player = game.number(nodes.table, game.player_slot)
        before = nodes.sequence[np.arange(len(player)), player]
        same = groups(Packed.of([nodes.view.astype(np.uint32), before.astype(np.uint32)]))
        table, player, before = (column[same.first] for column in (nodes.table, player, before))
        states, actions = np.nonzero(game.legal(table)[:, :: game.outcomes])
        counts = np.bincount(states, minlength=len(table))
        first = self.sequences + np.cumsum(counts) - counts
        self.sequences += len(actions)
        columns = {"player": player, "before": before, "counts": counts, "view": nodes.view[same.first], "words": table}
        self.found.append(columns | {"ply": np.full(len(table), ply), "actions": actions})
        return same.number, first

    def _finished(self) -> Parts:
        """Renumber information states and sequences by player and level, and sort the ends for every player."""
        ends = _merged(Ends(*(np.concatenate(columns) for columns in zip(*self.ends, strict=True))))
        if not self.found:
            raise ValueError(f"start must be of a game in which a player can act, got {self.game.env!r}")
        states = {name: np.concatenate([depth[name] for depth in self.found]) for name in self.found[0]}
        player, before, counts = states["player"], states["before"], states["counts"]
        owner = np.concatenate([np.full(self.players, -1), np.repeat(np.arange(len(player)), counts)])
        level = np.zeros(len(player), np.int64)
        offset = 0
        for depth in self.found:  # a state's sequence before it stands in an earlier depth
            here = slice(offset, offset := offset + len(depth["player"]))
            earlier = owner[before[here]]
            level[here] = np.where(earlier < 0, 0, level[earlier] + 1)
        order, firsts = np.lexsort((level, player)), self.players + np.cumsum(counts) - counts
        spread = np.repeat(firsts[order], counts[order]) + ranks(counts[order])  # old sequences in the new order
        actions = states.pop("actions")[spread - self.players]
        states = {name: column[order] for name, column in states.items()}
        level, counts = level[order], counts[order]
        sizes = np.bincount(states["player"], counts, self.players).astype(np.int64)
        number = np.zeros(self.sequences, np.int64)  # of each sequence, among its player's
        number[spread] = 1 + ranks(sizes)
        states["before"] = number[states["before"]]
        forms = []
        for p in range(self.players):
            mine = states["player"] == p
            depths = np.bincount(level[mine]).tolist() if mine.any() else []
            own = number[ends.sequence[:, p]]
            by_own = np.argsort(own, kind="stable")
            others = np.stack([number[ends.sequence[by_own, q]] for q in range(self.players) if q != p] or [own[:0]])
            sequences, starts = np.unique(own[by_own], return_index=True)
            own_ends = SortedEnds(
                sequences, starts, others[: self.players - 1], ends.chance[by_own], ends.payoffs[by_own, p]
            )
            forms.append(SequenceForm(p, depths, states["before"][mine], counts[mine], own_ends))
        return Parts(self.game, self.belief, states | {"actions": actions}, concat(self.views), forms, self.nodes)


def first_views(game: Branches, player: int) -> Packed:
    """Return what a player observes in the first games, and what is legal where it is to move."""
    table = game.first_table
    mover = game.number(table, game.player_slot)
    seen = game.engine.observe(game.upload(table), player).numpy()[: len(table)].reshape(len(table), -1)
    legal = game.legal(table)[:, :: game.outcomes] & (mover == player)[:, None]
    return Packed.of(view_columns(game.number(table, game.ply_slot), mover, legal, seen))


def _merged(ends: Ends) -> Ends:
    """Merge ends with equal sequences of all players."""
    same = groups(Packed.of(list(ends.sequence.T.astype(np.uint32))))
    sums = (np.add.reduceat(column[same.order], same.starts, axis=0) for column in ends[1:])
    return Ends(ends.sequence[same.order[same.starts]], *sums)
