"""Imported before all else by a script that is run: Ctrl-C while modules are still loading is one line, too."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def stop(number: int, frame: FrameType | None) -> None:
    """Nothing has been begun that would have to be put away."""
    os.write(2, f"{os.path.basename(sys.argv[0])}: stopped\n".encode())
    os._exit(130)


if (
    signal.getsignal(signal.SIGINT) is signal.default_int_handler
):  # it is not ignored, as that of a job in the background
    signal.signal(signal.SIGINT, stop)
