"""The contract of environments beyond the conformance checks: errors, devices, functional steps."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, dtypes

import tensor_envs as te
from tensor_envs.envs import registry
from tests.games import dice_race
from tests.games.dice_race import DiceRace
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")
DEVICES = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")


def rows_of(state: te.State) -> np.ndarray:
    """Return the constants of every row, [B, 5]: words of the seed, the row, the uniform policy's key."""
    return state.buffers.layout.download(state.tensors[1])


def test_ids() -> None:
    assert {"hyper_tic_tac_toe", "tic_tac_toe", "qubic", "gomoku"} <= set(te.registered())
    with pytest.raises(ValueError, match=r"unknown id 'tic_tac_to'; did you mean 'tic_tac_toe'"):
        te.make("tic_tac_to")
    with pytest.raises(TypeError, match="id must be of type str, got 3"):
        te.make(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"no rule field 'size'; its fields are shape, k"):
        te.make("hyper_tic_tac_toe", size=3)
    with pytest.raises(TypeError, match=r"'gomoku' fixes k=5; use make\('hyper_tic_tac_toe'"):
        te.make("gomoku", k=4)
    with pytest.raises(ValueError, match="illegal must be one of 'lose', 'raise', got 'ignore'"):
        te.make("qubic", illegal="ignore")  # type: ignore[call-overload]


def test_registering_a_game_twice() -> None:
    with pytest.raises(ValueError, match="'tic_tac_toe' is registered already"):
        te.register(te.GameEntry("tic_tac_toe", "nowhere:Rules", "nowhere", "nowhere"))
    with pytest.raises(TypeError, match="entry must be of type GameEntry, got 'tic_tac_toe'"):
        te.register("tic_tac_toe")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"'hyper_tic_tac_toe' is registered already$"
    ):  # a preset is not the user's to replace
        te.register(te.GameEntry("hyper_tic_tac_toe", DiceRace, presets={"tic_tac_toe": {}}), replace=True)


def test_registering_another_game_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing a registered game, as in a notebook's cell that runs twice, leaves existing environments unchanged."""
    monkeypatch.setattr(registry, "_entries", {})
    te.register(te.GameEntry("dice_race", DiceRace, presets={"race": {}, "dice": {}}))
    env = te.make("race")
    again = te.GameEntry("dice_race", DiceRace, version=1, presets={"race": {}})
    with pytest.raises(ValueError, match=r"'dice_race' is registered already; register\(..., replace=True\)"):
        te.register(again)
    te.register(again, replace=True)
    assert (env.version, te.make("race").version) == (0, 1) and "dice" not in te.registered()
    with pytest.raises(ValueError, match=r"'race' is registered already$"):  # as another game's preset
        te.register(te.GameEntry("race", DiceRace), replace=True)


def test_interactive() -> None:
    """A prompt or a notebook shows the game's fields, short lines, and pictures where there are any."""
    vector = te.VectorEnv(TTT, 5)
    state, transition = vector.state, vector.step_uniform()
    names = dir(state)
    assert {"own", "other", "current_player", "rewards", "numpy"} <= set(names)
    assert not [name for name in names if name.startswith("_")] and all(hasattr(state, name) for name in names)
    assert repr(transition) == "<Transition of 5 games on CPU, 0 ended>"
    result = te.rollout(TTT, "uniform", 5, 9)
    for value, shown in ((state, "State"), (vector, "VectorEnv"), (result, "Rollout")):
        assert re.match(rf"<{shown} of 5 games .*on CPU.*>$", repr(value)) and len(repr(value)) < 100
    assert (state._repr_svg_() or "").count("game ") >= 5 and state._repr_svg_() == te.contact_sheet(state)
    plain = te.Env(te.GameEntry("dice_race", DiceRace), DiceRace(), "dice_race").init(1)._repr_svg_()
    assert "current_player: 0" in (plain or ""), "a game without pictures shows its fields"


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (np.zeros(3, int), ValueError, r"action must have shape \(4,\), got \(3,\)"),
        (np.zeros((4, 1), int), ValueError, r"action must have shape \(4,\), got \(4, 1\)"),
        (np.zeros(4), TypeError, "action must be integers, got dtype float64"),
        (["a"] * 4, TypeError, "action must be integers"),
        (Tensor.zeros(4), TypeError, "action must be integers, got dtype dtypes.float"),
        (Tensor.zeros(4, dtype=dtypes.int32).to("CPU:1"), ValueError, "action must be on the state's device CPU"),
    ],
)
def test_actions_of_another_kind(action: object, error: type[Exception], message: str) -> None:
    state = TTT.init(4, device="CPU")
    with pytest.raises(error, match=message):
        TTT.step(state, action)
    assert not state.numpy()["ply"].any()


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.int64, dtypes.uint64])
def test_every_integer_dtype_is_an_action(dtype: object) -> None:
    state = TTT.init(4, device="CPU")
    after = TTT.step(state, Tensor([0, 1, 2, 8], device="CPU").cast(dtype))  # type: ignore[arg-type]
    assert (~after.legal_action_mask.numpy()).nonzero()[1].tolist() == [0, 1, 2, 8]


