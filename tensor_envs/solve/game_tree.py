"""Game trees: all histories of a small game with the information states of its players."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs._validate import instance, integer
from tensor_envs.env import Env
from tensor_envs.solve.branches import PARENTS, Branches, counter
from tensor_envs.solve.packed import Array, Index, Packed, concat, groups
from tensor_envs.solve.sequence_form import SequenceForm, SortedEnds, ranks
from tensor_envs.state import State

MAX_NODES = 2**31 - 1
SEQUENCE_BITS = 31
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


class GameTree:
    """All histories of a game and the information states of its players, made by `te.game_tree`.

    Information states are numbered by player, then by the number of own actions before them.

    Attributes:
        env: the environment.
        nodes: number of histories; draws of chance with equal results are one.
        ends: number of finished histories that differ in the actions of the players.
        player: player to move in each information state, int32 [I].
        ply: ply of each information state, int32 [I].
        states: one history of each information state, a State of I games.

    Examples:
        >>> tree = te.game_tree(te.make("kuhn_poker"))
        >>> tree
        <GameTree of <Env kuhn_poker-v0>: 54 histories, 12 information states>
        >>> tree.legal_action_mask.sum().item()
        24
    """

    def __init__(self, game: Branches, states: dict[str, Array], views: Packed, forms: list[SequenceForm], nodes: int):
        self._game, self._views, self.forms, self.nodes = game, Index(views), forms, nodes
        self.env, self._actions, self._words = game.env, states["actions"], states["words"]
        self.player, self.ply = states["player"].astype(np.int32), states["ply"].astype(np.int32)
        self.ends = len(forms[0].ends.payoffs)
        self._view, self._before = states["view"], states["before"]
        # information states by view, then by the sequence before them
        self._by_view = np.lexsort((self._before, self._view))
        self._keys = (self._view << SEQUENCE_BITS | self._before)[self._by_view]
        owners = [np.repeat(np.arange(len(form.starts)), np.diff(form.starts, append=form.size)) for form in forms]
        offsets = np.cumsum([0, *(len(form.starts) for form in forms)])
        states_of = np.concatenate([owner + at for owner, at in zip(owners, offsets, strict=False)])
        self._cells = states_of * self.env.num_actions + self._actions  # ascending: place of each sequence in a table
        self._first = np.cumsum([0, *(form.size - 1 for form in forms)])  # first sequence of each player among all

    def __repr__(self) -> str:
        return f"<GameTree of {self.env!r}: {self.nodes} histories, {len(self)} information states>"

    def __len__(self) -> int:
        """Return the number of information states."""
        return len(self.player)

    @property
    def states(self) -> State:
        return self._game.state(self._words)

    @property
    def start(self) -> Env | State:
        """The environment or the games that the tree starts from."""
        return self._game.origin

    def is_like(self, other: GameTree) -> bool:
        """Return whether another tree is of the same game from the same start."""
        same = self.env.plays_like(other.env) and isinstance(self.start, State) == isinstance(other.start, State)
        return same and np.array_equal(self._game.first_table, other._game.first_table)

    @property
    def legal_action_mask(self) -> Array:
        """Legal actions of each information state, bool [I, A]."""
        return self.table([np.ones(form.size) for form in self.forms]) > 0

    def table(self, sequences: Sequence[Array]) -> Array:
        """Return numbers of every player's sequences, [size] each, as a table float64 [I, A]; 0 for illegal actions."""
        table = np.zeros((len(self), self.env.num_actions))
        table.ravel()[self._cells] = np.concatenate([numbers[1:] for numbers in sequences])
        return table

    def strategies(self, table: Array) -> list[Array]:
        """Return every player's strategy from a table [I, A]; the inverse of `table`."""
        return [np.append(1.0, part) for part in np.split(table.ravel()[self._cells], self._first[1:-1])]

    def find(self, state: State, before: Array | None = None) -> Array:
        """Return the information state of the player to move in each game.

        Args:
            state: games of the environment.
            before: last own sequence of the player to move, [B], or -1 where it is not known; see `sequence`.

        Returns:
            int64 [B]: its number, -1 for a game that is over or not in the tree, and -2 for one of several.

        Raises:
            TypeError, ValueError: a state of another environment.
        """
        values = self.env.check_state(state).numpy()
        found = np.full(state.batch, -1)
        live = np.flatnonzero(~(values["terminated"] | values["truncated"]))
        if not len(live):
            return found
        columns = _columns(
            values["ply"][live],
            values["current_player"][live],
            values["legal_action_mask"][live],
            self.env.observe(state).numpy().reshape(state.batch, -1)[live],
        )
        view, views = self._views.find(columns), self._keys >> SEQUENCE_BITS
        first, last = (np.searchsorted(views, view, side) for side in ("left", "right"))
        place = np.where(last - first == 1, first, -1)
        if before is not None:
            key = view << SEQUENCE_BITS | np.maximum(before[live], 0)
            at = np.minimum(np.searchsorted(self._keys, key), len(self) - 1)
            place = np.where((place < 0) & (before[live] >= 0) & (self._keys[at] == key), at, place)
        found[live] = np.where(first == last, -1, np.where(place < 0, -2, self._by_view[place]))
        return found

    def sequence(self, found: Array, action: Array) -> Array:
        """Return the player's sequence after an action in each information state of `find`, int64 [B]; -1 for none."""
        cells = found * self.env.num_actions + action
        at = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        known = (found >= 0) & (self._cells[at] == cells)
        return np.where(known, at - self._first[self.player[np.maximum(found, 0)]] + 1, -1)


