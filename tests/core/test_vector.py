"""`VectorEnv`: buffers used again, finished games started again, steps bound to what they read and write."""

from pathlib import Path

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te

TTT = te.make("tic_tac_toe")


def test_vector_env() -> None:
    with pytest.raises(
        ValueError, match="autoreset must be one of 'same_step', 'next_step', 'disabled', got 'never'"
    ):
        te.VectorEnv(TTT, 2, autoreset="never")
    with pytest.raises(TypeError, match="env must be of type Env, got 'tic_tac_toe'"):
        te.VectorEnv("tic_tac_toe", 2)  # type: ignore[arg-type]
    vector = te.VectorEnv(TTT, 4, seed=2)
    first = vector.step_uniform()
    vector.step_uniform()
    with pytest.raises(RuntimeError, match="final_state must be read before the next step"):
        first.final_state  # noqa: B018


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


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_drawn_steps_are_steps_with_the_actions_drawn(autoreset: str) -> None:
    """`step_uniform` launches what it has found out before; other calls in between must not confuse it."""
    drawn, given = (te.VectorEnv(TTT, 8, seed=4, autoreset=autoreset) for _ in range(2))
    for count in range(24):
        if count % 7 == 5:
            mask = np.arange(8) % 3 == 0
            drawn.reset(mask)
            given.reset(mask)
        actions = te.random_policy(given.state)
        if count % 10 == 3:
            one = drawn.step(actions)
        else:
            one = drawn.step_uniform()
            live = ~(drawn.state.terminated | drawn.state.truncated).numpy()
            assert (one.actions.numpy() == actions.numpy())[live].all()
        other = given.step(actions if count % 4 < 2 else actions.numpy())
        for mine, others in ((drawn.state, given.state), (one.final_state, other.final_state)):
            for name, column in others.numpy().items():
                assert (mine.numpy()[name] == column).all(), (count, name)
        for name, column in other.numpy().items():
            assert name == "actions" or (one.numpy()[name] == column).all(), (count, name)


def test_a_transition_is_read_in_time() -> None:
    vector = te.VectorEnv(TTT, 4)
    first = vector.step_uniform()
    vector.step_uniform()
    actions = first.numpy()["actions"]
    vector.step_uniform()
    for read in (
        lambda: first.numpy(),
        lambda: first.actions,
        lambda: first.rewards,
        lambda: first.terminated,
        lambda: first.truncated,
    ):
        with pytest.raises(RuntimeError, match="before the step after the next one"):
            read()
    assert (actions == te.random_policy(TTT.init(4)).numpy()).all()


def test_no_vector_env_inside_a_jit() -> None:
    """Its state is no argument: a replay would play the captured step again and again."""
    vector = te.VectorEnv(TTT, 4)
    act = te.jit(lambda x: (vector.step_uniform().rewards, x + 1))
    x = Tensor([0.0]).realize()
    act(x)
    with pytest.raises(RuntimeError, match="cannot be stepped inside a jit"):
        act(x)
    assert vector.state.numpy()["ply"].tolist() == [1] * 4


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_going_on_from_a_state(autoreset: str, tmp_path: Path) -> None:
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
        for name, column in first.state.numpy().items():
            assert (second.state.numpy()[name] == column).all(), name
    for name, column in saved.numpy().items():
        assert (before[name] == column).all(), "the state that was set stays valid"
    with pytest.raises(ValueError, match="state must be of 6 games on CPU, got 5 on CPU"):
        second.state = TTT.init(5)
    with pytest.raises(TypeError, match="state must be a State, got int"):
        second.state = 5  # type: ignore[assignment]
    finished = TTT.init(6)
    for _ in range(9):
        finished = TTT.step(finished, te.random_policy(finished))
    second.state = finished
    assert (second.state.terminated.numpy() == (autoreset != "same_step")).all()