@pytest.mark.parametrize("wide", [2**32, 2**40 + 1, -(2**32)])
def test_actions_that_int32_cannot_hold_are_illegal_and_not_wrapped(wide: int) -> None:
    state = TTT.init(2, device="CPU")
    for action in (np.array([wide, 0]), Tensor(np.array([wide, 0]), device="CPU")):
        assert TTT.step(state, action).terminated.numpy().tolist() == [True, False]
        strict = te.make("tic_tac_toe", illegal="raise")
        with pytest.raises(ValueError, match=rf"1 illegal actions \(row 0: {wide}\)"):
            strict.step(strict.init(2, device="CPU"), action)


def test_illegal_raise_names_rows_and_actions() -> None:
    env = te.make("tic_tac_toe", illegal="raise")
    state = env.step(env.init(3), [0, 1, 2])
    with pytest.raises(ValueError, match=r"2 illegal actions \(row 1: 1, row 2: 9\)"):
        env.step(state, [1, 1, 9])
    vector = te.VectorEnv(env, 3)
    vector.step([0, 1, 2])
    for action in ([0, 2, 3], Tensor([0, 2, 3], dtype=dtypes.int32)):
        with pytest.raises(ValueError, match=r"1 illegal actions \(row 0: 0\)"):
            vector.step(action)
    assert vector.state.numpy()["ply"].tolist() == [1, 1, 1], "nothing has been played"


def test_states_of_another_environment() -> None:
    state = te.make("qubic").init(2)
    with pytest.raises(ValueError, match="the state belongs to <Env qubic"):
        TTT.step(state, [0, 0])
    with pytest.raises(TypeError, match="state must be a State, got ndarray"):
        TTT.step(np.zeros(2), [0, 0])  # type: ignore[arg-type]
    assert TTT.step(te.make("hyper_tic_tac_toe", shape=(3, 3), k=3).init(1), [0]) is not None, "equal rules, one game"


@pytest.mark.parametrize("batch", [0, -3])
def test_batch_out_of_range(batch: int) -> None:
    with pytest.raises(ValueError, match="batch must be in"):
        TTT.init(batch)


