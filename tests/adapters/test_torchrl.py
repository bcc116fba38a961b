"""TorchRL: its checks of specs, its rollouts with masks, its seeds."""

from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.extra("torchrl"), pytest.mark.filterwarnings("ignore")]
pytest.importorskip("torchrl")

import torch  # noqa: E402
from tinygrad.helpers import GlobalCounters  # noqa: E402
from torchrl.envs import ActionMask, EnvBase, GymEnv, RewardScaling, TransformedEnv  # noqa: E402
from torchrl.envs.utils import check_env_specs, step_mdp  # noqa: E402

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


def test_seeds_and_options_of_a_reset() -> None:
    env, games = SingleAgentTorchEnv("leduc_poker", 4), te.make("leduc_poker")
    for _ in range(2):
        env.reset(seed=3)
        host = env.vector.games
        assert host._state(host._launches[-1].new).cards.tolist() == games.init(4, seed=3).cards.tolist()
    with pytest.raises(TypeError, match="option"):
        env.reset(option={})
    with pytest.raises(TypeError, match=r"num_envs must be an int, got 2\.5"):
        SingleAgentTorchEnv("leduc_poker", 2.5)  # type: ignore[arg-type]


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
    assert next_["action_mask"][next_["done"].squeeze(-1)].all()  # an action after the end is not played
    ended = next_["done"][:, :-1].squeeze(-1)
    after, before = steps["observation"][:, 1:], next_["observation"][:, :-1]
    assert (after[~ended] == before[~ended]).all()


def test_rollouts_until_all_games_are_over() -> None:
    """Each game is played once; TorchRL repeats its last entries until all games are over."""
    env = masked("tic_tac_toe", 32)
    env.set_seed(2)
    steps = env.rollout(50, break_when_any_done=False, break_when_all_done=True)
    next_, length = steps["next"], steps.batch_size[1]
    done = next_["done"].squeeze(-1)
    assert 3 <= length <= 5 and done[:, -1].all() and not done[:, 0].any()
    assert (done[:, 1:] | ~done[:, :-1]).all()  # no game begins again
    first = done.int().argmax(1)
    assert len(first.unique()) > 1
    for row, end in enumerate(first.tolist()):
        assert (next_["reward"][row, end:] == next_["reward"][row, end]).all()
        assert (next_["observation"][row, end:] == next_["observation"][row, end]).all()
        legal = steps["action_mask"][row, : end + 1].gather(-1, steps["action"][row, : end + 1].unsqueeze(-1))
        assert legal.all()


@pytest.mark.parametrize("illegal", ["lose", "raise"])
def test_a_step_of_some_games(illegal: str) -> None:
    env = SingleAgentTorchEnv("tic_tac_toe", 4, player="all", illegal=illegal)
    data = env.reset(seed=1)
    data["action"] = torch.tensor([0, 1, 2, 3])
    data["_step"] = torch.tensor([True, False, True, False]).unsqueeze(-1)
    after = env.step(data)["next"]
    assert after["player"].tolist() == [1, 0, 1, 0] and env.vector.games.state.ply.tolist() == [1, 0, 1, 0]


def test_torchrls_own_wrapper_of_gymnasium() -> None:
    env = GymEnv("tensor_envs/TicTacToe-v0")
    check_env_specs(env, seed=3)
    assert env.rollout(2)["observation"].shape[1:] == (2, 3, 3)
    with pytest.raises(TypeError, match="no rule field 'columns'; its fields are shape, k"):
        GymEnv("tensor_envs/HyperTicTacToe-v0", columns=3)


def test_resets_are_those_of_torchrl() -> None:
    """The adapter's `maybe_reset` returns what TorchRL's does, in one launch, and keeps other entries."""
    own, theirs = (SingleAgentTorchEnv("leduc_poker", 64, player="all") for _ in range(2))
    positions = []
    for env in (own, theirs):
        env.set_seed(5)
        positions.append(env.reset().set("memory", torch.arange(64)))
    ends = 0
    for _ in range(12):
        for k, env in enumerate((own, theirs)):
            data = positions[k].set("action", positions[k]["action_mask"].int().argmax(-1))
            following = step_mdp(env.step(data))
            if env is own:
                ended, kernels = following["done"].any(), GlobalCounters.kernel_count
                positions[k] = env.maybe_reset(following)
                assert GlobalCounters.kernel_count - kernels == ended
            else:
                positions[k] = EnvBase.maybe_reset(env, following)
        ends += int(ended)
        assert sorted(positions[0].keys()) == sorted(positions[1].keys())
        assert (positions[0] == positions[1]).all() and (positions[0]["memory"] == torch.arange(64)).all()
    assert ends


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


@pytest.mark.parametrize("player", ["random", "all", [0, 2]])
def test_specs_of_self_play(player: Any) -> None:
    """Keys of the player and of everyone's rewards hold their specs."""
    env = SingleAgentTorchEnv(toll_road.make(), 3, player=player, max_episode_steps=2)
    check_env_specs(env, break_when_any_done="both", seed=3)
    keys = list(env.rollout(2).keys())
    assert ("rewards" in keys) == (player == "all") and "player" in keys


def test_a_learner_for_every_player() -> None:
    """A step is a ply with the reward of the player who moved, as a plain loop plays it."""
    env, game = SingleAgentTorchEnv("leduc_poker", 16, player="all"), te.make("leduc_poker")
    env.set_seed(4)
    data, state, rows, ends = env.reset(), game.init(16, 4), np.arange(16), 0
    for ply in range(40):
        mover = state.current_player.numpy()
        assert (data["observation"].numpy() == game.observe(state).numpy()).all()
        assert (data["player"].numpy() == mover).all()
        mask = data["action_mask"]
        data["action"] = mask.int().argmax(-1) if ply % 3 else torch.where(mask[:, 1], 1, mask.int().argmax(-1))
        state = game.step(state, data["action"].numpy())
        data, following = env.step_and_maybe_reset(data)
        rewards = state.rewards.numpy()
        assert (data["next", "reward"][:, 0].numpy() == rewards[rows, mover]).all()
        assert (data["next", "rewards"].numpy() == rewards).all()
        assert (data["next", "done"][:, 0].numpy() == state.terminated.numpy()).all()
        ends += int(data["next", "done"].sum())
        state, data = game.reset(state), following
    assert ends > 20


def test_positions_and_opponents() -> None:
    env, game = SingleAgentTorchEnv("tic_tac_toe", 2, player=1), te.make("tic_tac_toe")
    start = [game.state_to_dict(game.step(game.init(1), [square])) for square in (3, 5)]
    assert env.reset(options={"state": start})["action_mask"].int().argmin(-1).tolist() == [3, 5]
    env.set_opponent(lambda state: [7, 2])
    assert env.reset()["action_mask"].int().argmin(-1).tolist() == [7, 2]


def test_a_transform_shapes_rewards() -> None:
    env = TransformedEnv(SingleAgentTorchEnv("tic_tac_toe", 2), RewardScaling(loc=0.01, scale=1.0))
    data = env.reset()
    data["action"] = torch.tensor([4, 4])
    assert torch.allclose(env.step(data)["next", "reward"], torch.full((2, 1), 0.01))
