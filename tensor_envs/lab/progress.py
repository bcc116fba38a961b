"""Progress bar of measurements, with an estimate of the remaining work."""

from __future__ import annotations

from typing import Any

from tinygrad.helpers import tqdm


class ProgressBar:
    """Progress bar whose unit is a simulation; a decision without a search counts as one.

    The total is an estimate from the length of the uniform player's games, and from the number of further games that
    the intervals so far need to reach the precision.

    Attributes:
        later: simulations for one decision in every game of the variants that follow.
        further: simulations of games that are planned and not yet in progress.
    """

    def __init__(self, shown: bool):
        self.shown = shown
        self.later = 0.0
        self.further = 0.0
        self.bar: Any = tqdm(desc="simulations", unit="", unit_scale=True, total=1, disable=not shown)

    def __call__(self, done: float, remaining: float) -> None:
        """Add finished work to the bar, and update the total by the remaining work of the games in progress."""
        self.bar.t = round(self.bar.n + done + remaining + self.further)
        self.bar.update(round(done))

    def close(self) -> None:
        """Complete the bar."""
        self.bar.t = self.bar.n
        self.bar.update(close=True)
