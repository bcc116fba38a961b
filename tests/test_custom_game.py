"""A custom game: registration, conformance, and comparison with a plain-Python version."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs import registry
from tensor_envs.rules import (
    Part,
    Scalar,
    bits,
    float32,
    has_bit,
    int32,
    lookup,
    minimum,
    number,
    one_hot,
    scalar,
    select,
    uint32,
    uint64,
    where,
)
from tensor_envs.testing import ConformanceError, check_env, check_symmetries
from tests.games import dice_race
from tests.games.chance import draw, game_key


@pytest.fixture
def env() -> Iterator[te.Env]:
    te.register(dice_race.GAME)
    yield te.make("dice_race")
    del registry._entries["dice_race"]


@pytest.mark.slow
def test_registered_and_conforming(env: te.Env) -> None:
    assert "dice_race" in te.registered()
    # Two words hold bits of scores, bets, `rested`, ply, current_player and two flags; whole words follow.
    history, episode, key, rewards, mask = 2, 1, 2, 3, 1
    assert env.state_bytes == 4 * (2 + history + episode + key + rewards + mask)
    check_env(te.make("dice_race", illegal="raise"))  # the checks use illegal="lose"


def test_by_an_importable_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The id of a module's rules or of its entry works without registration."""
    entry, rules = (te.make(f"tests.games.dice_race:{name}", goal=9) for name in ("GAME", "DiceRace"))
    assert entry.rules == rules.rules == dice_race.DiceRace(goal=9) and not set(te.registered()) & {entry.id}
    assert repr(rules) == "<Env tests.games.dice_race:DiceRace-v0 goal=9>" and entry.action_to_string(0)
    te.save_state(entry.init(2), tmp_path / "state")
    assert te.load_state(tmp_path / "state").env.id == entry.id
    for name, message in {
        "tests.games.dice_race:Gone": "the module 'tests.games.dice_race' has no 'Gone', which the id",
        "tests.gone.dice_race:X": "there is no module 'tests.gone', which the id 'tests.gone.dice_race:X' names",
        "a b:X": "id must be one of registered\\(\\) or 'package.module:Name', got 'a b:X'",
    }.items():
        with pytest.raises(ValueError, match=message):
            te.make(name)
    with pytest.raises(TypeError, match="the rules of 'names' must be a frozen dataclass, got"):
        te.make("tests.games.dice_race:NAMES")
    (tmp_path / "needs_more.py").write_text("import nowhere_to_be_found")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere_to_be_found'"):
        te.make("needs_more:Game")


def test_the_entry_that_a_module_registers_for_its_rules(env: te.Env) -> None:
    assert te.make("tests.games.dice_race:DiceRace").to_string(env.init(1)) == env.to_string(env.init(1))


def test_states_from_dictionaries(env: te.Env) -> None:
    """Each game draws the chance of its row, and missing or wrong entries raise errors that name the game."""
    first = env.init(3, seed=5)
    games = [env.state_to_dict(first, row) for row in (2, 0, 1)]
    state = env.state_from_dicts(games, seed=5)
    assert (state.key.numpy() == first.key.numpy()).all() and not state.episode.numpy().any()
    for name in ("score", "rested", "history", "current_player", "ply", "change", "legal_action_mask"):
        assert (getattr(state, name).numpy() == getattr(first, name).numpy()[[2, 0, 1]]).all(), name
    with pytest.raises(ValueError, match=r"game 2: field 'score' must be an int in -30\.\.40, got 41"):
        env.state_from_dicts([*games[:2], {**games[2], "score": [41, 0, 0]}])
    with pytest.raises(ValueError, match=r"game 0: field 'change' must have shape \(3, 1\), got shape \(1,\)"):
        env.state_from_dicts([{**games[0], "change": [1]}])
    del games[1]["rested"], games[1]["current_player"]
    with pytest.raises(ValueError, match="game 1 is no state of 'dice_race': current_player, rested missing"):
        env.state_from_dicts(games)


