"""Named ranges of actions: decoding, masks and names, compared with plain Python."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.rules import Actions, Field, Outcome, Scalar, Spec, Value, int32, one_hot, scalar, uint32, uint64
from tests.rules.traced import agree, numbers

SIZE = 150


def some_actions(rng: random.Random) -> Actions:
    sizes = [rng.choice([0, 1, 1, 2, 5, 31, 32, 33, 64, 70, rng.randrange(1, 100)]) for _ in range(rng.randrange(1, 6))]
    return Actions(**{f"part{k}": size for k, size in enumerate([*sizes, 1])})


@pytest.mark.parametrize("seed", range(12))
def test_decoding(seed: int) -> None:
    actions = some_actions(random.Random(seed))
    names, columns = list(actions._ranges), numbers("int32", SIZE, seed, 0, actions.count - 1)

    def decoded(action: Scalar) -> list[Value]:
        a = actions.decode(action)
        choices = [getattr(a, name) for name in names]
        return [x for choice in choices for x in (choice.chosen, choice.index)]

    results = iter(agree(decoded, columns))
    for name in names:
        chosen, index, span = next(results), next(results), actions[name]
        assert (chosen == [action in span for action in columns]).all()
        assert (index == np.clip(columns - span.start, 0, max(len(span) - 1, 0))).all()
    assert [action for name in names for action in actions[name]] == list(range(actions.count))


@pytest.mark.parametrize("seed", range(12))
def test_masks_from_parts(seed: int) -> None:
    """Parts of every form, shifted across words, leave the other ranges alone even if they have bits too many."""
    rng = random.Random(seed)
    actions = some_actions(rng)
    columns = [numbers("uint64", SIZE, k) for k in range(3)]
    forms, expected = {}, np.zeros((SIZE, actions.count), bool)
    for name, span in actions._ranges.items():
        form = rng.choice(["flag", "flags", "nested", "words", "set", "left out"])
        size, column = len(span), rng.randrange(3)
        form = "flags" if (form == "set" and size > 64) or size == 0 else form
        bits = np.array([[x >> i % 64 & 1 for i in range(size)] for x in columns[column].tolist()], bool)
        forms[name] = form, size, column
        if form == "flag":
            bits = np.repeat((columns[column] & np.uint64(1) != 0)[:, None], size, axis=1)
        if form != "left out":
            expected[:, span.start : span.stop] = bits

    def part(form: str, size: int, x: Scalar) -> Any:
        flags = [(x >> i % 64 & 1) != 0 for i in range(size)]
        if form == "set":
            return x if size > 32 else uint32(x)
        if form == "words":
            return [uint32(x >> 32 * (k % 2)) for k in range(-(-size // 32))]
        return {"flag": (x & 1) != 0, "flags": flags, "nested": [flags[: size // 2], flags[size // 2 :]]}[form]

    def mask(*entries: Scalar) -> list[Scalar]:
        return actions.mask(**{n: part(f, s, entries[c]) for n, (f, s, c) in forms.items() if f != "left out"})

    words = agree(mask, *columns)
    got = np.unpackbits(np.stack(words, axis=1).view(np.uint8), axis=1, bitorder="little").astype(bool)
    assert (got[:, : actions.count] == expected).all() and not got[:, actions.count :].any()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: a.mask(jump=True), ValueError, "no actions 'jump'; they are step, hop, rest"),
        (lambda a: a.decode(1).jump, ValueError, "no actions 'jump'; they are step, hop, rest"),
        (
            lambda a: a.mask(step=[True] * 3),
            ValueError,
            "step must be a bool, 40 bools, or a set of 40 members in 2 words",
        ),
        (lambda a: a.mask(step=uint32(3)), ValueError, "got 1 of kind word"),
        (lambda a: a.mask(hop=int32(3)), ValueError, "hop must be a bool, 2 bools, or a set .* got 1 of kind int"),
        (lambda a: a.name(43), ValueError, r"action must be in 0\.\.42, got 43"),
        (lambda a: Actions(), ValueError, r"the number of all actions must be in 1\.\.\d+, got 0"),
        (lambda a: Actions(step=-1), ValueError, r"step must be in 0\.\.\d+, got -1"),
        (lambda a: Actions(**dict[str, Any](step=2.5)), TypeError, "step must be an int, got 2.5"),
        (lambda a: Actions(_step=1), ValueError, "must not begin with _, got '_step'"),
    ],
)
def test_wrong_arguments(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(Actions(step=40, hop=2, rest=1))


@dataclass(frozen=True)
class Pile:
    """Take one of three cards, or rest if none is left; without notation and render."""

    actions = Actions(take_card=3, rest=1)

    @property
    def spec(self) -> Spec:
        return Spec(1, self.actions.count, (8,), (Field("cards", kind="uint32"),), zero_sum=False, max_plies=9)

    def init(self, chance: Any) -> dict[str, Any]:
        return {"cards": 7}

    def legal_action_mask(self, s: Any) -> Any:
        return self.actions.mask(take_card=s.cards, rest=s.cards == 0)

    def step(self, s: Any, action: Scalar, chance: Any) -> Outcome:
        card = self.actions.decode(action).take_card
        return Outcome(s.replace(cards=s.cards & ~(uint32(card.chosen) << card.index)), [card.chosen], scalar(False))

    def observe(self, s: Any, player: Scalar) -> Any:
        return [one_hot(int32(s.cards), 8)]


def test_default_names_of_a_game() -> None:
    env = te.make("tests.rules.test_actions:Pile")
    assert env.action_names == ("take card 0", "take card 1", "take card 2", "rest")
    state = env.step(env.init(2), [1, env.string_to_action("take card 2")])
    assert env.legal_actions(state, 1) == {0: "take card 0", 1: "take card 1"}


@pytest.mark.slow
def test_a_game_with_default_names_conforms() -> None:
    te.testing.check_env(te.make("tests.rules.test_actions:Pile"))


def test_equal_and_shown() -> None:
    assert Actions(a=1, b=2) == Actions(a=1, b=2) != Actions(b=2, a=1)
    assert repr(Actions(a=1, b=2)) == "Actions(a=1, b=2)" and len({Actions(a=1), Actions(a=1)}) == 1
    assert Actions(swap=False, put=1).count == 1 and uint64(1).kind == "uint64"
