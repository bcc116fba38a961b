"""Search trees of a block of games in a kernel: where they stand, and the stages of a simulation.

A root's tree has a slot for every simulation: slot 0 is the root, slot k what simulation k has led to. A simulation
goes from the root down to an action that has not been tried there, plays it, and adds what the new position is worth to
every action on its way. An action's sum is that of the returns of the player who chose it, whatever the number of
players.

An action that ends its game leads to no slot: it is played again the next time.

Stages that play games are for all lanes at once, as in every kernel. What goes up and down a tree is done root after
root (on a GPU a thread is a root); there the loops over a node's actions are what vectors are for, so that these are
padded to whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.game import Game
from tensor_envs.core.kernels.block import Coords, Place, Words
from tensor_envs.core.kernels.rollout import any_lane
from tensor_envs.core.kernels.tracer import Tracer, branch
from tensor_envs.core.layout import Layout
from tensor_envs.rules.bits import WORD_BITS, num_words
from tensor_envs.rules.chance import KeyedChance, threefry
from tensor_envs.rules.control import loop, next_id, register
from tensor_envs.rules.scalar import INT, REAL, WORD, Scalar, integer, scalar, where, word
from tensor_envs.rules.spec import GameState

f32, i32, i64, u32 = dtypes.float32, dtypes.int32, dtypes.int64, dtypes.uint32
VECTOR = 16  # actions
UNIT = 2.0**22  # of sums in fixed point: whole numbers are added in vectors, floats one after the other
# before a root's nodes: a key for its chance; of the simulation under way its slot, its number of actions, and whether
# what it has led to becomes a node; how many actions of the root are legal; the largest return found, at least 1
KEY_LOW, KEY_HIGH, SLOT, DEPTH, LINKS, LEGAL, LARGEST, HEAD = range(8)
# a node: the visits of its actions; what the network says; how many actions have been tried, the visits of the one
# tried most, the sums of the priors of those tried and of their priors times values (for `muzero` of their returns);
# who is to move, -1 once the game is over. Then a return a player until here, and the mask
VISITS, RAW, TRIED, MOST, TRIED_PRIOR, TRIED_VALUE, MOVER, PAID = range(8)
# an action of a simulation: at which node, which, whose, and that player's return before it
NODE, ACTION, PLAYER, BEFORE, STEP = range(5)
# the numbers of an action, each a row of a node's: visits, sum of returns, slot that it leads to or 0, prior
COUNT, SUM, CHILD, PRIOR = range(4)
# the array `about`: which of the batch's blocks these are, how many it has, its games, those evaluated at once, most
# actions of a playout, the seed; then a table
FIRST_BLOCK, BLOCKS, ROOTS, SHARE, LIMIT, SEED_LOW, SEED_HIGH, TABLE = range(8)
# where a block's games are while a simulation plays on from the root: at which node, whether it goes on, whether its
# last action had not been tried; then returns, and the mask
AT, LIVE, UNTRIED, SO_FAR = range(4)

NOISES = {
    "playout": 0,
    "gumbel": 1,
    "muzero": 2,
}  # numbers an action: for the priors of a root, for its choice

Method = Literal["playout", "gumbel", "muzero"]
# of a game: its state, the rewards of its last action, the returns until then, its flags -> stores
Legal = Callable[[Any], UOp]  # a mask word
Score = Callable[
    [UOp, UOp, UOp], tuple[UOp, UOp]
]  # action, its mask word, its bit -> float32, whether it is allowed
Arrived = Callable[[Coords, GameState, Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]], list[UOp]]


@dataclass(frozen=True)
class Form:
    """What tells one search's kernels from another's.

    replays: whether every simulation plays anew from the root, since chance or another deal makes something else of
    the same actions; then nodes are sequences of actions. determinizes: whether what the root's player does not see is
    dealt anew. values: of an evaluation, 1 or one a player. considered: most actions of a root, for `gumbel`.
    """

    method: Method
    simulations: int
    replays: bool = False
    determinizes: bool = False
    values: int = 0
    considered: int = 0

    @property
    def slots(self) -> int:
        return self.simulations + 1

    @property
    def numbers(self) -> int:
        """Of an action."""
        return PRIOR if self.method == "playout" else PRIOR + 1


class Sizes(NamedTuple):
    """Of a tree, in words."""

    states: int
    node: int  # one
    nodes: int  # with all that is in their array
    edges: int

    @classmethod
    def of(cls, form: Form, game: Game, layout: Layout) -> Sizes:
        players, actions = game.spec.num_players, game.spec.num_actions
        node = PAID + players + num_words(actions)
        states = (1 if form.replays else form.slots) * layout.field_words
        edges = form.slots * form.numbers * padded(actions)
        return cls(states, node, HEAD + form.slots * (node + STEP), edges)


def padded(actions: int) -> int:
    """Actions, with those that fill vectors and are never legal."""
    vector = VECTOR if actions <= WORD_BITS else WORD_BITS
    return -(-actions // vector) * vector


class TreeArrays(NamedTuple):
    """The arrays of trees in a kernel."""

    states: (
        Any  # uint32 [blocks, slots, words, lanes]: fields and flags; of the root alone if simulations replay
    )
    nodes: Any  # int32 [rows, ...]: see above; reals by their bits
    edges: Any  # int32 [rows, slots, numbers, actions]


MOST_ROWS = 2**20  # that a kernel searches
LOWEST = -(2**31) + 1  # of what `in_order` gives: below every number


def in_order(bits: UOp) -> UOp:
    """The bits of a float32 as an int32 of the same order; and back."""
    return bits ^ (bits < 0).where(bits.const_like(0x7FFFFFFF), bits.const_like(0))


def as_bits(x: UOp) -> UOp:
    return x.bitcast(i32)


def as_real(x: UOp) -> UOp:
    return x.bitcast(f32)


def constant(x: int) -> UOp:
    return UOp.const(x, i32)


def no_number(x: UOp) -> UOp:
    """Whether a float32 is NaN or infinite."""
    return x.ne(x) | (x.maximum(-x) > 3e38)


def within(x: UOp, count: int) -> UOp:
    """An index within bounds that tinygrad can see."""
    return x.maximum(0).minimum(count - 1)


def exp(x: UOp) -> UOp:
    """e^x for x <= 0, about 0 below -80: a power of 2 by its bits, a polynomial for the rest."""
    y = x.maximum(-80.0) * 1.4426950408889634
    whole = (y - 0.5).cast(i32)  # towards 0, so that the rest is within -0.5..0.5
    rest = (y - whole.cast(f32)) * 0.6931471805599453
    power = rest.const_like(1.0)
    for k in range(7, 0, -1):
        power = power * rest * (1.0 / k) + 1.0
    return power * as_real((whole + 127) << 23)


class Trees:
    """The trees of a block's games, at some point of a kernel."""

    def __init__(self, t: Tracer, a: TreeArrays, about: UOp, form: Form, root_noise: UOp | None = None):
        self.t, self.about, self.form = t, about, form
        self.states, self.nodes, self.edges = a
        self.root_noise: Any = root_noise
        self.players, self.actions = t.players, t.game.spec.num_actions
        self.width, self.sizes = padded(self.actions), Sizes.of(form, t.game, t.layout)
        self.leaf = t.block.registers(2, i32)  # the node and the action that a simulation ends with
        self.walk_words = SO_FAR + self.players + num_words(self.actions)
        self.walk = t.block.registers(self.walk_words, i32)
        self.walked = t.registers()  # the games
        self.loops: tuple[UOp, ...] = ()  # around the stages, besides that over blocks
        t.dynamic = True

    def depend_on(self, *deps: UOp) -> None:
        """What is read from now on is read after these."""
        self.states, self.nodes = self.states.after(*deps), self.nodes.after(*deps)
        self.edges, self.leaf = self.edges.after(*deps), self.leaf.after(*deps)
        if self.root_noise is not None:
            self.root_noise = self.root_noise.after(*deps)
        self.walk, self.walked = self.walk.after(*deps), self.walked.after(*deps)

    def each_root(self, stage: Callable[[Coords], list[UOp]]) -> UOp:
        return self.t.block.each(stage, once=True)

    # *** where things stand ***

    def place(self, at: Coords) -> Place:
        """A root's in the arrays of trees.

        A search that is one kernel uses those of the first block that a thread searches for all of them, one after the
        other, so that they stay in its cache.
        """
        once = self.form.method == "playout" and self.t.block.first is not None
        return at.batch._replace(block=self.t.block.first) if once else at.batch

    def head(self, at: Coords, k: int) -> UOp:
        return self.nodes[self.place(at).row * self.sizes.nodes + k]

    def node(self, at: Coords, slot: Any, k: Any) -> UOp:
        return self.nodes[self.place(at).row * self.sizes.nodes + (slot * self.sizes.node + HEAD) + k]

    def step(self, at: Coords, depth: UOp, k: int) -> UOp:
        first = HEAD + self.form.slots * self.sizes.node
        return self.nodes[self.place(at).row * self.sizes.nodes + (depth * STEP + first) + k]

    def edge(self, at: Coords, slot: Any, k: int, action: UOp) -> UOp:
        node = self.place(at).row * self.form.slots + slot
        return self.edges[(node * self.form.numbers + k) * self.width + action]

    def words(self, at: Coords, slot: Any) -> tuple[Words, Coords]:
        """A slot's fields and flags, and where they stand."""
        slots = 1 if self.form.replays else self.form.slots
        place = self.place(at)
        place = place._replace(block=place.block * slots + slot)
        return Words(self.t.layout, self.states, count=self.t.layout.field_words), Coords(place, at.register)

    def in_batch(self, at: Coords) -> Coords:
        """Where a root stands in the whole batch, of which a kernel searches some blocks."""
        last = self.about[BLOCKS].load() - 1
        block = (at.batch.block + self.about[FIRST_BLOCK].load()).minimum(last).maximum(0)
        return Coords(at.batch._replace(block=block), at.register)

    def slot(self) -> UOp:
        """The slot of the simulation under way, the same in all roots of a block."""
        first = self.t.block.at(constant(0) if self.t.block.thread is None else self.t.block.thread)
        return within(self.head(first, SLOT).load(), self.form.slots)

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
        )
        words, place = self.words(at, 0)
        stores = [self.head(at, k).store(x) for k, x in enumerate(heads)] + words.store(
            place, s=s, flags=flags
        )
        return s, flags, stores + self._arrived(at, constant(0), s, flags, [scalar(0.0)] * self.players)

    def _arrived(
        self, at: Coords, slot: UOp, s: GameState, flags: Sequence[Scalar], paid: Sequence[Scalar]
    ) -> list[UOp]:
        """What a simulation has led to: a node's record, which nothing is known of yet."""
        mover = where(flags[0] | flags[1], -1, s.current_player)
        known = {VISITS: constant(0), MOVER: mover.uop()}
        known |= {PAID + p: as_bits(x.uop()) for p, x in enumerate(paid)}
        known |= {PAID + self.players + w: as_bits(x.uop()) for w, x in enumerate(self.mask(s))}
        return [self.node(at, slot, k).store(x) for k, x in known.items()]

    def mask(self, s: GameState) -> list[Scalar]:
        mask = self.t.game.mask(s)
        assert isinstance(mask, list), "a tree has no room for memory"
        return mask

    def paid(self, at: Coords, slot: Any) -> list[UOp]:
        """The returns until a node."""
        return [as_real(self.node(at, slot, PAID + p).load()) for p in range(self.players)]

    def legal(self, at: Coords, slot: UOp) -> Legal:
        """A node's mask words."""
        return lambda w: self.node(at, slot, w + (PAID + self.players)).load()

    # *** a simulation ***

    def key(self, at: Coords, slot: UOp) -> list[Scalar]:
        """Of the playout of a simulation. Its chance and its deal have others, see `rekeyed`."""
        low, high = (Scalar(self.head(at, k).load(), INT).to(WORD) for k in (KEY_LOW, KEY_HIGH))
        return [low ^ word(Scalar(slot, INT)), high]

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
        done = self.t.block.each(lambda at: stage(at, slot, arrived))
        self.depend_on(done)
        return done

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
        return [self.head(at, DEPTH).store(depth)]

    def _step(
        self, at: Coords, depth: UOp, slot: UOp, action: UOp, mover: UOp, paid: Sequence[UOp]
    ) -> list[UOp]:
        """The record of a chosen action."""
        values = (slot, action, mover, as_bits(entry_of(paid, mover)))
        return [self.step(at, depth, k).store(x) for k, x in enumerate(values)]

    def _advance(self, at: Coords, slot: UOp, arrived: Arrived) -> list[UOp]:
        """The leaf's action is played in the state of its node."""
        t = self.t
        parent, action = (at.register.cell(self.leaf, k, 2).load() for k in range(2))
        parent, action = within(parent, self.form.slots), within(action, self.actions)
        words, place = self.words(at, parent)
        loaded = words.load(place)
        s, was = self.rekeyed(at, slot, t.layout.get_state(loaded)), t.layout.get_flags(loaded)
        s, rewards, *flags = t.game.step(s, Scalar(action, INT), None)
        flags = [x | y for x, y in zip(was, flags, strict=True)]  # of roots that are over
        paid = [Scalar(x, REAL) + r for x, r in zip(self.paid(at, parent), rewards, strict=True)]
        words, place = self.words(at, slot)
        stores = words.store(place, s=s, flags=flags) + self._arrived(at, slot, s, flags, paid)
        stores.append(self.head(at, LINKS).store(integer(~(flags[0] | flags[1])).uop()))
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
        values = [integer(0), integer(live), integer(0), *nothing, *self.mask(s)]
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
        links = integer((self._walk(at, UNTRIED) != 0) & ~(flags[0] | flags[1]))
        paid = self._so_far(at)
        stores = self._arrived(at, slot, s, flags, paid)
        stores.append(self.head(at, LINKS).store(links.uop()))
        return stores + arrived(at, s, [scalar(0.0)] * self.players, paid, flags)

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

    # *** choosing ***

    def scan(
        self,
        deps: Sequence[UOp],
        starts: Sequence[tuple[int, Any]],
        body: Callable[[UOp, UOp, UOp, list[UOp]], tuple[list[UOp], list[UOp]]],
    ) -> tuple[list[UOp], UOp]:
        """A loop over a node's actions with running values -> these, and its end.

        body: of the action, the number of its mask word and of its bit, and the values -> the next ones, and stores.
        """
        registers = [register(1, dtype) for _, dtype in starts]
        begun = [
            r.after(*deps)[0].store(UOp.const(x, dtype))
            for r, (x, dtype) in zip(registers, starts, strict=True)
        ]
        if self.width <= WORD_BITS:
            bit = loop(self.width)
            index, action, ends = constant(0), bit, [bit]
        else:
            index, bit = loop(self.width // WORD_BITS), loop(WORD_BITS)
            action, ends = index * WORD_BITS + bit, [bit, index]
        cells = [r.after(b, *ends)[0] for r, b in zip(registers, begun, strict=True)]
        values, stores = body(action, index, bit, [x.load() for x in cells])
        done = UOp.group(*(x.store(y) for x, y in zip(cells, values, strict=True)), *stores)
        for end in ends:
            done = done.end(end)
        return [r.after(done)[0].load() for r in registers], done

    def best(self, deps: Sequence[UOp], score: Score) -> UOp:
        """The action of the highest score among those allowed, the first of several."""

        def body(action: UOp, index: UOp, bit: UOp, old: list[UOp]) -> tuple[list[UOp], list[UOp]]:
            value, allowed = score(action, index, bit)
            order = (in_order(as_bits(value)).cast(i64) << 32) | (self.width - 1 - action.cast(i32)).cast(i64)
            return [old[0].maximum(allowed.where(order, order.const_like(-(2**63) + 1)))], []

        (found,), _ = self.scan(deps, [(-(2**63) + 1, i64)], body)
        return within(self.width - 1 - (found & 0xFFFFFFFF).cast(i32), self.actions)

    def choose(self, at: Coords, slot: UOp, legal: Legal, *deps: UOp) -> UOp:
        """The action of a node that a simulation goes on with."""
        rule = {"playout": self._by_bound, "gumbel": self._by_weight, "muzero": self._by_prior}[
            self.form.method
        ]
        return self.best(deps, rule(at, slot, legal, deps))

    def q(self, at: Coords, slot: UOp, action: UOp) -> tuple[UOp, UOp]:
        """An action's visits, and the mean return of it."""
        n = self.edge(at, slot, COUNT, action).load()
        return n, as_real(self.edge(at, slot, SUM, action).load()) / n.cast(f32).maximum(1.0)

    def prior(self, at: Coords, slot: UOp, action: UOp) -> UOp:
        return as_real(self.edge(at, slot, PRIOR, action).load())

    def visits(self, at: Coords, slot: UOp) -> UOp:
        return within(self.node(at, slot, VISITS).load(), self.form.slots)

    def _by_bound(self, at: Coords, slot: UOp, legal: Legal, deps: Sequence[UOp]) -> Score:
        """Upper confidence bounds: the mean return, and what is the more the fewer visits an action has.

        Returns are shares of the largest one found: else exploration would be nothing in a game of large ones.
        """
        explore = as_real(self.about[self.visits(at, slot) + TABLE].load())
        share = 1.0 / as_real(self.head(at, LARGEST).load())

        def score(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
            n, q = self.q(at, slot, action)
            return q * share + explore / (n.cast(f32) + 1.0), has(legal(index), bit)

        return score

    def _by_prior(self, at: Coords, slot: UOp, legal: Legal, deps: Sequence[UOp]) -> Score:
        """MuZero's rule: values between the lowest and the highest of the node and its actions, and priors."""
        visits = self.visits(at, slot)
        explore = as_real(self.about[visits + TABLE].load())
        raw, total = (as_real(self.node(at, slot, k).load()) for k in (RAW, TRIED_VALUE))
        value = (raw + total) / (visits.cast(f32) + 1.0)
        low, high = self.range_of_values(at, slot, deps)
        low, high = value.minimum(low), value.maximum(high)
        scale = 1.0 / (high - low).maximum(1e-8)

        def score(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
            n, q = self.q(at, slot, action)
            known = (n > 0).where((q - low) * scale, q.const_like(0.0))
            return known + explore * self.prior(at, slot, action) / (n.cast(f32) + 1.0), has(
                legal(index), bit
            )

        return score

    def range_of_values(self, at: Coords, slot: UOp, deps: Sequence[UOp]) -> list[UOp]:
        """The lowest and the highest value of the actions tried; of none, the highest float and the lowest one."""

        def body(action: UOp, index: UOp, bit: UOp, old: list[UOp]) -> tuple[list[UOp], list[UOp]]:
            n, q = self.q(at, slot, action)
            found = [(n > 0).where(in_order(as_bits(x)), n.const_like(LOWEST)) for x in (-q, q)]
            return [a.maximum(b) for a, b in zip(old, found, strict=True)], []

        (low, high), _ = self.scan(deps, [(LOWEST, i32), (LOWEST, i32)], body)
        return [-as_real(in_order(low)), as_real(in_order(high))]

    def completed(self, at: Coords, slot: UOp, deps: Sequence[UOp]) -> tuple[Callable[[UOp], UOp], UOp]:
        """Values of all actions for Gumbel MuZero: those tried have their own, the others what the node seems worth.

        -> the value of an action, from 0 to a scale, and this scale.
        """
        visits = self.node(at, slot, VISITS).load()
        many, tried, most = visits.cast(f32), *(self.node(at, slot, k).load() for k in (TRIED, MOST))
        raw, priors, values = (
            as_real(self.node(at, slot, k).load()) for k in (RAW, TRIED_PRIOR, TRIED_VALUE)
        )
        mixed = (raw + many * (values / priors.maximum(1e-30))) / (many + 1.0)
        low, high = self.range_of_values(at, slot, deps)
        low, high = (tried > 0).where(low, mixed), (tried > 0).where(high, mixed)
        rest = tried < self.actions
        low, high = rest.where(low.minimum(mixed), low), rest.where(high.maximum(mixed), high)
        scale = (most.cast(f32) + 50.0) * 0.1
        factor = scale / (high - low).maximum(1e-8)

        def value(action: UOp) -> UOp:
            n, q = self.q(at, slot, action)
            return ((n > 0).where(q, mixed) - low) * factor

        return value, scale

    def weights(
        self, at: Coords, slot: UOp, deps: Sequence[UOp]
    ) -> tuple[Callable[[UOp], UOp], Callable[[UOp], UOp]]:
        """The softmax of priors and completed values -> the weight of an action; its value as in `completed`."""
        value, scale = self.completed(at, slot, deps)
        kept, total = self.sum_up(deps, lambda a, _: self.prior(at, slot, a) * exp(value(a) - scale))
        share = 1.0 / total.maximum(1e-30)
        return (lambda action: kept[action].load() * share), value

    def sum_up(self, deps: Sequence[UOp], term: Callable[[UOp, tuple[UOp, UOp]], UOp]) -> tuple[UOp, UOp]:
        """A term within 0..1 of every action, in registers, and the sum of all."""
        kept = register(self.width, f32)

        def body(action: UOp, index: UOp, bit: UOp, old: list[UOp]) -> tuple[list[UOp], list[UOp]]:
            x = term(action, (index, bit))
            return [old[0] + (x * UNIT).cast(i32)], [kept.after(*deps)[action].store(x)]

        (total,), done = self.scan(deps, [(0, i32)], body)
        return kept.after(done), total.cast(f32) * (1 / UNIT)

    def _by_weight(self, at: Coords, slot: UOp, legal: Legal, deps: Sequence[UOp]) -> Score:
        """Gumbel MuZero's rule: below the root the weights are approached; there, sequential halving."""
        weight, value = self.weights(at, slot, deps)
        visits = self.visits(at, slot)
        count = within(self.head(at, LEGAL).load(), self.form.considered + 1)
        turn = count * self.form.simulations + visits.minimum(self.form.simulations - 1)
        wanted, less = self.about[turn + TABLE].load(), 1.0 / (visits.cast(f32) + 1.0)
        at_root = slot.eq(0)

        def score(action: UOp, index: UOp, bit: UOp) -> tuple[UOp, UOp]:
            n = self.edge(at, slot, COUNT, action).load()
            inside = weight(action) - n.cast(f32) * less
            allowed = has(legal(index), bit) & (at_root.logical_not() | n.eq(wanted))
            return at_root.where(self.noise(at, 0, action) + value(action), inside), allowed

        return score

    def noise(self, at: Coords, part: int | UOp, action: UOp) -> UOp:
        """The root's; for `gumbel` the logits are added."""
        return self.cell_of_noise(at, part, action).load()

    def cell_of_noise(self, at: Coords, part: int | UOp, action: UOp) -> UOp:
        return self.root_noise[(at.batch.row * NOISES[self.form.method] + part) * self.width + action]

    # *** new nodes ***

    def bare(self, at: Coords, slot: UOp) -> list[UOp]:
        """The actions of a new node, without priors."""
        index, bit = loop(self.width // VECTOR), loop(VECTOR)
        stores = [
            self.edge(at, slot, k, index * VECTOR + bit).store(constant(0)) for k in (COUNT, SUM, CHILD)
        ]
        return [UOp.group(*stores).end(bit).end(index)]

    def expand(self, at: Coords, slot: UOp, logits: UOp, values: UOp) -> list[UOp]:
        """The actions of a new node with their priors, and what the network says of it."""
        row = within(at.batch.row, MOST_ROWS).minimum(self.about[SHARE].load() - 1)
        legal, lane = self.legal(at, slot), at.batch.lane

        def logit(action: UOp) -> UOp:
            return logits[row * self.actions + action.minimum(self.actions - 1)].load()

        def highest(action: UOp, index: UOp, bit: UOp, old: list[UOp]) -> tuple[list[UOp], list[UOp]]:
            x, allowed = logit(action), has(legal(index), bit)
            order = allowed.where(in_order(as_bits(x)), old[0].const_like(LOWEST))
            return [
                old[0].maximum(order),
                old[1] + allowed.cast(i32),
                old[2].maximum((allowed & no_number(x)).cast(i32)),
            ], []

        (top, count, wrong), _ = self.scan((lane,), [(LOWEST, i32), (0, i32), (0, i32)], highest)
        top = as_real(in_order(top))

        def power(action: UOp, where: tuple[UOp, UOp]) -> UOp:
            return has(legal(where[0]), where[1]).where(exp(logit(action) - top), top.const_like(0.0))

        kept, total = self.sum_up((lane,), power)
        share = 1.0 / total.maximum(1e-30)
        is_root = slot.eq(0)

        def body(action: UOp, index: UOp, bit: UOp, old: list[UOp]) -> tuple[list[UOp], list[UOp]]:
            prior, stores = kept[action].load() * share, []
            if self.form.method == "gumbel":
                noise = self.cell_of_noise(at, 0, action)
                stores.append(noise.store(noise.load() + is_root.where(logit(action), prior.const_like(0.0))))
            else:
                part = is_root.where(
                    as_real(self.about[TABLE + 2 * self.form.slots].load()), prior.const_like(0.0)
                )
                prior = prior * (1.0 - part) + self.noise(at, 0, action) * part
            rows = {COUNT: constant(0), SUM: constant(0), CHILD: constant(0), PRIOR: as_bits(prior)}
            return [], stores + [self.edge(at, slot, k, action).store(x) for k, x in rows.items()]

        _, done = self.scan((lane,), [], body)
        value = self.of_mover(at, slot, values)
        raw = wrong.ne(0).where(value.const_like(float("nan")), value)
        known = {RAW: as_bits(raw), TRIED: constant(0), MOST: constant(0)}
        known |= {TRIED_PRIOR: constant(0), TRIED_VALUE: constant(0)}
        legal_here = self.head(at, LEGAL)
        return [
            done,
            legal_here.store(is_root.where(count, legal_here.load())),
            *(self.node(at, slot, k).store(x) for k, x in known.items()),
        ]

    def of_mover(self, at: Coords, slot: UOp, values: UOp) -> UOp:
        """The network's value of a new node for who is to move."""
        mover = self.node(at, slot, MOVER).load()
        return entry_of([self.value(at, values, p) for p in range(self.form.values)], mover)

    def value(self, at: Coords, values: UOp, p: int) -> UOp:
        row = within(at.batch.row, MOST_ROWS).minimum(self.about[SHARE].load() - 1)
        return values[row * self.form.values + p].load()

    def returns(self, at: Coords, slot: UOp, values: UOp) -> list[UOp]:
        """What a simulation is worth to every player: what it has paid, and what the network says of the rest."""
        mover = self.node(at, slot, MOVER).load()
        rest = [self.value(at, values, p if self.form.values > 1 else 0) for p in range(self.players)]
        if self.form.values == 1 and self.players == 2:
            rest = [mover.eq(p).where(x, -x) for p, x in enumerate(rest)]
        over = mover < 0
        return [
            paid + over.where(x.const_like(0.0), x) for paid, x in zip(self.paid(at, slot), rest, strict=True)
        ]


def has(mask: UOp, bit: UOp) -> UOp:
    return (mask >> bit.cast(i32) & 1).ne(0)


def entry_of(values: Sequence[UOp], player: UOp) -> UOp:
    """The value of a player."""
    chosen = values[0]
    for p, value in enumerate(values[1:], 1):
        chosen = player.eq(p).where(value, chosen)
    return chosen
