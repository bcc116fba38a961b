"""Other libraries that play 3x3 tic-tac-toe, each by its own fastest way that its users have."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np

from benchmark.runner import MIN_EPISODES, EpisodeStats, play_first_episodes


class Pgx:
    """`pgx.make(id)` with its auto_reset, jitted, the faster of two samplers; "rollout" is a lax.scan of the same."""

    def __init__(self, pgx: Any, job: dict[str, Any]):
        self.jax, self.numpy = importlib.import_module("jax"), importlib.import_module("jax.numpy")
        self.batch, self.env = job["batch"], pgx.make(job["env"])
        self.length = job["rollout_steps"] if job["mode"] == "rollout" else 1
        self.steps = self.batch * self.length
        self.reset_step = importlib.import_module("pgx.experimental").auto_reset(self.env.step, self.env.init)
        times = {sampler: self._time(sampler) for sampler in (self._categorical, self._argmax)}
        self.sampler = min(times, key=lambda sampler: times[sampler])
        self.call, self.carry = self._compile(self.sampler, self.length), self._start(self.batch)

    def _categorical(self, key: Any, mask: Any) -> Any:
        return self.jax.random.categorical(key, self.numpy.where(mask, 0.0, -1e9), axis=-1)

    def _argmax(self, key: Any, mask: Any) -> Any:
        return self.numpy.argmax(
            self.numpy.where(mask, self.jax.random.uniform(key, mask.shape), -1.0), axis=-1
        )

    def _start(self, batch: int) -> tuple[Any, Any]:
        keys = self.jax.random.split(self.jax.random.PRNGKey(0), batch)
        return self.jax.jit(self.jax.vmap(self.env.init))(keys), self.jax.random.PRNGKey(1)

    def _compile(self, sampler: Any, length: int) -> Any:
        """A jitted function (state, key) -> (state, key) of `length` steps."""
        jax = self.jax

        def step(carry: tuple[Any, Any], _: Any = None) -> tuple[tuple[Any, Any], None]:
            state, key = carry
            key, draw, reset = jax.random.split(key, 3)
            mask = state.legal_action_mask
            state = jax.vmap(self.reset_step)(state, sampler(draw, mask), jax.random.split(reset, len(mask)))
            return (state, key), None

        def steps(state: Any, key: Any) -> Any:
            if length == 1:
                return step((state, key))[0]
            return jax.lax.scan(step, (state, key), None, length=length)[0]

        return jax.jit(steps, donate_argnums=(0, 1))

    def _time(self, sampler: Any) -> float:
        call, carry = self._compile(sampler, 1), self._start(self.batch)
        carry = self.jax.block_until_ready(call(*carry))
        start = time.perf_counter()
        for _ in range(max(10, 200_000 // self.batch)):
            carry = call(*carry)
        self.jax.block_until_ready(carry)
        return time.perf_counter() - start

    def play(self) -> None:
        self.carry = self.call(*self.carry)

    def wait(self) -> None:
        self.jax.block_until_ready(self.carry)

    def episode_stats(self) -> EpisodeStats:
        batch = max(self.batch, MIN_EPISODES)
        call, carry = self._compile(self.sampler, 1), self._start(batch)
        first = np.array(carry[0].current_player)

        def step() -> tuple[np.ndarray, np.ndarray]:
            nonlocal carry
            carry = call(*carry)
            state = carry[0]
            return np.array(state.rewards)[np.arange(batch), first], np.array(state.terminated)

        return play_first_episodes(batch, step)

    def about(self) -> dict[str, Any]:
        return {"sampler": self.sampler.__name__.strip("_")}


class EnvPool:
    """`TicTacToe-v1` on one thread; actions are drawn by NumPy. A finished game starts again in the step after."""

    def __init__(self, envpool: Any, job: dict[str, Any]):
        self.envpool, self.batch = envpool, job["batch"]
        self.steps, self.random = self.batch, np.random.default_rng(0)
        self.games, self.mask, self.first = self._start(self.batch)

    def _start(self, batch: int) -> tuple[Any, np.ndarray, np.ndarray]:
        games = self.envpool.make_gymnasium("TicTacToe-v1", num_envs=batch, num_threads=1)
        info = games.reset()[1]
        return games, info["legal_action_mask"], info["current_player"]

    def _draw(self, mask: np.ndarray) -> np.ndarray:
        noise = self.random.random(mask.shape, dtype=np.float32)
        return np.where(mask, noise, -1).argmax(1).astype(np.int32)

    def play(self) -> None:
        self.mask = self.games.step(self._draw(self.mask))[-1]["legal_action_mask"]

    def wait(self) -> None:
        """Its steps are done when they return."""

    def episode_stats(self) -> EpisodeStats:
        batch = max(self.batch, MIN_EPISODES)
        games, mask, first = self._start(batch)

        def step() -> tuple[np.ndarray, np.ndarray]:
            nonlocal mask
            _, rewards, terminated, _, info = games.step(self._draw(mask))
            mask = info["legal_action_mask"]
            return rewards.reshape(batch, 2)[np.arange(batch), first], terminated

        return play_first_episodes(batch, step)

    def about(self) -> dict[str, Any]:
        return {}


class OpenSpiel:
    """Its Python API, game after game; "rollout" is its C++ random rollouts, as many games as a search wants."""

    GAMES, MEAN_LENGTH = 20_000, 3203 / 420  # a rollout call reports no lengths, but that of 3x3 is known

    def __init__(self, pyspiel: Any, job: dict[str, Any]):
        self.pyspiel, self.rollout = pyspiel, job["mode"] == "rollout"
        self.game, self.random = pyspiel.load_game(job["env"]), np.random.default_rng(0)
        self.steps = int(self.GAMES * self.MEAN_LENGTH) if self.rollout else 1000
        self.state = self.game.new_initial_state()

    def _step(self) -> None:
        legal = self.state.legal_actions()
        self.state.apply_action(legal[int(self.random.random() * len(legal))])

    def _search(self, games: int) -> Any:
        evaluator = self.pyspiel.RandomRolloutEvaluator(games, 1)
        return self.pyspiel.MCTSBot(self.game, evaluator, 1.0, 1, 1, False, 1, False)

    def play(self) -> None:
        if self.rollout:  # a search of one simulation is so many rollouts from its root
            self._search(self.GAMES).mcts_search(self.game.new_initial_state())
            return
        for _ in range(self.steps):
            self._step()
            if self.state.is_terminal():
                self.state = self.game.new_initial_state()

    def wait(self) -> None:
        """Its steps are done when they return."""

    def episode_stats(self) -> EpisodeStats:
        stats = EpisodeStats(MIN_EPISODES)
        for i in range(MIN_EPISODES):
            self.state = self.game.new_initial_state()
            while not self.state.is_terminal():
                self._step()
            stats.lengths[i], stats.first_rewards[i] = self.state.move_number(), self.state.returns()[0]
        stats.playing[:] = False
        self.state = self.game.new_initial_state()
        return stats

    def about(self) -> dict[str, Any]:
        return {}
