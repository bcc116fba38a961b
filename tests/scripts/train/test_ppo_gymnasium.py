"""scripts/train/ppo_gymnasium.py: it learns, in any seat of any game."""

import re

import pytest

from tests.scripts.here import run_here
from train.ppo_gymnasium import main

LAST = r"mean return ([+-][\d.]+), [\d,]+ decisions/s\n$"


@pytest.mark.extra("torch")
def test_it_learns() -> None:
    """Tic-tac-toe as the first player: the uniform policy's mean return is .297."""
    code, out, errors = run_here(main, ["--updates", "12"])
    assert (code, errors) == (0, "")
    first, last = (float(re.findall(r"mean return ([+-][\d.]+)", out)[k]) for k in (0, -1))
    assert first < 0.45 and last > 0.65 and re.search(LAST, out)


@pytest.mark.extra("torch")
def test_any_game_and_player() -> None:
    arguments = ["--updates=1", "--num-envs=8", "--steps=12", "--player=2"]
    code, out, errors = run_here(
        main, ["--env=tests.core.dice_race:DiceRace", "--rules", "goal=4", *arguments]
    )
    assert (code, errors) == (0, "") and "DiceRace on CPU: player 2 learns" in out and re.search(LAST, out)


def test_wrong_arguments() -> None:
    code, out, errors = run_here(main, ["--rate", "0"])
    assert (code, out) == (2, "") and errors.startswith(
        "ppo_gymnasium.py: error: argument --rate: must be above 0"
    )
