"""Exact values of positions: the oracle's methods that all solutions of games share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from tensor_envs._engine.inputs import host_ints
from tensor_envs._validate import integer, renames
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.solve.packed import Array
from tensor_envs.solve.proof import WIN_SCORE

SETTLED = 1e-12  # tolerance of expectations
MAX_POSITIONS = 2**31 - 1
ILLEGAL = -2  # value of an illegal action


def one_ply_earlier(values: Array) -> Array:
    """Return the values one ply earlier: scores move one step towards 0, expectations stay."""
    return values - np.sign(values) if values.dtype == np.int16 else values


class ExactValues(ABC):
    """Oracle of a game: values, best actions and distances of positions.

    Attributes:
        env: the environment.
    """

    env: Env
    _wins: bool  # whether all results are wins, draws and losses, so that values are scores

    @property
    @abstractmethod
    def _has_line(self) -> bool:
        """Whether best play is a line of actions, without chance."""

    @abstractmethod
    def _scores(self, state: State, exact: bool = True) -> Array:
        """Return scores or expectations for player 0, [B]; without `exact`, a score may be any number of its sign."""

    @abstractmethod
    def _action_scores(self, state: State, exact: bool = True) -> tuple[Array, Array]:
        """Return the scores that the actions give the positions, for player 0, [B, A], and the legal actions [B, A]."""

    def value(self, state: State) -> Array:
        """Return the return of the player to move under best play of all players.

        Args:
            state: games of the environment, on any device.

        Returns:
            int32 [B]: 1 for a win, 0 for a draw, -1 for a loss. In games with chance or other results, expectations,
            float64 [B]. The value of a finished game is the reward of its last step.

        Raises:
            ValueError, TypeError: another state, or a position that the start does not lead to.

        Examples:
            >>> solution = te.solve(te.make("tic_tac_toe"))
            >>> solution.value(solution.env.init(2)).tolist()
            [0, 0]
        """
        return self._reported(self._scores(state, exact=False)) * self._turn(state)

    def action_values(self, state: State) -> Array:
        """Return the value after each action for the player to move, [B, A], as in `value`.

        The value of an illegal action is -2, or NaN among expectations.
        """
        scores, legal = self._action_scores(state, exact=False)
        values = self._reported(scores) * self._turn(state)[:, None]
        return np.where(legal, values, ILLEGAL if self._wins else np.nan)

    def best_actions(self, state: State) -> Array:
        """Return the legal actions that keep the position's value, bool [B, A]."""
        scores, legal = self._action_scores(state, exact=False)
        values = self._reported(scores) * self._turn(state)[:, None]
        # Expectations of equally good actions differ by rounding.
        best = np.where(legal, values, -np.inf).max(1, keepdims=True)
        return legal & (values >= best - (0 if self._wins else SETTLED))

    def regret(self, state: State, action: Any) -> Array:
        """Return the position's value minus the action's, [B]; the value of an illegal action, or -1, is -1."""
        values = self.value(state)
        actions = host_ints("action", action, state.batch, self.env.num_actions, low=-1)
        chosen = np.arange(state.batch), actions
        legal = state.numpy()["legal_action_mask"][chosen] & (actions >= 0)
        return values - np.where(legal, self.action_values(state)[chosen], -1)

    def distance(self, state: State) -> Array:
        """Return the plies to the end if the winner plays the fastest win and the loser resists longest, int32 [B].

        The distance of a draw is -1.

        Raises:
            ValueError: as in `value`; a game with other results than wins, draws and losses.
        """
        if not self._wins:
            raise ValueError(f"{self.env!r} has more than wins, draws and losses, and so no distance")
        scores = np.abs(self._scores(state).astype(np.int32))
        return np.where(scores == 0, -1, WIN_SCORE - scores)

    @renames(i="row", most="max_actions")
    def line(self, state: State, row: int = 0, max_actions: int = 1000) -> list[int]:
        """Return the actions of best play from one game to its end: the fastest win, or the longest resistance.

        Args:
            state: games of the environment.
            row: row of the game in the batch.
            max_actions: maximum number of actions.

        Raises:
            ValueError: as in `value`; a game with chance; results besides wins, draws and losses in a game whose rules
                do not depend on the ply, where such a line may never end.
        """
        if not self._has_line:
            raise ValueError(f"{self.env!r} has chance, or values without distances, and so no line of best play")
        state = state[[integer("row", row, 0, state.batch - 1)]]
        actions = list[int]()
        max_actions = integer("max_actions", max_actions, 1, MAX_POSITIONS)
        while len(actions) < max_actions:
            scores, legal = self._action_scores(state)
            if not legal.any():
                break
            actions.append(int(np.where(legal, scores * self._turn(state)[:, None], -np.inf).argmax()))
            state = self.env.step(state, actions[-1:])
        return actions

    def _reported(self, scores: Array) -> Array:
        """Convert scores to reported values: their signs, or expectations."""
        return np.sign(scores).astype(np.int32) if self._wins else scores

    def _turn(self, state: State) -> Array:
        """Return 1 if player 0 is to move, else -1, int32 [B]."""
        return np.where(state.current_player.numpy() == 0, 1, -1).astype(np.int32)
