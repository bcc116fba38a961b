"""The stages of a search: a root is planted, simulations go down and play, and what they were worth goes up.

A simulation goes from the root down to an action that has not been tried there, plays it, and adds what the new
position is worth to every action on its way. An action's sum is that of the returns of the player who chose it,
whatever the number of players. An action that ends its game leads to no slot: it is played again the next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import UOp

from tensor_envs.core.kernels.block import Coords
from tensor_envs.core.kernels.rollout import any_lane
from tensor_envs.core.kernels.tracer import branch
from tensor_envs.rules.bits import num_words
from tensor_envs.rules.chance import KeyedChance, threefry
from tensor_envs.rules.control import next_id, register
from tensor_envs.rules.scalar import INT, REAL, WORD, Scalar, integer, scalar, where, word
from tensor_envs.rules.spec import GameState
from tensor_envs.search.choosing import Choosing
from tensor_envs.search.memory import (
    AT,
    CHILD,
    COUNT,
    DEPTH,
    KEY_HIGH,
    KEY_LOW,
    LARGEST,
    LEGAL,
    LINKS,
    LIVE,
    MOST,
    MOVER,
    NEXT,
    PRIOR,
    SEED_HIGH,
    SEED_LOW,
    SLOT,
    SO_FAR,
    STEP,
    SUM,
    TRIED,
    TRIED_PRIOR,
    TRIED_VALUE,
    UNTRIED,
    VISITS,
    Arrived,
    as_bits,
    as_real,
    constant,
    entry_of,
    f32,
    i32,
    within,
)


class Trees(Choosing):
    """The trees of a block's games, and all that is done with them."""

    # *** the root ***

    def plant(self, at: Coords, old: UOp, row_rng: UOp) -> tuple[GameState, list[Scalar], list[UOp]]:
        """A root, which nothing has been tried from -> its state and flags, and the stores."""
        t, there = self.t, self.in_batch(at)
        loaded = t.words(old).load(there)
        s, flags = t.layout.get_state(loaded), t.layout.get_flags(loaded)
        seed = [word(Scalar(self.about[k].load(), INT)) for k in (SEED_LOW, SEED_HIGH)]
        key = threefry(threefry(seed, (t.row_rng(row_rng, there)[2], s.episode)), (word(s.ply), 0))
        heads = (
            *(x.to(INT).uop() for x in key),
            *(constant(0) for _ in (SLOT, DEPTH, LINKS, LEGAL)),
            as_bits(UOp.const(1.0, f32)),
        )[: LARGEST if self.form.kept else None]
        words, place = self.words(at, 0)
        stores = [self.head(at, k).store(x) for k, x in enumerate(heads)] + words.store(
            place, s=s, flags=flags
        )
        told = [self.mover(s, flags), *[scalar(0.0)] * self.players, *self.mask(s)]
        return s, flags, stores + self._record(at, constant(0), told)

    def mover(self, s: GameState, flags: Sequence[Scalar]) -> Scalar:
        """Who is to move, as in a node."""
        return where(flags[0] | flags[1], -1, s.current_player)

    def _record(self, at: Coords, slot: UOp, told: Sequence[Scalar]) -> list[UOp]:
        """A node, which nothing is known of yet. told: who is to move, the returns until here, the mask."""
        stores = [self.node(at, slot, MOVER + k).store(as_bits(x.uop())) for k, x in enumerate(told)]
        return [self.begun(self.node(at, slot, VISITS), slot), *stores]

    def mask(self, s: GameState) -> list[Scalar]:
        mask = self.t.game.mask(s)
        assert isinstance(mask, list), "a tree has no room for memory"
        return mask

    # *** a simulation ***

    def key(self, at: Coords, slot: UOp) -> list[Scalar]:
        """Of the playout of a simulation. Its chance and its deal have others, see `rekeyed`."""
        low, high = (Scalar(self.head(at, k).load(), INT).to(WORD) for k in (KEY_LOW, KEY_HIGH))
        return [low ^ word(Scalar(slot - self.form.kept, INT)), high]

    def rekeyed(self, at: Coords, slot: UOp, s: GameState) -> GameState:
        """The state with the chance of a simulation."""
        if not self.t.game.spec.chance:
            return s
        low, high = self.key(at, slot)
        return s.replace(key=[low, ~high])

    def simulate(self, slot: UOp, arrived: Arrived) -> UOp:
        """Go down to an action that has not been tried, and play it. `arrived`: what else is stored of where it led."""
        if self.form.replays:
            self._walk_down(slot)
            stage = self._arrive
        else:
            self.depend_on(self.each_root(self._descend))
            stage = self._advance
        # vectors, which the compiler makes only where trees are not read: the node comes after it, root after root
        self.depend_on(self.t.block.each(lambda at: stage(at, slot, arrived)))
        done = self.each_root(lambda at: self._link(at, slot))
        self.depend_on(done)
        return done

    def _link(self, at: Coords, slot: UOp) -> list[UOp]:
        """The node of what a simulation has led to."""
        mover, untried = self._walk(at, NEXT), self._walk(at, UNTRIED) != 0
        mask = [self._walk(at, SO_FAR + self.players + w) for w in range(num_words(self.actions))]
        links = integer(untried & (mover >= 0)).uop()
        stores = [self.head(at, LINKS).store(links), self.head(at, SLOT).store(slot)]
        return stores + self._record(at, slot, [mover, *self._so_far(at), *mask])

    def _descend(self, at: Coords) -> list[UOp]:
        """The way through the nodes, and the leaf; of a game that is over there is no way."""
        now = register(2, i32)  # the next node, and how many actions there were
        start = UOp.group(*(now.after(at.batch.lane, *self.loops)[k].store(0) for k in range(2)))
        turn = UOp.loop(next_id())
        slot, depth = (within(now.after(start, turn)[k].load(), self.form.slots) for k in range(2))
        action = self.choose(at, slot, self.legal(at, slot), turn)
        child, mover = self.edge(at, slot, CHILD, action).load(), self.node(at, slot, MOVER).load()
        chosen = UOp.group(
            *self._step(at, depth, slot, action, mover, self.paid(at, slot)),
            *(now.after(turn)[k].store(x) for k, x in enumerate((child, depth + 1))),
            *(at.register.cell(self.leaf.after(turn), k, 2).store(x) for k, x in enumerate((slot, action))),
        )
        done = chosen.end(turn, constant(0) < now.after(chosen)[0].load())
        over = self.node(at, 0, MOVER).load() < 0
        depth = over.where(constant(0), now.after(done)[1].load())
        leaf = within(at.register.cell(self.leaf.after(done), 0, 2).load(), self.form.slots)
        words, place = self.words(at, leaf)
        fetched = self.walked.store_words(at, words.load(place), words.count)
        fetched += self._set_walk(at, SO_FAR, [Scalar(x, REAL) for x in self.paid(at, leaf)])
        return [self.head(at, DEPTH).store(depth), *fetched]

    def _step(
        self, at: Coords, depth: UOp, slot: UOp, action: UOp, mover: UOp, paid: Sequence[UOp]
    ) -> list[UOp]:
        """The record of a chosen action."""
        values = (slot, action, mover, as_bits(entry_of(paid, mover)))
        return [self.step(at, depth, k).store(x) for k, x in enumerate(values)]

    def _advance(self, at: Coords, slot: UOp, arrived: Arrived) -> list[UOp]:
        """The leaf's action is played in the state of its node."""
        t, loaded = self.t, self.walked.load(at)
        s, was = self.rekeyed(at, slot, t.layout.get_state(loaded)), t.layout.get_flags(loaded)
        action = within(at.register.cell(self.leaf, 1, 2).load(), self.actions)
        s, rewards, *flags = t.game.step(s, Scalar(action, INT), None)
        flags = [x | y for x, y in zip(was, flags, strict=True)]  # of roots that are over
        paid = [x + r for x, r in zip(self._so_far(at), rewards, strict=True)]
        words, place = self.words(at, slot)
        stores = words.store(place, s=s, flags=flags)
        stores += self._set_walk(at, UNTRIED, [integer(1), self.mover(s, flags), *paid, *self.mask(s)])
        return stores + arrived(at, s, rewards, paid, flags)

    def _walk_down(self, slot: UOp) -> None:
        """The same from the root on, played with the simulation's own chance and deal."""
        self.depend_on(self.t.block.each(lambda at: self._begin(at, slot)))
        turn = UOp.loop(next_id())
        outer, self.loops = self.loops, (*self.loops, turn)
        walk, walked = self.walk, self.walked
        self.depend_on(turn)
        self.depend_on(self.each_root(self._choose))
        played = self.t.block.each(self._play)
        after = self.walk.after(played)
        some = any_lane(self.t, lambda lane: self._walk(self.t.block.at(lane.uop()), LIVE, after) != 0)
        self.loops, self.walk, self.walked = outer, walk, walked
        self.depend_on(played.end(turn, some))

    def _walk(self, at: Coords, k: Any, walk: UOp | None = None) -> Scalar:
        cell = at.register.cell(self.walk if walk is None else walk, k, self.walk_words)
        return Scalar(cell.load(), INT)

    def _set_walk(self, at: Coords, first: int, values: Sequence[Scalar]) -> list[UOp]:
        return [
            at.register.cell(self.walk, first + k, self.walk_words).store(as_bits(x.uop()))
            for k, x in enumerate(values)
        ]

    def _so_far(self, at: Coords) -> list[Scalar]:
        return [Scalar(as_real(self._walk(at, SO_FAR + p).uop()), REAL) for p in range(self.players)]

    def _begin(self, at: Coords, slot: UOp) -> list[UOp]:
        t, (words, place) = self.t, self.words(at, 0)
        loaded = words.load(place)
        s, flags = self.rekeyed(at, slot, t.layout.get_state(loaded)), t.layout.get_flags(loaded)
        if self.form.determinizes:
            low, high = self.key(at, slot)
            s = t.game.determinize(s, s.current_player, KeyedChance([~low, high]))
        live, nothing = ~(flags[0] | flags[1]), [scalar(0.0)] * self.players
        values = [integer(0), integer(live), integer(0), integer(0), *nothing, *self.mask(s)]
        return (
            self.walked.store(at, s=s, flags=flags)
            + self._set_walk(at, AT, values)
            + [self.head(at, DEPTH).store(constant(0))]
        )

    def _choose(self, at: Coords) -> list[UOp]:
        """The next action of the games that go on; of the others none, which nothing reads."""
        slot, live = within(self._walk(at, AT).uop(), self.form.slots), self._walk(at, LIVE) != 0
        depth = within(self.head(at, DEPTH).load(), self.form.slots)
        mover = self.t.layout.get(self.walked.load(at), "current_player").uop()
        first = SO_FAR + self.players
        action = self.choose(at, slot, lambda w: self._walk(at, first + w).uop(), at.batch.lane, *self.loops)
        child = Scalar(self.edge(at, slot, CHILD, action).load(), INT)
        stores = self._step(at, depth, slot, action, mover, [x.uop() for x in self._so_far(at)])
        stores += [at.register.cell(self.leaf, k, 2).store(x) for k, x in enumerate((slot, action))]
        stores += self._set_walk(at, AT, [where(live, child, Scalar(slot, INT))])
        stores += self._set_walk(at, UNTRIED, [where(live, integer(child == 0), self._walk(at, UNTRIED))])
        return [*stores, self.head(at, DEPTH).store(depth + integer(live).uop())]

    def _play(self, at: Coords) -> list[UOp]:
        t, live = self.t, self._walk(at, LIVE) != 0
        loaded = self.walked.load(at)
        s, was = t.layout.get_state(loaded), t.layout.get_flags(loaded)
        action = within(at.register.cell(self.leaf, 1, 2).load(), self.actions)
        after, rewards, *flags = t.game.step(s, Scalar(action, INT), None)
        s = t.game.where(live, after, s)
        flags = [where(live, new, old) for new, old in zip(flags, was, strict=True)]
        paid = [x + where(live, r, 0.0) for x, r in zip(self._so_far(at), rewards, strict=True)]
        live = live & (self._walk(at, UNTRIED) == 0) & ~(flags[0] | flags[1])
        stores = self.walked.store(at, s=s, flags=flags) + self._set_walk(at, LIVE, [integer(live)])
        return stores + self._set_walk(at, SO_FAR, [*paid, *self.mask(s)])

    def _arrive(self, at: Coords, slot: UOp, arrived: Arrived) -> list[UOp]:
        loaded = self.walked.load(at)
        s, flags = self.t.layout.get_state(loaded), self.t.layout.get_flags(loaded)
        stores = self._set_walk(at, NEXT, [self.mover(s, flags)])
        return stores + arrived(at, s, [scalar(0.0)] * self.players, self._so_far(at), flags)

    def back_up(self, at: Coords, slot: UOp, returns: Sequence[UOp]) -> list[UOp]:
        """Add what a simulation was worth, a return a player, to every action on its way."""
        count = self.head(at, DEPTH).load()
        some = branch(constant(0) < count)  # of a root alone, and of a game that is over, there is no way
        last = within(count - 1, self.form.slots)
        links = self.head(at, LINKS).load().ne(0)
        now = register(1, i32)
        begun = now.after(some)[0].store(0)
        turn = UOp.loop(next_id())
        depth = within(now.after(begun, turn)[0].load(), self.form.slots)
        node, action, mover, before = (self.step(at, depth, k).load() for k in range(STEP))
        node, action = within(node, self.form.slots), within(action, self.width)
        child = self.edge(at, node, CHILD, action)
        new = (links & depth.eq(last)).where(slot, child.load())
        stores = [child.store(new), *self._add(at, node, action, entry_of(returns, mover) - as_real(before))]
        added = UOp.group(*stores, now.after(turn)[0].store(depth + 1))
        largest = self.head(at, LARGEST)
        most = as_real(largest.load())
        for x in returns:
            most = most.maximum(x.maximum(-x))
        return [added.end(turn, depth < last).end(some), largest.store(as_bits(most))]

    def _add(self, at: Coords, node: UOp, action: UOp, gain: UOp) -> list[UOp]:
        """A return of an action."""
        count, total = self.edge(at, node, COUNT, action), self.edge(at, node, SUM, action)
        n, was = count.load(), as_real(total.load())
        visits = self.node(at, node, VISITS)
        stores = [
            count.store(n + 1),
            total.store(as_bits(was + gain)),
            visits.store(visits.load() + 1),
        ]
        if self.form.method == "gumbel":
            tried, most = self.node(at, node, TRIED), self.node(at, node, MOST)
            priors, values = self.node(at, node, TRIED_PRIOR), self.node(at, node, TRIED_VALUE)
            prior, first = as_real(self.edge(at, node, PRIOR, action).load()), n.eq(0)
            value, before = (was + gain) / (n + 1).cast(f32), was / n.cast(f32).maximum(1.0)
            more = prior * (value - first.where(before.const_like(0.0), before))
            stores += [
                tried.store(tried.load() + first.cast(i32)),
                most.store(most.load().maximum(n + 1)),
                priors.store(as_bits(as_real(priors.load()) + first.where(prior, prior.const_like(0.0)))),
                values.store(as_bits(as_real(values.load()) + more)),
            ]
        elif self.form.method == "muzero":
            values = self.node(at, node, TRIED_VALUE)
            stores.append(values.store(as_bits(as_real(values.load()) + gain)))
        return stores
