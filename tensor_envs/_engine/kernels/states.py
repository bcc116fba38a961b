"""Kernels that write states without playing: row keys, first states, resets, copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._engine.kernels.base import NEVER, ArrayCoords, Coords, Tracer, load, row_index, store
from tensor_envs._engine.layout import FLAGS
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs.rules.chance import POLICY_EPISODE, threefry
from tensor_envs.rules.kernel import Cells, loop
from tensor_envs.rules.scalar import Scalar, maximum, minimum, scalar, uint32, where
from tensor_envs.rules.spec import GameState


@dataclass(frozen=True)
class Seed:
    """Kernel that writes the random keys of every row."""

    name = "seed"

    class Arrays(NamedTuple):
        row_keys: Any
        scalars: Any  # int32: the seed's words, the first row of this device

    def trace(self, t: Tracer, a: Arrays) -> None:
        def seed(at: Coords) -> None:
            low, high, first = (uint32(a.scalars[k]) for k in range(3))
            row = first + uint32(row_index(at))
            # The policy's key is the game key of an episode that no game reaches.
            policy_key = threefry((low, high), (row, POLICY_EPISODE))
            store(a.row_keys, at.batch, [low, high, row, *policy_key])

        t.block.each(seed, unroll_max=0)


def _store_first(t: Tracer, at: Coords, new: Cells, s: GameState, flags: list[Scalar]) -> None:
    """Store a state with rewards 0 and its mask."""
    rewards = [scalar(0.0)] * t.players
    t.words(new).store(at, s=s, flags=flags, rewards=rewards, mask=t.live_mask(s, flags, "disabled"))


@dataclass(frozen=True)
class Init:
    """Kernel that writes the first states of episode 0."""

    name = "init"

    class Arrays(NamedTuple):
        new: Any
        row_keys: Any

    def trace(self, t: Tracer, a: Arrays) -> None:
        def init(at: Coords) -> None:
            _store_first(t, at, a.new, t.game.init(t.row_keys(a.row_keys, at), uint32(0)), NEVER)

        t.block.each(init, unroll_max=0)


@dataclass(frozen=True)
class Refresh:
    """Kernel that copies fields and flags, and recomputes the game key and the mask; rewards become 0."""

    name = "refresh"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_keys: Any

    def trace(self, t: Tracer, a: Arrays) -> None:
        def refresh(at: Coords) -> None:
            old = t.words(a.old).load(at)
            s = t.layout.get_state(old)
            if t.game.spec.chance:
                s = s.replace(key=t.game.key(t.row_keys(a.row_keys, at), s.episode))
            _store_first(t, at, a.new, s, t.layout.get_flags(old))

        t.block.each(refresh, unroll_max=0)


@dataclass(frozen=True)
class Reset:
    """Kernel that starts the next episode of the games whose entry in `chosen` is not 0.

    If `chosen` is None, the finished games reset.
    """

    name = "reset"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_keys: Any
        chosen: Any = None  # int32

    def trace(self, t: Tracer, a: Arrays) -> None:
        def reset(at: Coords) -> None:
            old = t.words(a.old).load(at)
            s = t.layout.get_state(old)
            flags = t.layout.get_flags(old)
            resets = flags[0] | flags[1] if a.chosen is None else load(a.chosen, at.batch)[0] != 0
            s = t.game.where(resets, t.game.init(t.row_keys(a.row_keys, at), s.episode + 1), s)
            _store_first(t, at, a.new, s, [flag & ~resets for flag in flags])

        t.block.each(reset, unroll_max=0)


@dataclass(frozen=True)
class Copy:
    """Kernel that copies every game; `live` clears the flags, so that no game is over."""

    live: bool
    name = "copy"

    class Arrays(NamedTuple):
        new: Any
        old: Any

    def trace(self, t: Tracer, a: Arrays) -> None:
        # The bits of each word that are copied: all, but for the flags if `live`.
        masks = dict.fromkeys(range(t.layout.words), 0xFFFFFFFF)
        for name in FLAGS if self.live else ():
            (slot,) = t.layout.slots[name]
            masks[slot.word] &= ~(1 << slot.shift)

        with loop(len(masks)) as k:

            def copy(at: Coords) -> None:
                x = a.old[at.batch.index(k, len(masks))]
                for w, bits in masks.items():
                    if bits != 0xFFFFFFFF:
                        x = where(k == w, x & bits, x)
                a.new[at.batch.index(k, len(masks))] = x

            t.block.each(copy)


@dataclass(frozen=True)
class Gather:
    """Kernel that copies the games at `rows` of another batch, or of two batches whose rows follow each other.

    Attributes:
        lanes: lanes of the first batch.
        more_lanes: lanes of the second one.
    """

    lanes: int
    more_lanes: int = 1
    name = "gather"

    class Arrays(NamedTuple):
        new: Any
        new_keys: Any
        old: Any
        old_keys: Any
        rows: Any  # int32
        sizes: Any  # int32: games of the other batches
        more: Any = None
        more_keys: Any = None  # None: the same as `old_keys`

    def trace(self, t: Tracer, a: Arrays) -> None:
        words = t.layout.words

        def gather(at: Coords) -> None:
            row = load(a.rows, at.batch)[0]
            count = a.sizes[0]
            # Every row is loaded from both batches, so it is clamped to each of them.
            sources = [(a.old, a.old_keys, _clamped_coords(row, count, self.lanes))]
            if a.more is not None:
                more_keys = a.old_keys if a.more_keys is None else a.more_keys
                sources.append((a.more, more_keys, _clamped_coords(row - count, a.sizes[1], self.more_lanes)))

            def from_source(values: list[Any]) -> Any:
                return values[0] if len(values) == 1 else where(row < count, *values)

            with loop(words) as k:
                x = from_source([old[coords.index(k, words)] for old, _, coords in sources])
                a.new[at.batch.index(k, words)] = x
            store(a.new_keys, at.batch, from_source([load(keys, coords, KEY_WORDS) for _, keys, coords in sources]))

        t.block.each(gather)


def _clamped_coords(row: Scalar, count: Scalar, lanes: int) -> ArrayCoords:
    """Return the coordinates of a row, clamped to the batch."""
    row = maximum(minimum(row, count - 1), 0)
    return ArrayCoords(row // lanes, row % lanes, lanes)
