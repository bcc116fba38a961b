"""Counting: how many sequences of actions a game has, and how many positions they lead to, ply by ply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tinygrad.helpers import tqdm

from tensor_envs.core.env import Env
from tensor_envs.core.state import State
from tensor_envs.core.validate import instance, integer
from tensor_envs.exact.packed import Array
from tensor_envs.exact.positions import Children, Expander, Positions, joined

MAX_DEPTH = 2**31 - 1
MOST = 2.0**63 * (1 - 1e-9)  # sequences; the sum that is compared is rounded
Result = tuple[float, ...]


@dataclass(frozen=True)
class Ply:
    """What is reached after so many plies.

    Attributes:
        ply: decisions from the start on.
        sequences: of actions that lead here; those whose game was over before do not go on.
        positions: different ones among them.
        ended: of the sequences, those that end the game here, by what the players then get.
        ended_positions: likewise of the positions.
    """

    ply: int
    sequences: int
    positions: int
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
        """By ply."""
        return [row.positions for row in self.plies]

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
            lines.append(f"{row.ply:3} {row.sequences:22,} {row.positions:14,}  {ends}".rstrip())
        return "\n".join(lines)


def perft(
    start: Env | State, depth: int | None = None, symmetry: bool = False, progress: bool = False
) -> Perft:
    """Count sequences of actions and the positions that they lead to, ply by ply, breadth first.

    A sequence ends with its game: over games are counted at the ply that ended them and not after it. Positions are
    different if a field of the state other than the ply is, or what the players got at the end. Where there is chance,
    an action with draws that lead to different positions is as many sequences; every way to begin is one, too.

    Args:
        start: an environment, or games of one, all of one ply.
        depth: plies to count; None: until all games are over.
        symmetry: count positions that `Env.symmetries` maps to each other once, where what players see is of bools; of
            the symmetries those that leave the start as it is.
        progress: show a bar on stderr.

    Returns:
        A row for every ply.

    Raises:
        TypeError, ValueError: no such start or depth; a game with hidden information, whose chance cannot be counted,
            or that is too large to search.
        OverflowError: more sequences than 64 bits count.

    Examples:
        >>> te.perft(te.make("tic_tac_toe"), 4, symmetry=True).positions
        [1, 3, 12, 38, 108]
    """
    depth = MAX_DEPTH if depth is None else integer("depth", depth, 0, MAX_DEPTH)
    instance("symmetry", symmetry, bool)
    instance("progress", progress, bool)
    game = Expander(start, symmetry, count_plies=True)
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
            sums.append(_counted(children, counts, game.outcomes))
            bar.update(int(children.parents[-1]) + 1 - bar.n)
        bar.update(0, close=True)
        layer, same = joined(parts)
        counts = same.total(np.concatenate(sums))
        rows.append(_row(game, len(rows), layer, counts))
    return Perft(tuple(rows))


def _counted(children: Children, counts: Array, outcomes: int) -> Array:
    """int64 [positions]: the sequences that lead to every child."""
    parents, number = children.parents, children.number
    if outcomes > 1:  # draws that lead to the same position are one
        action = np.arange(len(number), dtype=np.int64) // outcomes
        once = np.unique(action << 32 | number, return_index=True)[1]
        parents, number = parents[once], number[once]
    found = np.zeros(len(children.positions), np.int64)
    np.add.at(found, number, counts[parents])
    return found


def _row(game: Expander, ply: int, layer: Positions, counts: Array) -> Ply:
    ended, positions = dict[Result, int](), dict[Result, int]()
    for number, result in enumerate(game.results, 1):
        here = layer.results == number
        if here.any():
            ended[result], positions[result] = int(counts[here].sum()), int(here.sum())
    return Ply(ply, int(counts.sum()), len(layer), ended, positions)


def counter(what: str, total: int, shown: bool) -> Any:
    """A bar of positions on stderr."""
    return tqdm(desc=what, total=total, unit=" positions", unit_scale=True, disable=not shown)
