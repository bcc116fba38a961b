"""Specs are checked when they are made, and the state that rules get is immutable."""

from __future__ import annotations

from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.rules import Field, GameState, Spec


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "x", "shape": 3, "high": 1}, "field 'x': shape must be a tuple of positive ints, got 3"),
        ({"name": "x", "shape": (0,), "high": 1}, "field 'x': shape must be a tuple of positive ints"),
        ({"name": "x", "shape": (True, 2), "high": 1}, "field 'x': shape must be a tuple of positive ints"),
        ({"name": "x"}, "field 'x': an int32 needs bounds low <= high of 32 bits, got low=None, high=None"),
        ({"name": "x", "low": 2, "high": 1}, "low=2, high=1"),
        ({"name": "x", "high": 2**31}, "an int32 needs bounds"),
        ({"name": "x", "low": -(2**31) - 1, "high": 0}, "an int32 needs bounds"),
        ({"name": "x", "high": 1.5}, "an int32 needs bounds"),
        ({"name": "x", "high": True}, "an int32 needs bounds"),
        ({"name": "x", "kind": "bool", "high": 1}, "field 'x': only an int32 has bounds, this is a bool"),
        ({"name": "x", "kind": "uint32", "low": 0}, "only an int32 has bounds, this is a uint32"),
        (
            {"name": "x", "kind": "int8", "high": 1},
            "kind must be one of 'int32', 'bool', 'uint32', 'uint64', got 'int8'",
        ),
        ({"name": "x", "kind": "uint32", "memory": True}, "field 'x': a memory field is a list of words"),
        ({"name": "x", "shape": (9,), "high": 1, "memory": True}, "a memory field is a list of words"),
        ({"name": "x", "shape": (3, 3), "kind": "uint32", "memory": True}, "a memory field is a list of words"),
        ({"name": "_x", "high": 1}, "a field's name must be an identifier without a leading _, got '_x'"),
        ({"name": "2x", "high": 1}, "a field's name must be an identifier"),
        ({"name": "", "high": 1}, "a field's name must be an identifier"),
    ],
)
def test_fields_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        Field(**arguments)


def test_fields() -> None:
    field = Field("x", (2, 3), high=4)
    assert (field.low, field.high, field.size, field.kind) == (0, 4, 6, "int32") and Field("y", kind="uint32").size == 1
    assert Field("x", low=-(2**31), high=2**31 - 1).high == 2**31 - 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"num_players": 0}, ValueError, r"num_players must be in 1\.\.1024, got 0"),
        ({"num_players": 2.0}, TypeError, "num_players must be an int"),
        ({"num_actions": True}, TypeError, "num_actions must be an int"),
        ({"max_plies": 0}, ValueError, "max_plies must be in 1"),
        ({"observation_shape": [3]}, ValueError, "observation_shape must be a tuple of positive ints"),
        ({"observation_shape": (3, 0)}, ValueError, "observation_shape must be a tuple of positive ints"),
        ({"observation_dtype": "float64"}, ValueError, "observation_dtype must be one of 'bool', 'int8', 'int16'"),
        ({"fields": ("x",)}, TypeError, r"fields\[0\] must be of type Field, got 'x'"),
        ({"fields": (Field("x", high=1),) * 2}, ValueError, "the field name 'x' is taken"),
        ({"fields": (Field("ply", high=1),)}, ValueError, "the field name 'ply' is taken"),
        ({"fields": (Field("replace", high=1),)}, ValueError, "the field name 'replace' is taken"),
        ({"fields": (Field("episode", high=1),)}, ValueError, "the field name 'episode' is taken"),
        ({"fields": (Field("key", high=1),)}, ValueError, "the field name 'key' is taken"),
        ({"fields": (Field("key", high=1),), "chance": True}, ValueError, "the field name 'key' is taken"),
        ({"events": ["loan"]}, TypeError, "events must be of type tuple"),
        ({"events": (1,)}, TypeError, "events must be of type str"),
        ({"events": ("loan", "loan")}, ValueError, "events must be different names"),
    ],
)
def test_specs_that_cannot_be(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"num_players": 2, "num_actions": 3, "observation_shape": (1,), "fields": ()}
    with pytest.raises(error, match=message):
        Spec(**{**arguments, **changes})  # type: ignore[arg-type]


def test_the_cores_own_fields_come_first() -> None:
    own = (Field("x", high=1),)
    fields = {f.name: f for f in Spec(3, 3, (1,), own, max_plies=7, chance=True).all_fields}
    assert list(fields) == ["current_player", "ply", "episode", "key", "x"]
    assert (fields["current_player"].low, fields["current_player"].high, fields["ply"].high) == (-1, 2, 7)
    assert [f.name for f in Spec(3, 3, (1,), own).all_fields] == ["current_player", "ply", "episode", "x"]


def test_the_state_that_rules_see() -> None:
    s = GameState({"left": 3, "marks": [1, 2]})
    after = s.replace(left=2)
    assert (s.left, after.left, after.marks) == (3, 2, [1, 2]) and repr(after) == "GameState(left=2, marks=[1, 2])"
    with pytest.raises(AttributeError, match="no field 'right'; the fields are left, marks"):
        s.right  # noqa: B018
    with pytest.raises(AttributeError, match=r"a game state is immutable: use replace\(left=...\)"):
        s.left = 2
    with pytest.raises(ValueError, match="no field lefft, rigth; the fields are left, marks"):
        s.replace(rigth=1, lefft=2)
    values = s.asdict()
    values["left"] = 9
    assert s.left == 3, "a copy"
    marks = s.marks
    with pytest.raises(TypeError, match=r"a field's list does not change: write s\.replace\(field=put"):
        marks[0] = 5
    with pytest.raises(TypeError, match="a field's list does not change"):
        marks += [5]
    for change in (marks.append, marks.remove, marks.extend, marks.insert, marks.sort, marks.pop):
        with pytest.raises(TypeError, match="a field's list does not change"):
            change(1)
    own = [*marks[:1], 7]
    own[0] = 4
    assert (s.marks, own) == ([1, 2], [4, 7])


def test_the_language_has_one_import() -> None:
    from tensor_envs import rules

    assert set(rules.__all__) <= set(vars(rules))
    for name in ("Chance", "Field", "GameState", "Outcome", "Rules", "Spec", "Symmetry"):
        assert getattr(te, name) is getattr(rules, name)