def test_against_plain_python(env: te.Env) -> None:
    """Scores, signs and words of every width agree over whole games and resets."""
    batch, seed = 65, 5
    vector = te.VectorEnv(env, batch, seed)
    games = [start(seed, row, 0) for row in range(batch)]
    finished, min_change = 0, 0
    for _ in range(90):
        transition = vector.step_uniform().numpy()
        actions, rewards, cut = (transition[name] for name in ("actions", "rewards", "truncated"))
        now = vector.state.numpy()
        min_change = min(min_change, int(now["change"].min()))
        for row, game in enumerate(games):
            expected = play(game, int(actions[row]))
            assert np.allclose(rewards[row], expected)
            if any(expected) or game["ply"] == 30:
                finished += 1
                assert cut[row] != any(expected)
                games[row] = game = start(seed, row, game["episode"] + 1)
            for name in ("score", "rested", "history", "current_player", "ply", "episode"):
                assert (now[name][row] == game[name]).all(), name
            assert now["change"][row, :, 0].tolist() == game["change"]
    assert finished > batch and min_change == -1


def start(seed: int, row: int, episode: int) -> dict[str, Any]:
    key = game_key(seed, row, episode)
    return {
        "key": key, "score": [0, 1, 2], "current_player": draw(key, 3, 3), "rested": False, "change": [0, 0, 0],
        "history": 0, "ply": 0, "episode": episode,
    }  # fmt: skip


def play(game: dict[str, Any], action: int) -> list[float]:
    die = 1 + draw(game["key"], 16 + game["ply"], 6)
    player, bet = game["current_player"], 1 if die % 2 == 0 else -1
    game["score"][player] += (die, 0, bet)[action]
    game["change"][player] = bet if action == 2 else 0
    game["rested"], game["history"] = action == 1, (game["history"] << 4 | die) % 2**64
    game["current_player"], game["ply"] = (player + 1) % 3, game["ply"] + 1
    return [(1.0 if p == player else -0.5) * (game["score"][player] >= 12) for p in range(3)]


@dataclass(frozen=True)
class Nim:
    """Take 1 to 3 of a heap in turns. `wrong` names the mistake in these rules."""

    wrong: str = ""

    @property
    def spec(self) -> te.Spec:
        dtype = "bool" if self.wrong == "a number of a bool observation" else "int8"
        events = ("last",) if "event" in self.wrong else ()
        return te.Spec(2, 3, (1,), (te.Field("left", high=5),), observation_dtype=dtype, events=events)

    def init(self, chance: te.Chance) -> dict[str, Any]:
        values: dict[str, dict[str, Any]] = {
            "field": {"lefft": 5}, "large": {"left": 300}, "small": {"left": -1}, "two": {"left": [5, 5]},
            "real": {"left": float32(2.5)}, "half": {"left": 2.5}, "uint32": {"left": uint32(2) + uint32(3)},
            "computed": {"left": int32(2) + 4}, "nested": {"left": [[5]]},
        }  # fmt: skip
        return values.get(self.wrong, {"left": 5})

    def legal_action_mask(self, s: te.GameState) -> Any:
        legal = [s.left > action for action in range(3)]
        wrong: dict[str, Any] = {
            "mask": legal[:2], "ints": [s.left, s.left], "words": [uint32(1), uint32(2)], "one flag": s.left > 0,
            "three ints": [s.left] * 3, "int": s.left, "plain words": [7], "plain bools": [True, True, False],
            "no mask": None, "a mask of floats": [1.0, 0.0, 1.0],
        }  # fmt: skip
        return wrong.get(self.wrong, legal)

    def step(self, s: te.GameState, action: Scalar, chance: te.Chance) -> Any:
        left = s.left - action - 1
        first = where(s.current_player == 0, 1, -1) * (left == 0)
        after = s.replace(left=left, current_player=1 - s.current_player)
        if self.wrong == "rewards":
            return te.Outcome(after, (first,), left == 0)
        if self.wrong == "a reward that is no number":
            return te.Outcome(after, cast(Any, ("1", -first)), left == 0)
        if self.wrong == "an end that is missing":
            return te.Outcome(after, (first, -first), cast(Any, None))
        if self.wrong == "no outcome":
            return after
        if self.wrong == "a state as a dictionary":
            return te.Outcome(after.asdict(), (first, -first), left == 0)  # type: ignore[arg-type]
        if self.wrong == "an end that is an int":
            return te.Outcome(after, (first, -first), left)
        if self.wrong == "a limit that is an int":
            return te.Outcome(after, (first, -first), left == 0, s.ply)
        if self.wrong == "a constant out of bounds":
            after = after.replace(left=6)
        if self.wrong == "a kind":
            after = after.replace(left=uint32(left))
        if self.wrong == "chance":
            chance.draw(0, 6)
        if self.wrong == "another event":
            return te.Outcome(after, (first, -first), left == 0, events={"lust": left == 0})
        if self.wrong == "an event that is no number":
            return te.Outcome(after, (first, -first), left == 0, events={"last": float32(left)})
        if self.wrong == "no dictionary of events":
            return te.Outcome(after, (first, -first), left == 0, events=[left])  # type: ignore[arg-type]
        over: Any = {"endless": False, "plain bool": scalar(False)}.get(self.wrong, left == 0)
        return te.Outcome(after, (first, -first), over)

    def observe(self, s: te.GameState, player: Scalar) -> Any:
        wrong: dict[str, Any] = {
            "two entries": [number(s.left), number(s.left)], "one-hot": [one_hot(s.left, 6)],
            "no part": s.left, "no parts": [s.left], "a set": bits(uint32(s.left), 1),
            "fraction": [number(float32(s.left) * 0.5)],
        }  # fmt: skip
        return wrong.get(self.wrong, [number(s.left)])


