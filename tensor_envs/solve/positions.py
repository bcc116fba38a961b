"""Positions of a game, and those that one action leads to, many at once: by the environment's own kernels."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from tinygrad.helpers import tqdm

from tensor_envs._compiler.devices import resolve
from tensor_envs._compiler.threads import num_threads
from tensor_envs._engine.batch_layout import LANES, BatchBuffers, batch_layout
from tensor_envs._engine.engine import Engine
from tensor_envs._engine.inputs import int_array
from tensor_envs._engine.layout import FLAGS, Slot
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs._validate import wrong_type
from tensor_envs.env import Env
from tensor_envs.solve.outcomes import Explicit, facts, first_states
from tensor_envs.solve.packed import Array, Groups, Packed, concat, groups
from tensor_envs.state import State

MAX_DEPTH = 2**31 - 1
PARENTS, EDGES = 1 << 16, 1 << 18  # at once
STEP = EDGES // 8  # between the sizes of large batches
CHUNK = 1 << 14  # rows whose images are worked out at once: they stay in cache
PLAYER_BITS = 12


class Positions(NamedTuple):
    """Different positions.

    Attributes:
        keys: what tells them from each other.
        fields: of each, or of another one that is the same up to symmetry; more words may follow.
        results: uint16 [n]: 0 for a game that goes on, else 1 + its place in the expander's results.
        orbits: uint16 [n]: how many positions are the same up to symmetry.
    """

    keys: Packed
    fields: Packed
    results: Array
    orbits: Array

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Array) -> Positions:
        fields = self.fields[rows]
        keys = fields if self.keys is self.fields else self.keys[rows]
        return Positions(keys, fields, self.results[rows], self.orbits[rows])


class Rows(NamedTuple):
    """Games of a batch: the words that tell positions from each other, results as in `Positions`, and plies."""

    columns: list[Array]
    results: Array
    plies: Array


class Children(NamedTuple):
    """What some edges lead to: `parents` and `number` int32 [edges], from which position to which of `positions`."""

    parents: Array
    number: Array
    positions: Positions


class Expander:
    """Plays every legal action in many positions.

    Attributes:
        begun, symmetry: as given.
        start: the first positions, all equally likely, as children of no parents: an edge each.
        ply: theirs.
        results: what the players got at the end of games, each once.
        paid_early: whether an action that did not end its game has paid.
        by_ply: whether a position at another ply is another position.
        outcomes: of the chance in a step; an action is as many edges, one after the other.
    """

    def __init__(self, start: Env | State, symmetry: bool, count_plies: bool):
        """count_plies: whether the ply is part of every position, even if the rules do not look at it.

        TypeError or ValueError for what cannot be searched.
        """
        if not isinstance(start, (Env, State)):
            raise wrong_type("start", "an Env or a State", start)
        env = start if isinstance(start, Env) else start.env
        if not env.spec.perfect_information:
            raise ValueError(f"start must be of a game that hides nothing; {env!r} has hidden information")
        if env.engine.game.has_memory:
            raise ValueError(f"start must be of a game that can be searched, {env!r} is too large")
        device = resolve(None) if isinstance(start, Env) else start.device
        if not isinstance(device, str):
            raise ValueError(f"start must be on one device, got {device}")
        try:
            self.outcomes, looks_at_ply = facts(env.rules)
            first = list(first_states(env.rules)) if isinstance(start, Env) else []
        except ValueError as error:
            raise ValueError(f"start must be of a game whose chance can be counted: {error}") from None
        self.env, self.device, self.by_ply = env, device, looks_at_ply or count_plies
        self.engine = Engine(Explicit(env.rules, self.outcomes)) if env.spec.chance else env.engine
        self.layout, self.spec = self.engine.layout, self.engine.spec
        self.results: list[tuple[float, ...]] = []
        self.paid_early = False
        self._kept = np.full(self.layout.field_words, 0xFFFFFFFF, np.uint32)
        for name in ("ply", "episode"):
            (slot,) = self.layout.slots[name]
            self._kept[slot.word] &= 0xFFFFFFFF ^ ((1 << slot.width) - 1) << slot.shift
        self._ply, self._player = (self.layout.slots[name][0] for name in ("ply", "current_player"))
        table = self._first(start, first)
        games, self.ply = self._load(table), int(self._number(table, self._ply)[0])
        self._images: list[Array] = []
        if symmetry and self.spec.observation_dtype == "bool":
            seen, maps = self._seen(games), [np.array(s.observation) for s in env.symmetries()]
            # that leave the start as it is: the others lead to positions that it does not lead to
            self._images = [images(p) for p in maps if (seen[:, p] == seen).all()]
        self.start = self._described(games, table, self._results(table), np.zeros(0, np.int32))
        self.begun, self.symmetry = start, symmetry

    # *** batches ***

    def batch(self, state: State) -> tuple[BatchBuffers, Array]:
        """A state's games as this plays them, and their words. ValueError for a state of another environment."""
        self.env.check_state(state)
        table = self._packed(state)
        return self._load(table), table

    def _first(self, start: Env | State, first: list[dict[str, Any]]) -> Array:
        """The words of the first positions; `first`: those of an environment."""
        if isinstance(start, State):
            table = self._packed(start)
        else:
            table = self.layout.pack([game | dict.fromkeys(FLAGS, False) for game in first])
        plies = self._number(table, self._ply)
        if (plies != plies[0]).any():
            raise ValueError(f"start must be games of one ply, got plies {plies.min()} to {plies.max()}")
        return table

    def _packed(self, state: State) -> Array:
        """The words of a state's games: those of its own, of a game without chance."""
        if self.engine is self.env.engine:
            return state.buffers.layout.table(state.buffers.words)
        values = state.numpy()
        names = self.layout.slots
        table = self.layout.pack(
            [{name: values[name][row].tolist() for name in names} for row in range(state.batch)]
        )
        table[:, self.layout.rewards : self.layout.mask] = values["rewards"].view(np.uint32)
        bits = np.repeat(values["legal_action_mask"], self.outcomes, axis=1)
        mask = np.zeros((len(table), 32 * self.layout.mask_words), bool)
        mask[:, : bits.shape[1]] = bits
        table[:, self.layout.mask :] = np.packbits(mask, axis=1, bitorder="little").view("<u4")
        return table

    def _number(self, table: Array, slot: Slot) -> Array:
        """int64 [rows]."""
        return (table[:, slot.word].astype(np.int64) >> slot.shift & (1 << slot.width) - 1) + slot.low

    def _load(self, table: Array) -> BatchBuffers:
        """The games of a table's rows, and then some of them again: see `room`."""
        table = np.resize(table, (room(len(table)), table.shape[1]))
        return self.engine.load(table, np.zeros((len(table), KEY_WORDS), np.uint32), self.device)

    def player(self, fields: Packed) -> Array:
        """Who is to move."""
        column = fields.columns()[self._player.word]
        return self._number(column[:, None], self._player._replace(word=0))

    def games(self, fields: Packed, ply: int) -> BatchBuffers:
        """Positions as a batch, and then some of them again: see `room`."""
        table = np.zeros((len(fields), self.layout.words), np.uint32)
        for w, column in enumerate(fields.columns()[: self.layout.field_words]):
            table[:, w] = column
        table[:, self._ply.word] |= np.uint32((ply if self.by_ply else 0) << self._ply.shift)
        return self.engine.refresh(self._load(table))

    def _take(self, games: BatchBuffers, rows: Array) -> BatchBuffers:
        """The games of some rows, and then some of them again: see `room`."""
        rows = np.resize(rows, room(len(rows)))
        return self.engine.gather(
            games, int_array("rows", rows, batch_layout(len(rows), self.device)), len(rows)
        )

    # *** what tells positions from each other ***

    def _seen(self, games: BatchBuffers) -> Array:
        """bool [rows, entries]: what the players to move see."""
        return self.engine.observe(games, None).numpy().reshape(games.batch, -1)

    def rows(self, games: BatchBuffers, table: Array) -> Rows:
        """What is to be looked up."""
        results = self._results(table)
        columns = self._canonical(games, table, results)[0] if self._images else self._words(table, results)
        return Rows(columns, results, self._number(table, self._ply))

    def _words(self, table: Array, results: Array) -> list[Array]:
        """Of fields; the last one is that of the result."""
        return [*(table[:, w] & kept for w, kept in enumerate(self._kept)), results.astype(np.uint32)]

    def _canonical(self, games: BatchBuffers, table: Array, results: Array) -> tuple[list[Array], Array]:
        """Of the least of all images of what is seen, then of player and result; and the sizes of orbits."""
        smallest, orbits = canonical(self._seen(games)[: len(table)], self._images)
        player = (self._number(table, self._player) - self._player.low).astype(np.uint32)
        return [*smallest, player | results.astype(np.uint32) << PLAYER_BITS], orbits

    def _described(self, games: BatchBuffers, table: Array, results: Array, parents: Array) -> Children:
        """The first games of a batch, whose words these are, as positions, equal ones together."""
        words = Packed.of(self._words(table, results))
        same = groups(words)
        number, first = same.number, same.first
        words, results = words[first], results[first]
        if not self._images:
            once = Positions(words, words, results, np.ones(len(first), np.uint16))
            return Children(parents, number, once)
        columns, orbits = self._canonical(self._take(games, first), table[first], results)
        keys = Packed.of(columns)
        same = groups(keys)
        first = same.first
        once = Positions(keys[first], words[first], results[first], orbits[first])
        return Children(parents, same.number[number], once)

    def _results(self, table: Array) -> Array:
        """uint16 [rows]."""
        paid = np.ascontiguousarray(table[:, self.layout.rewards : self.layout.mask]).view(np.float32)
        over = np.zeros(len(table), np.uint32)
        for name in FLAGS:
            (slot,) = self.layout.slots[name]
            over |= table[:, slot.word] >> slot.shift & 1
        found, left = over.astype(np.uint16), np.flatnonzero(over)
        self.paid_early |= bool(paid[over == 0].any())
        paid, known = paid[left], 0
        while len(left):
            if known == len(self.results):
                self.results.append(tuple((paid[0] + 0.0).tolist()))
            same = (paid == np.array(self.results[known], np.float32)).all(1)
            known += 1
            found[left[same]] = known
            left, paid = left[~same], paid[~same]
        return found

    # *** children ***

    def after(self, games: BatchBuffers, count: int) -> Iterator[tuple[Array, Array, BatchBuffers, Array]]:
        """Every legal action in the first games: rows, actions, the games after them (and some more), their words.

        In parts, in order; the outcomes of an action stay together.
        """
        mask, actions = games.layout.table(games.words)[:count, self.layout.mask :], self.spec.num_actions
        mask = np.ascontiguousarray(mask).astype("<u4").view(np.uint8)
        flat = np.flatnonzero(np.unpackbits(mask, axis=1, count=actions, bitorder="little"))
        size = EDGES - EDGES % self.outcomes
        for at in range(0, len(flat), size):
            rows, chosen = np.divmod(flat[at : at + size], actions)
            after = self._take(games, rows)
            after = self.engine.step(
                after, int_array("actions", np.resize(chosen, after.batch), after.layout)
            )
            yield rows, chosen, after, after.layout.table(after.words)[: len(rows)]

    def expand(self, fields: Packed, ply: int) -> Iterator[Children]:
        """What every legal action in positions that are not over leads to: their edges in order, in parts."""
        threads = num_threads()  # one plays the next edges meanwhile
        with ThreadPoolExecutor(max(1, threads - 1)) as others:
            waiting = deque[Future[Children]]()
            for begin in range(0, len(fields), PARENTS):
                some = fields[begin : begin + PARENTS]
                for rows, _, after, table in self.after(self.games(some, ply), len(some)):
                    parents, results = (rows + begin).astype(np.int32), self._results(table)
                    waiting.append(others.submit(self._described, after, table, results, parents))
                    if len(waiting) == threads:
                        yield waiting.popleft().result()
            yield from (children.result() for children in waiting)


