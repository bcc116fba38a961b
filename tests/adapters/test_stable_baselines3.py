"""Stable-Baselines3 and sb3-contrib: their checks, masks and learners."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from tinygrad.helpers import GlobalCounters

pytestmark = [
    pytest.mark.extra("sb3_contrib"),
    pytest.mark.filterwarnings("ignore"),  # of libraries that look for others
]
pytest.importorskip("sb3_contrib")

import gymnasium  # noqa: E402
from sb3_contrib import MaskablePPO  # noqa: E402
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback  # noqa: E402
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3.common.env_checker import check_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize  # noqa: E402

import tensor_envs as te  # noqa: E402
from tensor_envs.adapters.gymnasium import SingleAgentEnv, SingleAgentVectorEnv  # noqa: E402
from tensor_envs.adapters.stable_baselines3 import SingleAgentVecEnv  # noqa: E402
from tensor_envs.envs.registry import gymnasium_id  # noqa: E402
from tests.adapters import toll_road  # noqa: E402


def test_single_environments() -> None:
    env = gymnasium.make(gymnasium_id("tic_tac_toe", 0), player=1)
    check_env(env.unwrapped, warn=False)
    _, info = env.reset(seed=3)
    assert is_masking_supported(env) and (get_action_masks(env) == info["action_mask"]).all()
    assert get_action_masks(env).dtype == np.bool_ and get_action_masks(env).sum() == 8
    MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1).learn(64)


def test_steps_are_those_of_gymnasium() -> None:
    """Observations, masks, rewards, ends and automatic resets agree with Gymnasium's adapter for every row."""
    env, same = (
        SingleAgentVecEnv("three_will", 5, player=1),
        SingleAgentVectorEnv("three_will", 5, player=1, autoreset_mode="SameStep"),
    )
    env.seed(7)
    observation, (expected, info) = env.reset(), same.reset(seed=7)
    assert (observation == expected).all() and observation[0] in env.observation_space
    ended = 0
    for _ in range(150):
        masks = get_action_masks(env)
        assert masks.shape == (5, env.action_space.n) and (masks == info["action_mask"]).all()
        actions = masks.argmax(1)
        observation, rewards, done, infos = env.step(actions)
        expected, paid, terminated, truncated, info = same.step(actions)
        assert (observation == expected).all() and (rewards == paid).all() and rewards.dtype == np.float32
        assert (done == terminated | truncated).all() and [bool(i) for i in infos] == done.tolist()
        for row in done.nonzero()[0]:
            assert (infos[row]["terminal_observation"] == info["final_obs"][row]).all()
            assert infos[row]["TimeLimit.truncated"] == truncated[row]
        ended += done.sum()
    assert ended


def test_truncation_is_reported() -> None:
    env = SingleAgentVecEnv(toll_road.make(), 3)
    env.seed(0)
    env.reset()
    cut = []
    for _ in range(60):
        infos = env.step(get_action_masks(env).argmax(1))[3]
        cut += [info["TimeLimit.truncated"] for info in infos if info]
    assert cut and any(cut)


def test_infos_are_a_list_that_is_made_when_read() -> None:
    """Entries stay as wrappers leave them, and are those of their own step whenever they are read."""
    env = SingleAgentVecEnv("tic_tac_toe", 64)
    env.seed(3)
    env.reset()
    kept = []
    for turn in range(12):
        masks, kernels = get_action_masks(env), GlobalCounters.kernel_count
        _, _, done, infos = env.step(masks.argmax(1))
        assert GlobalCounters.kernel_count - kernels == 1 + done.any(), "a step, and a launch for all resets"
        kept.append((infos, done))
        if turn % 2:
            assert len(infos) == 64  # read now, or all steps later
    assert sum(done.sum() for _, done in kept) > 64
    for infos, done in kept:
        assert [bool(info) for info in infos] == done.tolist()
        row = int(done.argmax())
        infos[row]["note"] = 1
        infos[row - 1] = {"note": 2}
        assert infos[row]["note"] == 1 and list(infos[:])[row - 1] == {"note": 2} and infos[row] is infos[row]
    unread = env.step([9] * 64)[3]
    for same in (copy.copy(unread), copy.deepcopy(unread), pickle.loads(pickle.dumps(unread))):
        assert same is not unread and [sorted(info) for info in same] == [sorted(info) for info in unread]
    assert all(unread) and not any(env.step(get_action_masks(env).argmax(1))[3] + [])


