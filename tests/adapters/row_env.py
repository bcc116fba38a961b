"""One row of a batch as a plain Gymnasium environment: the loop that the adapter is compared with."""

import functools
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.adapters.spaces import observation_space
from tensor_envs.rules.chance import threefry

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


def drawn_seat(seats: list[int], seed: int, row: int, episode: int) -> int:
    """Return the learner's seat: the number -2 of the uniform policy's random numbers draws it."""
    key = threefry((seed % 2**32, seed >> 32), (row, 2**32 - 1))
    return seats[int(threefry(key, (2**32 - 2, episode))[0].value) * len(seats) >> 32]


class RowEnv(gymnasium.Env[np.ndarray, Any]):
    """Row of a seed's games; `choose` plays the other players. SyncVectorEnv resets row r with the seed plus r.

    A list of players is drawn from in every episode; `limit` decisions truncate a game; `start` holds every row's
    position for the episode after a reset.
    """

    over: bool

    def __init__(
        self,
        env: te.Env,
        row: int,
        player: int | list[int],
        choose: Choose = uniform,
        limit: int | None = None,
        start: list[dict[str, Any]] | None = None,
    ):
        self.env, self.row, self.choose, self.limit, self.start = env, row, choose, limit, start
        self.seats = player if isinstance(player, list) else [player]
        self.observation_space = observation_space(env.spec)
        self.action_space = gymnasium.spaces.Discrete(env.num_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is None:
            self.next_episode()
        else:
            self.seed = seed - self.row
            self.state = self.env.init(1, self.seed, first_row=self.row)
            if self.start:
                self.state = self.env.state_from_dicts(self.start, self.seed)[[self.row]]
        while True:
            self.due, self.steps = 0.0, 0
            self.player = drawn_seat(self.seats, self.seed, self.row, int(self.state.episode.item()))
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
        self.steps += 1
        if not self.over and self.steps == self.limit:
            self.truncated = self.over = True
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
        observation = observer(self.env, self.player)(self.state).numpy()[0].astype(self.observation_space.dtype)
        info = {"action_mask": self.now["legal_action_mask"][0].astype(np.int8)}
        return observation, info if len(self.seats) == 1 else info | {"player": self.player}
