"""Counting: how many sequences of actions a game has, and how many positions they lead to, ply by ply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensor_envs._validate import instance, integer
from tensor_envs.env import Env
from tensor_envs.solve.packed import Array
from tensor_envs.solve.positions import MAX_DEPTH, Children, Expander, Positions, counter, joined
from tensor_envs.state import State

MOST = 2.0**63 * (1 - 1e-9)  # sequences; the sum that is compared is rounded
Result = tuple[float, ...]


@dataclass(frozen=True)
class Ply:
    """What is reached after so many plies.

    Attributes:
        ply: decisions from the start on.
        sequences: of actions that lead here; those whose game was over before do not go on.
        positions: different ones among them; None if they were not told apart.
        ended: of the sequences, those that end the game here, by what the players then get.
        ended_positions: likewise of the positions.
    """

    ply: int
    sequences: int
    positions: int | None
    ended: Mapping[Result, int]
    ended_positions: Mapping[Result, int]


@dataclass(frozen=True)
class Perft:
    """A row for every ply, the start being the first; see `Ply`."""

    plies: tuple[Ply, ...]

    @property
    def sequences(self) -> list[int]:
        """By ply."""
        return [row.sequences for row in self.plies]

    @property
    def positions(self) -> list[int]:
        """By ply. ValueError if they were not told apart."""
        found = [row.positions for row in self.plies if row.positions is not None]
        if not found:
            raise ValueError("positions were not told apart: count with unique=True")
        return found

    @property
    def games(self) -> dict[Result, int]:
        """Complete games within these plies, by what the players get."""
        total: dict[Result, int] = defaultdict(int)
        for row in self.plies:
            for result, count in row.ended.items():
                total[result] += count
        return dict(total)

    def __str__(self) -> str:
        lines = [f"{'ply':>3} {'sequences':>22} {'positions':>14}  games that end here"]
        for row in self.plies:
            ends = ", ".join(
                f"{count:,} with {' '.join(f'{x:g}' for x in result)}" for result, count in row.ended.items()
            )
            positions = "" if row.positions is None else f"{row.positions:,}"
            lines.append(f"{row.ply:3} {row.sequences:22,} {positions:>14}  {ends}".rstrip())
        return "\n".join(lines)


def perft(
    start: Env | State,
    depth: int | None = None,
    unique: bool = True,
    symmetry: bool = False,
    progress: bool = False,
) -> Perft:
    """Count sequences of actions and the positions that they lead to, ply by ply.

    A sequence ends with its game: over games are counted at the ply that ended them and not after it. Positions are
    different if a field of the state other than the ply is, or what the players got at the end. Where there is chance,
    an action with draws that lead to different positions is as many sequences; every way to begin is one, too.

    Args:
        start: an environment, or games of one, all of one ply.
        depth: plies to count; None: until all games are over.
        unique: tell positions apart, ply by ply, and go on from each once. Otherwise every sequence is played on its
            own, one part after the other to its end: that takes little memory, and as long as there are sequences.
        symmetry: count positions that `Env.symmetries` maps to each other once, where what players see is of bools; of
            the symmetries those that leave the start as it is.
        progress: show a bar on stderr.

    Returns:
        A row for every ply.

    Raises:
        TypeError, ValueError: no such start or depth; a game with hidden information, whose chance cannot be counted,
            or that is too large to search; symmetry where positions are not told apart.
        OverflowError: more sequences than 64 bits count.

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
    """Breadth first. OverflowError."""
    layer, counts = game.start.positions, np.bincount(game.start.number).astype(np.int64)
    rows = [_row(game, 0, layer, counts)]
    while len(rows) <= depth:
        live = layer.results == 0
        if not live.any():
            break
        layer, counts = layer.take(live), counts[live]
        bar = counter(f"ply {len(rows)}", len(layer), progress)
        parts, sums, total = list[Positions](), list[Array](), 0.0
        for children in game.expand(layer.fields, game.ply + len(rows) - 1):
            total += float(counts[children.parents].sum(dtype=np.float64))
            if total > MOST:
                raise OverflowError("start has more sequences than 64 bits count: choose a smaller depth")
            parts.append(children.positions)
            edges, found = _edges(children, game.outcomes), np.zeros(len(children.positions), np.int64)
            np.add.at(found, children.number[edges], counts[children.parents[edges]])
            sums.append(found)
            bar.update(int(children.parents[-1]) + 1 - bar.n)
        bar.update(0, close=True)
        layer, same = joined(parts)
        counts = same.total(np.concatenate(sums))
        rows.append(_row(game, len(rows), layer, counts))
    return rows


def _one_by_one(game: Expander, depth: int, progress: bool) -> list[Ply]:
    """Depth first, as many sequences at once as are played together."""
    found = list[dict[int, int]]()  # by ply: sequences by the number of their result
    bar = counter("sequences", None, progress)

    def follow(reached: Positions, ply: int) -> None:
        if ply == len(found):
            found.append(defaultdict(int))
        for number, count in enumerate(np.bincount(reached.results).tolist()):
            found[ply][number] += count
        live = reached.results == 0
        bar.update(len(live))
        if ply < depth and live.any():
            for children in game.expand(reached.fields[live], game.ply + ply):
                follow(children.positions.take(children.number[_edges(children, game.outcomes)]), ply + 1)

    follow(game.start.positions.take(game.start.number), 0)
    bar.update(0, close=True)
    return [
        Ply(
            ply,
            sum(counts.values()),
            None,
            {game.results[n - 1]: counts[n] for n in counts if n and counts[n]},
            {},
        )
        for ply, counts in enumerate(found)
    ]


def _edges(children: Children, outcomes: int) -> Any:
    """Those that count: draws of an action that lead to the same position are one."""
    if outcomes == 1:
        return slice(None)
    action = np.arange(len(children.number), dtype=np.int64) // outcomes
    return np.unique(action << 32 | children.number, return_index=True)[1]


def _row(game: Expander, ply: int, layer: Positions, counts: Array) -> Ply:
    ended, positions = dict[Result, int](), dict[Result, int]()
    for number, result in enumerate(game.results, 1):
        here = layer.results == number
        if here.any():
            ended[result], positions[result] = int(counts[here].sum()), int(here.sum())
    return Ply(ply, int(counts.sum()), len(layer), ended, positions)
