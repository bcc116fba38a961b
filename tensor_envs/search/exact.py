"""Perfect play where a game is solved: small boards of tic-tac-toe of any shape, and Shed."""

from __future__ import annotations

from functools import cache
from math import prod
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from tensor_envs._validate import instance
from tensor_envs.env import Env
from tensor_envs.ops.lines import Shape, flat_step, line_directions, placements, starts, strides
from tensor_envs.state import State

if TYPE_CHECKING:
    from tensor_envs.games.shed.tablebase import Tablebase

SOLVED_CELLS, SOLVED_CARDS = 9, 14  # at most: a second of work or less


def is_solved(env: Env) -> bool:
    """Whether `best_actions` knows the environment's positions.

    Args:
        env: any environment.

    Returns:
        True for tic-tac-toe of any shape with at most 9 cells, neither misere nor with gravity, and for Shed with at
        most 14 cards.

    Raises:
        TypeError: `env` is no environment.
    """
    from tensor_envs.games.hyper_tic_tac_toe.rules import (
        HyperTicTacToe,  # games are loaded when they are used
    )
    from tensor_envs.games.shed.rules import Shed

    instance("env", env, Env)
    if isinstance(env.rules, HyperTicTacToe):
        usual = not (env.rules.misere or env.rules.gravity)
        return prod(env.rules.shape) <= SOLVED_CELLS and usual
    return isinstance(env.rules, Shed) and env.rules.cards <= SOLVED_CARDS


def best_actions(state: State) -> np.ndarray:
    """The actions that keep a position's value under perfect play.

    Args:
        state: games of an environment that `is_solved`.

    Returns:
        bool [B, A]: the best of the legal actions; none once a game is over.

    Raises:
        TypeError: `state` is no State.
        ValueError: the game is not solved.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.step(env.init(1), [0])  # X in a corner: O must take the centre
        >>> np.flatnonzero(te.search.best_actions(state)[0]).tolist()
        [4]
    """
    instance("state", state, State)
    env = state.env
    if not is_solved(env):
        raise ValueError(
            f"there is no perfect play of {env!r}: at most {SOLVED_CELLS} cells or {SOLVED_CARDS} cards"
        )
    if hasattr(env.rules, "cards"):
        return _table(env.rules.cards, state.device).best_actions(state).numpy()
    now, shape, k = state.numpy(), env.rules.shape, env.rules.k
    best = now["legal_action_mask"].copy()
    for row in np.flatnonzero(best.any(1)):
        own, other = (int(now[name][row, 0]) for name in ("own", "other"))
        value = board_value(shape, k, own, other)
        for cell in np.flatnonzero(best[row]):
            best[row, cell] = -board_value(shape, k, other, own | 1 << int(cell)) == value
    return best


@cache
def _table(cards: int, device: str) -> Tablebase:
    from tensor_envs.games.shed.solve import solve

    return solve(cards, device, progress=False)


@cache
def board_value(shape: Shape, k: int, own: int, other: int) -> int:
    """The value of a board for the player to move, whose opponent has just moved.

    Args:
        shape: the board's sides, at most 9 cells together.
        k: marks in a line that win.
        own: the cells of the player to move, as bits.
        other: the opponent's cells, as bits.

    Returns:
        1 for a win, 0 for a draw, -1 for a loss.

    Examples:
        >>> from tensor_envs.search.exact import board_value
        >>> board_value((3, 3), 3, 0, 0), board_value((3, 3), 3, 0b011, 0b110000)
        (0, 1)
    """
    if any(line & other == line for line in _lines(shape, k)):
        return -1
    free = [1 << c for c in range(prod(shape)) if not (own | other) >> c & 1]
    return max((-board_value(shape, k, other, own | cell) for cell in free), default=0)


@cache
def _lines(shape: Shape, k: int) -> list[int]:
    """All lines of k cells, as bits."""
    found, steps = [], strides(shape)
    for d in line_directions(len(shape)):
        if placements(shape, k, d):
            step = flat_step(shape, d)
            firsts = [sum(map(mul, start, steps)) for start in starts(shape, k, d)]
            found += [sum(1 << first + i * step for i in range(k)) for first in firsts]
    return found
