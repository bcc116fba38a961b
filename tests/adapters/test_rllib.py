"""RLlib's PPO with its own module for masks, and the adapter's output without RLlib."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from tensor_envs.adapters.rllib import MaskedEnv  # noqa: E402


@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*imum value is -?infinity")
def test_masks_are_in_the_observation() -> None:
    env = MaskedEnv("shed", cards=4, player=1)
    check_env(env, skip_render_check=True)
    seen, info = env.reset(seed=3)
    seen, *_, info = env.step(info["action_mask"].argmax())
    assert seen["observations"].shape == (16,) and set(seen["observations"]) == {0, 1}
    assert (seen["action_mask"] == info["action_mask"]).all() and 0 < seen["action_mask"].sum() < 5


@pytest.mark.slow
@pytest.mark.extra("ray", "tree")
@pytest.mark.filterwarnings("ignore")
def test_ppo_plays_legal_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With legal actions only, games last for four decisions on average, and no illegal action ends one."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray")
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
    from ray.tune.registry import register_env

    lost_at_once = 0

    class Watched(MaskedEnv):
        def step(self, action):  # type: ignore[no-untyped-def]
            nonlocal lost_at_once
            legal = self.env.vector.games.action_mask[0][int(action)]
            lost_at_once += not legal
            return super().step(action)

    register_env("watched", lambda config: Watched("tic_tac_toe", **config))
    ray.init(include_dashboard=False, num_cpus=1, logging_level="ERROR", log_to_driver=False)
    try:
        config = PPOConfig().environment("watched", env_config={"player": 0}).env_runners(num_env_runners=0)
        config = config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
        config = config.training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=1)
        algorithm = config.build_algo()
        metrics = [algorithm.train()["env_runners"] for _ in range(2)]
        algorithm.stop()
    finally:
        ray.shutdown()
    assert lost_at_once == 0 and metrics[1]["num_episodes"] > 30
    assert 3.5 < metrics[1]["episode_len_mean"] < 5 and np.isfinite(metrics[1]["episode_return_mean"])
