"""Mistakes of a rules' author that would give wrong results: refused, or without effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.rules import (
    Actions,
    Chance,
    Field,
    GameState,
    Grid,
    Mask,
    Outcome,
    Part,
    Scalar,
    Spec,
    all_of,
    any_of,
    bits,
    float32,
    int32,
    maximum,
    number,
    one_hot,
    put,
    repeat,
    scalar,
    select,
    uint32,
    uint64,
)
from tensor_envs.rules.chance import KeyedChance
from tensor_envs.rules.lists import FixedList

GRID = Grid(3, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: float32(3.5) // float32(2.0), r"a float32 has no // and %: write int32\(x\)"),
        (lambda: float32(3.5) % 2, "a float32 has no // and %"),
        (lambda: any_of([int32(2), int32(4)]), "a condition is a bool, got int32: write x != 0"),
        (lambda: all_of([scalar(True), int32(4)]), "a condition is a bool, got int32"),
        (lambda: bool(GRID.empty), r"a set is no condition of Python's: write cells.any\(\)"),
        (lambda: bool(FixedList([1, 2])), "a field's list is no condition of Python's"),
        (lambda: select([1, 2, 3], float32(1.0)), r"an index is a whole number, got a float32: write int32\(x\)"),
        (lambda: put([1, 2, 3], float32(1.5), 5), "an index is a whole number"),
        (lambda: repeat(float32(2.0), [int32(1)], lambda now: now), "the number of steps is a whole number"),
        (lambda: one_hot(float32(1.5), 3), "a one-hot value is a whole number"),
        (lambda: KeyedChance([0, 0]).draw(0, float32(2.5)), "a number of values is a whole number"),
        (lambda: bits([int32(3), int32(1)], 2), "bits are a list of uint32 words or of bools, got int32"),
        (lambda: bits([uint64(1 << 40), uint64(3)], 64), "bits are a list of uint32 words or of bools, got uint64"),
        (lambda: number(uint64(1 << 40)), "a number is an int32 or a float32, got a uint64"),
        (lambda: one_hot(1, -1), r"size must be in 0\.\.2147483647, got -1"),
    ],
)
def test_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_flood_by_one_way_steps_reaches_all_cells() -> None:
    """Each step leads to the next cell alone, so that a path has as many cells as the board."""
    grid = Grid(6, 6)
    assert int(grid.flood(grid.cell(0), grid.full, [(0, 1), (1, -5)]).count().value) == 36


@dataclass(frozen=True)
class Countdown:
    """Two players take 1 to 3 of ten stones. The mask has more bits than actions, and the observation empty parts."""

    winner: int = 0
    board: Any = (1, 2)
    names: int = 3

    @property
    def actions(self) -> Actions:
        return Actions(take=self.names)

    @property
    def spec(self) -> Spec:
        return Spec(2, 3, (11,), (Field("left", high=10),))

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"left": 10}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [uint32(0xFFFFFFFF)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        left = maximum(s.left - action - 1, 0)
        after = s.replace(left=left, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player + self.winner, left == 0)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [one_hot(s.left, 0), one_hot(s.left, 11), bits([], 0)]


COUNTDOWN = f"{__name__}:Countdown"


def test_bits_beyond_the_actions_are_cut_off() -> None:
    env = te.make(COUNTDOWN)
    vector = te.VectorEnv(env, 64)
    for _ in range(20):
        assert vector.step_uniform().actions.numpy().max() < 3
    assert te.debug(env).legal_actions() == [0, 1, 2]
    assert env.observe(env.init(1)).numpy().tolist() == [[False] * 10 + [True]]


def test_a_winner_out_of_range_is_named() -> None:
    game = te.debug(te.make(COUNTDOWN, winner=5))
    for action in (2, 2, 2):
        game.step(action)
    with pytest.raises(ValueError, match=r"a winner must be in 0\.\.1, got 6"):
        game.step(2)


def test_names_of_other_actions() -> None:
    with pytest.raises(ValueError, match="actions must name the 3 actions of the Spec, got names of 2"):
        te.make(COUNTDOWN, names=2)


@pytest.mark.parametrize("board", [{1: 2}, [1, 2], frozenset({1})], ids=str)
def test_fields_that_a_file_would_change(board: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="board must be of numbers, str, bool, None and tuples to be saved, got"):
        te.save_state(te.make(COUNTDOWN, board=board).init(1), tmp_path / "state")