def test_devices() -> None:
    with pytest.raises(ValueError, match="device 'NOWHERE' cannot be opened here"):
        TTT.init(2, device="NOWHERE")
    with pytest.raises(TypeError, match="device must be a name"):
        TTT.init(2, device=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batch must be a multiple of the 2 devices, got 3"):
        TTT.init(3, device=DEVICES[:2])


@pytest.mark.parametrize("batch", [1, 7, 64, 97, 128])
def test_any_batch_size(batch: int) -> None:
    """Batch sizes around the number of lanes, a power of two, play the same games; the last block is padded."""
    large, one = TTT.init(130, seed=9), TTT.init(batch, seed=9)
    for _ in range(9):
        one, large = TTT.step(one, te.agents.uniform(one)), TTT.step(large, te.agents.uniform(large))
    for name, column in one.numpy().items():
        assert (column == large.numpy()[name][:batch]).all(), name


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", te.registered())
def test_rows_of_every_game_in_any_batch(name: str) -> None:
    """A full block, a padded block and narrower blocks play the same games."""
    env = shared_env(name)
    large, *others = (te.VectorEnv(env, batch, seed=2) for batch in (64, 50, 7))
    for _ in range(6):
        theirs = large.step_uniform().actions.numpy()
        for vector in others:
            np.testing.assert_array_equal(vector.step_uniform().actions.numpy(), theirs[: vector.num_envs])
    rows = large.state.numpy()
    for vector in others:
        for field, column in vector.state.numpy().items():
            np.testing.assert_array_equal(column, rows[field][: vector.num_envs], err_msg=field)


@pytest.mark.slow
def test_sharded_batches_equal_one_device() -> None:
    plain, sharded = TTT.init(64, seed=5, device="CPU"), TTT.init(64, seed=5, device=DEVICES)
    assert len(sharded.device) == 4
    for _ in range(6):
        plain, sharded = (TTT.step(plain, te.agents.uniform(plain)), TTT.step(sharded, te.agents.uniform(sharded)))
        for name, column in plain.numpy().items():
            assert (column == sharded.numpy()[name]).all(), name
        assert (TTT.observe(plain).numpy() == TTT.observe(sharded).numpy()).all()
    one, four = (te.rollout(TTT, "uniform", 64, 50, seed=5, device=d) for d in ("CPU", DEVICES))
    assert (one.wins.numpy() == four.wins.numpy()).all() and one.wins.numpy().any()


@pytest.mark.slow
def test_a_batch_from_some_row_on_is_that_part_of_the_whole() -> None:
    whole = te.rollout(TTT, "uniform", 12, 60, seed=5)
    for first in (0, 4, 8):
        part = te.rollout_from(TTT.init(4, seed=5, first_row=first), "uniform", 60)
        for name, rows in part.state.numpy().items():
            assert (rows == whole.state.numpy()[name][first : first + 4]).all(), name
        assert (part.returns.numpy() == whole.returns.numpy()[first : first + 4]).all()
    env = te.make("three_will")  # its rules draw from the keys of rows
    vector = te.VectorEnv(env, 4, seed=5, first_row=8)
    assert (vector.state.key.numpy() == env.init(12, seed=5).key.numpy()[8:]).all()
    last = 2**32 - 4
    devices = TTT.init(4, 5, ("CPU:0", "CPU:1"), first_row=last)
    assert (rows_of(devices) == rows_of(TTT.init(4, 5, first_row=last))).all()
    assert rows_of(devices)[:, 2].tolist() == [last, last + 1, last + 2, last + 3]
    with pytest.raises(ValueError, match=r"first_row must be in 0..4294967292, got 4294967293"):
        TTT.init(4, first_row=last + 1)
    with pytest.raises(TypeError, match="first_row must be an int"):
        te.VectorEnv(TTT, 4, first_row=1.5)  # type: ignore[arg-type]


def test_earlier_states_stay_valid() -> None:
    states = [TTT.init(8, seed=1)]
    columns = []
    for _ in range(9):
        columns.append(states[-1].numpy())
        states.append(TTT.step(states[-1], te.agents.uniform(states[-1])))
    for state, expected in zip(states, columns, strict=False):
        for name, column in state.numpy().items():
            assert (column == expected[name]).all(), name


def test_a_step_inside_the_callers_tinyjit_reads_new_inputs() -> None:
    """TinyJit freezes everything except its arguments: buffers passed flat are not frozen."""
    state = TTT.init(8, seed=1)
    metadata, _ = state.__flatten__()

    @TinyJit
    def step(*tensors: Tensor) -> tuple[Tensor, ...]:
        before = te.State.__unflatten__(metadata, tensors)  # type: ignore[arg-type]
        return TTT.step(before, te.agents.uniform(before)).tensors

    inside: tuple[Tensor, ...] = state.tensors
    outside = state
    for _ in range(8):
        inside, outside = step(*inside), TTT.step(outside, te.agents.uniform(outside))
        for name, column in te.State.__unflatten__(metadata, inside).numpy().items():  # type: ignore[arg-type]
            assert (column == outside.numpy()[name]).all(), name


def test_jit_captures_once_a_signature() -> None:
    runs = []

    @te.jit
    def step(state: te.State, action: Tensor, factor: int) -> tuple[te.State, Tensor]:
        runs.append(state.batch)
        return TTT.step(state, action), action * factor

    for batch in (4, 6):
        state = TTT.init(batch)
        for ply in range(5):
            action = Tensor.full((batch,), ply, dtype=dtypes.int32).clone().realize()
            state, doubled = step(state, action, 2)
            assert doubled.numpy().tolist() == [2 * ply] * batch
        assert state.numpy()["ply"].tolist() == [5] * batch
    assert runs == [4, 4, 6, 6], "one run and one capture for each batch size"


@pytest.mark.extra("torch")
def test_players_of_pytorch() -> None:
    torch, env = pytest.importorskip("torch"), te.make("tic_tac_toe")
    state = env.step(env.init(3), [0, 1, 2])
    seen = [env.observe(state, players).tolist() for players in (torch.tensor([0, 1, 0]), [0, 1, 0])]
    assert seen[0] == seen[1]
    with pytest.raises(ValueError, match=r"player must have shape \(3,\), got \(1,\)"):
        env.observe(state, torch.tensor([1]))


def test_observing_for_other_players() -> None:
    state = TTT.step(TTT.init(2), [4, 0])
    own, other = TTT.observe(state, 0).numpy(), TTT.observe(state, 1).numpy()
    assert own[0, 0, 1, 1] and not own[0, 1].any()
    assert (own[:, ::-1] == other).all()
    mixed = TTT.observe(state, Tensor([0, 1], dtype=dtypes.int32)).numpy()
    assert (mixed[0] == own[0]).all() and (mixed[1] == other[1]).all()
    assert (TTT.observe(state, np.array([0, 1])).numpy() == mixed).all()
    wrong: Any
    for wrong in (2, -1, np.array([0, 2])):
        with pytest.raises(ValueError, match=r"player must be in 0\.\.1"):
            TTT.observe(state, wrong)
    for wrong in (1.5, True, "a"):
        with pytest.raises(TypeError, match="player must be an int"):
            TTT.observe(state, wrong)
    for wrong in (np.zeros(2), Tensor.zeros(2)):
        with pytest.raises(TypeError, match="player must be integers, got dtype"):
            TTT.observe(state, wrong)
    for wrong in (np.zeros(3, int), Tensor.zeros(3, dtype=dtypes.int32)):
        with pytest.raises(ValueError, match=r"player must have shape \(2,\), got \(3,\)"):
            TTT.observe(state, wrong)


def test_environments_and_states_travel() -> None:
    env = te.make("hyper_tic_tac_toe", shape=(4, 4), k=3)
    assert repr(env) == "<Env hyper_tic_tac_toe-v0 shape=(4, 4)>"
    assert repr(te.make("hyper_tic_tac_toe")) == "<Env hyper_tic_tac_toe-v0>"
    state = env.step(env.init(4, seed=1), [0, 1, 2, 3])
    other = pickle.loads(pickle.dumps(env))
    expected = state.numpy()
    vector = te.VectorEnv(env, 4, seed=1)
    vector.step([0, 1, 2, 3])
    copies = [pickle.loads(pickle.dumps(s)) for s in (state, vector.state)] + [copy.deepcopy(vector.state)]
    for _ in range(3):  # these steps reuse the buffers of the earlier state
        vector.step_uniform()
    for one in (*copies, other.step(other.init(4, seed=1), [0, 1, 2, 3])):
        for name, column in expected.items():
            assert name == "rewards" or (one.numpy()[name] == column).all(), name
        assert not {id(t.uop) for t in one.tensors} & {id(t.uop) for t in state.tensors}
    sharded = env.init(4, seed=1, device=DEVICES[:2])
    assert (rows_of(pickle.loads(pickle.dumps(sharded))) == rows_of(state)).all()


def test_errors_name_the_argument() -> None:
    state = TTT.init(2)
    with pytest.raises(ValueError, match="action must be rectangular"):
        TTT.step(state, [[1], [1, 2]])
    with pytest.raises(TypeError, match="mask must be bool, got dtype <U1"):
        TTT.reset(state, "x")
    with pytest.raises(TypeError, match="state must be of type State, got 1"):
        te.save_state(1, "nowhere")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="policy must return a Tensor of integers, got ndarray"):
        te.rollout(TTT, lambda state: np.zeros(2, int), 2, 3)  # type: ignore[arg-type, return-value]
    strict = te.make("tic_tac_toe", illegal="raise")
    with pytest.raises(ValueError, match="cannot have its actions checked"):
        te.rollout(strict, te.agents.uniform, 2, 3)
    assert te.rollout(strict, "uniform", 2, 3).state.numpy()["ply"].tolist() == [3, 3]
    large = te.make("hyper_tic_tac_toe", shape=(20, 20, 20), k=5, illegal="raise")
    assert te.rollout(large, "uniform", 2, 3).state.numpy()["ply"].tolist() == [3, 3]
    with pytest.raises(ValueError, match=r"game 1 is no state of 'tic_tac_toe': 'current_player' missing"):
        game = TTT.state_to_dict(state)
        TTT.state_from_dicts([game, {k: v for k, v in game.items() if k != "current_player"}])
    with pytest.raises(AttributeError, match=r"it also has legal_action_mask, rewards"):
        state.reward  # noqa: B018
    for device in ("CPU:x", "CPU:-1", "C P U"):
        with pytest.raises(ValueError, match=r"device must be a name such as 'CPU' or 'CUDA:1', got"):
            TTT.init(2, device=device)
    for devices in (("CPU", "CPU"), ("CPU", "PYTHON")):
        with pytest.raises(ValueError, match="device must name different devices of one kind, got CPU, "):
            TTT.init(2, device=devices)
    assert (TTT.observe(state, [0, 1]).numpy() == TTT.observe(state, np.array([0, 1])).numpy()).all()


