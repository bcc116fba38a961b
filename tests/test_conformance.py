"""Every registered game passes the conformance checks."""

import pytest

import tensor_envs as te
from tensor_envs import testing
from tests.games.shared import SLOW, shared_env

# checks of the engine, which compile more kernels, and whose own tests use other games; the rest checks rules
ENGINE = {
    testing.check_shapes,
    testing.check_rows,
    testing.check_autoreset,
    testing.check_observations,
    testing.check_rollout,
    testing.check_one_kernel,
    testing.check_jit,
}
FEW = ("kuhn_poker",)  # with chance and hidden cards
# games whose own tests compare them with a reference, and whose kernels take long to compile or to play
LONG = (
    "leduc_poker", "tensor_stars", "three_will", "phantom_tic_tac_toe", "dark_hex", "liars_dice", "yahtzee",
    "lines_of_action", "amazons", "nine_mens_morris", "quoridor", "oware", "breakthrough", "ultimate_tic_tac_toe",
    "dots_and_boxes", "go", "kalah", "checkers", "texas_holdem", "othello", "hex",
    "hanabi", "gin_rummy", "barrage_stratego", "clobber", "y", "havannah", "animal_shogi", "chinese_checkers",
)  # fmt: skip
# whose rules are compared with plain Python here, too: bits, chance, hidden cards, lists
IN_PYTHON = ("tic_tac_toe", "connect_four", "kuhn_poker", "shed")
PLAYED_LONG = {testing.check_ends, testing.check_perfect_information}  # play thousands of games
SHORT = ("kuhn_poker", "tic_tac_toe", "shed", "connect_four")


def case(name: str, check: testing.Check) -> object:
    is_plain = check is testing.check_plain_python
    long = name in SLOW or name in LONG or (is_plain and name not in IN_PYTHON)
    slow = long or (check in ENGINE and name not in FEW) or (check in PLAYED_LONG and name not in SHORT)
    return pytest.param(name, check, id=f"{name}-{check.__name__}", marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize(("name", "check"), [case(name, check) for name in te.registered() for check in testing.CHECKS])
def test_promise(name: str, check: testing.Check) -> None:
    check(shared_env(name), 24, None)
