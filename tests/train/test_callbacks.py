"""What a run prints on a terminal."""

from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import tensor_envs as te

# a run that is interrupted at once, as by Ctrl-C
INTERRUPTED = """
import os, signal, time
from types import SimpleNamespace
from tensor_envs.train import __main__ as command

# a process that was started in the background ignores the signal
signal.signal(signal.SIGINT, signal.default_int_handler)

def run(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

env, config = SimpleNamespace(id="game"), SimpleNamespace(num_envs=1, rollout_length=1)
command.make_trainer = lambda *_: SimpleNamespace(env=env, config=config, device="CPU", run=run)
command.main()
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_bar_stays_in_one_line_of_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    progress = te.train.Progress(terminal)
    for step in range(1, 4):
        trainer: Any = SimpleNamespace(steps=step, positions=123_456_789, seconds=98_765.4, progress=step / 3)
        progress(trainer, {"policy_loss": 1.5, "search_32_score": 0.5, "mean_return": 0.25})
    shown = terminal.getvalue().replace("\033[K", "").replace("\n", "\r").split("\r")
    drawn = [line for line in shown if line.startswith("[#")]
    assert len(drawn) == 3 and max(map(len, drawn)) < columns
    assert terminal.getvalue().endswith("\n")


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on() -> None:
    command = [sys.executable, "-c", INTERRUPTED, "ppo", "tic_tac_toe", "--steps=9", "--folder=runs/mine"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stdout.endswith("\nstopped; the same command continues the run in runs/mine\n")