def nim(wrong: str = "") -> te.Env:
    return te.Env(te.GameEntry("nim", Nim), Nim(wrong), "nim")


@pytest.mark.slow
def test_a_class_and_nothing_else() -> None:
    env = nim()
    values = te.playout(env.init(3), num_playouts=1000, action=[0, 1, 2]).numpy()[:, 0]
    # at random, whoever is left with four loses two games of three
    assert np.abs(values - [1 / 3, 0, 0]).max() < 0.13
    assert te.rollout(env, "uniform", 64, 50).episodes.numpy().min() > 5
    (identity,) = env.symmetries()
    assert (
        env.action_to_string(1) == "1"
        and identity.actions == (0, 1, 2)
        and len(identity.observation) == env.observation_shape[0]
    )
    game = env.state_to_dict(env.init(1))
    assert env.state_to_dict(env.state_from_dicts([game])) == game
    assert "\nleft: " in f"\n{env.to_string(env.init(1))}" and "left: " in env.render(env.init(1))


FIELDS = r"the fields are current_player, ply, episode, left"
MASKS = r"legal_action_mask must give 3 bools, one an action, or 1 words of 32 actions; got "


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("field", ValueError, f"init gives lefft; {FIELDS}"),
        ("large", ValueError, r"init: field 'left' must be in 0\.\.5, got 300"),
        ("small", ValueError, r"init: field 'left' must be in 0\.\.5, got -1"),
        ("computed", ValueError, r"init: field 'left' must be in 0\.\.5, got 6"),
        ("two", ValueError, r"init: field 'left' must be one number, got shape \(2,\)"),
        ("real", TypeError, "init: field 'left' is of kind int32, got a scalar of kind float32"),
        ("uint32", TypeError, "init: field 'left' is of kind int32, got a scalar of kind uint32"),
        ("half", TypeError, r"init: field 'left' is of kind int32, got 2\.5"),
        ("mask", ValueError, f"{MASKS}2 of kind bool"),
        ("ints", ValueError, f"{MASKS}2 of kind int32"),
        ("words", ValueError, f"{MASKS}2 of kind uint32"),
        ("three ints", ValueError, f"{MASKS}3 of kind int32: write x != 0"),
        ("nested", ValueError, r"init: field 'left' must be one number, got shape \(1, 1\)"),
        ("one flag", ValueError, f"{MASKS}1 of kind bool"),
        ("int", ValueError, f"{MASKS}1 of kind int32"),
        ("no mask", TypeError, "an entry of legal_action_mask must be a scalar, a bool or an int, got None"),
        ("a mask of floats", TypeError, r"an entry of legal_action_mask must be a scalar, a bool or an int, got 1\.0"),
        ("a reward that is no number", TypeError, r"rewards\[0\] must be a scalar or a number, got '1' of type str"),
        ("an end that is missing", TypeError, "terminated must be a scalar or a number, got None of type NoneType"),
        ("rewards", ValueError, "step must give 2 rewards, one a player, got 1"),
        ("no outcome", TypeError, "what step gives must be of type Outcome, got GameState"),
        ("a state as a dictionary", TypeError, "the state of an Outcome must be of type GameState"),
        ("an end that is an int", TypeError, "terminated must be a bool, got int32: write x != 0"),
        ("a limit that is an int", TypeError, "truncated must be a bool, got int32: write x != 0"),
        ("another event", ValueError, "step must report the events of the Spec, last; got lust"),
        ("no event", ValueError, "step must report the events of the Spec, last; got none"),
        ("an event that is no number", TypeError, "the event 'last' must be a bool or an int32, got float32"),
        ("no dictionary of events", TypeError, "the events of an Outcome must be of type Mapping, got"),
        ("a constant out of bounds", ValueError, r"step: field 'left' must be in 0\.\.5, got 6"),
        ("a kind", TypeError, "step: field 'left' is of kind int32, got a scalar of kind uint32"),
        ("chance", RuntimeError, "these rules draw chance, so their Spec must say chance=True"),
        ("two entries", ValueError, r"observe must give the 1 entries of \(1,\)"),
        ("one-hot", ValueError, r"observe must give the 1 entries of \(1,\)"),
        (
            "no part",
            TypeError,
            r"observe must give a list of parts, or a dictionary: bits\(...\), one_hot\(...\) and number\(...\)",
        ),
        ("no parts", TypeError, "observe must give a list of parts"),
        ("a set", TypeError, "observe must give a list of parts"),
        ("fraction", TypeError, "observe gives a number of kind float32; its dtype is int8"),
        ("a number of a bool observation", TypeError, "observe gives a number of kind int32; its dtype is bool"),
    ],
)
def test_wrong_rules_are_named(wrong: str, error: Any, message: str) -> None:
    """An error names the mistake when the rules are first traced, and also in plain Python."""
    env = nim(wrong)
    with pytest.raises(error, match=message):
        env.observe(env.step(env.init(2), [0, 0])).numpy()
    with pytest.raises(error, match=message):
        game = te.debug(nim(wrong))
        game.step(0)
        game.observe()


