"""Metrics of a run in its folder, a line of JSON for every step."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tensor_envs._validate import integer, shown
from tensor_envs.files.arrays import replace_file

METRICS = "metrics.jsonl"
MAX_STEP = 2**31 - 1
Metrics = dict[str, float]


def digest_until(folder: Path, step: int) -> str | None:
    """Return the digest of a folder's metrics if they end with a step; None if they do not, or there are none."""
    path = folder / METRICS
    content = path.read_bytes() if path.exists() else b""
    try:
        ends_with = json.loads(content.splitlines()[-1])["step"]
    except (IndexError, ValueError, TypeError, KeyError):
        return None
    return hashlib.sha256(content).hexdigest() if ends_with == step else None


def steps_of(folder: Path) -> int:
    """Return the number of lines of a folder's metrics, the last of which may be cut off; 0 if there are none."""
    path = folder / METRICS
    return len(path.read_bytes().splitlines()) if path.exists() else 0


class MetricsFile:
    """File of the metrics of a run that goes on.

    Attributes:
        lines: metrics of every step so far.
    """

    def __init__(self, folder: Path, step: int, digest: str | None = None):
        """Open the file of a folder, and drop the metrics of steps behind that of the checkpoint.

        Args:
            folder: folder of the run.
            step: step of the checkpoint, 0 if there is none.
            digest: digest of the metrics until this step; None if it is unknown.

        Raises:
            ValueError: the file is damaged.
        """
        self.path = folder / METRICS
        self.lines = self._lines_until(step)
        texts = [f"{json.dumps(line)}\n".encode() for line in self.lines]
        self._sha256 = hashlib.sha256(b"".join(texts))
        if digest not in (None, self.digest()):
            raise ValueError(self._damaged(f"its lines until step {step} are not those that the run wrote"))
        replace_file(self.path, texts)

    def digest(self) -> str:
        """Return the digest of the present lines."""
        return self._sha256.hexdigest()

    def add(self, metrics: Metrics) -> None:
        """Append the metrics of a step. OSError, which names the file, if it cannot be written."""
        self.lines.append(metrics)
        text = f"{json.dumps(metrics)}\n"
        self._sha256.update(text.encode())
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise OSError(error.errno, f"cannot save: {error.strerror}", str(self.path)) from None

    def _lines_until(self, step: int) -> list[Metrics]:
        """Return the metrics of the steps up to a checkpoint's; a killed process may have left later, partial ones.

        ValueError, which names the line, unless every line is of the step after the one before.
        """
        lines = list[Metrics]()
        texts = self.path.read_text(encoding="utf-8", errors="replace").splitlines() if self.path.exists() else []
        before = None
        for k, text in enumerate(texts):
            try:
                line = json.loads(text)
                now = integer("step", line["step"], 1, MAX_STEP)
            except (ValueError, TypeError, KeyError):
                if k < len(texts) - 1:
                    raise ValueError(self._damaged(f"line {k + 1} has no metrics, got {shown(text)}")) from None
                break
            if now == step + 1 and before in (None, step):
                break
            if before is None and now > step:
                raise ValueError(self._damaged(f"line {k + 1} is of step {now}, and the checkpoint of step {step}"))
            if before is not None and now != before + 1:
                raise ValueError(self._damaged(f"line {k + 1} is of step {now}, behind one of step {before}"))
            lines.append(line)
            before = now
        if before is not None and before < step:
            raise ValueError(self._damaged(f"it ends with step {before}, and the checkpoint is of step {step}"))
        return lines

    def _damaged(self, reason: str) -> str:
        hint = "to go on without it, load the run and train in another folder"
        return f"{str(self.path)!r} is damaged: {reason}; {hint}"
