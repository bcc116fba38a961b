"""`VectorEnv`: steps in place, automatic resets, and results that stay valid or refuse late reads."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from tensor_envs._engine.kernels.base import BRANCH_MIN_INSTRUCTIONS
from tensor_envs.envs.rollout import RolloutReset
from tests.games import dice_race
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")
RACE, SLOW = dice_race.shared(), dice_race.shared(slow_start=True)
# too large to unroll: boards in memory fields
LARGE = te.make("hyper_tic_tac_toe", shape=(24, 24), k=2)
RESETS: list[Any] = ["same_step", "next_step", "disabled"]


def equal(one: te.State, other: te.State, but: tuple[str, ...] = ()) -> None:
    expected = other.numpy()
    for name, column in one.numpy().items():
        if name not in but:
            np.testing.assert_array_equal(column, expected[name], err_msg=name)


def test_arguments() -> None:
    with pytest.raises(ValueError, match="autoreset must be one of 'same_step', 'next_step', 'disabled', got 'never'"):
        te.VectorEnv(TTT, 2, autoreset="never")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="env must be of type Env, got 'tic_tac_toe'"):
        te.VectorEnv("tic_tac_toe", 2)  # type: ignore[arg-type]
    for name in ("observe", "final_states"):
        with pytest.raises(TypeError, match=f"{name} must be of type bool, got 1 of type int"):
            te.VectorEnv(TTT, 2, **{name: 1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_envs must be in"):
        te.VectorEnv(TTT, 0)


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("env", [TTT, RACE, LARGE], ids=lambda env: repr(env))
def test_a_step_in_place_is_a_step_of_the_environment(env: te.Env) -> None:
    """Steps agree with the environment's for legal and illegal actions, and after games end."""
    vector = te.VectorEnv(env, 20, seed=6, autoreset="disabled")
    state = env.init(20, seed=6)
    places = {id(vector.buffers.words.uop)}
    for count in range(12):
        equal(vector.state, state)
        actions = te.agents.uniform(state).numpy()
        actions[count::17] = -1 if count % 2 else env.num_actions
        transition = vector.step(actions if count % 3 else Tensor(actions))
        state = env.step(state, actions)
        after = state.numpy()
        places.add(id(vector.buffers.words.uop))
        for name, column in transition.numpy().items():
            np.testing.assert_array_equal(column, actions if name == "actions" else after[name], err_msg=name)
    assert len(places) == (2 if env is LARGE else 1), "memory fields go from buffer to buffer"
    assert after["terminated"].any()


@pytest.mark.few("tic_tac_toe-same_step")
@pytest.mark.slow
@pytest.mark.parametrize("autoreset", RESETS)
@pytest.mark.parametrize("env", [TTT, RACE, LARGE], ids=lambda env: env.id)
def test_drawn_steps_are_steps_with_the_actions_drawn(env: te.Env, autoreset: Any) -> None:
    """`step_uniform` reuses a prepared launch; other calls in between must not disturb it."""
    drawn, explicit = (te.VectorEnv(env, 20, 4, autoreset=autoreset, final_states=True) for _ in range(2))
    ends = 0
    for count in range(40):
        if count % 7 == 5:
            mask = np.arange(20) % 3 == 0
            drawn.reset(mask)
            explicit.reset(mask)
        actions = te.agents.uniform(explicit.state)
        live = ~(drawn.state.terminated | drawn.state.truncated).numpy()
        if count % 10 == 3:
            one = drawn.step(actions)
        else:
            one = drawn.step_uniform()
            assert (one.actions.numpy() == actions.numpy())[live].all()
        other = explicit.step(actions if count % 4 < 2 else actions.numpy())
        equal(drawn.state, explicit.state)
        equal(one.final_state, other.final_state)
        for name, column in other.numpy().items():
            assert name == "actions" or (one.numpy()[name] == column).all(), (count, name)
        ends += int((other.numpy()["terminated"] | other.numpy()["truncated"]).sum())
    assert ends > 8


