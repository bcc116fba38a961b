"""Stable-Baselines3 (extra `sb3`): one player of many games as a VecEnv, with masks for sb3-contrib's MaskablePPO.

    from sb3_contrib import MaskablePPO
    from tensor_envs.adapters.stable_baselines3 import SingleAgentVecEnv

    MaskablePPO("MlpPolicy", SingleAgentVecEnv("connect_four", num_envs=256)).learn(100_000)

A single environment needs none of this: `gymnasium.make("tensor_envs/TicTacToe-v0")` has `action_masks()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensor_envs.adapters.gymnasium import Info, SingleAgentVectorEnv
from tensor_envs.env import Env

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise ImportError("this adapter needs Stable-Baselines3: pip install 'tensor_envs[sb3]'") from None

Indices = int | Sequence[int] | None


class SingleAgentVecEnv(VecEnv):
    """One player of `num_envs` games that are stepped together; the arguments are those of `SingleAgentVectorEnv`.

    A game that ends is reset in the same step, and its info has the `terminal_observation`. `seed` takes effect at the
    next `reset`; without a seed one is drawn.
    """

    def __init__(self, game: str | Env, num_envs: int = 1, **options: Any):
        self.vector = SingleAgentVectorEnv(game, num_envs, autoreset_mode="SameStep", **options)
        spaces = self.vector.single_observation_space, self.vector.single_action_space
        super().__init__(num_envs, *spaces)

    def reset(self) -> np.ndarray:
        observation = self.vector.reset(seed=self._seeds[0])[0]
        self._reset_seeds()
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self.action_buffer = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Info]]:
        observation, rewards, terminated, truncated, info = self.vector.step(self.action_buffer)
        ended = terminated | truncated
        infos: list[Info] = [{} for _ in range(self.num_envs)]
        if ended.any():
            rows = np.flatnonzero(ended)
            cuts = truncated[rows].tolist()  # one conversion: a NumPy scalar for each row is slow
            for row, last, cut in zip(rows.tolist(), info["final_obs"][rows], cuts, strict=True):
                infos[row] = {"terminal_observation": last, "TimeLimit.truncated": cut}
        return observation, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        self.vector.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        return [getattr(self.vector, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        raise AttributeError(f"the games share one environment, so {attr_name!r} cannot be set for some")

    def env_method(self, method_name: str, *arguments: Any, indices: Indices = None, **named: Any) -> Sequence[Any]:
        """Return the entries of some games from a method of `SingleAgentVectorEnv` that returns one for every game."""
        results = getattr(self.vector, method_name)(*arguments, **named)
        return results if indices is None else [results[row] for row in self._rows(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        return [False] * len(self._rows(indices))

    def get_images(self) -> Sequence[Any]:
        return self.vector.render() or ()

    def _rows(self, indices: Indices) -> list[int]:
        return list(self._get_indices(indices))
