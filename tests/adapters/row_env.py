"""One row of a batch as a plain Gymnasium environment: the loop that the adapter is compared with."""

import functools
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.adapters.spaces import observation_space

Choose = Callable[[te.State], np.ndarray]


def uniform(state: te.State) -> np.ndarray:
    return te.agents.uniform(state).numpy()


def random_actions(info: dict[str, Any], rng: np.random.Generator, illegal: float = 0.0) -> np.ndarray:
    """Return random legal actions, a share of illegal ones, and 0 where no action is legal."""
    noise = rng.random(info["action_mask"].shape)
    return (noise * (info["action_mask"] | (rng.random((len(noise), 1)) < illegal))).argmax(1)


@functools.cache
def observer(env: te.Env, player: int) -> Callable[[te.State], Tensor]:
    """Return a captured function that observes a state: an uncaptured one takes a hundred times as long."""
    watch: Callable[[te.State], Tensor] = te.jit(lambda state: env.observe(state, player))
    return watch


class RowEnv(gymnasium.Env[np.ndarray, Any]):
    """Row of a seed's games; `choose` plays the other players. SyncVectorEnv resets row r with the seed plus r."""

    def __init__(self, env: te.Env, row: int, player: int, choose: Choose = uniform):
        self.env, self.row, self.player, self.choose = env, row, player, choose
        self.observe = observer(env, player)
        self.observation_space = observation_space(env.spec)
        self.action_space = gymnasium.spaces.Discrete(env.num_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is None:
            self.next_episode()
        else:
            self.state = self.env.init(1, seed - self.row, first_row=self.row)
        while True:
            self.due = 0.0
            self.others_move()
            if not self.over:
                return self.seen()
            self.next_episode()

    def next_episode(self) -> None:
        self.state = self.env.reset(self.state, [True])

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert not self.over
        self.play(int(action))
        self.others_move()
        reward, self.due = self.due, 0.0
        observation, info = self.seen()
        return observation, reward, self.terminated, self.truncated, info

    def others_move(self) -> None:
        self.read()
        while not self.over and self.now["current_player"][0] != self.player:
            self.play(int(self.choose(self.state)[0]))

    def play(self, action: int) -> None:
        self.state = self.env.step(self.state, [action])
        self.read()
        self.due += float(self.now["rewards"][0, self.player])

    def read(self) -> None:
        self.now = self.state.numpy()
        self.terminated, self.truncated = (bool(self.now[name][0]) for name in ("terminated", "truncated"))
        self.over = self.terminated or self.truncated

    def seen(self) -> tuple[np.ndarray, dict[str, Any]]:
        observation = self.observe(self.state).numpy()[0].astype(self.observation_space.dtype)
        return observation, {"action_mask": self.now["legal_action_mask"][0].astype(np.int8)}
