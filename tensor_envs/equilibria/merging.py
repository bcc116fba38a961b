"""Merging of information states and sequences that are equal by the symmetries of a game, without loss.

Sequences of a class are worth the same as long as all players treat classes alike. Colour refinement finds the coarsest
such partition, which is at least as coarse as that by the symmetries of the rules and of chance. A best response to
players who treat classes alike may do so, too, and in a game for two players with zero sum some equilibrium does.
Source: M. Grohe, K. Kersting, M. Mladenov, E. Selman, "Dimension Reduction via Colour Refinement", ESA 2014.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensor_envs.equilibria.ends import SortedEnds, all_merged, sorted_ends
from tensor_envs.equilibria.sequence_form import SequenceForm
from tensor_envs.equilibria.storage import GrowingTable
from tensor_envs.solve.packed import Array

STABLE = 2  # rounds without a new class after which the classes are final; every round draws new random weights
PRECISION = 1e-10  # relative difference up to which numbers are equal


class Merged:
    """Sequence forms of all players in which a class of sequences is one.

    Attributes:
        forms: the smaller forms.
        classes: class of each sequence of every player, its number in the smaller form, intp [size].
        counts: how many sequences of one information state each class of every player has, intp [classes].
    """

    def __init__(self, forms: Sequence[SequenceForm]):
        self.classes = _refined(forms)
        self.counts = list[Array]()
        parts = list[tuple[list[int], Array, Array]]()
        shares = list[Array]()  # share of each sequence in its class's part of a plan
        for form, classes in zip(forms, self.classes, strict=True):
            # Classes are numbered by their first sequences, so class 0 is the empty sequence, which has no information
            # state.
            first = np.unique(classes, return_index=True)[1]
            # One state of each class of information states is kept.
            states, counts = np.unique(form.state[first[1:]], return_counts=True)
            chosen = np.zeros(len(form.starts), bool)
            chosen[states] = True
            depths = [int(chosen[level.states].sum()) for level in form.levels]
            parts.append((depths, classes[form.before[form.starts[states]]], counts))
            # Several merged states may have sequences of one class, so only the states that are kept count.
            members = np.bincount(classes[1:][chosen[form.state[1:]]], minlength=len(first))
            members[0] = 1
            self.counts.append(members)
            # A plan gives its class to all members alike.
            shares.append(form.plan(1 / members[classes]))
        self.forms = [
            SequenceForm(form.player, *part, _merged_ends(form, self.classes, shares), form.storage)
            for form, part in zip(forms, parts, strict=True)
        ]
        for form, counts in zip(self.forms, self.counts, strict=True):
            # A class of several actions gets the probability of all of them together.
            form.uniform = form.strategy(counts.astype(np.float64))

    def strategies(self, merged: Sequence[Array]) -> list[Array]:
        """Return every player's strategy in the whole forms from those in the smaller ones."""
        triples = zip(merged, self.classes, self.counts, strict=True)
        return [(strategy / counts)[classes] for strategy, classes, counts in triples]


def _refined(forms: Sequence[SequenceForm]) -> list[Array]:
    """Return the class of each sequence of every player, numbered by their first sequences."""
    rng = np.random.default_rng(0)

    def drawn(colour: Array) -> Array:
        """Return a random weight of each colour, for every sequence."""
        return np.asarray(rng.uniform(1, 2, len(colour))[colour])

    # Colour refinement: sequences keep one colour until something distinguishes them. Random weights make equal sums of
    # different colours unlikely.
    colours = [np.minimum(np.arange(form.size), 1) for form in forms]  # the empty sequence has its own
    number = 0
    rounds = 0
    while rounds < STABLE:
        for p, form in enumerate(forms):
            weights = [drawn(colour) for colour in colours]
            # Sums may cancel, so differences are compared with the sum of absolute values.
            scale = form.summed(form.ends.payoffs, weights, absolute=True)
            colours[p] = _split(colours[p], form.payoffs(weights), scale)
            if len(form.starts):
                # Sequences differ, too, if their information states differ, or the states that follow them.
                before = form.before[form.starts]
                states = np.add.reduceat(drawn(colours[p]), form.starts) + drawn(colours[p])[before]
                for values in (np.append(0.0, states[form.state[1:]]), np.bincount(before, states, form.size)):
                    colours[p] = _split(colours[p], values, values)
        total = sum(int(colour.max()) for colour in colours)
        rounds = rounds + 1 if total == number else 0
        number = total
    return [_renumbered(colour) for colour in colours]


def _renumbered(colours: Array) -> Array:
    """Return colours numbered by their first sequences."""
    first = np.unique(colours, return_index=True)[1]
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[colours])


def _split(colours: Array, values: Array, scale: Array) -> Array:
    """Return finer colours: those of different values are different."""
    # Neighbours in sorted order with a gap between their values begin a new colour.
    order = np.lexsort((values, colours))
    sorted_values = values[order]
    sorted_colours = colours[order]
    gaps = np.diff(sorted_values) > PRECISION * np.maximum(scale[order][1:], scale[order][:-1])
    number = np.cumsum(np.append(False, gaps | (np.diff(sorted_colours) > 0)))
    finer = np.empty_like(colours)
    finer[order] = number
    return finer


def _merged_ends(form: SequenceForm, classes: Sequence[Array], shares: Sequence[Array]) -> SortedEnds:
    """Return the ends of a form by classes, of whose payoffs each sequence has its share."""
    ends = form.ends
    p = form.player
    table = GrowingTable(form.storage)
    for rows in form.storage.slices(len(ends.payoffs)):
        others = [other[rows] for other in ends.others]
        every = [*others[:p], ends.own(rows), *others[p:]]
        # Merged sequences share the probability of their class, so an end counts with the share of every player.
        share = np.prod([mine[at] for mine, at in zip(shares, every, strict=True)], axis=0)
        places = np.stack([mine[at] for mine, at in zip(classes, every, strict=True)], axis=1)
        table.add(places, ends.chance[rows] * share, (ends.payoffs[rows] * share)[:, None])
    sizes = [int(mine.max()) + 1 for mine in classes]
    return sorted_ends(all_merged(table), p, 0, np.arange(max(sizes)), sizes[p], form.storage)
