"""The kernels of tree search: a whole search by playouts, or one simulation of a search with a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.kernels.block import Coords, load, store
from tensor_envs.core.kernels.rollout import Held
from tensor_envs.core.kernels.tracer import Tracer
from tensor_envs.rules.control import loop, register
from tensor_envs.rules.scalar import Scalar, scalar, word
from tensor_envs.rules.spec import GameState
from tensor_envs.search.choosing import has, no_number
from tensor_envs.search.memory import (
    LIMIT,
    MOST,
    MOVER,
    NOISES,
    RAW,
    ROOTS,
    SUM,
    TABLE,
    Form,
    Legal,
    Score,
    TreeArrays,
    as_bits,
    as_real,
    constant,
    f32,
    i32,
    within,
)
from tensor_envs.search.trees import Trees


class Found(NamedTuple):
    """Where a search writes what it has found at a root."""

    action: Any  # int32; -1 if the network gave what is no number
    numbers: Any  # int32 [rows, 3 A + 1]: visits, weights and values of all actions, the root's value; reals by bits


@dataclass(frozen=True)
class SearchByPlayouts:
    """All simulations, each valued by a game of the uniform policy to its end."""

    form: Form
    name = "search"

    class Arrays(NamedTuple):
        tree: TreeArrays
        old: Any
        row_rng: Any
        about: Any  # int32, see `memory`
        found: Found

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        trees = Trees(t, a.tree, a.about, self.form)
        keys = t.block.registers(2, dtypes.uint32)
        held = Held(t, "none", lambda at: [word(0)] * 3 + load(keys, at.register, 2), counts=False)

        planted = t.block.each(lambda at: trees.plant(at, a.old, a.row_rng)[2], once=True)
        trees.depend_on(planted)
        if not self.form.kept:
            trees.depend_on(trees.each_root(lambda at: trees.bare(at, constant(0))))
        simulation = loop(self.form.simulations)
        slot = simulation.cast(i32) + (1 + self.form.kept)
        outer = trees.states, trees.nodes, trees.edges
        trees.loops = (simulation,)
        trees.depend_on(simulation)

        def arrived(
            at: Coords,
            s: GameState,
            rewards: Sequence[Scalar],
            paid: Sequence[Scalar],
            flags: Sequence[Scalar],
        ) -> list[UOp]:
            return held.begin(at, s, flags, paid)

        begun = trees.simulate(slot, arrived)
        keyed = t.block.each(lambda at: store(keys, at.register, trees.key(at, slot)))
        keys = keys.after(keyed)
        held.depend_on(begun)
        played = held.to_the_end(a.about[LIMIT].load(), None, begun)
        held.depend_on(played)
        trees.depend_on(played)

        done = trees.back_up(lambda at: [x.uop() for x in held.returns(at)]).end(simulation)
        trees.loops = ()
        trees.states, trees.nodes, trees.edges = outer
        trees.depend_on(done)
        return t.block.end(trees.each_root(lambda at: conclude(trees, a.found, at)))


@dataclass(frozen=True)
class Plant:
    """Roots, which a network is to value."""

    form: Form
    name = "plant"

    class Arrays(NamedTuple):
        tree: TreeArrays
        leaf: Any  # a state of the roots that are searched
        old: Any
        row_rng: Any
        about: Any
        noise: Any  # float32, for every root of the batch so many numbers an action
        root_noise: Any  # the same of the roots that are searched, padded

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        trees = Trees(t, a.tree, a.about, self.form, a.root_noise)

        def stage(at: Coords) -> list[UOp]:
            s, flags, stores = trees.plant(at, a.old, a.row_rng)
            stores += leaf_of(t, a.leaf, at, s, [scalar(0.0)] * t.players, flags)
            parts = NOISES[self.form.method]
            row = trees.in_batch(at).batch.row.minimum(a.about[ROOTS].load() - 1)
            part, action = loop(parts), loop(trees.actions)
            noise = a.noise[(row * parts + part) * trees.actions + action].load()
            return [*stores, trees.cell_of_noise(at, part, action).store(noise).end(action).end(part)]

        return t.block.end(t.block.each(stage, once=True))


def leaf_of(
    t: Tracer, leaf: UOp, at: Coords, s: GameState, rewards: Sequence[Scalar], flags: Sequence[Scalar]
) -> list[UOp]:
    """The stores of what the network is to look at."""
    return t.words(leaf).store(at, s=s, flags=flags, rewards=rewards, mask=t.live_mask(s, flags, "none"))


@dataclass(frozen=True)
class Grow:
    """What the network says of the leaves goes into the trees, and the next simulation to its leaves."""

    form: Form
    name = "grow"

    class Arrays(NamedTuple):
        tree: TreeArrays
        leaf: Any
        logits: Any  # float32 [rows, actions]
        values: Any  # float32 [rows, form.values]
        about: Any
        root_noise: Any

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        trees = Trees(t, a.tree, a.about, self.form, a.root_noise)
        slot = trees.slot()

        def valued(at: Coords) -> list[UOp]:
            return trees.expand(at, slot, a.logits, a.values)

        trees.depend_on(trees.each_root(valued))

        trees.back_up(lambda at: trees.returns(at, slot, a.values))
        if self.form.kept:
            slot = slot.maximum(self.form.kept)

        def arrived(
            at: Coords,
            s: GameState,
            rewards: Sequence[Scalar],
            paid: Sequence[Scalar],
            flags: Sequence[Scalar],
        ) -> list[UOp]:
            return leaf_of(t, a.leaf, at, s, rewards, flags)

        return t.block.end(trees.simulate(slot + 1, arrived))


@dataclass(frozen=True)
class Conclude:
    """What searches with a network have found."""

    form: Form
    name = "conclude"

    class Arrays(NamedTuple):
        tree: TreeArrays
        about: Any
        logits: Any  # of the last leaves, as are the values
        values: Any
        root_noise: Any
        found: Found

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        trees = Trees(t, a.tree, a.about, self.form, a.root_noise)
        slot = trees.slot()
        if self.form.keeps:
            trees.depend_on(trees.each_root(lambda at: trees.expand(at, slot, a.logits, a.values)))
        trees.back_up(lambda at: trees.returns(at, slot, a.values))
        return t.block.end(trees.each_root(lambda at: conclude(trees, a.found, at)))


def conclude(trees: Trees, found: Found, at: Coords) -> list[UOp]:
    """The stores of what a search has found."""
    root, lane, size = constant(0), at.batch.lane, trees.actions
    there, legal, visits = trees.in_batch(at).batch.row, trees.legal(at, constant(0)), trees.visits(at, root)
    many = visits.maximum(1).cast(f32)
    weight, score = _rule(trees, at, root, legal, many)
    best = trees.best((lane,), score)

    def number(k: Any) -> UOp:
        return found.numbers[there * (3 * size + 1) + k]

    k = loop(size)
    n, q = trees.q(at, root, k)
    each = [number(part * size + k).store(x) for part, x in enumerate((n, as_bits(weight(k)), as_bits(q)))]
    total, raw = register(1, f32), as_real(trees.node(at, root, RAW).load())
    action = loop(size)
    so_far = total.after(total.after(lane)[0].store(raw if trees.form.values else 0.0), action)[0]
    summed = so_far.store(so_far.load() + as_real(trees.edge(at, root, SUM, action).load())).end(action)
    value = total.after(summed)[0].load() / (visits.cast(f32) + 1.0 if trees.form.values else many)
    over, wrong = trees.node(at, root, MOVER).load() < 0, no_number(value)
    return [
        UOp.group(*each).end(k),
        found.action[there].store(over.where(constant(0), wrong.where(constant(-1), best))),
        number(3 * size).store(as_bits(over.where(many.const_like(0.0), value))),
    ]


def _rule(trees: Trees, at: Coords, root: UOp, legal: Legal, many: UOp) -> tuple[Callable[[UOp], UOp], Score]:
    """The weight of an action, and by what the one to be played is chosen."""
    if trees.form.method == "gumbel":
        weight, value = trees.weights(at, root, (at.batch.lane,))
        most = trees.node(at, root, MOST).load()

        def most_wanted(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
            allowed = has(legal(index), bit) & trees.q(at, root, action)[0].eq(most)
            return trees.noise(at, 0, action) + value(action), allowed

        return weight, most_wanted

    def share(action: UOp) -> UOp:
        return trees.q(at, root, action)[0].cast(f32) / many

    def most_visited(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
        n = within(trees.q(at, root, action)[0], trees.form.slots)
        if trees.form.method == "playout":
            return n.cast(f32), has(legal(index), bit)
        power = as_real(trees.about[n + (TABLE + trees.form.slots)].load())
        return power + trees.noise(at, 1, action), has(legal(index), bit)

    return share, most_visited
