"""`scripts/monte_carlo.py`: flat Monte Carlo beats the uniform player."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te


@pytest.fixture
def monte_carlo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "scripts")
    return importlib.import_module("monte_carlo")


def test_a_win_at_hand_is_taken(monte_carlo: Any) -> None:
    """X to move in both games; the winning cell differs."""
    env = te.make("tic_tac_toe")
    state = env.init(2)
    for actions in ([0, 8], [3, 5], [1, 7], [4, 4]):
        state = env.step(state, actions)
    found = monte_carlo.best_actions(env, state, np.array([0, 1]), playouts=8, limit=9, seed=1)
    assert found.tolist() == [2, 6]


def test_the_uniform_player_is_beaten(monte_carlo: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monte_carlo.main(["--env", "tic_tac_toe", "shed", "--games", "16", "--playouts", "8"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["game", "tic_tac_toe", "shed"]
    for line in lines[1:]:
        won, drawn, lost = map(int, line[1:4])
        assert won + drawn + lost == 16 and won >= 11


@pytest.mark.slow
@pytest.mark.parametrize("name", te.registered())
def test_the_uniform_player_is_beaten_in_every_game(monte_carlo: Any, name: str) -> None:
    returns = monte_carlo.play(te.make(name), games=32, playouts=16, limit=1000, seed=5)
    assert returns.mean() > 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--games", "0"], "--games must be at least 1, got 0"),
        (["--seed", "-1"], "--seed must be in 0..4095, got -1"),
        (["--env", "chess"], "invalid choice: 'chess'"),
    ],
)
def test_wrong_arguments(
    monte_carlo: Any, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        monte_carlo.main(arguments)
    assert message in capsys.readouterr().err