def test_wrappers_of_stable_baselines3() -> None:
    """VecMonitor counts episodes, and VecNormalize writes terminal observations, in the infos of games that end."""
    env = VecNormalize(VecMonitor(SingleAgentVecEnv("tic_tac_toe", 32)), norm_reward=False)
    env.seed(3)
    env.reset()
    episodes = 0
    for _ in range(10):
        _, _, done, infos = env.step(np.stack(env.env_method("action_masks")).argmax(1))
        for info in (info for info, ended in zip(infos, done, strict=True) if ended):
            assert info["terminal_observation"].dtype == np.float32 and 3 <= info["episode"]["l"] <= 5
            episodes += 1
        assert [bool(info) for info in infos] == done.tolist()
    assert episodes > 32


def test_attributes_for_stable_baselines3() -> None:
    env = SingleAgentVecEnv("tic_tac_toe", 3, render_mode="rgb_array")
    env.reset()
    assert is_masking_supported(env) and env.env_method("action_masks", indices=[2])[0].all()
    assert env.get_attr("render_mode", 1) == ["rgb_array"] and env.env_is_wrapped(VecMonitor) == [False] * 3
    assert len(env.get_images()) == 3 and env.get_images()[0].ndim == 3
    with pytest.raises(AttributeError, match="the games share one environment, so 'player' cannot be set"):
        env.set_attr("player", 1)
    with pytest.raises(AttributeError, match="the games share one environment, so 'level' cannot be set"):
        env.set_attr("level", 1, indices=[0])
    env.close()


def test_attributes_and_methods_are_those_of_separate_environments() -> None:
    """`has_attr`, `get_attr`, `env_method` and `env_is_wrapped` are as DummyVecEnv's; a question resets nothing."""
    own = SingleAgentVecEnv("tic_tac_toe", 3)
    dummy = DummyVecEnv([lambda: SingleAgentEnv("tic_tac_toe")] * 3)
    names = ["reset", "step", "render", "close", "action_masks", "set_opponent", "opponent", "action_space", "call"]
    for env in (own, dummy):
        env.seed(3)
        env.reset()
        env.step(np.array([0, 1, 2]))
    before = own.vector.games.state.numpy()
    for name in [*names, "observation_space", "play", "nothing", "metadata", "render_mode"]:
        assert own.has_attr(name) == dummy.has_attr(name), name
        if own.has_attr(name):
            assert [callable(value) for value in own.get_attr(name, [0, 2])] == [
                callable(value) for value in dummy.get_attr(name, [0, 2])
            ]
    assert own.env_is_wrapped(VecMonitor, [1]) == dummy.env_is_wrapped(VecMonitor, [1]) == [False]
    after = own.vector.games.state.numpy()
    assert all((before[name] == after[name]).all() for name in ("own", "other", "ply"))
    masks = own.get_attr("action_masks")
    assert [mask().tolist() for mask in masks] == [mask.tolist() for mask in own.env_method("action_masks")]
    for env in (own, dummy):
        with pytest.raises(AttributeError, match="nothing"):
            env.env_method("nothing")
        with pytest.raises(TypeError, match=r"is no method|not callable"):
            env.env_method("render_mode")
    ((observation, info),) = own.env_method("reset", indices=1)
    ((expected, same),) = dummy.env_method("reset", indices=1)
    assert observation.shape == expected.shape and info.keys() == same.keys() and not observation.any()
    plies = own.vector.games.state.ply.numpy()
    assert plies[1] == 0 and plies[0] > 0 and plies[2] > 0
    with pytest.raises(ValueError, match="all games are stepped together"):
        own.env_method("step", 0)
    with pytest.raises(ValueError, match="indices must be all 3 games"):
        own.env_method("close", indices=0)
    own.get_attr("reset")[2](seed=None)
    assert own.vector.games.state.ply.numpy()[2] == 0


def test_policies_are_evaluated() -> None:
    """Evaluations of both libraries, which ask for attributes between steps, play to the end."""
    env = SingleAgentVecEnv("tic_tac_toe", num_envs=4)
    learner = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=32, n_epochs=1)
    for evaluate, shortest in ((evaluate_masked, 3), (evaluate_policy, 1)):
        games: Any = evaluate(learner, SingleAgentVecEnv("tic_tac_toe", 4), 8, return_episode_rewards=True)
        returns, lengths = games
        assert len(returns) == 8 and all(shortest <= length <= 5 for length in lengths)
    callback = MaskableEvalCallback(SingleAgentVecEnv("tic_tac_toe", 4), n_eval_episodes=4, eval_freq=8, verbose=0)
    learner.learn(64, callback=callback)
    assert callback.n_calls > 8 and np.isfinite(callback.last_mean_reward)


def middle(state: te.State) -> list[int]:
    return [4] * state.batch


def last(state: te.State) -> list[int]:
    return [8] * state.batch


