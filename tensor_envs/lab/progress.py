"""Progress bar of measurements, with an estimate of what is left."""

from __future__ import annotations

from typing import Any

from tinygrad.helpers import tqdm


class ProgressBar:
    """Progress bar whose unit is a simulation of a decision: a search of 64 has 64 of them, other players one.

    The total is an estimate. Games are taken to be as long as those of the uniform player, and games that a precision
    adds as many as the widths of the intervals so far ask for.

    Attributes:
        later: work of one decision in every game of the variants that follow.
        further: work of games that are not played at the moment.
    """

    def __init__(self, shown: bool):
        self.shown = shown
        self.later = 0.0
        self.further = 0.0
        self.bar: Any = tqdm(desc="simulations", unit="", unit_scale=True, total=1, disable=not shown)

    def __call__(self, done: float, left: float) -> None:
        """Show that work is done, and how much of the games that are played is left."""
        self.bar.t = round(self.bar.n + done + left + self.further)
        self.bar.update(round(done))

    def close(self) -> None:
        self.bar.t = self.bar.n
        self.bar.update(close=True)
