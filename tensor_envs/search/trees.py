"""The stages of a search: a root is planted, simulations go down and play, and what they were worth goes up.

A simulation goes from the root down to an action that has not been tried there, plays it, and adds what the new
position is worth to every action on its way. An action's sum is that of the returns of the player who chose it,
whatever the number of players. An action that ends its game leads to no slot: it is played again the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import UOp

from tensor_envs.core.kernels.block import Coords, load, store
from tensor_envs.core.kernels.tracer import branch
from tensor_envs.rules.bits import num_words
from tensor_envs.rules.chance import KeyedChance, threefry
from tensor_envs.rules.control import next_id
from tensor_envs.rules.scalar import INT, REAL, WORD, Scalar, integer, scalar, where, word
from tensor_envs.rules.spec import GameState
from tensor_envs.search.choosing import Choosing
from tensor_envs.search.memory import (
    AT,
    CHILD,
    CHOSEN,
    COUNT,
    GOING,
    KEY_HIGH,
    KEY_LOW,
    LARGEST,
    LEFT,
    LEGAL,
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
    STEPS,
    SUM,
    TRIED,
    TRIED_PRIOR,
    TRIED_VALUE,
    UNTRIED,
    VISITS,
    Arrived,
    Legal,
    as_bits,
    as_real,
    below,
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
            *(constant(0) for _ in (SLOT, CHOSEN, LEGAL)),
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
        self._go_down(slot)
        stage = self._arrive if self.form.replays else self._advance
        # vectors, which the compiler makes only where trees are not read: the node comes after it, root after root
        self.depend_on(self.t.block.each(lambda at: stage(at, slot, arrived)))
        done = self.each_root(lambda at: self._link(at, slot))
        self.depend_on(done)
        return done

    def _go_down(self, slot: UOp) -> None:
        """All roots go down, a level at a time: when the way of one alone ends, no processor could guess.

        Where simulations replay, the chosen actions are played on the way, with chance and a deal of their own.
        """
        replays, each = self.form.replays, self.t.block.each
        if replays:
            self.depend_on(each(lambda at: self._begin(at, slot)))
        self.depend_on(*(self.counts[k].store(0) for k in (LEFT, STEPS)))
        self.depend_on(self.each_root(self._start))
        self.depend_on(self.counts[GOING].store(self.counts[LEFT].load()))
        turn = UOp.loop(next_id())
        outer, self.loops = self.loops, (*self.loops, turn)
        self.depend_on(turn)
        self.depend_on(self.counts[LEFT].store(0))
        self.depend_on(self.each_going(self._choose))
        if replays:
            self.depend_on(each(self._play))
            self.depend_on(self.each_root(lambda at: self._go_on(at, self._walk(at, LIVE) != 0)))
        self.depend_on(self.counts[STEPS].store(self.counts[STEPS].load() + self.counts[GOING].load()))
        more = self.counts[GOING].store(self.counts[LEFT].load())
        self.loops = outer
        self.depend_on(more.end(turn, constant(0) < self.counts.after(more)[GOING].load()))
        self.depend_on(self.head(self.first_root, CHOSEN).store(self.counts[STEPS].load()))
        if not replays:
            self.depend_on(self.each_root(self._fetch))

    def _link(self, at: Coords, slot: UOp) -> list[UOp]:
        """The node of what a simulation has led to."""
        mover, untried = self._walk(at, NEXT), self._walk(at, UNTRIED) != 0
        mask = [Scalar(self._allowed(at)(w), INT) for w in range(num_words(self.actions))]
        leaf, action = self._leaf(at)
        child = self.edge(at, leaf, CHILD, action)
        linked = (untried & (mover >= 0)).uop().where(slot, child.load())
        stores = [child.store(linked), self.head(at, SLOT).store(slot)]
        if self.form.method == "playout":
            stores += self.bare(at, slot)
        return stores + self._record(at, slot, [mover, *self._so_far(at), *mask])

    def _leaf(self, at: Coords) -> tuple[UOp, UOp]:
        """The node and the action that a simulation ends with."""
        node, action = (at.register.cell(self.leaf, k, 2).load() for k in range(2))
        return below(node, self.form.slots), within(action, self.actions)

    def _start(self, at: Coords) -> list[UOp]:
        """At the root; one that is over goes nowhere."""
        stores = [at.register.cell(self.leaf, k, 2).store(0) for k in range(2)]
        if self.form.replays:
            return stores + self._go_on(at, self._walk(at, LIVE) != 0)
        live = Scalar(self.node(at, 0, MOVER).load(), INT) >= 0
        return stores + self._set_walk(at, AT, [integer(0)]) + self._go_on(at, live)

    def _go_on(self, at: Coords, live: Scalar) -> list[UOp]:
        """A live root takes the next step, too: it is counted, while the next one overwrites another."""
        place = below(self.counts.after(live.uop())[LEFT].load(), self.roots)
        added = [] if self.roots == 1 else [self.going[place].store(at.batch.lane.cast(i32))]
        count = self.counts.after(*added)[LEFT]
        return [count.store(count.load() + integer(live).uop())]

    def _fetch(self, at: Coords) -> list[UOp]:
        """What the tree says of the leaf, for vectors."""
        leaf, _ = self._leaf(at)
        words, place = self.words(at, leaf)
        fetched = self.walked.store_words(at, words.load(place), words.count)
        return fetched + self._set_walk(at, SO_FAR, [Scalar(x, REAL) for x in self.paid(at, leaf)])

    def _advance(self, at: Coords, slot: UOp, arrived: Arrived) -> list[UOp]:
        """The leaf's action is played in the state of its node."""
        t, loaded = self.t, self.walked.load(at)
        s, was = self.rekeyed(at, slot, t.layout.get_state(loaded)), t.layout.get_flags(loaded)
        _, action = self._leaf(at)
        s, rewards, *flags = t.game.step(s, Scalar(action, INT), None)
        flags = [x | y for x, y in zip(was, flags, strict=True)]  # of roots that are over
        paid = [x + r for x, r in zip(self._so_far(at), rewards, strict=True)]
        words, place = self.words(at, slot)
        stores = words.store(place, s=s, flags=flags)
        stores += self._set_walk(at, UNTRIED, [integer(1), self.mover(s, flags), *paid, *self.mask(s)])
        return stores + arrived(at, s, rewards, paid, flags)

    def _walk(self, at: Coords, k: Any) -> Scalar:
        return Scalar(at.register.cell(self.walk, k, self.walk_words).load(), INT)

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
        return self.walked.store(at, s=s, flags=flags) + self._set_walk(at, AT, values)

    def _choose(self, at: Coords, turn: UOp) -> list[UOp]:
        """The next action of a root. turn: how many others have chosen theirs."""
        slot = below(self._walk(at, AT).uop(), self.form.slots)
        if self.form.replays:
            mover = self.t.layout.get(self.walked.load(at), "current_player").uop()
            legal, paid = self._allowed(at), [x.uop() for x in self._so_far(at)]
        else:
            mover = self.node(at, slot, MOVER).load()
            legal, paid = self.legal(at, slot), self.paid(at, slot)
        action = self.choose(at, slot, legal, *self.loops, turn)
        child = Scalar(self.edge(at, slot, CHILD, action).load(), INT)
        number = self.counts[STEPS].load() + turn
        step = slot, action, mover, as_bits(entry_of(paid, mover)), at.batch.lane.cast(i32)
        stores = [self.step(number, k).store(x) for k, x in enumerate(step)]
        stores += [at.register.cell(self.leaf, k, 2).store(x) for k, x in enumerate((slot, action))]
        stores += self._set_walk(at, AT, [child])
        if self.form.replays:
            return stores + self._set_walk(at, UNTRIED, [integer(child == 0)])
        return stores + self._go_on(at, child > 0)

    def _allowed(self, at: Coords) -> Legal:
        """The mask words of where a game is."""
        return lambda w: self._walk(at, SO_FAR + self.players + w).uop()

    def _play(self, at: Coords) -> list[UOp]:
        t, live = self.t, self._walk(at, LIVE) != 0
        loaded = self.walked.load(at)
        s, was = t.layout.get_state(loaded), t.layout.get_flags(loaded)
        _, action = self._leaf(at)
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

    def back_up(self, returns: Callable[[Coords], Sequence[UOp]]) -> UOp:
        """Add what a simulation was worth, `returns` of every player, to every action on its way."""
        worth = self.t.block.registers(self.players, f32).after(*self.loops)

        def settled(at: Coords) -> list[UOp]:
            values, largest = returns(at), self.head(at, LARGEST)
            most = as_real(largest.load())
            for x in values:
                most = most.maximum(x.maximum(-x))
            return [
                *store(worth, at.register, [Scalar(x, REAL) for x in values]),
                largest.store(as_bits(most)),
            ]

        self.depend_on(known := self.each_root(settled))
        worth = worth.after(known)
        count = self.head(self.first_root, CHOSEN).load()
        some = branch(constant(0) < count)  # of games that are over there are no ways

        def added(number: UOp) -> list[UOp]:
            number = below(number, self.roots * self.form.slots)
            node, action, mover, before, lane = (self.step(number, k).load() for k in range(STEP))
            at = self.t.block.at(below(lane, self.roots)) if self.roots > 1 else self.first_root
            node, action = below(node, self.form.slots), below(action, self.width)
            gained = entry_of([x.uop() for x in load(worth, at.register, self.players, f32)], mover)
            return self._add(at, node, action, gained - as_real(before))

        loops, self.loops = self.loops, (*self.loops, some)
        done = self.times(count, added).end(some)
        self.loops = loops
        self.depend_on(done)
        return done

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
