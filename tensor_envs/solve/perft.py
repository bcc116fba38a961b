"""Perft: counts of action sequences and of the positions that they lead to, ply by ply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensor_envs._validate import instance, integer
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.solve.branches import progress_bar
from tensor_envs.solve.packed import Array
from tensor_envs.solve.positions import MAX_DEPTH, Children, Expander, Positions, merge

MAX_SEQUENCES = 2.0**63 * (1 - 1e-9)  # with a margin for the rounding of the sum
Result = tuple[float, ...]  # rewards of the players


@dataclass(frozen=True)
class Ply:
    """Counts of one ply.

    Attributes:
        ply: number of decisions since the start.
        sequences: number of action sequences of this length; finished games do not continue.
        positions: number of different positions; None with unique=False.
        ended: number of sequences that end the game at this ply, by the players' results.
        ended_positions: number of positions that end the game at this ply, by the players' results.
    """

    ply: int
    sequences: int
    positions: int | None
    ended: Mapping[Result, int]
    ended_positions: Mapping[Result, int]


@dataclass(frozen=True)
class Perft:
    """Result of `te.perft`: one `Ply` for each ply, the start first.

    Examples:
        >>> counts = te.perft(te.make("tic_tac_toe"), depth=5)
        >>> counts.sequences, counts.games
        ([1, 9, 72, 504, 3024, 15120], {(1.0, -1.0): 1440})
    """

    plies: tuple[Ply, ...]

    @property
    def sequences(self) -> list[int]:
        """Number of sequences by ply."""
        return [row.sequences for row in self.plies]

    @property
    def positions(self) -> list[int]:
        """Number of positions by ply. ValueError with unique=False."""
        counts = [row.positions for row in self.plies if row.positions is not None]
        if not counts:
            raise ValueError("positions were not told apart: count with unique=True")
        return counts

    @property
    def games(self) -> dict[Result, int]:
        """Number of complete games within these plies, by the players' results."""
        total: dict[Result, int] = defaultdict(int)
        for row in self.plies:
            for result, count in row.ended.items():
                total[result] += count
        return dict(total)

    def __str__(self) -> str:
        """Return a table with a line for each ply."""
        lines = [f"{'ply':>3} {'sequences':>22} {'positions':>14}  games that end here"]
        for row in self.plies:
            ends = ", ".join(
                f"{count:,} with {' '.join(f'{x:g}' for x in result)}" for result, count in row.ended.items()
            )
            positions = "" if row.positions is None else f"{row.positions:,}"
            lines.append(f"{row.ply:3} {row.sequences:22,} {positions:>14}  {ends}".rstrip())
        return "\n".join(lines)


def perft(
    start: Env | State, depth: int | None = None, unique: bool = True, symmetry: bool = False, progress: bool = False
) -> Perft:
    """Count action sequences and the positions that they lead to, ply by ply.

    A sequence ends with its game: finished games count only at the ply that ended them. Two positions are different if
    a field other than the ply differs, or the players' results. In games with chance, an action counts once for each
    different position that its draws lead to; every initial state starts a sequence.

    Args:
        start: an environment, or games of one environment at the same ply.
        depth: number of plies; None counts until all games are over.
        unique: expand equal positions of a ply once. Otherwise every sequence is played by itself, depth first, in
            little memory but in time proportional to the number of sequences.
        symmetry: count positions that `Env.symmetries` maps to each other once. Only symmetries are used that have
            `fields` and leave the start unchanged.
        progress: show a progress bar on stderr.

    Returns:
        A `Perft` with a row for every ply.

    Raises:
        TypeError, ValueError: another start or depth; a game with hidden information, with chance that cannot be
            counted, or too large to search; `symmetry` without `unique`.
        OverflowError: more sequences than int64 can count.

    Examples:
        >>> te.perft(te.make("tic_tac_toe"), 4, symmetry=True).positions
        [1, 3, 12, 38, 108]
    """
    depth = MAX_DEPTH if depth is None else integer("depth", depth, 0, MAX_DEPTH)
    instance("unique", unique, bool)
    instance("symmetry", symmetry, bool)
    instance("progress", progress, bool)
    if symmetry and not unique:
        raise ValueError("symmetry must be False where unique is, since positions are not told apart")
    game = Expander(start, symmetry, count_plies=True)
    return Perft(tuple((_by_ply if unique else _one_by_one)(game, depth, progress)))