@pytest.mark.few("dice_race-same_step")
@pytest.mark.parametrize("autoreset", RESETS)
@pytest.mark.parametrize("env", [RACE, SLOW], ids=lambda env: env.id)
def test_finished_games_start_again(env: te.Env, autoreset: Any) -> None:
    """Each autoreset mode agrees with states that are stepped and reset one by one."""
    assert (env.engine.game.init_instructions > BRANCH_MIN_INSTRUCTIONS) == (env is SLOW)
    vector, state = te.VectorEnv(env, 20, 9, autoreset=autoreset), env.init(20, 9)
    for _ in range(70):
        before = state.numpy()
        over = before["terminated"] | before["truncated"]
        actions = te.agents.uniform(state).numpy()
        transition = vector.step(actions).numpy()
        after = env.step(state, actions)
        wanted = after.numpy()
        state = after if autoreset == "disabled" else env.reset(after, over if autoreset == "next_step" else None)
        if autoreset == "next_step":
            wanted |= {name: np.where(over, False, wanted[name]) for name in ("terminated", "truncated")}
            wanted["rewards"] = np.where(over[:, None], 0, wanted["rewards"])
        for name in ("rewards", "terminated", "truncated"):
            np.testing.assert_array_equal(transition[name], wanted[name], err_msg=name)
        equal(vector.state, state, but=("rewards",))
    assert autoreset == "disabled" or vector.state.numpy()["episode"].min() > 0


@pytest.mark.few("tic_tac_toe")
@pytest.mark.slow
@pytest.mark.parametrize("env", [TTT, RACE, SLOW], ids=lambda env: env.id)
def test_rollouts_are_steps(env: te.Env) -> None:
    """Rollouts hold games in registers and agree with steps of a state in memory."""
    for autoreset in get_args(RolloutReset):
        begin = env.step(env.init(20, 9), [99] * 20) if env is TTT else env.init(20, 9)
        rolled = te.rollout_from(begin, "uniform", 50, autoreset=autoreset)
        vector = te.VectorEnv(env, 20, 9, autoreset=autoreset)
        vector.state = begin
        returns, wins = np.zeros((2, 20, env.num_players))
        for _ in range(50):
            done = vector.step_uniform().numpy()
            returns += done["rewards"]
            wins += (done["terminated"] | done["truncated"])[:, None] & (done["rewards"] > 0)
        np.testing.assert_array_equal(rolled.returns.numpy(), returns)
        np.testing.assert_array_equal(rolled.wins.numpy(), wins)
        equal(rolled.state, vector.state)
        assert wins.any() == (autoreset == "same_step" or env is not TTT)


def test_a_transition_on_the_host() -> None:
    vector = te.VectorEnv(TTT, 24, seed=2)
    for _ in range(9):
        transition = vector.step_uniform()
        host = transition.numpy()
        assert list(host) == ["actions", "rewards", "terminated", "truncated"]
        for name, column in host.items():
            expected = getattr(transition, name).numpy()
            assert column.shape == expected.shape and (column == expected).all(), name
    assert host["terminated"].any() and host["rewards"].any()
    ended = int((host["terminated"] | host["truncated"]).sum())
    assert repr(transition) == f"<Transition of 24 games on {vector.device}, {ended} ended>"


@pytest.mark.few("shed")
@pytest.mark.parametrize("name", ["yahtzee", "shed", "tensor_equilibrium", "quoridor"])
def test_games_that_were_over_begin_whatever_their_rules_compute(name: str) -> None:
    """An illegal action ends each game; the next step resets it, although no action is legal there."""
    env = shared_env(name)
    vector = te.VectorEnv(env, 16, 4, autoreset="next_step")
    for _ in range(2):
        vector.step_uniform()
    assert vector.step([env.num_actions] * 16).terminated.numpy().all()
    first = env.reset(vector.state)
    reset = vector.step_uniform().numpy()
    assert not (reset["terminated"] | reset["truncated"]).any() and not reset["rewards"].any()
    layout = first.buffers.layout
    assert (layout.download(vector.state.buffers.words) == layout.download(first.buffers.words)).all()


