"""Other libraries that play some of these games, each in its fastest public way."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np

from benchmark.runner import EpisodeStats, play_first_episodes


class Pgx:
    """Pgx: `pgx.make(id)` with its auto_reset, jitted, with the faster of two samplers; "rollout" is a lax.scan."""

    def __init__(self, pgx: Any, job: dict[str, Any]):
        self.jax, self.numpy = importlib.import_module("jax"), importlib.import_module("jax.numpy")
        self.batch, self.episodes, self.env = job["batch"], job["episodes"], pgx.make(job["game"])
        self.length = job["rollout_steps"] if job["mode"] == "rollout" else 1
        self.steps = self.batch * self.length
        self.reset_step = importlib.import_module("pgx.experimental").auto_reset(self.env.step, self.env.init)
        times = {sampler: self._time(sampler) for sampler in (self._categorical, self._argmax)}
        self.sampler = min(times, key=lambda sampler: times[sampler])
        self.call, self.carry = self._compile(self.sampler, self.length), self._start(self.batch)

    def _categorical(self, key: Any, mask: Any) -> Any:
        return self.jax.random.categorical(key, self.numpy.where(mask, 0.0, -1e9), axis=-1)

    def _argmax(self, key: Any, mask: Any) -> Any:
        return self.numpy.argmax(self.numpy.where(mask, self.jax.random.uniform(key, mask.shape), -1.0), axis=-1)

    def _start(self, batch: int) -> tuple[Any, Any]:
        keys = self.jax.random.split(self.jax.random.PRNGKey(0), batch)
        return self.jax.jit(self.jax.vmap(self.env.init))(keys), self.jax.random.PRNGKey(1)

    def _compile(self, sampler: Any, length: int) -> Any:
        """Compile `length` steps into a function from (state, key) to (state, key)."""
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
        batch = self.episodes
        call, carry = self._compile(self.sampler, 1), self._start(batch)
        first = np.array(carry[0].current_player)

        def step() -> tuple[np.ndarray, np.ndarray]:
            nonlocal carry
            carry = call(*carry)
            state = carry[0]
            over = np.array(state.terminated | state.truncated)
            return np.array(state.rewards)[np.arange(batch), first], over

        return play_first_episodes(batch, step)

    def metadata(self) -> dict[str, Any]:
        return {"configuration": f"actions by {self.sampler.__name__.strip('_')}"}


class EnvPool:
    """A game of EnvPool; NumPy samples actions. A finished game is reset in the step after.

    The number of games (at most the batch), of games per call (asynchronous if smaller) and of threads are those of the
    fastest combination.
    """

    GAMES = (256, 1024, 4096)
    ROUNDS, SECONDS = 3, 0.05  # of the comparison of combinations

    def __init__(self, envpool: Any, job: dict[str, Any]):
        self.envpool, self.random, self.episodes = envpool, np.random.default_rng(0), job["episodes"]
        self.game = job["game"]
        pools = {form: self._start(form) for form in self._forms(job["batch"], job["threads"])}
        rates = dict.fromkeys(pools, 0.0)
        for _ in range(self.ROUNDS):  # in turns, so that other load affects all alike
            for form, games in pools.items():
                rates[form] = max(rates[form], self._rate(games, form[1]))
        self.form = max(rates, key=lambda form: rates[form])
        self.games, self.steps = pools[self.form], self.form[1]
        self.done: list[dict[str, Any]] = []  # calls whose steps are done and which no action has answered yet
        self.wait()

    def _forms(self, batch: int, threads: int) -> list[tuple[int, int, int]]:
        """Return combinations of games, games per call and threads."""
        sizes = sorted({min(batch, games) for games in self.GAMES})
        calls = [(games, games // share) for games in sizes for share in (1, 2) if games % share == 0]
        return [(*call, count) for call in calls for count in sorted({1, threads})]

    def _start(self, form: tuple[int, int, int]) -> Any:
        made = dict(zip(("num_envs", "batch_size", "num_threads"), form, strict=True))
        games = self.envpool.make_gymnasium(self.game, **made)
        games.async_reset()
        return games

    def _rate(self, games: Any, call: int) -> float:
        count, start = 0, time.perf_counter()
        while (took := time.perf_counter() - start) < self.SECONDS:
            self._answer(games, games.recv()[-1])
            count += call
        return count / took

    def _draw(self, mask: np.ndarray) -> np.ndarray:
        noise = self.random.random(mask.shape, dtype=np.float32)
        return np.where(mask, noise, -1).argmax(1).astype(np.int32)

    def _answer(self, games: Any, info: dict[str, Any]) -> None:
        games.send(self._draw(info["legal_action_mask"]), info["env_id"])

    def play(self) -> None:
        self._answer(self.games, self.done.pop(0) if self.done else self.games.recv()[-1])

    def wait(self) -> None:
        """Wait for every game: steps in flight would be made, unmeasured, while other libraries are measured."""
        games, call, _ = self.form
        while len(self.done) < games // call:
            self.done.append(self.games.recv()[-1])

    def episode_stats(self) -> EpisodeStats:
        batch = self.episodes
        # several threads would return rewards in the order of completion (EnvPool 1.2)
        games = self.envpool.make_gymnasium(self.game, num_envs=batch, num_threads=1)
        info = games.reset()[1]
        mask, first = info["legal_action_mask"], info.get("current_player", 0)  # a game of one player has none

        def step() -> tuple[np.ndarray, np.ndarray]:
            nonlocal mask
            _, rewards, terminated, truncated, info = games.step(self._draw(mask))
            mask = info["legal_action_mask"]
            return rewards.reshape(batch, -1)[np.arange(batch), first], terminated | truncated

        return play_first_episodes(batch, step)

    def metadata(self) -> dict[str, Any]:
        games, call, threads = self.form
        return {"configuration": f"{games:,} games, {call:,} a call, threads: {threads}"}


class OpenSpiel:
    """OpenSpiel's Python API, one game at a time; "rollout" is its search's C++ random rollouts.

    A chance event is no step. Games that begin with chance have no rollouts.
    """

    GAMES, STEPS = 2000, 1000

    def __init__(self, pyspiel: Any, job: dict[str, Any]):
        self.pyspiel, self.rollout, self.episodes = pyspiel, job["mode"] == "rollout", job["episodes"]
        self.game, self.random = pyspiel.load_game(job["game"]), np.random.default_rng(0)
        self.steps = self.STEPS
        self.state = self._start()
        if self.rollout and self.state.move_number():
            raise ValueError("its search takes no game that begins with chance")

    def _start(self) -> Any:
        state = self.game.new_initial_state()
        self._draw(state)
        return state

    def _draw(self, state: Any) -> None:
        while state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            drawn = np.searchsorted(np.cumsum(chances), self.random.random() * sum(chances))
            state.apply_action(outcomes[drawn])

    def _step(self) -> None:
        legal = self.state.legal_actions()
        self.state.apply_action(legal[int(self.random.random() * len(legal))])
        self._draw(self.state)

    def _search(self, games: int) -> Any:
        evaluator = self.pyspiel.RandomRolloutEvaluator(games, 1)
        return self.pyspiel.MCTSBot(self.game, evaluator, 1.0, 1, 1, False, 1, False)

    def play(self) -> None:
        if self.rollout:  # one simulation of a search plays GAMES rollouts from its root
            self._search(self.GAMES).mcts_search(self._start())
            return
        for _ in range(self.steps):
            self._step()
            if self.state.is_terminal():
                self.state = self._start()

    def wait(self) -> None:
        """Return at once: OpenSpiel is synchronous."""

    def episode_stats(self) -> EpisodeStats:
        stats = EpisodeStats(self.episodes)
        for i in range(self.episodes):
            self.state = self._start()
            while not self.state.is_terminal():
                self._step()
                stats.lengths[i] += 1
            stats.first_rewards[i] = self.state.returns()[0]
        stats.playing[:] = False
        if self.rollout:  # rollouts report no lengths
            self.steps = int(self.GAMES * stats.lengths.mean())
        self.state = self._start()
        return stats

    def metadata(self) -> dict[str, Any]:
        how = f"its C++ loop, {self.GAMES:,} games a call" if self.rollout else "Python, one game"
        return {"configuration": how}
