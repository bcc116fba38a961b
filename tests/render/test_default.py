"""Boards, texts and pictures of games without modules of their own, from their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pytest

import tensor_envs as te
from tensor_envs.render import default
from tensor_envs.rules import Field as StateField
from tensor_envs.rules import GameState, Grid, Mask, Observation, Outcome, Scalar, Spec, bits, int32, uint32, uint64


@dataclass(frozen=True)
class Field:
    """Two players put men on a board of 5x5; every kind of field is declared."""

    @property
    def board(self) -> Grid:
        return Grid(5, 5)

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=25,
            observation_shape=(50,),
            fields=(
                StateField("men", (2,), kind="uint32"),  # a set for each player
                StateField("towers", kind="uint64"),
                StateField("heights", (25,), high=12),
                StateField("hands", (2, 3), high=15),
                StateField("cards", kind="uint32"),  # a set of more than 25 elements
                StateField("last", low=-1, high=24),
                StateField("open", kind="bool"),
            ),
        )

    def init(self, chance: object) -> dict[str, Any]:
        return {
            "men": [uint32(0b11111), uint32(0b11111 << 20 | 1)],
            "towers": uint64(1 << 7),
            "heights": [12, *[0] * 23, 3],
            "hands": [[1, 2, 3], [4, 5, 6]],
            "cards": uint32(1 << 31 | 1),
            "last": -1,
            "open": True,
        }

    def legal_action_mask(self, s: GameState) -> Mask:
        return [~(s.men[0] | s.men[1]) & ((1 << 25) - 1)]

    def step(self, s: GameState, action: Scalar, chance: object) -> Outcome:
        stone = uint32(1) << uint32(action)
        own = s.current_player == 0
        men = [s.men[0] | stone * uint32(own), s.men[1] | stone * uint32(~own)]
        after = s.replace(men=men, last=action, current_player=1 - s.current_player)
        return Outcome(after, rewards=(int32(0), int32(0)), terminated=s.ply >= 5)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        return [bits(s.men[0], 25), bits(s.men[1], 25)]


@dataclass(frozen=True)
class Secret(Field):
    """The same game, in which something is hidden."""

    @property
    def spec(self) -> Spec:
        spec = super().spec
        return Spec(2, 25, (50,), spec.fields, perfect_information=False)


TEXT = """\
men
  a b c d e
1 * X X X X
2 . . . . .
3 . . X . .
4 . . . . .
5 O O O O O
(* is in several sets)

towers
  a b c d e
1 . . . . .
2 . . X . .
3 . . . . .
4 . . . . .
5 . . . . .

heights
  a b c d e
1 12  .  .  .  .
2  .  .  .  .  .
3  .  .  .  .  .
4  .  .  .  .  .
5  .  .  .  .  3

hands: [[1, 2, 3], [4, 5, 6]]
cards: {0, 31}
last: 12
open: True
current_player: 1
"""


def game(rules: type = Field) -> tuple[te.Env, te.State]:
    env = te.Env(te.GameEntry("field", rules), rules(), "field")
    return env, env.step(env.init(2), [12, 7])


def test_fields_are_shown_as_boards_sets_lists_and_numbers() -> None:
    env, state = game()
    assert env.to_string(state) == TEXT
    prompt = te.text.prompt(state, history=None)
    assert TEXT in prompt and "33554431" not in prompt and str(0b11111 << 20) not in prompt


def test_pictures_have_the_signs_of_the_boards() -> None:
    env, state = game()
    picture = ElementTree.fromstring(env.render(state))
    texts = [element.text for element in picture.iter() if element.tag.endswith("text")]
    assert texts.count("X") == 5 + 1 and texts.count("O") == 5 and texts.count("*") == 1 and texts.count("12") == 1
    assert "cards: {0, 31}" in texts and "men (* is in several sets)" in texts and "<svg" in state._repr_svg_()
    assert default.draw(env.rules, env.state_to_dict(state)).width > 3 * 5 * default.CELL


def test_dictionaries_are_the_fields() -> None:
    env, state = game()
    whole = env.state_to_dict(state, 1)
    assert whole["last"] == 7 and whole["current_player"] == 1 and whole["ply"] == 1
    again = env.state_from_dicts([whole])
    assert env.state_to_dict(again) == whole and (again.men.numpy() == state.men.numpy()[1]).all()
    wrong: list[dict[str, Any]] = [{"last": 25}, {"men": [1]}, {"hands": 3}]
    for fields in wrong:
        with pytest.raises(ValueError, match=f"field '{next(iter(fields))}' must"):
            env.state_from_dicts([whole | fields])
    with pytest.raises(ValueError, match="'last' missing"):
        env.state_from_dicts([{name: value for name, value in whole.items() if name != "last"}])
    record = te.record(env, ["12", "7"])
    assert te.record(env, ["12"], start=whole).start == whole and te.Record.from_json(record.to_json()) == record


def test_a_board_is_that_of_the_observation_if_the_rules_have_none() -> None:
    env = te.make("tests.types.program:Nim")
    assert default._sides(env.rules) is None or env.to_string(env.init(1))
    for shape, sides in (((3, 4, 6), (4, 6)), ((7,), None), ((2, 1, 9), None), ((2, 40, 40), None)):
        rules = type("Rules", (), {"spec": type("Spec", (), {"observation_shape": shape})})
        assert default._sides(rules) == sides


def test_secrets_need_a_module_that_hides_them() -> None:
    env, state = game(Secret)
    assert env.to_string(state) == TEXT
    for show in (te.text.prompt, lambda state: env.to_string(state, 0, 0), lambda state: env.render(state, 0, 1)):
        with pytest.raises(NotImplementedError, match=r"must have seen_by\(rules, game, player\), which removes what"):
            show(state)