def _by_ply(game: Expander, depth: int, progress: bool) -> list[Ply]:
    """Count breadth first, each position of a ply once. OverflowError for more sequences than int64 can count."""
    layer = game.start.positions
    counts = np.bincount(game.start.number).astype(np.int64)
    rows = [_row(game, 0, layer, counts)]
    while len(rows) <= depth:
        live = layer.results == 0
        if not live.any():
            break
        # Finished games have no further plies.
        layer = layer.take(live)
        counts = counts[live]
        bar = progress_bar(f"ply {len(rows)}", len(layer), progress)
        parts = list[Positions]()
        sums = list[Array]()
        total = 0.0
        for children in game.expand(layer.fields, game.ply + len(rows) - 1):
            total += float(counts[children.parents].sum(dtype=np.float64))
            # A sum in float64 shows an overflow that int64 would hide.
            if total > MAX_SEQUENCES:
                raise OverflowError("start has more sequences than 64 bits count: choose a smaller depth")
            parts.append(children.positions)
            edges = _edges(children, game.outcomes)
            reached = np.zeros(len(children.positions), np.int64)
            # Each edge carries all sequences that lead to its parent.
            np.add.at(reached, children.number[edges], counts[children.parents[edges]])
            sums.append(reached)
            bar.update(int(children.parents[-1]) + 1 - bar.n)
        bar.update(0, close=True)
        if not parts:
            raise ValueError(f"start must be of a game in which whoever is to move can, {game.env!r} is not")
        # Parts may reach the same positions, whose counts are added.
        layer, equal = merge(parts)
        counts = equal.total(np.concatenate(sums))
        rows.append(_row(game, len(rows), layer, counts))
    return rows


def _one_by_one(game: Expander, depth: int, progress: bool) -> list[Ply]:
    """Count depth first, one part of the sequences at a time."""
    plies = list[dict[int, int]]()  # for each ply, the number of sequences by the number of their result
    bar = progress_bar("sequences", None, progress)

    def visit(reached: Positions, ply: int) -> None:
        """Count positions, repeated for every sequence that leads to them, and visit their children."""
        if ply == len(plies):
            plies.append(defaultdict(int))
        for number, count in enumerate(np.bincount(reached.results).tolist()):
            plies[ply][number] += count
        live = reached.results == 0
        bar.update(len(live))
        if ply < depth and live.any():
            for children in game.expand(reached.fields[live], game.ply + ply):
                visit(children.positions.take(children.number[_edges(children, game.outcomes)]), ply + 1)

    visit(game.start.positions.take(game.start.number), 0)
    bar.update(0, close=True)
    return [
        Ply(ply, sum(counts.values()), None, {game.results[n - 1]: counts[n] for n in counts if n and counts[n]}, {})
        for ply, counts in enumerate(plies)
    ]


def _edges(children: Children, outcomes: int) -> Any:
    """Return indices of one edge for each action and child: draws of an action that lead to one position count once."""
    if outcomes == 1:
        return slice(None)
    action = np.arange(len(children.unmerged), dtype=np.int64) // outcomes
    # Positions are compared before symmetry merges them, so that symmetric draws count as different.
    return np.unique(action << 32 | children.unmerged, return_index=True)[1]


def _row(game: Expander, ply: int, layer: Positions, counts: Array) -> Ply:
    """Return the counts of a ply, given its positions and the number of sequences to each."""
    ended = dict[Result, int]()
    positions = dict[Result, int]()
    for number, result in enumerate(game.results, 1):
        has_result = layer.results == number
        if has_result.any():
            ended[result] = int(counts[has_result].sum())
            positions[result] = int(has_result.sum())
    return Ply(ply, int(counts.sum()), len(layer), ended, positions)