def test_dictionaries_hold_more_than_fields() -> None:
    """Dictionaries hold the ply and the end by an illegal action or by a limit, and no other extras."""
    state = TTT.step(TTT.init(2), [4, 99])
    assert TTT.state_to_dict(state, 0) == {"board": [0, 0, 0, 0, 1, 0, 0, 0, 0], "current_player": 1}
    assert TTT.state_to_dict(state, 1) == {"board": [0] * 9, "current_player": 0, "terminated": True}
    assert "over by an illegal action of X" in TTT.to_string(state, 1)
    again = TTT.state_from_dicts([TTT.state_to_dict(state, i) for i in range(2)])
    assert again.terminated.numpy().tolist() == [False, True] and not again.legal_action_mask.numpy()[1].any()
    shed = te.make("shed", cards=3, max_plies=4)
    state = te.rollout(shed, "uniform", 1, 2).state
    game = shed.state_to_dict(state)
    assert game["ply"] == 2 and shed.state_from_dicts([game]).ply.item() == 2
    limit = shed.state_from_dicts([{**game, "ply": 4}])
    assert limit.truncated.item() and shed.state_to_dict(limit)["truncated"] is True
    assert "*" not in shed.to_string(limit)
    lost = shed.step(state, [99])
    assert f"Player {game['current_player'] + 1} lost" in shed.to_string(lost)
    will = te.make("three_will")
    assert "over by an illegal action of" in will.to_string(will.step(will.init(1), [-1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"terminated": 2}, "terminated must be True or False, got 2"),
        ({"truncated": None}, "truncated must be True or False, got None"),
        ({"terminated": True, "truncated": True}, "a game that is terminated is not truncated"),
        ({"board": [1] * 9, "terminated": False}, "terminated or truncated must be True"),
        ({"ply": -1}, "ply must be 0, as the other entries say, got -1"),
        ({"current_player": -1}, r"current_player must be in 0\.\.1, got -1"),
        ({"board": None}, "board must be a list, got None of type NoneType"),
        ({"board": [0] * 8}, "board must have 9 entries, got 8"),
        ({"marks": []}, r"has no 'marks'; it has \['board', 'current_player', 'ply', 'term"),
        ({"ply": 1.0}, "ply must be an int, got 1.0 of type float"),
        ({"board": [2] + [0] * 8}, r"board\[0\] must be in -1\.\.1, got 2"),
        ({"board": [0.0] * 9}, r"board\[0\] must be an int, got 0\.0 of type float"),
    ],
)
def test_dictionaries_that_are_no_games(change: dict[str, Any], message: str) -> None:
    game = {"board": [0] * 9, "current_player": 0}
    with pytest.raises(ValueError, match=message):
        TTT.state_from_dicts([game, {**game, **change}])


