"""Batches that do not fill a block: the padding changes nothing, and is never read."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs._engine.batch_layout import CPU_LANES, LANES, LONG_STATE_WORDS, NARROW_LANES, batch_layout
from tests.games import dice_race
from tests.games.shared import shared_env

WHOLE = 48
DEVICES: list[Any] = ["CPU", ("CPU:0", "CPU:1")]
TTT, RACE = shared_env("tic_tac_toe"), dice_race.shared()
ON = pytest.mark.parametrize(
    ("env", "device"), [(TTT, DEVICES[1]), (RACE, DEVICES[0])], ids=["tic_tac_toe on two", "dice_race on one"]
)


def played(env: te.Env, batch: int, device: Any, plies: int = 4) -> te.State:
    state = env.init(batch, seed=3, device=device)
    for _ in range(plies):
        state = env.step(state, te.agents.uniform(state))
    return state


def same_rows(state: te.State, whole: te.State, rows: Any = None) -> None:
    """Check every value, copied to the host at once and lazily, against `rows` of the whole."""
    rows = np.arange(state.batch) if rows is None else rows
    expected = whole.numpy()
    for name, column in state.numpy().items():
        np.testing.assert_array_equal(column, expected[name][rows], err_msg=name)
    for name in ("current_player", "legal_action_mask", "rewards", "terminated", "action_key"):
        np.testing.assert_array_equal(getattr(state, name).numpy(), getattr(whole, name).numpy()[rows], err_msg=name)


def test_how_a_batch_is_cut() -> None:
    for batch, words in itertools.product(
        (1, 2, 3, 7, 33, 64, 65, 127, 128, 300), (LONG_STATE_WORDS, LONG_STATE_WORDS + 1)
    ):
        one, two = batch_layout(batch, "CPU", words), batch_layout(2 * batch, ("CPU:0", "CPU:1"), words)
        assert one.rows >= batch > one.rows - one.grid.lanes and one.grid == two.grid
        narrow = 1 if batch < NARROW_LANES else NARROW_LANES if batch < LANES else LANES
        wide = 1 if batch < 5 else 8 if batch < 9 else NARROW_LANES
        assert one.grid.lanes == (narrow if words == LONG_STATE_WORDS else wide)
        assert one.unpadded.lanes in CPU_LANES and one.unpadded.rows == batch
        values = np.arange(2 * batch * 3).reshape(2 * batch, 3)
        there = two.padded(values)
        assert there.shape == (two.rows, 3)
        flat = there.reshape(-1, two.grid.lanes, 3).transpose(0, 2, 1).ravel()
        np.testing.assert_array_equal(two.rows_of(flat), values)


@pytest.mark.few("dice_race on one")
@ON
def test_games(env: te.Env, device: Any) -> None:
    """Steps with actions of every form, resets, observations and copies ignore the padding."""
    whole, state = played(env, WHOLE, "CPU"), played(env, 38, device)
    assert state.buffers.layout.rows > 38
    same_rows(state, whole)
    for player in (None, 1):
        np.testing.assert_array_equal(env.observe(state, player).numpy(), env.observe(whole, player).numpy()[:38])
    players = np.arange(WHOLE) % 2
    seen = env.observe(whole, players).numpy()[:38]
    np.testing.assert_array_equal(env.observe(state, players[:38]).numpy(), seen)
    players_tensor = Tensor(players[:38].astype(np.int8), device=device)
    np.testing.assert_array_equal(env.observe(state, players_tensor).numpy(), seen)
    actions = te.agents.uniform(whole).numpy()
    actions[::5] = -1  # illegal
    after = env.step(whole, actions)
    for form in (actions[:38], actions[:38].tolist(), Tensor(actions[:38], device=device)):
        same_rows(env.step(state, form), after)
    wide = Tensor(actions[:38].astype(np.int64), device=device).realize()
    same_rows(env.step(state, wide), after)
    mask = np.arange(WHOLE) % 3 == 0
    for chosen in (mask[:38], Tensor(mask[:38], device=device)):
        same_rows(env.reset(state, chosen), env.reset(whole, mask))
    same_rows(env.reset(env.step(state, actions[:38])), env.reset(after))
    same_rows(copy.deepcopy(state), whole)


@pytest.mark.slow
@ON
def test_loops(env: te.Env, device: Any, tmp_path: Path) -> None:
    """A `VectorEnv` with observations, uniform and captured rollouts, and files ignore the padding."""
    whole, vector = (te.VectorEnv(env, n, 5, d, observe=True) for n, d in ((WHOLE, "CPU"), (38, device)))
    for count in range(12):
        if count % 2:
            one, other = vector.step_uniform(), whole.step_uniform()
        else:
            actions = te.agents.uniform(whole.state).numpy()
            one, other = vector.step(actions[:38]), whole.step(actions)
        for name, column in other.numpy().items():
            np.testing.assert_array_equal(one.numpy()[name], column[:38], err_msg=name)
        np.testing.assert_array_equal(one.actions.numpy(), other.actions.numpy()[:38])
        np.testing.assert_array_equal(vector.observation.numpy(), whole.observation.numpy()[:38])
        np.testing.assert_array_equal(vector.legal_action_mask.numpy(), whole.legal_action_mask.numpy()[:38])
    same_rows(vector.state, whole.state)
    if env.id in te.registered():
        te.save_state(vector.state, tmp_path / "state")
        for where in DEVICES:
            same_rows(te.load_state(tmp_path / "state", where), whole.state)
    for policy in ("uniform", te.agents.uniform):
        large, small = (te.rollout(env, policy, n, 30, seed=7, device=d) for n, d in ((WHOLE, "CPU"), (38, device)))
        same_rows(small.state, large.state)
        for name in ("returns", "wins", "episodes"):
            np.testing.assert_array_equal(getattr(small, name).numpy(), getattr(large, name).numpy()[:38], err_msg=name)
    assert large.episodes.numpy().any()


@pytest.mark.slow
@pytest.mark.parametrize("env", [TTT, RACE], ids=lambda env: env.id)
def test_games_taken_and_playouts(env: te.Env) -> None:
    """Rows move between padded batches, and playouts copy a padded batch's last game."""
    state = played(env, 37, "CPU")
    rows = np.array([36, 0, 5, 36, 1])
    same_rows(env.take(state, rows), state, rows)
    same_rows(env.take(state, Tensor(rows, dtype=dtypes.int32, device="CPU")), state, rows)
    same_rows(env.take(state, Tensor([40, -1, 63], dtype=dtypes.int32, device="CPU")), state, np.array([36, 0, 36]))
    whole = te.playout(played(env, WHOLE, "CPU"), 5, seed=2, limit=40).numpy()
    np.testing.assert_array_equal(te.playout(state, 5, seed=2, limit=40).numpy(), whole[:37])
    two = te.playout(played(env, 38, DEVICES[1]), 5, seed=2, limit=40)
    np.testing.assert_array_equal(two.numpy(), whole[:38])
    actions = te.agents.uniform(played(env, WHOLE, "CPU")).numpy()
    first = te.playout(played(env, WHOLE, "CPU"), 3, actions, seed=2, limit=40).numpy()
    np.testing.assert_array_equal(te.playout(state, 3, actions[:37], seed=2, limit=40).numpy(), first[:37])
    assert first.any()


def test_no_batch_for_several_devices_that_cannot_share_it() -> None:
    with pytest.raises(ValueError, match="batch must be a multiple of the 2 devices, got 37"):
        te.make("tic_tac_toe").init(37, device=DEVICES[1])
