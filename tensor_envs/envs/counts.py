"""Counts of decisions: how often actions are legal and taken, by whom and when, turns, and events of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygrad import Tensor

from tensor_envs._runtime.launch import eager

if TYPE_CHECKING:
    from tensor_envs._engine.batch_layout import BatchLayout
    from tensor_envs.envs.env import Env


class DecisionCounts:
    """Counts of the decisions of a batch of games, which a kernel has made with `count_actions`.

    Examples:
        >>> result = te.rollout(te.make("tic_tac_toe"), "uniform", 4, 9, autoreset="disabled", count_actions=True)
        >>> result.legal_counts.shape, result.width_counts.sum(0)[8].item()  # nine legal actions in the first decision
        ((4, 9), 4)
    """

    def __init__(self, env: Env, layout: BatchLayout, counts: Tensor | None, first: int = 0):
        """Wrap the counts of a batch, or None if nothing was counted. `first` is the index of a game's first count."""
        self._env = env
        self._counted_layout = layout
        self._counts = counts
        self._first = first

    @property
    def legal_counts(self) -> Tensor:
        """Decisions in which each action was legal, int32 [B, A], with `count_actions`."""
        return eager(self._counted(0, self._env.num_actions))

    @property
    def action_counts(self) -> Tensor:
        """Decisions in which each player took each action, int32 [B, P, A], with `count_actions`."""
        players, actions = self._env.num_players, self._env.num_actions
        return eager(self._counted(3, players * actions).reshape(-1, players, actions))

    @property
    def action_plies(self) -> Tensor:
        """Sums of the plies, from 0, at which each action was taken, int32 [B, A], with `count_actions`."""
        return eager(self._counted(2, self._env.num_actions))

    @property
    def width_counts(self) -> Tensor:
        """Decisions between 1, 2, ..., A legal actions, int32 [B, A], with `count_actions`."""
        return eager(self._counted(1, self._env.num_actions))

    @property
    def turns(self) -> Tensor:
        """Runs of decisions of one player, int32 [B], with `count_actions`."""
        return eager(self._counted(3 + self._env.num_players, 1)[:, 0])

    @property
    def event_counts(self) -> dict[str, Tensor]:
        """Sums of the events of the rules by name, int32 [B] each, with `count_actions`."""
        names = self._env.spec.events
        columns = self._counted(3 + self._env.num_players, 1 + len(names))
        return {name: eager(columns[:, 1 + number]) for number, name in enumerate(names)}

    def _counted(self, part: int, count: int) -> Tensor:
        """Return consecutive counts, [B, count], that begin at a multiple of A. ValueError if nothing was counted."""
        if self._counts is None:
            raise ValueError("count_actions must be True in a call whose decisions are counted, got False")
        return self._counted_layout.view(self._counts, self._first + part * self._env.num_actions, count)