def game_tree(start: Env | State, max_nodes: int = 10_000_000, progress: bool = False) -> GameTree:
    """Enumerate all histories of a game, and the information states of its players.

    A player knows, at each own turn, the ply, its observation and its legal actions there, those of its earlier turns,
    and its own actions (perfect recall). Draws of chance are taken with their probabilities, at the start and within
    steps; draws with equal results are one history.

    While the tree is made, an unfinished history takes the bytes of a state (`Env.state_bytes`) and about 100 more;
    after that, the tree takes 8 P (P + 1) bytes for each end, and a state for each information state.

    Args:
        start: an environment, or games of one environment at the same ply, all equally likely, about which the players
            know nothing but what they observe from then on. Equal games add up, so that a belief with other weights is
            a State in which likelier games stand more often.
        max_nodes: upper bound for the number of histories, checked before each ply is played.
        progress: show a progress bar on stderr.

    Returns:
        The tree, for `te.equilibrium`, `te.exploitability` and `te.best_response`.

    Raises:
        TypeError, ValueError: another start; a game with more histories, or with chance that cannot be counted, such as
            draws of whole words.

    Examples:
        >>> te.game_tree(te.make("leduc_poker"))
        <GameTree of <Env leduc_poker-v0>: 10200 histories, 936 information states>
    """
    max_nodes = integer("max_nodes", max_nodes, 1, MAX_NODES)
    instance("progress", progress, bool)
    return _Builder(Branches(start), max_nodes).built(progress)


class _Builder:
    """Enumeration of a tree, breadth first."""

    def __init__(self, game: Branches, max_nodes: int):
        self.game, self.max_nodes, self.players = game, max_nodes, game.spec.num_players
        self.nodes = 0
        self.ends: list[Ends] = []
        self.views: list[Packed] = []
        self.found: list[dict[str, Array]] = []  # information states of each depth
        self.sequences = self.players  # of all players so far; the first ones are empty

    def built(self, progress: bool) -> GameTree:
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
        table, count = self.game.first_table, len(self.game.first_table)
        same = groups(Packed.of(list(table.T)))
        table, chance = table[same.first], np.bincount(same.number) / count
        buffers = self.game.upload(table)
        if isinstance(self.game.origin, Env):
            buffers = self.game.engine.refresh(buffers)
            table = buffers.layout.table(buffers.words)[: len(table)]
        sequence = np.tile(np.arange(self.players), (len(table), 1))
        return self._joined([self._split(buffers, table, chance, np.zeros((len(table), self.players)), sequence)])

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
        views = Packed.of(_columns(ply, player, game.legal(table)[:, :: game.outcomes], seen))
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

    def _finished(self) -> GameTree:
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
        return GameTree(self.game, states | {"actions": actions}, concat(self.views), forms, self.nodes)


def _merged(ends: Ends) -> Ends:
    """Merge ends with equal sequences of all players."""
    same = groups(Packed.of(list(ends.sequence.T.astype(np.uint32))))
    sums = (np.add.reduceat(column[same.order], same.starts, axis=0) for column in ends[1:])
    return Ends(ends.sequence[same.order[same.starts]], *sums)


def _columns(ply: Array, player: Array, legal: Array, observation: Array) -> list[Array]:
    """Return what players to move know of the present as columns of 32-bit words."""
    if observation.dtype != bool:
        observation = np.ascontiguousarray(observation + 0).view(np.uint8).reshape(len(ply), -1)  # -0.0 is 0.0
        packed = observation
    else:
        packed = np.packbits(observation, axis=1, bitorder="little")
    bits = np.concatenate([np.packbits(legal, axis=1, bitorder="little"), packed], axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 4)))
    words = np.ascontiguousarray(bits).view("<u4")
    return [ply.astype(np.uint32), player.astype(np.uint32), *words.T]