def test_a_transition_is_read_before_the_next_step() -> None:
    vector = te.VectorEnv(TTT, 4, final_states=True)
    first = vector.step_uniform()
    actions, rewards = first.numpy()["actions"], first.rewards
    late: list[Callable[[], Any]] = [
        lambda: first.numpy(), lambda: first.actions, lambda: first.rewards, lambda: first.terminated,
        lambda: first.truncated, lambda: first.final_state, lambda: first.final_observation(),
    ]  # fmt: skip
    changes: list[Callable[[], Any]] = [
        lambda: vector.step_uniform(), lambda: vector.step([0] * 4), lambda: vector.reset(),
        lambda: setattr(vector, "state", TTT.init(4)),
    ]  # fmt: skip
    for change in changes:
        change()
        for read in late:
            with pytest.raises(RuntimeError, match="a transition must be read before the next step of its VectorEnv"):
                read()
        assert repr(first) == "<Transition, invalidated by the next step>"
        first = vector.step_uniform()
    assert (actions == te.agents.uniform(TTT.init(4)).numpy()).all()
    assert not rewards.numpy().any(), "what has been read stays"


@pytest.mark.few("next_step")
@pytest.mark.parametrize("autoreset", RESETS)
def test_the_state_that_a_step_led_to(autoreset: Any) -> None:
    """`final_states=True` keeps the states before automatic resets."""
    vector = te.VectorEnv(TTT, 16, 2, autoreset=autoreset, final_states=True)
    plain, ends = te.VectorEnv(TTT, 16, 2, autoreset=autoreset), 0
    for _ in range(12):
        before = vector.state
        transition, other = vector.step_uniform(), plain.step_uniform()
        actions, rewards = transition.numpy()["actions"], transition.numpy()["rewards"]
        final = transition.final_state
        if autoreset == "same_step":
            equal(final, TTT.step(before, actions))
            with pytest.raises(RuntimeError, match="final_state needs a VectorEnv made with final_states=True"):
                other.final_state  # noqa: B018
        else:
            equal(final, vector.state)
            equal(other.final_state, final)
        np.testing.assert_array_equal(final.rewards.numpy(), rewards)
        for name in ("terminated", "truncated"):
            np.testing.assert_array_equal(getattr(final, name).numpy(), transition.numpy()[name])
        player = 0 if autoreset == "same_step" else None
        np.testing.assert_array_equal(transition.final_observation(player).numpy(), TTT.observe(final, player).numpy())
        ends += int(final.terminated.numpy().sum())
        values = final.numpy()
        vector.step_uniform()
        plain.step_uniform()
        np.testing.assert_array_equal(final.numpy()["own"], values["own"], err_msg="it stays valid")
    assert ends


@pytest.mark.few("False-disabled", "True-same_step")
@pytest.mark.parametrize("autoreset", RESETS)
@pytest.mark.parametrize("final_states", [False, True])
def test_a_state_that_is_held_does_not_change(autoreset: Any, final_states: bool) -> None:
    """`vector.state` is the same object until the next step, and its values never change."""
    vector = te.VectorEnv(TTT, 5, 1, autoreset=autoreset, final_states=final_states)
    states, values = [], []
    for count in range(14):
        state = vector.state
        assert state is vector.state
        states.append(state)
        values.append(state.numpy())
        if count % 3:
            vector.step_uniform()
        else:
            vector.step(te.agents.uniform(state))
        assert vector.state is not state
    for state, expected in zip(states, values, strict=True):
        for name, column in state.numpy().items():
            np.testing.assert_array_equal(column, expected[name], err_msg=name)
            np.testing.assert_array_equal(getattr(state, name).numpy(), expected[name], err_msg=name)
    # an assigned state stays valid
    vector.state = states[3]
    vector.step_uniform()
    np.testing.assert_array_equal(states[3].numpy()["ply"], values[3]["ply"])


def going_on(vector: te.VectorEnv, steps: int = 6) -> list[dict[str, np.ndarray]]:
    results = []
    for count in range(steps):
        actions = te.agents.uniform(vector.state).numpy()
        actions[0] = -1 if count == 2 else actions[0]
        transition = vector.step(actions) if count % 2 else vector.step_uniform()
        seen = {} if vector._outputs is None else {"seen": vector.observation.numpy()}
        if vector._final_states:
            seen["final"] = transition.final_state.ply.numpy()
        results.append(transition.numpy() | seen | vector.state.numpy())
    return results


