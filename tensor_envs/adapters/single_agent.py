"""Games as one player meets them: it moves, the others answer by a policy until it is to move again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.capture import Launch
from tensor_envs._compiler.devices import resolve
from tensor_envs._engine.batch_layout import BatchBuffers, batch_layout
from tensor_envs._engine.inputs import host_ints
from tensor_envs._engine.kernels import until
from tensor_envs._engine.kernels.observe import ObservationArrays
from tensor_envs._engine.kernels.until import PlayUntil
from tensor_envs._validate import instance, integer
from tensor_envs.adapters.host import HostBuffer, observation_buffer
from tensor_envs.env import Env
from tensor_envs.sampling import uniform
from tensor_envs.state import State

Policy = Callable[[State], Any]  # -> integers [B], a Tensor or what NumPy takes


class SingleAgent:
    """One player of B games, whose other players are played by a policy.

    Between calls every game is over or has the player to move. Every call is one kernel; for a policy that is a
    function, or a game with memory fields, one more for every action of the others in a row.

    Attributes:
        observation: [B, *shape], int8 for bool: what the player sees. Like all that follow a new array at every call.
        action_mask: int8 [B, A]: what it may do.
        rewards: float64 [B]: what it was paid since its last decision, opening included; 0 at an episode's start.
        terminated, truncated: bool [B]: which games are over.
        over: bool [B]: the same, for reading alone.
    """

    observation: np.ndarray
    action_mask: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    def __init__(self, env: Env, batch: int, player: int, policy: str | Policy, device: Any):
        instance("env", env, Env)
        if not callable(policy) and policy != "uniform":
            raise ValueError(f"policy must be 'uniform' or a function of a State, got {policy!r}")
        self.env, self.batch, self.player = env, batch, integer("player", player, 0, env.num_players - 1)
        in_kernel = not callable(policy) and not env.engine.game.has_memory
        self._policy = None if in_kernel else policy if callable(policy) else uniform
        self._kernel = PlayUntil(self.player, in_kernel)
        self._cut = where = batch_layout(batch, resolve(device))
        self._actions = HostBuffer(where, 1, dtypes.int32)
        self._tally = HostBuffer(where, 4, dtypes.float32)
        self._mask = HostBuffer(where, env.num_actions, dtypes.int8)
        self._observation = observation_buffer(env, where)
        self.over = np.zeros(batch, np.bool_)

    def begin(self, seed: int) -> None:
        """New games, row r being game r of the seed."""
        engine = self.env.engine
        games = self.env.init(self.batch, seed, self._cut.device).buffers
        memory = engine.game.has_memory
        both = [games, games._replace(words=engine.empty(games))] if memory else [games]
        others = None if self._policy is None else engine.empty(games)
        # of the next launch, of the one after it: in place, or between two buffers
        self._turns = [self._arrays(new, old, others) for old, new in zip(both, both[::-1], strict=True)]
        self._bound: Launch | None = None
        self._advance(np.full(self.batch, until.OPEN, np.int32))
        if len(both) == 1:
            self._bound = engine.bind(self._kernel, self._cut, self._turns[0])

    def _arrays(self, new: BatchBuffers, old: BatchBuffers, others: Tensor | None) -> PlayUntil.Arrays:
        table = self.env.engine.table(self._cut)
        seen = ObservationArrays(self._observation.tensor, self._mask.tensor, table)
        before = None if new is old else old.words
        return PlayUntil.Arrays(
            new.words, before, new.row_keys, self._actions.tensor, self._tally.tensor, seen, others
        )

    def restart(self, rows: np.ndarray) -> None:
        """Start the next episode where `rows`, bool [B], is True."""
        self._advance(np.where(rows, np.int32(until.BEGIN), np.int32(until.LEAVE)))

    def step(self, action: Any) -> None:
        """Play an action of the player's in every game, and the others' answers.

        In a game that is over its next episode begins instead, with reward 0.
        """
        if isinstance(action, Tensor) or self.env.illegal == "raise":
            action = self._given(self._state(self._turns[-1].new), action)
        self._advance(np.maximum(host_ints("action", action, self.batch), until.PASS))

    def _given(self, state: State, action: Any) -> np.ndarray:
        return self._cut.table(self.env.action_buffer(state, action))[:, 0]

    def _advance(self, what: np.ndarray) -> None:
        """Do `what` says with the games, see `PlayUntil`, until nobody waits for the others."""
        status = self._launch(what)
        if self._policy is not None:
            while (waits := status == until.OTHERS_TO_MOVE).any():
                state = self._state(self._turns[-1].others)
                chosen = np.maximum(self._given(state, self._policy(state)), until.PASS)
                status = self._launch(np.where(waits, chosen, np.int32(until.LEAVE)))
        self.over = status != until.TO_MOVE
        if (status == until.NO_DECISION).any():
            row = (status == until.NO_DECISION).argmax()
            raise RuntimeError(
                f"{until.OPENINGS} games in a row ended before player {self.player} could move, in row {row}"
            )
        self.terminated, self.truncated = status == until.TERMINATED, status == until.TRUNCATED
        self.rewards = self._tally.column(until.REWARD).astype(np.float64)
        self.observation = self._observation.rows(self.batch, *self.env.observation_shape)
        self.action_mask = self._mask.rows(self.batch, self.env.num_actions)

    def _launch(self, what: np.ndarray) -> np.ndarray:
        """One kernel -> its status."""
        self._actions.write(what)
        if self._bound is None:
            self.env.engine.run(self._kernel, self._cut, self._turns[0])
        else:
            self._bound()
        self._turns.reverse()
        self._tally.wait()
        return self._tally.column(until.STATUS)

    def _state(self, words: Tensor) -> State:
        return State(self.env, BatchBuffers(words, self._turns[0].row_keys, self.batch))

    @property
    def state(self) -> State:
        """The state of all games: a snapshot."""
        now = self._state(self._turns[-1].new).buffers
        return State(self.env, self.env.engine.copy(now, live=False))
