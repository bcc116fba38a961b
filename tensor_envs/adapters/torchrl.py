"""TorchRL (extra `torchrl`): a learner's side of many games as an EnvBase, with masks and seeds.

from torchrl.envs import ActionMask, TransformedEnv
from tensor_envs.adapters.torchrl import SingleAgentTorchEnv

env = TransformedEnv(SingleAgentTorchEnv("connect_four", num_envs=256), ActionMask())
env.rollout(100, break_when_any_done=False)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._validate import integer
from tensor_envs.adapters.gymnasium import SingleAgentVectorEnv
from tensor_envs.envs.env import Env

try:
    import torch
    from tensordict import TensorDict
    from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
    from torchrl.envs import EnvBase
except ImportError:
    raise ImportError("this adapter needs TorchRL: pip install 'tensor_envs[torchrl]'") from None

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Policy


class SingleAgentTorchEnv(EnvBase):
    """A learner's side of `num_envs` games that are stepped together, with the arguments of `SingleAgentVectorEnv`.

    Keys are "observation", "action_mask" (bool [num_envs, A], for the transform ActionMask), "action" (int64
    [num_envs]) and those of TorchRL. "player" (int64 [num_envs]) is the learner's player, or the player to move, unless
    `player` is a single index; with `player="all"` "rewards" (float32 [num_envs, P]) are every player's for the ply.
    TorchRL resets games that are over; "_reset" is their mask, and "_step" that of the games that a step plays. All
    actions are in the mask of a game that is over, since TorchRL asks for one that it does not play.
    `reset(options={"state": ...})` starts from positions.
    All tensors are on the host.
    """

    def __init__(self, game: str | Env, num_envs: int = 1, **options: Any):
        num_envs = integer("num_envs", num_envs, 1, 2**31 - 1)
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([num_envs]))
        self.vector = SingleAgentVectorEnv(game, num_envs, autoreset_mode="Disabled", **options)
        self._seed: int | None = None
        space: Any = self.vector.single_observation_space
        actions = self.vector.games.env.num_actions
        shape = (num_envs, *space.shape)
        dtype = getattr(torch, str(space.dtype))
        if np.isfinite(space.low).all():
            low, high = (torch.tensor(np.broadcast_to(x, shape).copy()) for x in (space.low, space.high))
            observation = Bounded(low, high, shape=shape, dtype=dtype)
        else:
            observation = Unbounded(shape, dtype=dtype)
        mask = Binary(actions, shape=(num_envs, actions), dtype=torch.bool)
        specs = {"observation": observation, "action_mask": mask}
        games = self.vector.games
        players = games.env.num_players
        if games.names_players:
            specs["player"] = Categorical(players, shape=self.batch_size, dtype=torch.int64)
        if games.seats is None:
            specs["rewards"] = Unbounded((num_envs, players), dtype=torch.float32)
        self.observation_spec = Composite(specs, shape=self.batch_size)
        self.action_spec = Categorical(actions, shape=self.batch_size, dtype=torch.int64)
        self.reward_spec = Unbounded((num_envs, 1), dtype=torch.float32)
        ends = {name: Binary(1, (num_envs, 1), dtype=torch.bool) for name in ("done", "terminated", "truncated")}
        self.full_done_spec = Composite(ends, shape=self.batch_size)

    def set_opponent(self, opponent: str | Policy) -> None:
        """Replace the policy of the other players, from their next decision on."""
        self.vector.set_opponent(opponent)

    def _set_seed(self, seed: int | None) -> None:
        """Set the seed of the next reset of all games."""
        self._seed = seed

    def _reset(self, tensordict: Any = None, options: dict[str, Any] | None = None, seed: int | None = None) -> Any:
        rows = None if tensordict is None else tensordict.get("_reset", None)
        if rows is None or rows.all():
            self.vector.reset(seed=self._seed if seed is None else seed, options=options)
            self._seed = None
        elif seed is not None:
            raise ValueError(f"seed must be None for a reset of some games, got {seed}")
        elif rows.any():
            mask = {"reset_mask": rows.reshape(-1).numpy()}
            self.vector.reset(options={**(options or {}), **mask})
        return self._dictionary(self._tensors())

    def maybe_reset(self, tensordict: Any) -> Any:
        """Start the next episode of every game that is over, and put what is read after it into `tensordict`.

        `EnvBase.maybe_reset` merges the rows of every entry by a mask; the games have all rows already.
        """
        done = tensordict["done"]
        rows = done.numpy().reshape(-1)
        if rows.any():
            self.vector.games.restart(rows)
            ends = {name: torch.zeros_like(done) for name in ("done", "terminated", "truncated")}
            tensordict.update({**self._tensors(), **ends})
        return tensordict

    def _step(self, tensordict: Any) -> Any:
        played = tensordict.get("_step", None)
        rows = None if played is None else played.reshape(-1).numpy()
        games = self.vector.play(tensordict["action"].numpy(), rows)
        columns = {"done": games.over.copy(), "terminated": games.terminated, "truncated": games.truncated}
        columns["reward"] = games.rewards if rows is None else games.rewards * rows
        tensors = self._tensors() | {name: torch.from_numpy(column[:, None]) for name, column in columns.items()}
        return self._dictionary(tensors)

    def _dictionary(self, tensors: dict[str, torch.Tensor]) -> Any:
        """Return a TensorDict of tensors; TorchRL would copy one without a device."""
        return TensorDict(tensors, batch_size=self.batch_size, device=self.device)

    def _tensors(self) -> dict[str, torch.Tensor]:
        """Return the outputs after a step or a reset, as views of the games' new arrays."""
        games = self.vector.games
        mask = games.action_mask.view(np.bool_)
        if games.over.any():
            mask = mask | games.over[:, None]
        arrays = {"observation": games.observation, "action_mask": mask}
        if games.names_players:
            arrays["player"] = games.players
        if games.seats is None:
            arrays["rewards"] = games.all_rewards
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
