"""TorchRL: its checks of specs, its rollouts with masks, its seeds."""

from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.extra("torchrl"), pytest.mark.filterwarnings("ignore")]
pytest.importorskip("torchrl")

import torch  # noqa: E402
from torchrl.envs import ActionMask, TransformedEnv  # noqa: E402
from torchrl.envs.utils import check_env_specs  # noqa: E402

import tensor_envs as te  # noqa: E402
from tensor_envs.adapters.gymnasium import SingleAgentVectorEnv  # noqa: E402
from tensor_envs.adapters.torchrl import SingleAgentTorchEnv  # noqa: E402
from tests.adapters import toll_road  # noqa: E402


@pytest.mark.parametrize("name", ["tic_tac_toe", "shed", "tensor_stars", "three_will"])
def test_specs(name: str) -> None:
    """Specs hold for every dtype of observations, and for illegal actions, which end a game."""
    env = SingleAgentTorchEnv(name, 3, player=1)
    check_env_specs(env, break_when_any_done="both", seed=3)
    assert env.rollout(4)["observation"].dtype == getattr(torch, str(env.vector.single_observation_space.dtype))


def masked(game: str | te.Env, batch: int) -> Any:
    return TransformedEnv(SingleAgentTorchEnv(game, batch), ActionMask())


def test_rollouts_with_masks() -> None:
    """Rollouts have legal actions only, whole episodes with their ends, and automatic resets."""
    env = masked(toll_road.make(), 5)
    env.set_seed(1)
    steps = env.rollout(80, break_when_any_done=False)
    assert steps.batch_size == (5, 80)
    legal = steps["action_mask"].gather(-1, steps["action"].unsqueeze(-1))
    assert legal.all() and (~steps["action_mask"]).any()
    next_ = steps["next"]
    assert next_["terminated"].any() and next_["truncated"].any() and next_["reward"].any()
    assert (next_["done"] == next_["terminated"] | next_["truncated"]).all()
    assert not next_["action_mask"][next_["done"].squeeze(-1)].any()  # nothing is legal after the end
    ended = next_["done"][:, :-1].squeeze(-1)
    after, before = steps["observation"][:, 1:], next_["observation"][:, :-1]
    assert (after[~ended] == before[~ended]).all()


def test_the_same_games() -> None:
    """Games equal Gymnasium's for the same seed, and repeat when the seed is set again."""
    env = SingleAgentTorchEnv("connect_four", 4)
    episodes = []
    for _ in range(2):
        env.set_seed(9)
        state = env.reset()
        start = state["observation"].numpy()
        state["action"] = state["action_mask"].int().argmax(-1)
        state = env.step(state)["next"]
        episodes.append((start, state["observation"].numpy(), state["reward"].numpy()))
    for first, again in zip(*episodes, strict=True):
        np.testing.assert_array_equal(first, again)
    same = SingleAgentVectorEnv("connect_four", 4)
    observation, info = same.reset(seed=9)
    np.testing.assert_array_equal(episodes[0][0], observation)
    observation, rewards, *_ = same.step(info["action_mask"].argmax(1))
    np.testing.assert_array_equal(episodes[0][1], observation)
    np.testing.assert_array_equal(episodes[0][2][:, 0], rewards)
