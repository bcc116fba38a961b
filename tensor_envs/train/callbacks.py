"""Callbacks of a run: a progress line, TensorBoard, Weights & Biases."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tensor_envs._validate import file_path, need

if TYPE_CHECKING:
    from tensor_envs.train.metrics_file import Metrics
    from tensor_envs.train.run import Trainer

BAR = 24  # characters


class Progress:
    """Progress of a run as text: a bar on a terminal, and a line for every rating.

    Examples:
        >>> callbacks = [te.train.Progress()]
    """

    def __init__(self, file: TextIO | None = None):
        """Print to a file; None for the standard output."""
        self.file = sys.stdout if file is None else file

    def __call__(self, trainer: Trainer, metrics: Metrics) -> None:
        """Print the progress."""
        head = f"step {trainer.steps:,}, {trainer.positions:,} positions, {trainer.seconds:,.1f} s"
        is_terminal = self.file.isatty()
        if "mean_return" in metrics:
            self.rating = " ".join(f"{name} {metrics[name]:.4f}" for name in metrics if _is_rating(name))
            print(f"{_clear(is_terminal)}{head}: {self.rating}", file=self.file, flush=True)
        if is_terminal:
            full = int(trainer.progress * BAR)
            bar = f"[{'#' * full}{'.' * (BAR - full)}] {head}, loss {metrics['policy_loss']:.3f}"
            first = " ".join(getattr(self, "rating", "").split()[:2])
            # a longer line would be wrapped, and the next one would not overwrite it
            line = f"{bar} {first}"[: shutil.get_terminal_size().columns - 1]
            end = "" if trainer.progress < 1 else "\n"
            print(f"{_clear(is_terminal)}{line}", end=end, file=self.file, flush=True)


def _is_rating(name: str) -> bool:
    return name.endswith(("score", "score_interval", "mean_return", "regret", "exploitability"))


def _clear(is_terminal: bool) -> str:
    """Return the control characters that clear the line of a terminal."""
    return "\r\033[K" if is_terminal else ""


class TensorBoard:
    """Metrics as scalars for TensorBoard, by step; needs the package tensorboardX (extra `train`).

    Examples:
        >>> callbacks = [te.train.TensorBoard("runs/connect_four")]  # doctest: +SKIP
    """

    def __init__(self, folder: str | Path):
        """Open a log.

        Args:
            folder: folder of the event files, such as that of the run.

        Raises:
            ImportError: tensorboardX is not installed.
        """
        self.writer = need("tensorboardX", "TensorBoard", "train").SummaryWriter(str(file_path("folder", folder)))

    def __call__(self, trainer: Trainer, metrics: Metrics) -> None:
        """Write the metrics of a step."""
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, trainer.steps)
        if trainer.progress == 1:
            self.writer.close()  # `flush` of tensorboardX 2.6 leaves events in its queue; a later run opens a new file


class WandB:
    """Metrics in a run of Weights & Biases, by step; needs the package wandb (extra `train`).

    Examples:
        >>> callbacks = [te.train.WandB(project="games", mode="offline")]  # doctest: +SKIP
    """

    def __init__(self, **settings: Any):
        """Start a run.

        Args:
            **settings: arguments of `wandb.init`, such as `project`. To continue a run, pass its `id` and
                `resume="allow"`.

        Raises:
            ImportError: wandb is not installed.
        """
        self.run = need("wandb", "WandB", "train").init(**settings)

    def __call__(self, trainer: Trainer, metrics: Metrics) -> None:
        """Log the metrics of a step."""
        self.run.log(metrics, step=trainer.steps)
        if trainer.progress == 1:
            self.run.finish()
