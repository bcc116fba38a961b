"""League of self-play: in a share of the games, past selves of the network in training play all seats but one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._runtime.buffers import upload
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._runtime.jitted import jit
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.search.outputs import Evaluate
from tensor_envs.search.tree import SearchOutput
from tensor_envs.train.config import TrainingConfig
from tensor_envs.train.network import evaluator, network_inputs
from tensor_envs.train.trainable import TrainableNetwork, check_shape

Weights = dict[str, np.ndarray]
PastSelves = list[tuple[int, Weights]]  # the step and the weights of each past self


class League:
    """Past selves as opponents of the learner, with the results of the games against them.

    Every past self is a member of the league and plays the same number of games. Their rows are spread evenly over the
    batch. In each of these games the learner has one seat, which moves on with every episode, and the member has all
    others.

    Attributes:
        pool: step and weights of every member; empty before the first step.
        rows: rows of the league's games, ordered by member, int [n].
    """

    def __init__(self, env: Env, config: TrainingConfig, device: str, make: Callable[[], TrainableNetwork]):
        """Make a network for each member; `set_pool` assigns their weights.

        Args:
            env: the environment.
            config: settings of the training.
            device: device of the games.
            make: function that returns a network like the one in training.

        Raises:
            ValueError: the game has one player, or the members' share of the games is too small or too large.
        """
        size = config.league_size
        games = config.num_envs
        per_member = round(config.league_share * games / size)
        if env.num_players == 1:
            raise ValueError(f"league_share must be 0 in a game for one, got {config.league_share} for {env!r}")
        if not 0 < per_member * size < games:
            raise ValueError(
                f"league_share must give each of {size} past selves (league_size) a game and leave one for self-play, "
                f"of {games} games (num_envs), got {config.league_share}"
            )
        self.env = env
        self.interval = config.league_steps
        self.pool: PastSelves = []
        self.members = [make() for _ in range(size)]
        spread = np.arange(per_member * size) * games // (per_member * size)
        self.rows = spread.reshape(per_member, size).T.flatten()
        # the learner's seat in episode 0
        first_seat = np.zeros(games, np.int32)
        first_seat[self.rows] = np.arange(per_member * size) % per_member
        is_self_play = np.ones(games, bool)
        is_self_play[self.rows] = False
        self._seats_on_host = first_seat, is_self_play
        self._seats_on_device = tuple(upload(array, device) for array in self._seats_on_host)
        self._index = upload(self.rows.astype(np.int32), device)
        # For each game, the row of its log-probabilities in the learner's followed by the league's, see `mixed`.
        order = np.arange(games, dtype=np.int32)
        order[self.rows] = games + np.arange(per_member * size)
        self._order = upload(order, device)
        # The learner's returns so far. NaN: the game began before its member joined, so its result does not count.
        self.returns = np.full(per_member * size, np.nan, np.float32)
        self.results: dict[int, list[float]] = {}  # returns of finished games by the member's step
        self.inputs = jit(self._inputs)
        # A network that can be captured evaluates the games of all members in one search. Others search one by one.
        self.evaluations: list[Evaluate] = [member.evaluate for member in self.members]
        if self.members[0].is_capturable:
            self.evaluations = [evaluator(env, self, config.value_scale)]

    # *** members ***

    def add(self, step: int, weights: Callable[[], Weights]) -> bool:
        """Replace the oldest member by the network of this step, if a new member is due.

        In an empty pool, the network becomes all members.

        Args:
            step: step of the training.
            weights: function that returns the network's weights.

        Returns:
            Whether a new member was due.
        """
        if self.pool and step % self.interval:
            return False
        new = step, weights()
        pool = list(self.pool) or [new] * len(self.members)
        pool[step // self.interval % len(pool)] = new
        self.set_pool(pool)
        return True

    def set_pool(self, pool: PastSelves) -> None:
        """Replace the pool. Games in progress do not count for a member that is replaced."""
        old_steps: list[Any] = [step for step, _ in self.pool] or [None] * len(pool)
        for member, (step, weights) in enumerate(pool):
            if step != old_steps[member]:
                self.members[member].assign_weights(weights)
                self.returns.reshape(len(pool), -1)[member] = np.nan
        self.pool = pool

    # *** play ***

    def decides(self, player: Any, episode: Any) -> Any:
        """Return whether the learner decides, bool [B].

        Args:
            player: players to move, array or Tensor [B].
            episode: episodes, array or Tensor [B].
        """
        first_seat, is_self_play = self._seats_on_device if isinstance(player, Tensor) else self._seats_on_host
        return is_self_play | ((first_seat + episode) % self.env.num_players == player)

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return each member's log-probabilities and values in its own games, [n, A] and [n] in the order of `rows`."""
        size = len(self.members)
        parts = zip(self.members, observation.chunk(size), mask.chunk(size), strict=True)
        logs, values = zip(*(member(*part) for member, *part in parts), strict=True)
        return Tensor.cat(*logs), Tensor.cat(*values)

    def logs(self, state: State) -> list[Tensor]:
        """Return each member's log-probabilities in its own games, [n / members, A]."""
        return [member(*part)[0] for member, part in zip(self.members, self.inputs(state), strict=True)]

    def _inputs(self, state: State) -> list[tuple[Tensor, Tensor]]:
        """Return the observations and masks of each member's games."""
        size = len(self.members)
        observation, mask = network_inputs(self.env, self.env.take(state, self._index))
        parts = zip(observation.chunk(size), mask.chunk(size), strict=True)
        return [(own.contiguous(), legal.contiguous()) for own, legal in parts]

    def learners(self, state: State) -> Tensor:
        """Return whether the learner decides in each game, bool [B, 1]."""
        return self.decides(state.current_player, state.episode.cast(dtypes.int32)).reshape(-1, 1)

    def mixed(self, state: State, logs: Tensor, past: list[Tensor]) -> Tensor:
        """Return the log-probabilities of the learner where it decides, and else of the member, [B, A].

        Args:
            state: the games.
            logs: log-probabilities of the learner, [B, A].
            past: log-probabilities of the members, as from `logs`.
        """
        return self.learners(state).where(logs, Tensor.cat(logs, *past)[self._order])

    def actions(self, state: State, search: Callable[[State, Evaluate, int], SearchOutput], seed: int) -> np.ndarray:
        """Return the actions that the members' searches choose in the league's games, int [B]; others have 0."""
        actions = np.zeros(state.batch, np.int32)
        for rows, evaluate in zip(np.split(self.rows, len(self.evaluations)), self.evaluations, strict=True):
            actions[rows] = to_numpy(search(state[rows], evaluate, seed).action)
        return actions

    # *** results ***

    def record(self, episode: np.ndarray, rewards: np.ndarray, ended: np.ndarray) -> None:
        """Record a step of all games.

        Args:
            episode: episodes before the step, int [B].
            rewards: rewards of every player, [B, P].
            ended: whether the step ended the game, bool [B].
        """
        rows = self.rows
        seat = (self._seats_on_host[0] + episode)[rows] % self.env.num_players
        self.returns += rewards[rows, seat]
        per_member = len(rows) // len(self.members)
        for game in np.flatnonzero(ended[rows] & ~np.isnan(self.returns)):
            self.results.setdefault(self.pool[game // per_member][0], []).append(self.returns[game])
        self.returns[ended[rows]] = 0

    def metrics(self) -> dict[str, float]:
        """Return the learner's mean returns against members in the games that ended since the last call."""
        means = {f"league_return_{step}": float(np.mean(self.results[step])) for step in sorted(self.results)}
        self.results = {}
        return means

    # *** files ***

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state of the league for a file."""
        arrays: Weights = {"returns": self.returns, "steps": np.array([step for step, _ in self.pool], np.int64)}
        return arrays | {f"{k}.{name}": w for k, (_, weights) in enumerate(self.pool) for name, w in weights.items()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `arrays` returned. KeyError or ValueError if it does not fit."""
        steps = arrays["steps"].tolist()
        if len(steps) not in (0, len(self.members)):
            raise ValueError(f"its league has {len(steps)} members instead of {len(self.members)}")
        names = self.members[0].weights()
        self.pool = []
        pool = []
        for k, step in enumerate(steps):
            weights = {name: np.array(arrays[f"{k}.{name}"]) for name in names}
            for name, own in names.items():
                check_shape(f"league.{k}.{name}", weights[name], own.shape)
            pool.append((step, weights))
        self.set_pool(pool)
        check_shape("league.returns", arrays["returns"], self.returns.shape)
        self.returns = np.array(arrays["returns"])
