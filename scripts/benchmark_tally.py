"""What everybody in `benchmark.py` must be able to do, and the statistics of their games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

MIN_GAMES = 16384  # games that the statistics count at least
MAX_PLIES = 20_000  # a game that has not ended by then never will


class Player(Protocol):
    """Random legal play with auto-reset in many games at once."""

    steps: int  # environment steps that one `play` makes

    def play(self) -> None:
        """Begin that many steps."""

    def wait(self) -> None:
        """Until all that was begun is done."""

    def tally(self) -> Tally:
        """The first games of other rows, played by the same code."""

    def about(self) -> dict[str, Any]:
        """What else the table should say."""


class Tally:
    """The first game of every row: an unbiased sample, while games finished by some step are too short on average."""

    def __init__(self, batch: int):
        self.playing = np.ones(batch, dtype=bool)
        self.lengths, self.first_rewards = np.zeros(batch, dtype=np.int64), np.zeros(batch, dtype=np.float32)

    def add(self, first_reward: np.ndarray, ended: np.ndarray) -> bool:
        """One step: the reward of whoever moved first, and whether the game ended -> whether some game is not over."""
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


def tally_steps(batch: int, step: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Tally:
    tally = Tally(batch)
    for _ in range(MAX_PLIES):
        if not tally.add(*step()):
            break
    return tally