def room(count: int) -> int:
    """Rows of a batch for so many: of few sizes, since tinygrad keeps the memory of every size that it has seen.

    And none of fewer than a block's lanes, for which kernels would be compiled anew.
    """
    return -(-count // STEP) * STEP if count > STEP else max(LANES, 1 << (count - 1).bit_length())


def joined(parts: list[Positions]) -> tuple[Positions, Groups]:
    """The positions of all parts, equal ones together."""
    if len(parts) == 1:
        each = np.arange(len(parts[0]))
        return parts[0], Groups(each, each)
    keys = concat([part.keys for part in parts])
    alike = parts[0].keys is parts[0].fields
    fields = keys if alike else concat([part.fields for part in parts])
    results, orbits = (np.concatenate([part[k] for part in parts]) for k in (2, 3))
    same = groups(keys)
    return Positions(keys, fields, results, orbits).take(same.first), same


def images(permutation: Array) -> Array:
    """Where the bits of every byte go: uint64 [bytes, 256, words], for observations of bools as packed bits."""
    size = len(permutation)
    words = -(-size // 64)
    table = np.zeros((8 * words, 256, words), np.uint64)
    values = np.arange(256)
    for to, bit in enumerate(permutation.tolist()):
        has = (values >> bit % 8 & 1).astype(np.uint64)
        table[bit // 8, :, to // 64] |= has << np.uint64(to % 64)
    return table[: -(-size // 8)]


def canonical(seen: Array, maps: list[Array]) -> tuple[list[Array], Array]:
    """The least of the images of every row, as 32-bit words, and how many different images it has.

    maps: of `images`, the first one the identity.
    """
    packed = np.packbits(seen, axis=1, bitorder="little")
    words = maps[0].shape[2]
    least = np.empty((words, len(seen)), np.uint64)
    orbits = np.empty(len(seen), np.uint16)
    for at in range(0, len(seen), CHUNK):
        columns = [np.ascontiguousarray(column, np.intp) for column in packed[at : at + CHUNK].T]
        own = best = _image(maps[0], columns)
        fixed = np.ones(len(columns[0]), np.uint16)  # maps that change nothing, of which the first is one
        for table in maps[1:]:
            image = _image(table, columns)
            fixed += np.logical_and.reduce([x == y for x, y in zip(image, own, strict=True)])
            less, same = np.zeros(len(fixed), bool), np.ones(len(fixed), bool)
            for x, y in zip(image, best, strict=True):
                less |= same & (x < y)
                same &= x == y
            best = [np.where(less, x, y) for x, y in zip(image, best, strict=True)]
        least[:, at : at + CHUNK] = best
        orbits[at : at + CHUNK] = len(maps) // fixed
    halves = least.astype("<u8").view("<u4").reshape(words, -1, 2)
    return [halves[k, :, h].astype(np.uint32) for k in range(words) for h in (0, 1)], orbits


def _image(table: Array, columns: list[Array]) -> list[Array]:
    """The words of rows, given by their bytes, under a map."""
    words: list[Array] = []
    for k in range(table.shape[2]):
        words.append(table[0, :, k].take(columns[0]))
        for j, column in enumerate(columns[1:], 1):
            words[k] |= table[j, :, k].take(column)
    return words


def counter(what: str, total: int | None, shown: bool) -> Any:
    """Return a progress bar of positions on stderr."""
    return tqdm(desc=what, total=total, unit=" positions", unit_scale=True, disable=not shown)