@pytest.mark.few("plain-same_step-deep copy", "plain-next_step-pickle")
@pytest.mark.parametrize("how", ["deep copy", "pickle"])
@pytest.mark.parametrize("autoreset", RESETS)
@pytest.mark.parametrize(
    "options", [{}, {"observe": True}, {"final_states": True}], ids=lambda o: "-".join(o) or "plain"
)
def test_copies_go_on_exactly(how: str, autoreset: Any, options: dict[str, Any]) -> None:
    """A copy and its original continue equally: when new, in the middle of games, and right after ends."""
    vector = te.VectorEnv(TTT, 7, seed=3, autoreset=autoreset, first_row=2, **options)
    ends = 0
    for count in range(9):
        if count in ((0, 1, 5, 8) if how == "deep copy" else (5,)):  # the copied environment compiles its kernels again
            other = copy.deepcopy(vector) if how == "deep copy" else pickle.loads(pickle.dumps(vector))
            assert (other.autoreset, other.num_envs, other.device) == (autoreset, 7, vector.device)
            third = copy.deepcopy(other)
            for one, two, three in zip(going_on(vector), going_on(other), going_on(third), strict=True):
                for name, column in one.items():
                    np.testing.assert_array_equal(two[name], column, err_msg=name)
                    np.testing.assert_array_equal(three[name], column, err_msg=name)
        done = vector.step_uniform().numpy()
        ends += int((done["terminated"] | done["truncated"]).sum())
    assert ends


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("env", "autoreset"), [*((RACE, autoreset) for autoreset in RESETS), (LARGE, "same_step")], ids=str
)
def test_a_step_writes_the_next_observation(env: te.Env, autoreset: Any) -> None:
    vector, ends = te.VectorEnv(env, 20, 3, autoreset=autoreset, observe=True), 0
    for count in range(40):
        expected = vector.state.legal_action_mask.numpy()
        np.testing.assert_array_equal(vector.legal_action_mask.numpy(), expected)
        live, seen = expected.any(1), env.observe(vector.state).numpy()
        np.testing.assert_array_equal(vector.observation.numpy()[live], seen[live])
        if count % 9 == 4:
            vector.reset(np.arange(20) % 2 == 0)
        elif count % 2:
            ends += int(vector.step(te.agents.uniform(vector.state).numpy()).numpy()["terminated"].sum())
        else:
            before = GlobalCounters.kernel_count
            vector.step_uniform()
            assert count < 6 or GlobalCounters.kernel_count - before == 1
    assert vector.observation.shape == (20, *env.observation_shape) and ends
    assert vector.legal_action_mask.shape == (20, env.num_actions)


def test_observations_exist_on_request_only() -> None:
    for name in ("observation", "legal_action_mask"):
        with pytest.raises(RuntimeError, match="this needs a VectorEnv made with observe=True"):
            getattr(te.VectorEnv(RACE, 2), name)


def test_a_copy_has_the_last_steps_rewards() -> None:
    vector = te.VectorEnv(TTT, 2, observe=True)
    vector.step([9, 0])  # an illegal action ends the first game
    for again in (pickle.loads(pickle.dumps(vector)), copy.deepcopy(vector)):
        assert vector.numpy()["rewards"].any() and vector.numpy()["terminated"].any()
        assert all((vector.numpy()[name] == x).all() for name, x in again.numpy().items())


def test_a_seed_starts_the_rows_that_a_state_has() -> None:
    env = shared_env("leduc_poker")
    vector, rows = te.VectorEnv(env, 4, seed=1), [3, 1, 2, 0]
    vector.state = vector.state[rows]
    assert vector.reset(seed=2).cards.tolist() == env.init(4, seed=2)[rows].cards.tolist()
    vector.state = te.concat([env.init(3), env.init(1, first_row=10_000)])
    with pytest.raises(ValueError, match="seed must be None for games of rows that are far apart, from 0 on, got 2"):
        vector.reset(seed=2)


def test_another_device_of_the_cpu() -> None:
    vector = te.VectorEnv(TTT, 4, device="CPU:1", observe=True)
    vector.step([0, 1, 2, 3])
    assert vector.numpy()["observation"].sum() == 4


