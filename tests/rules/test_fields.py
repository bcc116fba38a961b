"""Fields of several axes, in rules, in plain Python, as arrays, in dictionaries and in files."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.rules import Field, MemoryArray, Outcome, Spec, int32, number, put, uint32, where

BATCH, PLIES = 67, 40


@dataclass(frozen=True)
class Boxes:
    """Two players add to boxes; random shapes, and an expression of their entries that indexes in every way."""

    seed: int = 0
    form: str = ""

    @property
    def shape(self) -> tuple[int, int, int]:
        rng = random.Random(self.seed)
        return 2, rng.randrange(1, 5), rng.randrange(1, 4)

    @property
    def spec(self) -> Spec:
        fields = (
            Field("boxes", self.shape, low=-9, high=9),
            Field("seen", self.shape[:2], kind="bool"),
            Field("set", self.shape[1:], kind="uint64"),
        )
        return Spec(2, self.shape[1] * self.shape[2], (1,), fields, "int32", max_plies=PLIES)

    def init(self, chance: Any) -> dict[str, Any]:
        wrong = {"flat": [0] * (2 * self.shape[1]), "ragged": [[False], [False] * 9], "number": 0}
        return {"boxes": np.ones(self.shape, int)} | ({"seen": wrong[self.form]} if self.form else {})

    def legal_action_mask(self, s: Any) -> Any:
        return [[True] * self.shape[2]] * self.shape[1]

    def step(self, s: Any, action: Any, chance: Any) -> Outcome:
        player, i, j = s.current_player, action // self.shape[2], action % self.shape[2]
        value = s.boxes[player][i][j] + s.boxes[1 - player][-1][0] - s.boxes[-2][i][-1] + s.seen[player][i]
        value = where(value > 9, -9, where(value < -9, 9, value))
        row = put(s.boxes[player][i], j, value)
        sets = np.array([list(row) for row in s.set], object)
        sets[-1, 0] = sets[-1, 0] * 5 + uint32(value).to(sets[0, 0].dtype)
        boxes = put(s.boxes, player, put(s.boxes[player], i, row))
        seen = [[where((player == p) & (i == k), ~x, x) for k, x in enumerate(row)] for p, row in enumerate(s.seen)]
        return Outcome(s.replace(boxes=boxes, seen=seen, set=sets, current_player=1 - player), (0, 0), False)

    def observe(self, s: Any, player: Any) -> Any:
        return [number(s.boxes[player][0][0])]


def played(rules: Boxes, actions: list[int]) -> dict[str, Any]:
    """Play actions in NumPy."""
    boxes, seen = np.ones(rules.shape, int), np.zeros(rules.shape[:2], bool)
    sets = np.zeros(rules.shape[1:], np.uint64)
    for ply, action in enumerate(actions):
        player, (i, j) = ply % 2, divmod(action, rules.shape[2])
        value = boxes[player, i, j] + boxes[1 - player, -1, 0] - boxes[-2, i, -1] + seen[player, i]
        value = -9 if value > 9 else 9 if value < -9 else value
        boxes[player, i, j] = value
        sets[-1, 0] = (int(sets[-1, 0]) * 5 + int(value) % 2**32) % 2**64
        seen[player, i] ^= True
    return {"boxes": boxes, "seen": seen, "set": sets}


def env_of(rules: Boxes) -> te.Env:
    return te.make("tests.rules.test_fields:Boxes", **vars(rules))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_against_numpy(seed: int, tmp_path: Path) -> None:
    rules, rng = Boxes(seed), random.Random(seed)
    env, games = env_of(rules), [[rng.randrange(rules.spec.num_actions) for _ in range(20)] for _ in range(BATCH)]
    vector, debugged = te.VectorEnv(env, BATCH), te.debug(env)
    for ply in range(20):
        vector.step([actions[ply] for actions in games])
        debugged.step(games[0][ply])
    state = vector.state
    assert state.boxes.shape == (BATCH, *rules.shape)
    te.save_state(state, tmp_path / "boxes")
    assert (te.load_state(tmp_path / "boxes").boxes.numpy() == state.boxes.numpy()).all()
    for row, actions in enumerate(games):
        expected, fields = played(rules, actions), env.row(state, row)
        for name, values in expected.items():
            assert (getattr(state, name).numpy()[row] == values).all(), name
            assert fields[name] == values.tolist()
            assert row or debugged.fields()[name] == values.tolist()


@pytest.mark.parametrize(("form", "got"), [("flat", r"\(\d+,\)"), ("ragged", r"\(2,\)"), ("number", r"\(\)")])
def test_wrong_shapes_are_named(form: str, got: str) -> None:
    env = env_of(Boxes(1, form))
    for start in (lambda: env.init(2), lambda: te.debug(env)):
        with pytest.raises(ValueError, match=rf"init: field 'seen' must have shape \(2, \d\), got shape {got}"):
            start()


def test_indices() -> None:
    s = te.debug(env_of(Boxes())).state
    assert s.boxes[-1][-1][0].value == s.boxes[int32(1)][int32(0)][0].value == 1
    with pytest.raises(IndexError, match="list index out of range"):
        s.boxes[2]
    with pytest.raises(TypeError, match=r"a field of several axes is a list of lists: write s\.field\[i\]\[j\]"):
        s.boxes[0, 0]
    with pytest.raises(TypeError, match="a field's list does not change"):
        s.boxes[0][0] = 1
    array = MemoryArray(lambda i: uint32(i) * 3, 4)
    assert array[-1].value == array[3].value == 9
    with pytest.raises(IndexError, match=r"the index of a memory field must be in -4\.\.3, got 4"):
        array[4]
