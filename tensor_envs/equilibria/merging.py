"""Merging of information states and sequences that are equal by the symmetries of a game, without loss.

Sequences of a class have the same value as long as all players treat the sequences of every class alike. Colour
refinement finds the coarsest such partition, which is at least as coarse as that by the symmetries of the rules and of
chance. If all other players treat classes alike, some best response does so as well, and in a game for two players with
zero sum some equilibrium does.
Source: M. Grohe, K. Kersting, M. Mladenov, E. Selman, "Dimension Reduction via Colour Refinement", ESA 2014.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensor_envs.equilibria.ends import SortedEnds, merge_table, sorted_ends
from tensor_envs.equilibria.sequence_form import SequenceForm
from tensor_envs.equilibria.storage import GrowingTable
from tensor_envs.solve.packed import Array

STABLE_ROUNDS = 2  # rounds without a new class after which the classes are final; every round has new random weights
PRECISION = 1e-10  # relative difference up to which numbers are equal


class MergedForms:
    """Sequence forms of all players in which each class of sequences is a single sequence.

    Attributes:
        forms: the smaller forms.
        classes: for every player, the class of each sequence, which is its number in the smaller form, intp [size].
        counts: for every player, the number of sequences of one information state in each class, intp [classes].
    """

    def __init__(self, forms: Sequence[SequenceForm]):
        self.classes = _refine_colours(forms)
        self.counts = list[Array]()
        parts = list[tuple[list[int], Array, Array]]()
        shares = list[Array]()  # share of each sequence in its class's part of a plan
        for form, classes in zip(forms, self.classes, strict=True):
            # Classes are numbered by their first sequences, so class 0 is the empty sequence, which has no information
            # state.
            first = np.unique(classes, return_index=True)[1]
            # Keep one information state of each class of states.
            states, counts = np.unique(form.state[first[1:]], return_counts=True)
            is_kept = np.zeros(len(form.starts), bool)
            is_kept[states] = True
            depths = [int(is_kept[level.states].sum()) for level in form.levels]
            parts.append((depths, classes[form.before[form.starts[states]]], counts))
            # Several merged states may have sequences of one class, so only the states that are kept count.
            members = np.bincount(classes[1:][is_kept[form.state[1:]]], minlength=len(first))
            members[0] = 1
            self.counts.append(members)
            # All members of a class have the same share of its probability.
            shares.append(form.plan(1 / members[classes]))
        self.forms = [
            SequenceForm(form.player, *part, _merged_ends(form, self.classes, shares), form.storage)
            for form, part in zip(forms, parts, strict=True)
        ]
        for form, counts in zip(self.forms, self.counts, strict=True):
            # A class of several actions has the sum of their probabilities.
            form.uniform = form.strategy(counts.astype(np.float64))

    def strategies(self, strategies: Sequence[Array]) -> list[Array]:
        """Return every player's strategy in the original form, given those in the smaller forms."""
        triples = zip(strategies, self.classes, self.counts, strict=True)
        return [(strategy / counts)[classes] for strategy, classes, counts in triples]


def _refine_colours(forms: Sequence[SequenceForm]) -> list[Array]:
    """Return the class of each sequence of every player, numbered by their first sequences."""
    rng = np.random.default_rng(0)

    def random_weights(colours: Array) -> Array:
        """Return a random weight of each colour, for every sequence, float64 [size]."""
        return np.asarray(rng.uniform(1, 2, len(colours))[colours])

    # Colour refinement: sequences have one colour until something distinguishes them. Random weights make equal sums
    # over different colours unlikely. The empty sequence has its own colour.
    colours = [np.minimum(np.arange(form.size), 1) for form in forms]
    last_total = 0
    stable_rounds = 0
    while stable_rounds < STABLE_ROUNDS:
        for p, form in enumerate(forms):
            weights = [random_weights(player_colours) for player_colours in colours]
            # Split by the payoffs against the others' colours. Sums may cancel, so differences are compared with the
            # sum of absolute values.
            scale = form.sum_over_ends(form.ends.payoffs, weights, absolute=True)
            colours[p] = _split(colours[p], form.payoffs(weights), scale)
            if len(form.starts):
                # Split by the colours of the information state, and of the states that follow. The colour of a state is
                # a random sum over its actions and the sequence before it.
                before = form.before[form.starts]
                states = np.add.reduceat(random_weights(colours[p]), form.starts) + random_weights(colours[p])[before]
                for values in (np.append(0.0, states[form.state[1:]]), np.bincount(before, states, form.size)):
                    colours[p] = _split(colours[p], values, values)
        total = sum(int(player_colours.max()) for player_colours in colours)
        stable_rounds = stable_rounds + 1 if total == last_total else 0
        last_total = total
    return [_renumber(colour) for colour in colours]


def _renumber(colours: Array) -> Array:
    """Number colours in the order of their first sequences."""
    first = np.unique(colours, return_index=True)[1]
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[colours])


def _split(colours: Array, values: Array, scale: Array) -> Array:
    """Split each colour by the values of its sequences, [size], and return the new colours.

    Values are equal if they differ by no more than `PRECISION` times the `scale` [size].
    """
    # A gap between neighbouring values in sorted order begins a new colour.
    order = np.lexsort((values, colours))
    sorted_values = values[order]
    sorted_colours = colours[order]
    gaps = np.diff(sorted_values) > PRECISION * np.maximum(scale[order][1:], scale[order][:-1])
    number = np.cumsum(np.append(False, gaps | (np.diff(sorted_colours) > 0)))
    finer = np.empty_like(colours)
    finer[order] = number
    return finer


def _merged_ends(form: SequenceForm, classes: Sequence[Array], shares: Sequence[Array]) -> SortedEnds:
    """Return the ends of a form, sorted by the classes of its player.

    Args:
        form: the original form of the player.
        classes: for every player, the class of each sequence.
        shares: for every player, the share of each sequence in the probability of its class.
    """
    ends = form.ends
    p = form.player
    table = GrowingTable(form.storage)
    for rows in form.storage.slices(len(ends.payoffs)):
        others = [other[rows] for other in ends.others]
        sequences = [*others[:p], ends.own(rows), *others[p:]]
        # Merged sequences share the probability of their class, so an end counts with the share of every player.
        share = np.prod([column[sequence] for column, sequence in zip(shares, sequences, strict=True)], axis=0)
        end_classes = np.stack([column[sequence] for column, sequence in zip(classes, sequences, strict=True)], axis=1)
        table.add(end_classes, ends.chance[rows] * share, (ends.payoffs[rows] * share)[:, None])
    sizes = [int(column.max()) + 1 for column in classes]
    return sorted_ends(merge_table(table), p, 0, np.arange(max(sizes)), sizes[p], form.storage)
