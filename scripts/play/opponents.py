"""Who plays at a table when nobody clicks: the uniform player, and perfect play where a game is solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.games.shed.rules import Shed
from tensor_envs.games.shed.solve import solve
from tensor_envs.ops.lines import flat_step, line_directions, placements, starts, strides

Choose = Callable[[te.State], int]  # the action of a batch of one game
Shape = tuple[int, ...]

SOLVED_CELLS, SOLVED_CARDS = 9, 14  # at most: a second of work or less


def uniform(state: te.State) -> int:
    """A random legal action, a function of the game's seed and ply."""
    return int(te.random_policy(state).item())


def is_solved(env: te.Env) -> bool:
    """Whether there is a perfect player."""
    if isinstance(env.rules, HyperTicTacToe):
        return prod(env.rules.shape) <= SOLVED_CELLS
    return isinstance(env.rules, Shed) and env.rules.cards <= SOLVED_CARDS


def perfect(env: te.Env, seed: int) -> Choose:
    """A player of random actions among those that keep the position's value.

    It wins what is won: of the actions that keep a win one at least brings it nearer, and sooner or later is drawn.
    """
    chance = np.random.default_rng(seed)
    best = _best_cards(env) if isinstance(env.rules, Shed) else _best_cells(env)
    return lambda state: int(chance.choice(best(state)))


def _best_cards(env: te.Env) -> Callable[[te.State], Any]:
    table = solve(env.rules.cards, progress=False)
    return lambda state: np.flatnonzero(table.best_actions(state).numpy()[0])


def _best_cells(env: te.Env) -> Callable[[te.State], Any]:
    shape, k = env.rules.shape, env.rules.k

    def best(state: te.State) -> list[int]:
        game = env.state_to_dict(state)
        mark = 1 - 2 * game["current_player"]
        own, other = (sum(1 << c for c, m in enumerate(game["board"]) if m == sign) for sign in (mark, -mark))
        now = value(shape, k, own, other)
        free = [c for c in range(prod(shape)) if not (own | other) >> c & 1]
        return [c for c in free if -value(shape, k, other, own | 1 << c) == now]

    return best


@cache
def value(shape: Shape, k: int, own: int, other: int) -> int:
    """1 win, 0 draw, -1 loss for the player to move, who has the cells of `own` (bits); the other has just moved."""
    if any(line & other == line for line in lines(shape, k)):
        return -1
    free = [1 << c for c in range(prod(shape)) if not (own | other) >> c & 1]
    return max((-value(shape, k, other, own | cell) for cell in free), default=0)


@cache
def lines(shape: Shape, k: int) -> list[int]:
    """All lines of k cells, as bits."""
    return list(_lines(shape, k))


def _lines(shape: Shape, k: int) -> Iterator[int]:
    for d in line_directions(len(shape)):
        if placements(shape, k, d):
            step = flat_step(shape, d)
            for start in starts(shape, k, d):
                first = sum(c * stride for c, stride in zip(start, strides(shape), strict=True))
                yield sum(1 << first + i * step for i in range(k))
