"""Mutants of the engine and rules: each wrong line fails a test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]


class Mutant(NamedTuple):
    """One wrong line of a file of the package, and the test that must fail."""

    file: str
    right: str
    wrong: str
    test: str


CONFORMANCE = "test_conformance.py::test_promise"
STARS, WILL, SHED = "games/tensor_stars", "games/three_will", "games/shed"
MUTANTS = {
    "a later episode begins at once": Mutant(
        "_engine/kernels/base.py",
        "first = game.init(row_keys, s.episode + 1)",
        "first = game.init(row_keys, s.episode + 7)",
        "test_vector.py::test_finished_games_start_again[dice_race-same_step]",
    ),
    "a later episode begins in a branch": Mutant(
        "_engine/kernels/base.py",
        'self.layout.get(old, "episode") + 1)',
        'self.layout.get(old, "episode") + 7)',
        "test_vector.py::test_finished_games_start_again[slow_start-next_step]",
    ),
    "an end is reported twice": Mutant(
        "_engine/kernels/base.py",
        "flags = [~over & flag for flag in flags]",
        "flags = [over | flag for flag in flags]",
        "test_vector.py::test_finished_games_start_again[dice_race-next_step]",
    ),
    "a finished game pays": Mutant(
        "_engine/kernels/base.py",
        "rewards = [where(over, 0.0, r) for r in rewards]",
        "rewards = [where(over, 1.0, r) for r in rewards]",
        f"{CONFORMANCE}[tic_tac_toe-check_play]",
    ),
    "a finished game has legal actions": Mutant(
        "_engine/kernels/base.py",
        "return [where(over, 0, w) for w in mask]",
        "return [where(over, 1, w) for w in mask]",
        f"{CONFORMANCE}[tic_tac_toe-check_play]",
    ),
    "a tie is a win": Mutant(
        "_engine/kernels/rollout.py",
        "& (r > 0.0)) for n, r in zip(wins",
        "& (r >= 0.0)) for n, r in zip(wins",
        "test_vector.py::test_rollouts_are_steps[dice_race]",
    ),
    "playouts have the game's own chance": Mutant(
        "_engine/kernels/rollout.py",
        "if t.game.spec.chance:\n",
        "if False:\n",
        "test_rollout.py::test_playouts_are_uniform_games_from_the_state",
    ),
    "the end by the limit and by the rules are swapped": Mutant(
        "_engine/game.py",
        "return after, rewards, terminated, truncated",
        "return after, rewards, truncated, terminated",
        f"{SHED}/test_rulebook.py::test_f4_holding_all_cards_loses",
    ),
    "the limit comes a ply late": Mutant(
        "_engine/game.py",
        "(ply >= self.spec.max_plies)",
        "(ply > self.spec.max_plies)",
        f"{SHED}/test_rulebook.py::test_g1_max_plies",
    ),
    "an illegal action is another player's fault": Mutant(
        "_engine/game.py",
        "where(s.current_player == p, -1.0, share)",
        "where(s.current_player != p, -1.0, share)",
        f"{CONFORMANCE}[tic_tac_toe-check_illegal_actions]",
    ),
    "the uniform policy swaps ply and episode": Mutant(
        "_engine/game.py",
        "threefry(policy_key, (uint32(s.ply), s.episode))",
        "threefry(policy_key, (s.episode, uint32(s.ply)))",
        f"{SHED}/test_env.py::test_golden_games",
    ),
    "a field may be above its bound": Mutant(
        "_engine/game.py",
        "not field.low <= int(x.value) <= field.high",
        "not field.low <= int(x.value)",
        "test_custom_game.py::test_wrong_rules_are_named",
    ),
    "a number has a bit too few": Mutant(
        "_engine/layout.py",
        "(field.high - field.low).bit_length()",
        "(field.high - field.low - 1).bit_length()",
        "engine/test_layout.py::test_packed_and_unpacked",
    ),
    "two numbers share a bit": Mutant(
        "_engine/layout.py",
        "return Slot(word, used, width, low)",
        "return Slot(word, max(0, used - 1), width, low)",
        "engine/test_layout.py::test_no_two_numbers_share_a_bit",
    ),
    "2 // 3 is 1": Mutant(
        "_compiler/arithmetic.py",
        "(factor * divisor - (1 << shift)) < 1 << shift",
        "(factor * divisor - (1 << shift)) <= 1 << shift",
        "compiler/test_arithmetic.py::test_factors_of_divisors_are_exact",
    ),
    "two shifts become one of all bits": Mutant(
        "_compiler/arithmetic.py",
        "if whole < 8 * a.dtype.itemsize:",
        "if whole <= 8 * a.dtype.itemsize:",
        "compiler/test_arithmetic.py::test_shifts_by_constants_in_a_row[dtypes.int]",
    ),
    "a value is loaded again after a store": Mutant(
        "_compiler/lanes.py",
        "(x.array in self.private or self.storing_parts.get(x.array, last) != last)",
        "x.array in self.private",
        "compiler/test_lanes.py::test_a_loop_over_lanes_that_is_exchanged_with_inner_loops[changed_before_a_loop]",
    ),
    "an opening too few may end": Mutant(
        "_engine/kernels/until.py",
        "& (openings > 1.0)",
        "& (openings > 2.0)",
        "adapters/test_gymnasium_plies.py::test_as_many_openings_may_end_as_are_allowed",
    ),
    "at most is less than": Mutant(
        "rules/scalar.py", "operator.le: arithmetic.at_most,", "operator.le: arithmetic.less,", "rules/test_scalar.py"
    ),
    "plain numbers do not wrap around": Mutant(
        "rules/scalar.py",
        "value = (value - low & high - low) + low",
        "value = max(low, min(value, high))",
        "rules/test_scalar.py",
    ),
    "an index beyond its list is taken": Mutant(
        "rules/lists.py",
        "if not 0 <= number < size:",
        "if not 0 <= number <= size:",
        "rules/test_lists.py::test_a_plain_index_out_of_range_is_an_error",
    ),
    "a random value may matter at every ply": Mutant(
        "testing/plain_python.py",
        "self.uses[line, counters] += self._matters",
        "self.uses[line, counters] -= self._matters",
        "test_custom_game.py::test_a_mistake_in_rules_is_named[counter]",
    ),
    "a hidden field is not compared": Mutant(
        "testing/information.py",
        'if name not in ("key", "episode") and differs.any():',
        'if name in ("key", "episode") and differs.any():',
        "test_custom_game.py::test_a_mistake_in_rules_is_named[hidden]",
    ),
    "a card face down is seen": Mutant(
        "games/tensor_stars/rules.py",
        "shown = [where(down, -1, card) for",
        "shown = [where(down, card, card) for",
        f"{STARS}/test_env.py::test_lockstep[0]",
    ),
    "a card goes from the other hand": Mutant(
        "games/tensor_stars/rules.py",
        "where(s.current_player == player, cards & ~(1 << card), cards)",
        "where(s.current_player != player, cards & ~(1 << card), cards)",
        f"{STARS}/test_rulebook.py::test_case_21_a_hand_of_equal_cards",
    ),
    "a loan goes to who takes it": Mutant(
        "games/three_will/rules.py",
        "put(free, other, select(s.free, other) + lends)",
        "put(free, me, select(s.free, me) + lends)",
        f"{WILL}/test_rulebook.py::test_case_06_loan_goes_to_the_opponent",
    ),
    "a card of the other hand is legal": Mutant(
        "games/shed/rules.py",
        "~(s.other | self.up_to_top(s.pile))",
        "~self.up_to_top(s.pile)",
        f"{SHED}/test_rulebook.py::test_legal_actions",
    ),
    "a line needs a mark too many": Mutant(
        "games/hyper_tic_tac_toe/rules.py",
        "return length >= self.k",
        "return length > self.k",
        "games/hyper_tic_tac_toe/test_env.py::test_the_convolution_and_the_lines_through_the_last_move_are_equal[shape0-3]",
    ),
    "a line is a mark short": Mutant(
        "ops/bits.py",
        "while length < k:",
        "while length < k - 1:",
        "games/hyper_tic_tac_toe/test_rulebook.py::test_no_line",
    ),
    "winners share by the wrong number": Mutant(
        "rules/spec.py",
        "sum_of(wins) - 1)",
        "sum_of(wins) & 0)",
        "games/tensor_equilibrium/test_rulebook_ends.py::test_w24_w25_winner",
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package, its tests and the scripts that they import."""
    folder = tmp_path_factory.mktemp("mutants")
    for name in ("tensor_envs", "tests", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def play(copy: Path, *tests: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=copy, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_lines_of_mutants_exist() -> None:
    for mutant in MUTANTS.values():
        text = (ROOT / "tensor_envs" / mutant.file).read_text()
        assert text.count(mutant.right) == 1, f"{mutant.file} has not once {mutant.right!r}"


@pytest.mark.slow
def test_without_a_mutant_the_tests_pass(copy: Path) -> None:
    code, output = play(copy, *dict.fromkeys(mutant.test for mutant in MUTANTS.values()))
    assert code == 0, output[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(copy: Path, name: str) -> None:
    mutant = MUTANTS[name]
    file = copy / "tensor_envs" / mutant.file
    text = file.read_text()
    file.write_text(text.replace(mutant.right, mutant.wrong))
    try:
        code, output = play(copy, mutant.test)
    finally:
        file.write_text(text)
    assert code == 1 and "1 failed" in output, f"{mutant.test} does not notice:\n{output[-3000:]}"