def test_no_state_of_a_vector_env_inside_a_jit() -> None:
    """A replay would read the games of the capture."""
    vector = te.VectorEnv(TTT, 2)
    read = te.jit(lambda x: vector.state.ply + x)
    with pytest.raises(RuntimeError, match="inside a jit"):
        for _ in range(2):
            read(Tensor([0, 0]).realize())


def test_no_vector_env_inside_a_jit() -> None:
    """The state is not an argument of the jit: a replay would repeat the captured step."""
    vector = te.VectorEnv(TTT, 4)
    act = te.jit(lambda x: (vector.step_uniform().rewards, x + 1))
    x = Tensor([0.0]).realize()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot be stepped inside a jit"):
            act(x)
    assert not vector.state.numpy()["ply"].any()


@pytest.mark.parametrize("autoreset", RESETS)
def test_going_on_from_a_state(autoreset: Any, tmp_path: Path) -> None:
    first, second = (te.VectorEnv(TTT, 6, seed=seed, autoreset=autoreset) for seed in (1, 2))
    for count in range(5):
        first.step_uniform()
        if count % 2:
            second.step_uniform()
    te.save_state(first.state, tmp_path / "state")
    saved = te.load_state(tmp_path / "state")
    before = saved.numpy()
    second.state = saved
    for _ in range(12):
        (one, other) = first.step_uniform().numpy(), second.step_uniform().numpy()
        for name in one:
            assert (one[name] == other[name]).all(), name
        equal(second.state, first.state)
    for name, column in saved.numpy().items():
        assert (before[name] == column).all(), "the state that was set stays valid"
    with pytest.raises(ValueError, match=f"state must be of 6 games on {second.device}, got 5 on {second.device}"):
        second.state = TTT.init(5)
    with pytest.raises(TypeError, match="state must be a State, got int"):
        second.state = 5  # type: ignore[assignment]
    finished = TTT.init(6)
    for _ in range(9):
        finished = TTT.step(finished, te.agents.uniform(finished))
    second.state = finished
    assert (second.state.terminated.numpy() == (autoreset != "same_step")).all()
    assert finished.terminated.numpy().all()


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{}, {"observe": True}, {"autoreset": "next_step", "final_states": True}], ids=str)
def test_a_reset_with_a_seed_starts_the_games_of_that_seed(options: dict[str, Any]) -> None:
    """All games start at episode 0, row by row, as in a new VectorEnv."""
    vector, new = (te.VectorEnv(RACE, 20, seed, first_row=7, **options) for seed in (3, 4))
    for _ in range(15):
        transition = vector.step_uniform()
    equal(vector.reset(seed=4), new.state)
    with pytest.raises(RuntimeError, match="must be read before"):
        transition.numpy()
    for _ in range(15):
        (one, other) = vector.step_uniform().numpy(), new.step_uniform().numpy()
        assert all((one[name] == other[name]).all() for name in one)
        if options.get("observe"):
            assert (vector.observation.numpy() == new.observation.numpy()).all()
    equal(vector.state, new.state)
    for mask, seed, message in (([True] * 20, 4, "mask must be None beside a seed"), (None, -1, "seed must be in")):
        with pytest.raises(ValueError, match=message):
            vector.reset(mask, seed)
    equal(vector.state, new.state)


@pytest.mark.parametrize("final_states", [False, True])
def test_an_interrupted_step_loses_no_game(final_states: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt before the launch leaves the games as they were; one behind it hides no step."""
    vector = te.VectorEnv(TTT, 4, observe=True, final_states=final_states)
    run = vector.engine.run
    first = vector.state
    actions = Tensor([0, 1, 2, 3])  # no launch is prepared for a caller's buffer

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    def run_and_interrupt(*arguments: Any) -> None:
        run(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(vector.engine, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            vector.step(actions)
    equal(vector.state, first)
    with monkeypatch.context() as patch:
        patch.setattr(vector.engine, "run", run_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            vector.step(actions)
    if final_states:  # the result is not taken over
        vector.step(actions)
    equal(vector.state, TTT.step(first, actions))
    np.testing.assert_array_equal(vector.numpy()["observation"], TTT.observe(vector.state).numpy())
