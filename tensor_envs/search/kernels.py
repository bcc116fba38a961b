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
from tensor_envs.search.trees import (
    LIMIT,
    MOST,
    MOVER,
    NOISES,
    RAW,
    ROOTS,
    SLOT,
    SUM,
    TABLE,
    Form,
    TreeArrays,
    Trees,
    as_real,
    constant,
    f32,
    has,
    i32,
    within,
)


@dataclass(frozen=True)
class SearchByPlayouts:
    """All simulations, each valued by a game of the uniform policy to its end."""

    form: Form
    name = "search"

    class Arrays(NamedTuple):
        tree: TreeArrays
        old: Any
        row_rng: Any
        about: Any  # int32, see `trees`

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        trees = Trees(t, a.tree, a.about, self.form)
        keys = t.block.registers(2, dtypes.uint32)
        held = Held(t, "none", lambda at: [word(0)] * 3 + load(keys, at.register, 2), counts=False)

        planted = t.block.each(lambda at: trees.plant(at, a.old, a.row_rng)[2], once=True)
        trees.depend_on(planted)
        trees.depend_on(trees.each_root(lambda at: trees.bare(at, UOp.const(0, i32))))
        simulation = loop(self.form.simulations)
        slot = simulation.cast(i32) + 1
        trees.loops = (simulation,)
        trees.depend_on(simulation)

        def arrived(
            at: Coords,
            s: GameState,
            rewards: Sequence[Scalar],
            paid: Sequence[Scalar],
            flags: Sequence[Scalar],
        ) -> list[UOp]:
            return held.begin(at, s, flags, paid) + store(keys, at.register, trees.key(at, slot))

        begun = trees.simulate(slot, arrived)
        keys = keys.after(begun)
        held.depend_on(begun)
        played = held.to_the_end(a.about[LIMIT].load(), None, begun)
        held.depend_on(played)
        trees.depend_on(played)

        def worth(at: Coords) -> list[UOp]:
            returns = [x.uop() for x in held.totals(at)]
            return trees.back_up(at, slot, returns) + trees.bare(at, slot)

        return t.block.end(trees.each_root(worth).end(simulation))


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
            part, action = loop(parts), loop(trees.actions)
            row = trees.in_batch(at).batch.row.minimum(a.about[ROOTS].load() - 1)
            place = (row * parts + part) * trees.actions + action
            copy = trees.cell_of_noise(at, part, action).store(a.noise[place].load())
            return [*stores, copy.end(action).end(part)]

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

        def returned(at: Coords) -> list[UOp]:
            return trees.back_up(at, slot, trees.returns(at, slot, a.values))

        trees.depend_on(trees.each_root(returned))

        def arrived(
            at: Coords,
            s: GameState,
            rewards: Sequence[Scalar],
            paid: Sequence[Scalar],
            flags: Sequence[Scalar],
        ) -> list[UOp]:
            return [*leaf_of(t, a.leaf, at, s, rewards, flags), trees.head(at, SLOT).store(slot + 1)]

        return t.block.end(trees.simulate(slot + 1, arrived))


@dataclass(frozen=True)
class Conclude:
    """What the searches have found at their roots, game by game."""

    form: Form
    name = "conclude"

    class Arrays(NamedTuple):
        tree: TreeArrays
        about: Any
        action: Any  # int32
        visits: Any  # int32, one an action
        numbers: Any  # float32: the weight of every action, the value of every action, the root's value
        values: Any = None  # of the last leaves
        root_noise: Any = None

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        trees = Trees(t, a.tree, a.about, self.form, a.root_noise)
        if a.values is not None:
            slot = trees.slot()
            trees.depend_on(
                trees.each_root(lambda at: trees.back_up(at, slot, trees.returns(at, slot, a.values)))
            )
        return t.block.end(trees.each_root(lambda at: self._root(trees, a, at)))

    def _root(self, trees: Trees, a: Arrays, at: Coords) -> list[UOp]:
        root, there, method = constant(0), trees.in_batch(at).batch.row, self.form.method
        legal, lane = trees.legal(at, root), at.batch.lane
        visits = trees.visits(at, root)
        many = visits.maximum(1).cast(f32)

        weight: Callable[[UOp], UOp] = lambda action: trees.q(at, root, action)[0].cast(f32) / many  # noqa: E731

        def score(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
            n = trees.q(at, root, action)[0]
            return n.cast(f32), has(legal(index), bit)

        if method == "muzero":

            def score(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
                n = within(trees.q(at, root, action)[0], self.form.slots)
                power = as_real(a.about[n + (TABLE + self.form.slots)].load())
                return power + trees.noise(at, 1, action), has(legal(index), bit)

        elif method == "gumbel":
            weight, value = trees.weights(at, root, (lane,))
            most = trees.node(at, root, MOST).load()

            def score(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
                n = trees.q(at, root, action)[0]
                return trees.noise(at, 0, action) + value(action), has(legal(index), bit) & n.eq(most)

        best = trees.best((lane,), score)
        k, size = loop(trees.actions), 2 * trees.actions + 1
        n, q = trees.q(at, root, k)
        each = UOp.group(
            a.visits[there * trees.actions + k].store(n),
            a.numbers[there * size + k].store(weight(k)),
            a.numbers[there * size + trees.actions + k].store(q),
        ).end(k)
        total, raw = register(1, f32), as_real(trees.node(at, root, RAW).load())
        k = loop(trees.actions)
        so_far = total.after(total.after(lane)[0].store(raw if self.form.values else 0.0), k)[0]
        added = so_far.store(so_far.load() + as_real(trees.edge(at, root, SUM, k).load())).end(k)
        value_of_root = total.after(added)[0].load() / (visits.cast(f32) + 1.0 if self.form.values else many)
        over = trees.node(at, root, MOVER).load() < 0
        wrong = value_of_root.ne(value_of_root)  # the network gave a NaN
        return [
            each,
            a.action[there].store(over.where(constant(0), wrong.where(constant(-1), best))),
            a.numbers[there * size + 2 * trees.actions].store(
                over.where(many.const_like(0.0), value_of_root)
            ),
        ]