@pytest.mark.parametrize(
    ("name", "game", "message"),
    [
        ("kuhn_poker", {"cards": [0, 1], "history": [0], "ply": 2}, "ply must be 1, as the other entries say, got 2"),
        ("kuhn_poker", {"cards": [0, 1], "history": [0], "current_player": 0}, "current_player must be 1"),
        ("chess", {"fen": "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "current_player": 1}, "current_player must be 0"),
        (
            "texas_holdem",
            {"hands": [[0, 1], [2, 3]], "board": [4, 5, 6, 7, 8], "history": [], "ply": 15},
            "ply must be",
        ),
    ],
)
def test_entries_of_dictionaries_that_contradict_others(name: str, game: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shared_env(name).state_from_dicts([game])


def with_leaf(value: Any, leaf: Any) -> Any:
    """Return nested lists with another first number."""
    return [with_leaf(value[0], leaf), *value[1:]] if isinstance(value, list) and value else leaf


@pytest.mark.few("amazons", "checkers", "breakthrough", "dark_hex")
@pytest.mark.parametrize("name", te.registered())
def test_entries_of_dictionaries_that_are_none(name: str) -> None:
    """Each wrong value is refused by the entry's name, and none is taken for another number."""
    env, tried = shared_env(name), 0
    state = env.init(1, seed=4)
    for _ in range(3):
        state = env.step(state, te.agents.uniform(state))
    game = env.state_to_dict(state)
    for entry, value in game.items():
        wrong = [None, 1.5, 10**30, b"x", {"a": 1}, [[[[1]]]]]
        if isinstance(value, (int, list)):
            wrong += [with_leaf(value, leaf) for leaf in (None, 1.5, "x", 2.0, 10**30)]
        if isinstance(value, int) and not isinstance(value, bool):
            wrong.append(True)
        for bad in wrong:
            with pytest.raises(ValueError, match=rf"game 1 is no state of .*: .*\b{entry}\b") as error:
                env.state_from_dicts([game, game | {entry: bad}])
            assert len(str(error.value)) < 300
            tried += 1
    assert tried >= 12


def test_fields_by_name() -> None:
    state = TTT.init(2)
    with pytest.raises(AttributeError, match="has no field 'boards'; its fields are current_player, ply"):
        state.boards  # noqa: B018
    with pytest.raises(ValueError, match=r"row must be in 0\.\.1, got 2"):
        TTT.state_to_dict(state, 2)
    with pytest.raises(ValueError, match=r"action must be in 0\.\.8, got 9"):
        TTT.action_to_string(9)
    with pytest.raises(ValueError, match=r"no action of 'tic_tac_toe' is called 'x'; actions are called \(0,0\)"):
        TTT.string_to_action("x")


def test_reset_takes_a_mask() -> None:
    state = TTT.step(TTT.init(3), [0, 1, 2])
    assert TTT.reset(state).numpy()["ply"].tolist() == [1, 1, 1]
    again = TTT.reset(state, np.array([True, False, True]))
    assert again.numpy()["ply"].tolist() == [0, 1, 0]
    assert again.numpy()["episode"].tolist() == [1, 0, 1]
    assert TTT.reset(state).numpy()["ply"].tolist() == [1, 1, 1]
    tensor = Tensor([False, True, False])
    assert TTT.reset(state, tensor).numpy()["ply"].tolist() == [1, 0, 1]
    with pytest.raises(TypeError, match="mask must be bool, got dtype int64"):
        TTT.reset(state, np.array([1, 0, 1]))
    for mask in (np.array([True]), tensor[:2]):
        with pytest.raises(ValueError, match=r"mask must have shape \(3,\), got \("):
            TTT.reset(state, mask)


def test_a_tensor_without_device_is_on_every_device() -> None:
    for device in ("CPU", DEVICES[:2]):
        after = TTT.step(TTT.init(4, device=device), Tensor.arange(4))
        assert (~after.legal_action_mask.numpy()).nonzero()[1].tolist() == [0, 1, 2, 3]


def test_jit_gives_back_the_arguments_of_its_own_call() -> None:
    @te.jit
    def same_and_more(x: Tensor, y: Tensor, *, factor: float) -> tuple[Tensor, Tensor]:
        return x, x + y * factor

    one = Tensor([1.0]).realize()
    for value in range(5):
        x = Tensor([float(value)]).realize()
        same, more = same_and_more(x, one, factor=2)
        assert (same.item(), more.item()) == (value, value + 2)
    assert same_and_more(one, Tensor([1.0]).realize(), factor=2.5)[1].item() == 3.5
    with pytest.raises(TypeError, match="a jitted function takes and returns States, Tensors"):
        same_and_more(one, np.zeros(1), factor=1)  # type: ignore[arg-type]


def test_the_spec_names_its_environment() -> None:
    assert (TTT.spec.id, TTT.spec.version, TTT.spec.num_actions) == ("tic_tac_toe", TTT.version, 9)


@pytest.mark.slow
def test_saved_states_load_on_any_number_of_devices(tmp_path: Path) -> None:
    for saved, loaded in ((None, DEVICES), (DEVICES[:2], "CPU"), ("CPU", DEVICES[:2])):
        state = TTT.init(96, seed=3, device=saved)
        state = TTT.step(state, te.agents.uniform(state))
        te.save_state(state, tmp_path / "state")
        again = te.load_state(tmp_path / "state", loaded)
        for _ in range(3):
            for name, column in state.numpy().items():
                assert (column == again.numpy()[name]).all(), name
            state, again = (TTT.step(state, te.agents.uniform(state)), TTT.step(again, te.agents.uniform(again)))
    te.save_state(TTT.init(3), tmp_path / "state")
    with pytest.raises(ValueError, match="batch must be a multiple of the 2 devices"):
        te.load_state(tmp_path / "state", DEVICES[:2])


def test_rollout_arguments() -> None:
    with pytest.raises(ValueError, match=r"steps must be in 1\.\.2147483647, got 0"):
        te.rollout(TTT, "uniform", 2, 0)
    with pytest.raises(TypeError, match=r"steps must be an int, got 1\.5"):
        te.rollout(TTT, "uniform", 2, 1.5)  # type: ignore[arg-type]
    numbers: Any = (np.int64(2), np.int64(3), np.uint8(1))  # batch, steps, seed
    assert te.rollout(TTT, "uniform", *numbers).state.numpy()["ply"].tolist() == [3, 3]
    with pytest.raises(ValueError, match="policy must be 'uniform' or a function of a State, got 'best'"):
        te.rollout(TTT, "best", 2, 5)  # type: ignore[arg-type]


@pytest.mark.slow
def test_positions_of_numpy_and_strings() -> None:
    """Boards of NumPy and positions of a game's notation are read as `reset` of the adapters reads them."""
    game = {"board": np.array([1, -1, 0, 0, 0, 0, 0, 0, 0], np.int8), "current_player": np.int64(0)}
    plain = {"board": [1, -1, *[0] * 7], "current_player": 0}
    assert TTT.state_to_dict(TTT.state_from_dicts([game])) == TTT.state_to_dict(TTT.state_from_dicts([plain]))
    chess, fen = te.make("chess"), "4k3/8/8/8/8/8/8/4K2R w K - 3 40"
    assert chess.state_to_dict(chess.state_from_dicts([fen, {"fen": fen}]), 0)["fen"] == fen
    with pytest.raises(TypeError, match="positions must be a list of dictionaries or strings, got '4k3"):
        chess.state_from_dicts(fen)
    with pytest.raises(ValueError, match="positions of 'tic_tac_toe' have no notation as a string, got 'x'"):
        TTT.state_from_dicts(["x"])


def test_numbers_of_numpy_as_rule_fields() -> None:
    assert te.make("go", komi=np.float32(6.5)).rules == te.make("go", komi=6.5).rules
    assert te.make("shed", cards=np.int64(5)).rules == te.make("shed", cards=5).rules
    assert te.make("hex", size=np.uint8(5), swap=np.False_).rules == te.make("hex", size=5, swap=False).rules
    assert (
        te.make("hyper_tic_tac_toe", shape=np.array([3, 4])).rules == te.make("hyper_tic_tac_toe", shape=(3, 4)).rules
    )


def test_environments_of_one_game_share_their_kernels() -> None:
    """Rules of users do not, since a session in Python may change what they read."""
    assert te.make("hex", size=4).engine is te.make("hex", size=4, illegal="raise").engine
    assert te.make("hex", size=4).engine is not te.make("hex", size=5).engine
    assert dice_race.shared().engine is not te.Env(dice_race.GAME, DiceRace(), "dice_race").engine
