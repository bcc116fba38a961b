"""What everybody in `benchmark.py` must be able to do, and the statistics of their games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

MIN_EPISODES = 16384  # that statistics count at least which are held to facts
MAX_PLIES = 20_000  # a game that has not ended by then never will


class Runner(Protocol):
    """Random legal play with auto-reset in many games at once."""

    steps: int  # environment steps that one `play` makes

    def play(self) -> None:
        """Begin that many steps."""

    def wait(self) -> None:
        """Until all that was begun is done."""

    def episode_stats(self) -> EpisodeStats:
        """Of the first episodes of other rows, played by the same code."""

    def about(self) -> dict[str, Any]:
        """What else the table should say."""


class EpisodeStats:
    """Of the first episode of every row: an unbiased sample. Those that end by some step are too short on average."""

    def __init__(self, batch: int):
        self.playing = np.ones(batch, dtype=bool)
        self.lengths, self.first_rewards = np.zeros(batch, dtype=np.int64), np.zeros(batch, dtype=np.float32)

    def add(self, first_reward: np.ndarray, ended: np.ndarray) -> bool:
        """One step: the reward of whoever moved first, and whether the episode ended -> whether any goes on."""
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
