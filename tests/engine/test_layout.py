"""Layouts of states: kernels, packing, reading and bounds agree for every kind of field."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._engine.layout import FLAGS, Layout
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs.rules import Chance, Field, GameState, MemoryArray, Outcome, Part, Scalar, Spec, number, put
from tests.rules.traced import numbers

LOWEST, HIGHEST = -(2**31), 2**31 - 1
FIELDS = (
    Field("signed", (5,), low=-3, high=4),
    Field("flags", (3, 2), kind="bool"),
    Field("one", low=7, high=7),
    Field("wide", (3,), low=LOWEST, high=HIGHEST),
    Field("long", (2,), low=-1000, high=30_000),
    Field("set", (2,), kind="uint32"),
    Field("history", (2,), kind="uint64"),
    Field("most", low=1, high=HIGHEST),  # 31 bits
    Field("negative", (2,), low=LOWEST, high=-1),
    Field("bit", high=1),
    Field("late", kind="bool"),
    Field("nine", (2,), low=-3, high=5),  # one value more than 3 bits hold
)
LARGE = Field("large", (70,), kind="uint32", memory=True)


@dataclass(frozen=True)
class Kinds:
    """Rules with fields of every kind, which a step leaves unchanged."""

    memory: bool = False

    @cached_property
    def spec(self) -> Spec:
        return Spec(3, 40, (1,), FIELDS + (LARGE,) * self.memory, observation_dtype="int32")

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"one": 7, "most": 1, "negative": [-1, LOWEST]}

    def legal_action_mask(self, s: GameState) -> Any:
        return MemoryArray(lambda i: s.large[i], 2) if self.memory else [s.bit == a % 2 for a in range(40)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        return Outcome(s.replace(large=put(s.large, 5, s.large[6])) if self.memory else s, (0, 0.25, -7), False)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [number(s.bit)]


def kinds(memory: bool = False) -> te.Env:
    return te.Env(te.GameEntry("kinds", Kinds), Kinds(memory), "kinds")


def random_games(spec: Spec, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return random games within the bounds, among them the bounds themselves."""
    games: list[dict[str, Any]] = [{} for _ in range(count)]
    rng = np.random.default_rng(seed)
    for k, field in enumerate(spec.all_fields):
        if field.kind == "bool":
            column = rng.integers(0, 2, (count, *field.shape)).astype(bool)
        else:
            flat = numbers(field.kind, count * field.size, 100 * seed + k, field.low, field.high)
            column = flat.reshape(count, *field.shape)
        for game, value in zip(games, column.tolist(), strict=True):
            game[field.name] = value
    for name in FLAGS:
        for game, flag in zip(games, rng.integers(0, 2, count).tolist(), strict=True):
            game[name] = bool(flag)
    return games


def as_state(env: te.Env, games: list[dict[str, Any]], device: Any = "CPU") -> te.State:
    table = env.engine.layout.pack(games)
    return te.State(env, env.engine.load(table, np.zeros((len(games), KEY_WORDS), np.uint32), device))


