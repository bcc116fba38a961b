"""Interface of the players in `benchmark.py`, and the statistics of their games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

MIN_EPISODES = 16384  # of statistics that are compared with exact values
MAX_PLIES = 20_000  # a longer game counts as endless


class Runner(Protocol):
    """Random legal play with auto-reset in many games at once."""

    steps: int  # environment steps that one `play` makes

    def play(self) -> None:
        """Start `steps` steps."""

    def wait(self) -> None:
        """Wait until all started steps are done."""

    def episode_stats(self) -> EpisodeStats:
        """Return statistics of first episodes, played by the same code in other rows."""

    def metadata(self) -> dict[str, Any]:
        """Return further columns of the table."""


class EpisodeStats:
    """Statistics of the first episode of every row.

    This sample is unbiased. Episodes that end before a given step would be too short on average.
    """

    def __init__(self, batch: int):
        self.playing = np.ones(batch, dtype=bool)
        self.lengths, self.first_rewards = np.zeros(batch, dtype=np.int64), np.zeros(batch, dtype=np.float32)

    def add(self, first_reward: np.ndarray, ended: np.ndarray) -> bool:
        """Add a step and return whether an episode is still active.

        Args:
            first_reward: rewards of the player who moved first, [B].
            ended: whether the step ended the episode, [B].
        """
        self.lengths += self.playing
        over = self.playing & ended
        self.first_rewards[over] = first_reward[over]
        self.playing &= ~ended
        return bool(self.playing.any())

    def summary(self) -> dict[str, float]:
        return {
            "games": len(self.lengths),
            "unfinished": int(self.playing.sum()),
            "first_wins": float((self.first_rewards > 0).mean()),
            "draws": float((self.first_rewards == 0).mean()),
            "mean_length": float(self.lengths.mean()),
            "length_deviation": float(self.lengths.std()),
        }


def play_first_episodes(batch: int, step: Callable[[], tuple[np.ndarray, np.ndarray]]) -> EpisodeStats:
    stats = EpisodeStats(batch)
    for _ in range(MAX_PLIES):
        if not stats.add(*step()):
            break
    return stats
