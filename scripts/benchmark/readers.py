"""Ways to read a step from NumPy, PyTorch and JAX, and the adapters, for `benchmark.py --readers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmark.runner import EpisodeStats, play_first_episodes

# by reader: required module
READERS = {
    "numpy": "numpy",
    "torch": "torch",
    "to_torch": "torch",
    "jax": "jax",
    "gymnasium": "gymnasium",
    "sb3": "stable_baselines3",
    "torchrl": "torchrl",
}
TURNS = 64  # steps of an adapter that are recorded and then played again and again


class Reader:
    """Runner of `VectorEnv.step_uniform` with observe=True, whose six outputs are then read.

    "to_torch" reads observation and mask by `te.to_torch`; the others read all by the method of their name.
    """

    def __init__(self, te: Any, job: dict[str, Any]):
        self.te, self.env, self.batch = te, te.make(job["env"]), job["batch"]
        self.steps, self.episodes, self.name = job["batch"], job["episodes"], job["system"]
        self.vector = te.VectorEnv(self.env, self.batch, device=job["device"], observe=True)
        self.read = self._to_torch if self.name == "to_torch" else getattr(self.vector, self.name)

    def _to_torch(self) -> None:
        for tensor in (self.vector.observation, self.vector.legal_action_mask):
            self.te.to_torch(tensor)

    def play(self) -> None:
        self.vector.step_uniform()
        self.read()

    def wait(self) -> None:
        """Do nothing, since a read waits."""

    def episode_stats(self) -> EpisodeStats:
        vector = self.te.VectorEnv(self.env, self.episodes, device=self.vector.device, observe=True)

        def step() -> tuple[np.ndarray, np.ndarray]:
            vector.step_uniform()
            values = vector.numpy()
            return values["rewards"][:, 0], values["terminated"] | values["truncated"]

        return play_first_episodes(self.episodes, step)

    def metadata(self) -> dict[str, Any]:
        return {}


class Adapter(Reader):
    """Runner of an adapter that plays the same legal actions again and again, from the same seed.

    A step plays the learner's ply and those of the other players, so it has at least two plies of a two-player game.
    """

    def __init__(self, te: Any, job: dict[str, Any]):
        self.te, self.env, self.batch = te, te.make(job["env"]), job["batch"]
        self.steps, self.episodes = job["batch"], job["episodes"]
        self.vector = te.VectorEnv(self.env, 1, device=job["device"])
        start, self.advance, mask, convert = getattr(self, f"_{job['system']}")(
            num_envs=self.batch, device=job["device"]
        )
        self.start, self.turn, self.actions = start, 0, list[Any]()
        start()
        draw = np.random.default_rng(0)
        for _ in range(TURNS):
            self.actions.append(convert((draw.random((self.batch, self.env.num_actions)) * mask()).argmax(1)))
            self.advance(self.actions[-1])

    def _gymnasium(self, **options: Any) -> Any:
        from tensor_envs.adapters.gymnasium import SingleAgentVectorEnv

        games = SingleAgentVectorEnv(self.env, **options)
        return lambda: games.reset(seed=0), games.step, games.action_masks, np.asarray

    def _sb3(self, **options: Any) -> Any:
        from tensor_envs.adapters.stable_baselines3 import SingleAgentVecEnv

        games = SingleAgentVecEnv(self.env, **options)

        def start() -> None:
            games.seed(0)
            games.reset()

        return start, games.step, lambda: games.env_method("action_masks"), np.asarray

    def _torchrl(self, **options: Any) -> Any:
        import torch

        from tensor_envs.adapters.torchrl import SingleAgentTorchEnv

        games, data = SingleAgentTorchEnv(self.env, **options), dict[str, Any]()

        def start() -> None:
            games.set_seed(0)
            data["now"] = games.reset()

        def advance(actions: Any) -> None:
            data["now"]["action"] = actions
            data["now"] = games.step_and_maybe_reset(data["now"])[1]

        return start, advance, lambda: data["now"]["action_mask"].numpy(), torch.from_numpy

    def play(self) -> None:
        if self.turn == 0:
            self.start()
        self.advance(self.actions[self.turn])
        self.turn = (self.turn + 1) % TURNS


def reader(te: Any, job: dict[str, Any]) -> Reader:
    return (Adapter if job["system"] in ("gymnasium", "sb3", "torchrl") else Reader)(te, job)
