"""`scripts/train/monte_carlo.py`: flat Monte Carlo beats the uniform player."""

import pytest

import tensor_envs as te
from tests.scripts.here import run_here
from train.monte_carlo import main, play


@pytest.mark.slow
def test_the_uniform_player_is_beaten() -> None:
    code, out, errors = run_here(main, ["--env", "tic_tac_toe", "shed", "--games", "16", "--playouts", "8"])
    assert (code, errors) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines] == ["game", "tic_tac_toe", "shed"]
    for line in lines[1:]:
        won, drawn, lost = map(int, line[1:4])
        assert won + drawn + lost == 16 and won >= 11


# but in chess, where random games go on for hundreds of plies and mostly end drawn: a quarter of an hour is too little
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in te.registered() if name != "chess"])
def test_the_uniform_player_is_beaten_in_every_game(name: str) -> None:
    returns = play(te.make(name), games=32, playouts=16, limit=1000, seed=5)
    assert returns.mean() > 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--games", "0"], "argument --games: must be at least 1, got 0"),
        (["--seed", "-1"], "argument --seed: must be in 0..4095, got -1"),
        (["--env", "checkers"], "argument --env: must name a game: unknown id 'checkers'"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    code, out, errors = run_here(main, arguments)
    assert (code, out) == (2, "") and message in errors and errors.startswith("monte_carlo.py: error: ")