def test_no_two_numbers_share_a_bit() -> None:
    layout = Layout(Kinds(True).spec)
    used = np.zeros((layout.field_words, 32), int)
    for slots in layout.slots.values():
        for slot in slots:
            for k in range(slot.width):
                used[slot.word + (slot.shift + k) // 32, (slot.shift + k) % 32] += 1
    assert used.max() == 1 and used.any(axis=1).all(), "a word that nobody needs"
    # Ints take the bits that their bounds need; ints of 32 bits, sets and the memory field take whole words.
    small = (
        5 * 3 + 6 + 1 + 2 * 15 + 31 + 2 * 31 + 1 + 1 + 2 * 4 + 2 + 31 + 2
    )  # ply has no bound: 31 bits; players -1..2
    whole = 3 + 2 + 2 * 2 + 70 + 1
    assert used.sum() == small + 32 * whole
    assert layout.rewards == layout.field_words and layout.mask == layout.rewards + 3
    assert layout.words == layout.mask + 2 and layout.field_words <= whole + -(-small // 32) + 1


@pytest.mark.parametrize("memory", [False, True])
def test_packed_and_unpacked(memory: bool) -> None:
    spec = Kinds(memory).spec
    layout, games = Layout(spec), random_games(spec, 60)
    table = layout.pack(games)
    values = layout.unpack(table)
    assert memory or [layout.plain(words) for words in table.tolist()] == games
    for name, column in values.items():
        if name not in ("legal_action_mask", "rewards"):
            assert column.tolist() == [game[name] for game in games], name
    assert values["legal_action_mask"].shape == (60, 40) and not values["legal_action_mask"].any()
    assert values["rewards"].dtype == np.float32 and values["rewards"].shape == (60, 3)
    kinds = {"int32": np.int32, "bool": np.bool_, "uint32": np.uint32, "uint64": np.uint64}
    assert all(values[field.name].dtype == kinds[field.kind] for field in spec.all_fields)
    for field in spec.all_fields:  # both bounds occurred
        if field.kind == "int32" and field.size > 1:
            assert values[field.name].min() == field.low and values[field.name].max() == field.high


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("batch", [70, 3])
def test_kernels_tensors_and_the_host_read_the_same(batch: int, memory: bool) -> None:
    """Properties and kernels read the packed values and flags, and kernels write them back unchanged."""
    env = kinds(memory)
    games = random_games(env.spec, batch)
    games[0] |= {"terminated": False, "truncated": False}
    games[1] |= {"terminated": True}
    state = as_state(env, games)
    host = state.numpy()
    for name in (*env.spec_fields, *FLAGS, "rewards", "legal_action_mask"):
        np.testing.assert_array_equal(getattr(state, name).numpy(), host[name], err_msg=name)
        assert getattr(state, name).numpy().dtype == host[name].dtype, name
    lazily = te.jit(lambda state: [getattr(state, name) + 0 for name in ("signed", "history", "flags")])
    for _ in range(3):
        for name, column in zip(("signed", "history", "flags"), lazily(state), strict=True):
            np.testing.assert_array_equal(column.numpy(), host[name])
    after = env.step(state, np.zeros(batch, int)).numpy()
    over = host["terminated"] | host["truncated"]
    illegal = ~over  # a packed state has an empty mask
    for name, column in after.items():
        if name in env.spec_fields and name != "ply":
            np.testing.assert_array_equal(column, host[name], err_msg=name)
    np.testing.assert_array_equal(after["terminated"], host["terminated"] | illegal)
    np.testing.assert_array_equal(after["truncated"], host["truncated"])
    np.testing.assert_array_equal(after["ply"], host["ply"])
    assert not after["rewards"][over].any() and after["rewards"][illegal].any(), "who is to move loses"


@pytest.mark.slow
def test_registers_hold_what_memory_holds() -> None:
    """A rollout keeps games in registers, and its step equals `step`; paid rewards are floats."""
    env = kinds()
    games = [game | {"terminated": False, "truncated": False, "ply": 5} for game in random_games(env.spec, 66)]
    state = env.engine.refresh(as_state(env, games).buffers)
    rolled = te.rollout_from(te.State(env, state), "uniform", 1, autoreset="disabled")
    stepped = env.step(te.State(env, state), te.agents.uniform(te.State(env, state)))
    for name, column in stepped.numpy().items():
        np.testing.assert_array_equal(rolled.state.numpy()[name], column, err_msg=name)
    assert (stepped.rewards.numpy() == [0, 0.25, -7]).all() and (rolled.returns.numpy() == [0, 0.25, -7]).all()
    assert stepped.legal_action_mask.numpy().sum() == 66 * 20


def test_a_memory_field_is_changed_where_it_stands() -> None:
    """A step in place reads all values that it needs of a memory field before it stores."""
    env = kinds(memory=True)
    live = {"terminated": False, "truncated": False, "ply": 1}
    games = [game | live | {"large": [1, *game["large"][1:]]} for game in random_games(env.spec, 5)]
    state = te.State(env, env.engine.refresh(as_state(env, games).buffers))
    vector = te.VectorEnv(env, 5, device="CPU", autoreset="disabled")
    vector.state = state
    action = np.zeros(5, np.int32)  # action 0 is legal: it is bit 0 of the field
    vector.step(action)
    large = np.array([game["large"] for game in games])
    large[:, 5] = large[:, 6]
    np.testing.assert_array_equal(vector.state.large.numpy(), large)
    np.testing.assert_array_equal(env.step(state, action).large.numpy(), large)


def wrong(name: str, value: Any) -> dict[str, Any]:
    (game,) = random_games(Kinds().spec, 1)
    return game | {name: value}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("signed", [0, 0, 5, 0, 0], r"game 1: field 'signed' must be an int in -3\.\.4, got 5"),
        ("signed", [0, -4, 0, 0, 0], r"field 'signed' must be an int in -3\.\.4, got -4"),
        ("signed", [0, 0], r"game 1: field 'signed' must have shape \(5,\), got shape \(2,\)"),
        ("signed", 3, r"game 1: field 'signed' must have shape \(5,\), got shape \(\)"),
        ("one", 6, r"field 'one' must be an int in 7\.\.7, got 6"),
        ("one", 7.0, r"field 'one' must be an int in 7\.\.7, got 7\.0"),
        ("one", "7", r"field 'one' must be an int in 7\.\.7, got '7'"),
        ("one", None, r"field 'one' must be an int in 7\.\.7, got None"),
        ("wide", [0, 0, 2**31], r"field 'wide' must be an int in -2147483648\.\.2147483647, got 2147483648"),
        ("set", [0, -1], r"field 'set' must be an int in 0\.\.4294967295, got -1"),
        ("history", [0, 2**64], r"field 'history' must be an int in 0\.\.18446744073709551615, got"),
        ("flags", [[0, 0], [0, 2], [0, 0]], r"field 'flags' must be an int in 0\.\.1, got 2"),
        ("terminated", 2, r"field 'terminated' must be an int in 0\.\.1, got 2"),
        ("current_player", 3, r"field 'current_player' must be an int in -1\.\.2, got 3"),
    ],
)
def test_values_out_of_bounds_are_not_packed(name: str, value: Any, message: str) -> None:
    layout = Layout(Kinds().spec)
    with pytest.raises(ValueError, match=message):
        layout.pack([*random_games(Kinds().spec, 1), wrong(name, value)])


