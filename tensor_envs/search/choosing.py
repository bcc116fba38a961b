"""Which action of a node a simulation goes on with, and the priors of new nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import UOp

from tensor_envs.core.kernels.block import Coords
from tensor_envs.rules.bits import WORD_BITS
from tensor_envs.rules.control import loop, register
from tensor_envs.search.memory import (
    CHILD,
    COUNT,
    LARGEST,
    LEGAL,
    MOST,
    MOST_ROWS,
    MOVER,
    PRIOR,
    RAW,
    SHARE,
    SUM,
    TABLE,
    TRIED,
    TRIED_PRIOR,
    TRIED_VALUE,
    VECTOR,
    VISITS,
    Legal,
    Score,
    TreeMemory,
    as_bits,
    as_real,
    below,
    constant,
    entry_of,
    f32,
    i32,
    i64,
    within,
)

UNIT = 2.0**22  # of sums in fixed point: whole numbers are added in vectors, floats one after the other
LOWEST = -(2**31) + 1  # of what `in_order` gives: below every number


def in_order(bits: UOp) -> UOp:
    """The bits of a float32 as an int32 of the same order; and back."""
    return bits ^ (bits < 0).where(bits.const_like(0x7FFFFFFF), bits.const_like(0))


def no_number(x: UOp) -> UOp:
    """Whether a float32 is NaN or infinite."""
    return x.ne(x) | (x.maximum(-x) > 3e38)


def exp(x: UOp) -> UOp:
    """e^x for x <= 0, about 0 below -80: a power of 2 by its bits, a polynomial for the rest."""
    y = x.maximum(-80.0) * 1.4426950408889634
    whole = (y - 0.5).cast(i32)  # towards 0, so that the rest is within -0.5..0.5
    rest = (y - whole.cast(f32)) * 0.6931471805599453
    power = rest.const_like(1.0)
    for k in range(7, 0, -1):
        power = power * rest * (1.0 / k) + 1.0
    return power * as_real((whole + 127) << 23)


def has(mask: UOp, bit: UOp) -> UOp:
    return (mask >> bit.cast(i32) & 1).ne(0)


class Choosing(TreeMemory):
    """What is worked out over the actions of a node."""

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
        return below(self.width - 1 - (found & 0xFFFFFFFF).cast(i32), self.width)

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
        return below(self.node(at, slot, VISITS).load(), self.form.slots)

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
            stores += [self.begun(self.edge(at, slot, k, action), slot) for k in (COUNT, SUM, CHILD)]
            return [], [*stores, self.edge(at, slot, PRIOR, action).store(as_bits(prior))]

        _, done = self.scan((lane,), [], body)
        value = self.of_mover(at, slot, values)
        raw = wrong.ne(0).where(value.const_like(float("nan")), value)
        legal_here = self.head(at, LEGAL)
        return [
            done,
            legal_here.store(is_root.where(count, legal_here.load())),
            self.node(at, slot, RAW).store(as_bits(raw)),
            *(self.begun(self.node(at, slot, k), slot) for k in (TRIED, MOST, TRIED_PRIOR, TRIED_VALUE)),
        ]

    def begun(self, cell: UOp, slot: UOp) -> UOp:
        """A number of a new node is stored: 0, if it is not a root of which more is known."""
        return cell.store(slot.eq(0).where(cell.load(), constant(0)) if self.form.kept else constant(0))

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
