"""RLlib (extra `rllib`): one player of one game, with the action mask in the observation, for RLlib's masking module.

    from ray.tune.registry import register_env
    from tensor_envs.adapters.rllib import MaskedEnv

    register_env("shed", lambda config: MaskedEnv("shed", **config))

and `ActionMaskingTorchRLModule` of `ray.rllib.examples.rl_modules.classes.action_masking_rlm` as the RLModule.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from tensor_envs.adapters.gymnasium import SingleAgentEnv
from tensor_envs.adapters.spaces import Info, MaskedObservation


class MaskedEnv(gymnasium.Env[Any, Any]):
    """A `SingleAgentEnv` whose observation is a dict of "observations", float32 [n], and "action_mask"."""

    def __init__(self, *arguments: Any, **options: Any):
        self.env = SingleAgentEnv(*arguments, **options)
        self.metadata, self.render_mode = self.env.metadata, self.env.render_mode
        self.action_space = self.env.action_space
        game = self.env.vector.games.env
        observations = spaces.Box(-np.inf, np.inf, (math.prod(game.observation_shape),), np.float32)
        mask = spaces.Box(0, 1, (game.num_actions,), np.float32)
        self.observation_space = spaces.Dict({"observations": observations, "action_mask": mask})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[MaskedObservation, Info]:
        super().reset(seed=seed)
        observation, info = self.env.reset(seed=seed, options=options)
        return self._with_mask(observation, info), info

    def step(self, action: Any) -> tuple[MaskedObservation, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._with_mask(observation, info), reward, terminated, truncated, info

    def render(self) -> Any:
        return self.env.render()

    @staticmethod
    def _with_mask(observation: np.ndarray, info: Info) -> MaskedObservation:
        """Return the observation, flat and float32, with the action mask."""
        flat = observation.astype(np.float32).reshape(-1)
        mask = info["action_mask"].astype(np.float32)
        return {"observations": flat, "action_mask": mask}
