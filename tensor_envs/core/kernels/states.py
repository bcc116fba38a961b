"""Kernels that make a state without playing: keys, first states, resets, copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import UOp

from tensor_envs.core.kernels.block import Coords, Place, load, store
from tensor_envs.core.kernels.tracer import NEVER, Tracer, row_index
from tensor_envs.core.layout import FLAGS, RNG_WORDS
from tensor_envs.rules.chance import POLICY_EPISODE, threefry
from tensor_envs.rules.control import loop
from tensor_envs.rules.scalar import BOOL, INT, WORD, Scalar, scalar, where, word
from tensor_envs.rules.spec import GameState


@dataclass(frozen=True)
class Seed:
    """Write the random keys of every row, which never change."""

    name = "seed"

    class Arrays(NamedTuple):
        row_rng: Any
        scalars: Any  # int32: the seed's words, the first row of this device

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        def stage(at: Coords) -> list[UOp]:
            low, high, first = (word(Scalar(a.scalars[k].load(), INT)) for k in range(3))
            row = first + word(row_index(at))
            policy_key = threefry((low, high), (row, POLICY_EPISODE))
            return store(a.row_rng, at.batch, [low, high, row, *policy_key])

        return t.block.end(t.block.each(stage, once=True))


def _unplayed(t: Tracer, at: Coords, new: UOp, s: GameState, flags: list[Scalar]) -> list[UOp]:
    """A state that no action has led to."""
    rewards = [scalar(0.0)] * t.players
    return t.words(new).store(at, s=s, flags=flags, rewards=rewards, mask=t.live_mask(s, flags, "none"))


@dataclass(frozen=True)
class Init:
    """Write the first states of episode 0."""

    name = "init"

    class Arrays(NamedTuple):
        new: Any
        row_rng: Any

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        def stage(at: Coords) -> list[UOp]:
            return _unplayed(t, at, a.new, t.game.init(t.row_rng(a.row_rng, at), word(0)), NEVER)

        return t.block.end(t.block.each(stage, once=True))


@dataclass(frozen=True)
class Recompute:
    """Copy the fields and flags, but work out the key and the mask; rewards are 0."""

    name = "recompute"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_rng: Any

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        def stage(at: Coords) -> list[UOp]:
            old = t.words(a.old).load(at)
            s = t.layout.get_state(old)
            if t.game.spec.chance:
                s = s.replace(key=t.game.key(t.row_rng(a.row_rng, at), s.episode))
            return _unplayed(t, at, a.new, s, t.layout.get_flags(old))

        return t.block.end(t.block.each(stage, once=True))


@dataclass(frozen=True)
class Restart:
    """Start the next episode of the games whose entry in `chosen` is not 0, or without it of finished ones."""

    name = "reset"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_rng: Any
        chosen: Any = None  # int32

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        def stage(at: Coords) -> list[UOp]:
            old = t.words(a.old).load(at)
            s, flags = t.layout.get_state(old), t.layout.get_flags(old)
            again = flags[0] | flags[1] if a.chosen is None else load(a.chosen, at.batch, dtype=INT)[0] != 0
            s = t.game.where(again, t.game.init(t.row_rng(a.row_rng, at), s.episode + 1), s)
            return _unplayed(t, at, a.new, s, [flag & ~again for flag in flags])

        return t.block.end(t.block.each(stage, once=True))


@dataclass(frozen=True)
class Copy:
    """Copy every game; live: with flags that say that it goes on."""

    live: bool
    name = "copy"

    class Arrays(NamedTuple):
        new: Any
        old: Any

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        kept = dict.fromkeys(range(t.layout.words), 0xFFFFFFFF)
        for name in FLAGS if self.live else ():
            (slot,) = t.layout.slots[name]
            kept[slot.word] &= ~(1 << slot.shift)

        def stage(at: Coords) -> list[UOp]:
            if t.game.has_memory:
                return _copied(a.new, at.batch, a.old, at.batch, kept)
            return store(
                a.new, at.batch, [x & kept[w] for w, x in enumerate(load(a.old, at.batch, len(kept)))]
            )

        return t.block.end(t.block.each(stage))


def _copied(new: UOp, to: Place, old: UOp, place: Place, kept: dict[int, int]) -> list[UOp]:
    """The bits of all words of a game that are kept, in a loop: there are too many words to unroll."""
    k = loop(len(kept))
    x = Scalar(place.cell(old, k, len(kept)).load(), WORD)
    for w, bits in kept.items():
        if bits != 0xFFFFFFFF:
            x = where(Scalar(k, INT) == w, x & bits, x)
    return [to.cell(new, k, len(kept)).store(x.uop()).end(k)]


@dataclass(frozen=True)
class Take:
    """Copy the games of another batch, or of two one after the other, whose rows are in `rows`; lanes: theirs."""

    lanes: int
    more_lanes: int = 1
    name = "take"

    class Arrays(NamedTuple):
        new: Any
        new_rng: Any
        old: Any
        old_rng: Any
        rows: Any  # int32
        games: Any  # int32: those of the other batches
        more: Any = None
        more_rng: Any = None  # if it is not the other one

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        words = t.layout.words

        def stage(at: Coords) -> list[UOp]:
            row = load(a.rows, at.batch, dtype=INT)[0].uop()
            sources = [(a.old, a.old_rng, _row(row, a.games[0].load(), self.lanes))]
            if a.more is not None:
                count = a.games[0].load()
                more_rng = a.old_rng if a.more_rng is None else a.more_rng
                sources.append((a.more, more_rng, _row(row - count, a.games[1].load(), self.more_lanes)))
                first = Scalar(row < count, BOOL)
            if t.game.has_memory:
                k = loop(words)
                values = [Scalar(place.cell(old, k, words).load(), WORD) for old, _, place in sources]
                chosen = values[0] if len(values) == 1 else where(first, *values)
                stores = [at.batch.cell(a.new, k, words).store(chosen.uop()).end(k)]
            else:
                found = [load(old, place, words) for old, _, place in sources]
                stores = store(a.new, at.batch, found[0] if len(found) == 1 else where(first, *found))
            keys = [load(rng, place, RNG_WORDS) for _, rng, place in sources]
            return stores + store(a.new_rng, at.batch, keys[0] if len(keys) == 1 else where(first, *keys))

        return t.block.end(t.block.each(stage))


def _row(row: UOp, games: UOp, lanes: int) -> Place:
    """Where a game of a row stands, within a batch of so many games."""
    row = row.minimum(games - 1).maximum(0)
    return Place(row // lanes, row % lanes, lanes)