def test_numpys_numbers_are_packed() -> None:
    layout, (game,) = Layout(Kinds().spec), random_games(Kinds().spec, 1)
    as_arrays = {name: np.array(value, np.uint64 if name == "history" else None) for name, value in game.items()}
    np.testing.assert_array_equal(layout.pack([as_arrays]), layout.pack([game]))


def test_a_table_is_held_to_the_bounds() -> None:
    """Values that fit a field's bits but break its bounds are refused."""
    spec = Kinds().spec
    layout = Layout(spec)
    table = layout.pack(random_games(spec, 9))
    layout.check(table)
    for name, value in (("long", 30_001), ("one", 8), ("most", 2**31), ("wide", None)):
        field, slot = layout.fields[name], layout.slots[name][-1]
        if value is None:  # every value of 32 bits is allowed
            assert slot.width == 32 and table[:, slot.word].max() > 2**31
            continue
        damaged = table.copy()
        damaged[4, slot.word] &= np.uint32(~(((1 << slot.width) - 1) << slot.shift) & 0xFFFFFFFF)
        damaged[4, slot.word] |= np.uint32((value - slot.low) << slot.shift)
        with pytest.raises(ValueError, match=rf"field '{name}' must be in {field.low}\.\.{field.high}, got {value}"):
            layout.check(damaged)


def test_a_new_game_is_within_its_bounds() -> None:
    """Fields that `init` omits are 0, within the same bounds."""

    @dataclass(frozen=True)
    class Bare(Kinds):
        def init(self, chance: Chance) -> dict[str, Any]:
            return {"most": 1, "negative": [-1, -1]}

    env = te.Env(te.GameEntry("bare", Bare), Bare(), "bare")
    with pytest.raises(ValueError, match=r"init: field 'one' must be in 7\.\.7, got 0"):
        env.init(2)


def test_a_memory_field_of_millions_of_words_is_laid_out_at_once() -> None:
    """The slots of a memory field are lazy: a million objects would take a second and 100 MB."""
    spec = Spec(2, 3, (1,), (Field("board", (20_000_000,), kind="uint32", memory=True), Field("last", high=3)))
    layout = Layout(spec)
    slots = layout.slots["board"]
    assert not isinstance(slots, list) and len(slots) == 20_000_000
    assert (slots[0].width, slots[-1].word - slots[0].word) == (32, 19_999_999)
    assert layout.slots["last"][0].word not in range(slots[0].word, slots[-1].word + 1)