@pytest.mark.parametrize("wrong", ["endless", "plain bool", "plain words", "plain bools"])
def test_plain_values_do_where_they_can(wrong: str) -> None:
    env = nim(wrong)
    state = env.step(env.init(2), [1, 1])
    assert not state.terminated.numpy().any() and state.left.numpy().tolist() == [3, 3]


def test_required_parts_of_rules() -> None:
    lacking: Any = type("Lacking", (), {"spec": Nim.spec, "init": Nim.init, "step": Nim.step})
    with pytest.raises(TypeError, match="the rules of 'x' must have a method legal_action_mask"):
        te.GameEntry("x", dataclass(frozen=True)(lacking))
    called: Any = type("Called", (Nim,), {"spec": lambda self: None})
    with pytest.raises(TypeError, match="spec must be a property of the rules of 'x', got a method"):
        te.GameEntry("x", dataclass(frozen=True)(called))
    entry = te.GameEntry("x", Nim, notation="os", render="os")
    for part, function in {"notation": "to_dict(rules, fields)", "render": "to_string(rules, game)"}.items():
        with pytest.raises(TypeError, match=re.escape(f"the {part} 'os' of 'x' must have {function}")):
            entry.load(part)


def test_symmetries_of_a_notation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notation need not have symmetries, but if it has, the identity is the first of them."""
    env = dice_race.shared()
    assert check_symmetries(env, 2, None) == "0 beside the identity"
    swapped = te.Symmetry((1, 0, 2), tuple(range(72)), {})
    for symmetries in ([], [swapped]):
        monkeypatch.setattr(dice_race, "symmetries", lambda rules, maps=symmetries: iter(maps))
        with pytest.raises(
            ConformanceError, match=r"dice_race.symmetries must yield the identity first: Symmetry\(tup"
        ):
            check_symmetries(env, 2, None)
    monkeypatch.delattr(dice_race, "symmetries")
    assert check_symmetries(env, 2, None) == "0 beside the identity"


def test_numbers_beyond_the_dtype_of_an_observation() -> None:
    @dataclass(frozen=True)
    class Loud(Nim):
        def observe(self, s: te.GameState, player: Scalar) -> list[Part]:
            return [number(s.left * 1000)]

    with pytest.raises(ValueError, match=r"observe must give numbers of dtype int8: .*5000"):
        te.debug(te.Env(te.GameEntry("loud", Loud), Loud(), "loud")).observe()


def test_rules_are_a_frozen_dataclass() -> None:
    @dataclass
    class Warm:
        left: int = 5

    for rules in (int, Warm, "tests.games.dice_race:NAMES"):
        with pytest.raises(TypeError, match="the rules of 'x' must be a frozen dataclass, got"):
            te.GameEntry("x", rules).load_rules()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"id": 5}, TypeError, "an id must be of type str, got 5"),
        ({"id": None}, TypeError, "an id must be of type str, got None"),
        ({"id": ""}, ValueError, "an id must be lower case letters, digits and underscores, got ''"),
        ({"id": "a b/c"}, ValueError, "an id must be lower case letters, digits and underscores, got 'a b/c'"),
        ({"presets": {"Nim!": {}}}, ValueError, "an id must be lower case"),
        ({"rules": "nim"}, ValueError, r"rules must be a class or its name 'package\.module:Class', got 'nim'"),
        ({"version": -1}, ValueError, r"version must be in 0\.\.2147483647, got -1"),
        ({"version": True}, TypeError, "version must be an int, got True"),
        ({"render": 3}, TypeError, "render must be of type str, got 3"),
    ],
)
def test_entries_that_cannot_be(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        te.GameEntry(**{"id": "nim", "rules": Nim, **arguments})
    assert replace(te.GameEntry("nim", Nim), version=2).version == 2


@pytest.mark.slow
def test_parts_of_every_type_are_observed() -> None:
    """Parts next to each other, mixed, and longer than a byte or a word are equal in the kernel and in plain Python."""

    @dataclass(frozen=True)
    class Parts:
        @property
        def spec(self) -> te.Spec:
            fields = (
                te.Field("set", (2,), kind="uint32"),
                te.Field("wide", kind="uint64"),
                te.Field("x", low=-1, high=300),
            )
            return te.Spec(2, 90, (499,), fields, observation_dtype="float32", chance=True)

        def init(self, chance: te.Chance) -> dict[str, Any]:
            return {"set": [chance.bits(0), chance.bits(1)], "wide": uint64(chance.bits(2)) * 5, "x": -1}

        def legal_action_mask(self, s: te.GameState) -> Any:
            return [(s.set[action % 2] >> action % 32 & 1) != 0 for action in range(90)]

        def step(self, s: te.GameState, action: Scalar, chance: te.Chance) -> te.Outcome:
            after = s.replace(x=action, current_player=1 - s.current_player)
            return te.Outcome(after, (0, 0), False)

        def observe(self, s: te.GameState, player: Scalar) -> list[Part]:
            return [
                number(player), bits(s.set, 45), one_hot(s.x, 301), bits(uint32(7), 3), number(float32(s.x) * 0.1),
                number(s.ply == 3), bits(s.wide, 45), bits([s.x > 4, player == 1], 2), number(-s.x), bits(s.set[0], 9),
                bits(s.legal_action_mask, 90),
            ]  # fmt: skip

    env = te.Env(te.GameEntry("parts", Parts), Parts(), "parts")
    state, games = env.init(3, seed=1), [te.debug(env, 1, row) for row in range(3)]
    for _ in range(5):
        for player in (None, 0, 1):
            seen = env.observe(state, player).numpy()
            for row, game in enumerate(games):
                np.testing.assert_array_equal(seen[row], game.observe(player))
        action = te.agents.uniform(state).numpy()
        state = env.step(state, action)
        for game, one in zip(games, action, strict=True):
            game.step(int(one))
    assert len(np.unique(seen)) > 4


@dataclass(frozen=True)
class Stairs:
    """Two players climb a stair in turns, by the two faces of a throw. `mistake` names one in these rules."""

    mistake: str = ""

    @property
    def spec(self) -> te.Spec:
        fields = (te.Field("height", high=40), te.Field("faces", (2,), high=5), te.Field("tricks", kind="uint32"))
        limit = None if self.mistake in ("endless", "overflowing") else 20
        most = 2 if self.mistake == "crowded" else 3
        return te.Spec(2, 3, (5,), fields, "int8", limit, chance=True, max_legal=most)

    def init(self, chance: te.Chance) -> dict[str, Any]:
        trick = chance.draw(9, 2) if self.mistake == "hidden" else 0
        return {"faces": [chance.draw(0, 6), chance.draw(1, 6)], "tricks": uint32(trick)}

    def legal_action_mask(self, s: te.GameState) -> Any:
        index = s.height if self.mistake == "has_bit" else 0
        going = (s.height < 12) if self.mistake == "no action" else scalar(True)
        return [going, going & ~has_bit(s.tricks, index), going]

    def step(self, s: te.GameState, action: Scalar, chance: te.Chance) -> te.Outcome:
        counter: Any = 2 if self.mistake == "counter" else 2 + 2 * s.ply
        faces = [chance.draw(counter + k, 6) for k in range(2)]
        if self.mistake == "impure":
            self.calls.append(0)
            faces[1] = faces[1] * 0 + len(self.calls) % 6
        index = s.height if self.mistake in ("select", "lookup") else action
        gain = lookup([1, 2, 0], index) if self.mistake == "lookup" else select([1, 2, s.faces[0]], index)
        height = minimum(s.height + gain, 33)
        if self.mistake in ("endless", "overflowing"):
            height = height % 33
        if self.mistake == "bound":
            height = height + 20
        mover = s.current_player if self.mistake == "one player" else 1 - s.current_player
        first = where(s.current_player == 0, 1, -1) * (height == 33)
        after = s.replace(height=height, faces=faces, current_player=mover)
        return te.Outcome(after, (first, -first), height == 33)

    def observe(self, s: te.GameState, player: Scalar) -> Any:
        seen = {"loud": s.height * 5, "overflowing": s.ply}.get(self.mistake, s.height)
        return [number(seen), *(number(face) for face in s.faces), number(s.current_player), number(player)]

    @property
    def calls(self) -> list[int]:
        return CALLS


CALLS: list[int] = []
PLACE = r"row 0, episode 0, ply \d+"


def line(text: str) -> str:
    """Return this file's name and the number of its line with a text, as a regular expression."""
    lines = Path(__file__).read_text().splitlines()
    start = next(k for k, x in enumerate(lines) if x == "class Stairs:")
    return re.escape(f"{__file__}:{next(k for k, x in enumerate(lines[start:], start + 1) if text in x)}")


