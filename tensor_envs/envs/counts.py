"""Counts of decisions: how often actions are legal and taken, by whom and when, turns, and events of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygrad import Tensor

from tensor_envs._runtime.launch import eager

if TYPE_CHECKING:
    from tensor_envs._engine.batch_layout import BatchLayout
    from tensor_envs.envs.env import Env


class DecisionCounts:
    """Counts of the decisions of a batch of games, if the kernel was run with `count_actions`.

    Examples:
        >>> result = te.rollout(te.make("tic_tac_toe"), "uniform", 4, 9, autoreset="disabled", count_actions=True)
        >>> result.legal_counts.shape, result.width_counts.sum(0)[8].item()  # nine legal actions in the first decision
        ((4, 9), 4)
    """

    def __init__(self, env: Env, layout: BatchLayout, counts: Tensor | None, first: int = 0):
        """Wrap the counts of a batch.

        Args:
            env: the environment.
            layout: layout of the batch.
            counts: all counts of the batch; None if decisions were not counted.
            first: index of a game's first count.
        """
        self._env = env
        self._counts_layout = layout
        self._counts = counts
        self._first = first

    @property
    def legal_counts(self) -> Tensor:
        """Number of decisions in which each action was legal, int32 [B, A], with `count_actions`."""
        return eager(self._part(0, self._env.num_actions))

    @property
    def action_counts(self) -> Tensor:
        """Number of decisions in which each player took each action, int32 [B, P, A], with `count_actions`."""
        players = self._env.num_players
        actions = self._env.num_actions
        return eager(self._part(3, players * actions).reshape(-1, players, actions))

    @property
    def action_plies(self) -> Tensor:
        """Sum of the plies, from 0, at which each action was taken, int32 [B, A], with `count_actions`."""
        return eager(self._part(2, self._env.num_actions))

    @property
    def width_counts(self) -> Tensor:
        """Number of decisions with 1, 2, ..., A legal actions, int32 [B, A], with `count_actions`."""
        return eager(self._part(1, self._env.num_actions))

    @property
    def turns(self) -> Tensor:
        """Number of runs of decisions of one player, int32 [B], with `count_actions`."""
        return eager(self._part(3 + self._env.num_players, 1)[:, 0])

    @property
    def event_counts(self) -> dict[str, Tensor]:
        """Sum of each event of the rules by name, int32 [B] each, with `count_actions`."""
        names = self._env.spec.events
        columns = self._part(3 + self._env.num_players, 1 + len(names))
        return {name: eager(columns[:, 1 + number]) for number, name in enumerate(names)}

    def _part(self, part: int, count: int) -> Tensor:
        """Return `count` columns from column `part` * A on, [B, count]. ValueError if decisions were not counted."""
        if self._counts is None:
            raise ValueError("count_actions must be True in a call whose decisions are counted, got False")
        return self._counts_layout.view(self._counts, self._first + part * self._env.num_actions, count)
