"""Masked logits and sampled actions: distributions, masks, independence, errors; policies in rollouts."""

import subprocess
import sys

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs._runtime.buffers import buffer_of
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")


@pytest.mark.slow
def test_masked_logits_are_finite_and_keep_legal_actions() -> None:
    for dtype in (dtypes.float32, dtypes.float16):
        logits = Tensor([[1.0, -2.0, 3.0], [0.0, 5.0, -5.0]]).cast(dtype)
        mask = Tensor([[True, False, True], [False, False, False]])
        masked = te.masked_logits(logits, mask)
        assert masked.dtype is dtype and np.isfinite(masked.numpy()).all()
        assert masked.numpy()[0, [0, 2]].tolist() == [1.0, 3.0]
        chances = masked.float().softmax().numpy()
        assert chances[0, 1] == 0 and np.allclose(chances[1], 1 / 3), "a row without legal actions is uniform"


def test_masked_logits_of_another_kind() -> None:
    logits, mask = Tensor.zeros(2, 3), Tensor.ones(2, 3, dtype=dtypes.bool)
    with pytest.raises(TypeError, match=r"logits must have a float dtype, got dtypes\.int"):
        te.masked_logits(logits.cast(dtypes.int32), mask)
    with pytest.raises(TypeError, match=r"mask must be bool, got dtypes\.float"):
        te.masked_logits(logits, logits)
    with pytest.raises(TypeError, match="logits must be of type Tensor"):
        te.masked_logits([[0.0]], mask)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"one shape, got \(2, 3\) and \(2, 2\)"):
        te.masked_logits(logits, mask[:, :2])


@pytest.mark.slow
def test_sampled_actions_follow_the_softmax_of_legal_actions() -> None:
    batch = 20_000
    state = TTT.init(batch, seed=4)
    mask = Tensor([[True, True, False, True]]).expand(batch, 4)
    logits = Tensor([[0.0, np.log(2.0), 50.0, np.log(5.0)]]).expand(batch, 4)
    counts = np.bincount(te.sample_action(logits, mask, state.action_key, 7).numpy(), minlength=4)
    assert counts[2] == 0
    assert np.allclose(counts[[0, 1, 3]] / batch, [1 / 8, 2 / 8, 5 / 8], atol=4 * 0.5 / batch**0.5)


@pytest.mark.parametrize("lowest", [-2e9, -np.inf, np.nan])
def test_a_sampled_action_is_legal_whatever_the_logits(lowest: float) -> None:
    key, mask = TTT.init(64).action_key, Tensor([[True, True, False]] * 64)
    drawn = [te.sample_action(Tensor([row] * 64), mask, key, 0) for row in ([lowest, lowest, 0.0], [lowest, -9.0, 0.0])]
    assert set(drawn[0].numpy()) <= {0, 1} and set(drawn[1].numpy()) == {1}


@pytest.mark.slow
def test_a_draw_depends_on_its_row_and_counter_alone() -> None:
    state = TTT.init(64, seed=4)
    by_row = te.jit(lambda *arguments: te.sample_action(*arguments))

    def draw(batch: int, legal: bool, counter: int) -> np.ndarray:
        logits, mask = Tensor.zeros(batch, 9).clone(), Tensor.full((batch, 9), legal).clone()
        key = state.action_key[:batch].contiguous()
        actions: Tensor = by_row(logits, mask, key, Tensor.full((batch,), counter, dtype=dtypes.int32).clone())
        return actions.numpy()

    whole = draw(64, True, 3)
    assert (whole[:5] == draw(5, True, 3)).all()
    logits, mask = Tensor.zeros(64, 9), Tensor.ones(64, 9, dtype=dtypes.bool)
    assert (whole == te.sample_action(logits, mask, state.action_key, 3).numpy()).all()
    assert (whole != draw(64, True, 4)).any()
    none = draw(64, False, 3)
    assert ((none >= 0) & (none < 9)).all()


@pytest.mark.slow
def test_every_episode_of_a_row_is_another_game() -> None:
    def policy(state: te.State) -> Tensor:
        mask = state.legal_action_mask
        return te.sample_action(mask.float(), mask, state.action_key, state.ply)

    result = te.rollout(TTT, policy, batch=64, steps=200, seed=1)
    share = result.wins.numpy()[:, 0] / result.episodes.numpy()
    assert ((share > 0) & (share < 1)).all(), "a row repeats one game"
    assert abs(result.wins.numpy()[:, 0].sum() / result.episodes.numpy().sum() - 0.585) < 0.06


@pytest.mark.parametrize("batch", [1, 6, 64, 100])
def test_uniform_actions_are_a_buffer_of_any_batch(batch: int) -> None:
    actions = te.agents.uniform(TTT.init(batch, 5))
    assert buffer_of(actions) is not None and actions.shape == (batch,)
    assert (actions.numpy() == te.agents.uniform(TTT.init(128, 5)).numpy()[:batch]).all()


def test_sample_action_arguments() -> None:
    state = TTT.init(2)
    logits, mask, key = Tensor.zeros(2, 9), state.legal_action_mask, state.action_key
    with pytest.raises(ValueError, match=r"key must be uint32 of shape \(2, 2\)"):
        te.sample_action(logits, mask, key[:, :1], 0)
    with pytest.raises(ValueError, match=r"counter must be integers of shape \(2,\)"):
        te.sample_action(logits, mask, key, Tensor.zeros(2))
    with pytest.raises(ValueError, match="counter must be in 0"):
        te.sample_action(logits, mask, key, -1)
    with pytest.raises(ValueError, match=r"logits must have shape \[B, A\]"):
        te.sample_action(logits[0], mask[0], key, 0)


@pytest.mark.slow
def test_a_policy_with_tinygrads_generator_draws_at_every_step() -> None:
    """The first use of tinygrad's generator in a process sets it up, which must not be captured."""
    code = (
        "import tensor_envs as te; from tinygrad import Tensor\n"
        "def policy(s): return s.legal_action_mask.where(Tensor.rand(s.batch, 9, device='CPU'), -1).argmax(1).int()\n"
        "r = te.rollout(te.make('tic_tac_toe'), policy, 64, 200, device='CPU')\n"
        "w = r.wins.numpy()[:, 0] / r.episodes.numpy(); print(((w > 0) & (w < 1)).all())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_rollouts_reset_finished_games_or_leave_them() -> None:
    over = {"board": [1, 1, 1, -1, -1, 0, 0, 0, 0], "current_player": 1}
    state = TTT.state_from_dicts([over, {"board": [0] * 9, "current_player": 0}])
    for policy in ("uniform", te.agents.uniform):
        again = te.rollout_from(state, policy, 1)
        assert again.state.numpy()["ply"].tolist() == [1, 1]
        assert not again.wins.numpy().any() and not again.episodes.numpy().any()
        left = te.rollout_from(state, policy, 9, autoreset="disabled")
        assert TTT.state_to_dict(left.state, 0) == over
        assert left.state.numpy()["terminated"].all() and left.episodes.numpy().tolist() == [0, 1]
    assert TTT.state_to_dict(state, 0) == over, "the state that a rollout begins with stays valid"