def test_opponents_are_replaced() -> None:
    """All ways of Stable-Baselines3 replace the opponent of all games, and of no part of them."""
    env = SingleAgentVecEnv("tic_tac_toe", 3, player=1)
    for change, square in (
        (lambda: env.env_method("set_opponent", middle), 4),
        (lambda: env.set_attr("opponent", last), 8),
        (lambda: env.env_method("set_opponent", middle, indices=range(3)), 4),
    ):
        change()
        env.reset()
        assert not env.env_method("action_masks")[2][square] and env.get_attr("opponent")[0] is env.vector.opponent
    for change in (
        lambda: env.env_method("set_opponent", last, indices=[0]),
        lambda: env.set_attr("opponent", last, indices=1),
    ):
        with pytest.raises(ValueError, match="indices must be all 3 games, which share their opponent"):
            change()


def test_positions_as_options() -> None:
    env, game = SingleAgentVecEnv("tic_tac_toe", 2, player="all"), te.make("tic_tac_toe")
    start = [game.state_to_dict(game.step(game.init(1), [square])) for square in (3, 5)]
    env.set_options([{"state": position} for position in start])
    env.reset()
    assert env.get_attr("player") == [1, 1] and [mask.argmin() for mask in env.env_method("action_masks")] == [3, 5]
    env.reset()
    assert env.get_attr("player") == [0, 0]
    for options, message in (([{"state": start[0]}, {}], "all 2 games must have"), ({"mask": 1}, "no key but 'state'")):
        env.set_options(options)
        with pytest.raises(ValueError, match=message):
            env.reset()


def test_a_learner_for_every_player() -> None:
    """A step is a ply with the reward of the player who moved, as a plain loop plays it."""
    env, game = SingleAgentVecEnv("leduc_poker", 16, player="all", max_episode_steps=4), te.make("leduc_poker")
    env.seed(4)
    observation, state, rows = env.reset(), game.init(16, 4), np.arange(16)
    rng, steps, ends = np.random.default_rng(0), np.zeros(16, int), np.zeros(2, int)
    for _ in range(40):
        assert (observation == game.observe(state).numpy()).all()
        mover = state.current_player.numpy()
        assert env.get_attr("player") == mover.tolist()
        masks = get_action_masks(env)
        actions = (masks * rng.random(masks.shape)).argmax(1)
        state, steps = game.step(state, actions), steps + 1
        observation, rewards, done, infos = env.step(actions)
        assert (rewards == state.rewards.numpy()[rows, mover]).all()
        terminated = state.terminated.numpy()
        assert (done == terminated | (steps == 4)).all()
        assert [i["TimeLimit.truncated"] for i in infos if i] == (~terminated[done]).tolist()
        ends += [terminated.sum(), (done & ~terminated).sum()]
        state, steps = game.reset(state, done), steps * ~done
    assert ends.min() > 20


@pytest.mark.slow
def test_maskable_ppo_learns() -> None:
    """MaskablePPO learns to beat the uniform player at tic-tac-toe within seconds."""
    env = VecMonitor(SingleAgentVecEnv("tic_tac_toe", 128))
    env.seed(1)
    learner = MaskablePPO(
        "MlpPolicy", env, n_steps=32, batch_size=1024, n_epochs=6, learning_rate=3e-3, seed=1, device="cpu"
    )
    learner.learn(16_000)
    observation, returns, games = env.reset(), 0.0, 0
    for _ in range(40):
        actions, _ = learner.predict(observation, action_masks=get_action_masks(env), deterministic=True)
        observation, rewards, done, _ = env.step(actions)
        returns, games = returns + float(rewards.sum()), games + int(done.sum())
    assert games > 1000 and returns / games > 0.5  # the uniform player has .297


@pytest.mark.slow
def test_maskable_ppo_learns_by_self_play() -> None:
    """One network learns to win from both seats against the uniform player, from games against itself alone."""
    env = VecMonitor(SingleAgentVecEnv("tic_tac_toe", 128, player="all"))
    env.seed(1)
    learner = MaskablePPO(
        "MlpPolicy", env, gamma=-1, n_steps=32, batch_size=1024, n_epochs=6, learning_rate=3e-3, seed=1, device="cpu"
    )
    learner.learn(60_000)
    for player, uniform in ((0, 0.297), (1, -0.297)):
        judge = SingleAgentVecEnv("tic_tac_toe", 128, player=player)
        judge.seed(2)
        observation, returns, games = judge.reset(), 0.0, 0
        for _ in range(30):
            actions, _ = learner.predict(observation, action_masks=get_action_masks(judge), deterministic=True)
            observation, rewards, done, _ = judge.step(actions)
            returns, games = returns + float(rewards.sum()), games + int(done.sum())
        assert games > 500 and returns / games > uniform + 0.45