MISTAKES = {  # name: text of the line that is named, message
    "crowded": ("max_legal=most", "max_legal is 2, a position has 3 legal actions"),
    "no action": ("def legal_action_mask", f"{PLACE}: LINE: there is no legal action, but the game goes on"),
    "select": ("select([1, 2, s.", rf"{PLACE}: .*\n?LINE: .*\n  an index must be in 0\.\.2, .*; got \d"),
    "lookup": ("gain = lookup(", r"LINE: .*\n  an index must be in 0\.\.2, also where its entry is not used; got \d"),
    "has_bit": ("~has_bit(", r"LINE: .*\n  an index must be in 0\.\.31, also where its entry is not used; got \d+"),
    "hidden": ("def observe", "looked the same to player 0, but field 'tricks' is .*LINE.* perfect_information=False"),
    "counter": ("faces = [chance.draw", "LINE: step draws with the counter 2 at several plies of an episode"),
    "one player": ("def step", "player 1 never moved in 60 games: LINE: step must set current_player"),
    "endless": ("def step", "no game ended in 20000 plies: LINE: step must set terminated or truncated"),
    "overflowing": ("def step", "no game ended in 20000 plies: LINE: step must set terminated or truncated"),
    "loud": ("def observe", rf"{PLACE}: LINE: observe must give numbers of dtype int8: .*1[3-6][05]"),
    "bound": ("def step", rf"{PLACE}: LINE: step: field 'height' must be in 0\.\.40, got \d+"),
    "impure": ("def step", rf"{PLACE}: faces differs: \[\d, \d\] in the kernel, \[\d, \d\] in plain .*LINE"),
}


@pytest.mark.few("bound", "lookup", "counter")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_rules_is_named(mistake: str) -> None:
    text, message = MISTAKES[mistake]
    env = te.Env(te.GameEntry("stairs", Stairs), Stairs(mistake), "stairs")
    with pytest.raises(ConformanceError) as caught:
        check_env(env)
    assert re.search(message.replace("LINE", line(text)), str(caught.value)), str(caught.value)


@pytest.mark.slow
def test_rules_without_a_mistake(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The game in which mistakes are planted passes, and a terminal shows the progress."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    report = check_env(te.make("tests.test_custom_game:Stairs"))
    assert re.fullmatch(r"\d\d+ pairs of games with the same observations", report["check_perfect_information"])
    assert f"{len(report)}/{len(report)} check_one_kernel" in capsys.readouterr().err
