"""Search for the symmetries of a game as permutations of the bits of its packed positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensor_envs._engine.layout import FLAGS, Layout
from tensor_envs.rules.scalar import WORD_BITS
from tensor_envs.solve.canonical import BitMaps, BitMove, moved
from tensor_envs.solve.packed import Array

if TYPE_CHECKING:
    from tensor_envs.solve.branches import Branches

FIXED = {"ply", "episode", "current_player", *FLAGS}
PLIES = 100  # plies of the games that are checked
MAX_BITS = 4096

Place = tuple[int, int]  # word of a position, and bit in it


def bit_maps(game: Branches, target: Layout, words: list[int]) -> BitMaps:
    """Find the bits that the symmetries of a game exchange, by the observation entry that each bit sets.

    Symmetries that are no such permutations are left out. Those found are checked on random games.

    Args:
        game: kernels of the game.
        target: layout of the positions.
        words: words of the layout that a position consists of.
    """
    env = game.env
    symmetries = [s for s in env.symmetries() if s.observation != tuple(range(len(s.observation)))]
    source = env.engine.layout
    bits = [
        (name, k, b)
        for name, slots in source.slots.items()
        if name not in FIXED
        for k, s in enumerate(slots)
        for b in range(s.width)
    ]
    if not symmetries or env.spec.observation_dtype != "bool" or len(bits) > MAX_BITS:
        return BitMaps()
    places = [place(source, *bit) for bit in bits]
    table = np.zeros((len(bits) + 1, source.words), np.uint32)
    for row, (w, b) in enumerate(places, 1):
        table[row, w] = 1 << b
    seen, _ = observed(game, table)
    changes = seen[1:] ^ seen[0]
    if (changes.sum(1) > 1).any() or (changes.sum(0) > 1).any():
        return BitMaps()
    loud = np.flatnonzero(changes.any(1))
    bit_of = dict(zip(changes[loud].argmax(1).tolist(), loud.tolist(), strict=True))
    silent = [bits[row] for row in np.flatnonzero(~changes.any(1))]
    sample = samples(game)
    before, legal = observed(game, sample)
    maps = []
    for symmetry in symmetries:
        pairs = [(bit_of.get(symmetry.observation[i], -1), bit_of[i]) for i in bit_of]
        if any(of < 0 for of, _ in pairs):
            continue
        image = moved(sample, grouped([(places[of], places[to]) for of, to in pairs]))
        after, mask = observed(game, image)
        if (after == before[:, list(symmetry.observation)]).all() and (mask == legal[:, list(symmetry.actions)]).all():
            maps.append(
                grouped([(within(target, words, bits[of]), within(target, words, bits[to])) for of, to in pairs])
            )
    masks = [0] * len(words)
    for w, b in (within(target, words, bit) for bit in silent):
        masks[w] |= 1 << b
    return BitMaps(tuple(maps), tuple(masks)) if maps else BitMaps()


def place(layout: Layout, name: str, k: int, bit: int) -> Place:
    """Return the word and the bit of one bit of a field's number."""
    slot = layout.slots[name][k]
    return slot.word + (slot.shift + bit) // WORD_BITS, (slot.shift + bit) % WORD_BITS


def within(layout: Layout, words: list[int], bit: tuple[str, int, int]) -> Place:
    w, b = place(layout, *bit)
    return words.index(w), b


def grouped(pairs: list[tuple[Place, Place]]) -> tuple[BitMove, ...]:
    """Join the bits that move by the same distance."""
    masks: dict[tuple[int, int, int], int] = {}
    for (source, bit), (target, to) in pairs:
        key = source, target, to - bit
        masks[key] = masks.get(key, 0) | 1 << bit
    return tuple(BitMove(*key, mask) for key, mask in masks.items())


def samples(game: Branches) -> Array:
    """Return the words of unfinished positions of random games."""
    state, parts, rng = game.env.init(64, seed=0), list[Array](), np.random.default_rng(0)
    for _ in range(PLIES):
        table = game.pack(state)
        parts.append(table[~game.over(table)])
        if not len(parts[-1]):
            break
        legal = state.legal_action_mask.numpy()
        state = game.env.step(state, (legal * rng.random(legal.shape)).argmax(1))
    return np.concatenate(parts)


def observed(game: Branches, table: Array) -> tuple[Array, Array]:
    """Return the observations of the players to move and the legal actions, bool [rows, entries]."""
    buffers = game.engine.refresh(game.upload(table))
    seen = game.engine.observe(buffers, None).numpy().reshape(buffers.batch, -1)
    return seen[: len(table)], game.legal(buffers.layout.table(buffers.words))[: len(table)]
