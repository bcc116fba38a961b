"""TorchRL (extra `torchrl`): one player of many games as an EnvBase, with masks and seeds.

from torchrl.envs import ActionMask, TransformedEnv
from tensor_envs.adapters.torchrl import SingleAgentTorchEnv

env = TransformedEnv(SingleAgentTorchEnv("connect_four", num_envs=256), ActionMask())
env.rollout(100, break_when_any_done=False)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_envs.adapters.gymnasium import SingleAgentVectorEnv
from tensor_envs.env import Env

try:
    import torch
    from tensordict import TensorDict
    from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
    from torchrl.envs import EnvBase
except ImportError:
    raise ImportError("this adapter needs TorchRL: pip install 'tensor_envs[torchrl]'") from None


class SingleAgentTorchEnv(EnvBase):
    """One player of `num_envs` games that are stepped together; the arguments are those of `SingleAgentVectorEnv`.

    Keys are "observation", "action_mask" (bool [num_envs, A], for the transform ActionMask), "action" (int64
    [num_envs]) and those of TorchRL. TorchRL resets games that are over; "_reset" is their mask. All tensors are
    on the host.
    """

    def __init__(self, game: str | Env, num_envs: int = 1, **options: Any):
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([num_envs]))
        self.vector = SingleAgentVectorEnv(game, num_envs, autoreset_mode="Disabled", **options)
        self._seed: int | None = None
        space: Any = self.vector.single_observation_space
        actions = self.vector.games.env.num_actions
        shape, dtype = (num_envs, *space.shape), getattr(torch, str(space.dtype))
        if np.isfinite(space.low).all():
            low, high = (torch.tensor(np.broadcast_to(x, shape).copy()) for x in (space.low, space.high))
            observation = Bounded(low, high, shape=shape, dtype=dtype)
        else:
            observation = Unbounded(shape, dtype=dtype)
        mask = Binary(actions, shape=(num_envs, actions), dtype=torch.bool)
        self.observation_spec = Composite(observation=observation, action_mask=mask, shape=self.batch_size)
        self.action_spec = Categorical(actions, shape=self.batch_size, dtype=torch.int64)
        self.reward_spec = Unbounded((num_envs, 1), dtype=torch.float32)
        ends = {name: Binary(1, (num_envs, 1), dtype=torch.bool) for name in ("done", "terminated", "truncated")}
        self.full_done_spec = Composite(ends, shape=self.batch_size)

    def _set_seed(self, seed: int | None) -> None:
        """Set the seed of the next reset of all games."""
        self._seed = seed

    def _reset(self, tensordict: Any = None, **_: Any) -> Any:
        rows = None if tensordict is None else tensordict.get("_reset", None)
        if rows is None or rows.all():
            observation, info = self.vector.reset(seed=self._seed)
            self._seed = None
        else:
            observation, info = self.vector.reset(options={"reset_mask": rows.reshape(-1).numpy()})
        return self._tensors(observation, info)

    def _step(self, tensordict: Any) -> Any:
        observation, rewards, terminated, truncated, info = self.vector.step(tensordict["action"].numpy())
        columns = {"reward": rewards.astype(np.float32), "terminated": terminated, "truncated": truncated}
        out = self._tensors(observation, info)
        out.update({name: torch.from_numpy(column)[:, None] for name, column in columns.items()})
        out["done"] = out["terminated"] | out["truncated"]
        return out

    def _tensors(self, observation: np.ndarray, info: dict[str, Any]) -> Any:
        mask = torch.from_numpy(info["action_mask"]).bool()
        tensors = {"observation": torch.from_numpy(observation), "action_mask": mask}
        return TensorDict(tensors, batch_size=self.batch_size)
