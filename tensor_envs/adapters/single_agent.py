"""Batches of games for one player: a policy plays the other players between its decisions."""

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
    """One player of B games; a policy plays the other players.

    Between calls every game is over or the player is to move. A call is one kernel launch. A policy that is a function,
    or a game with memory fields, takes one more launch for each consecutive action of the other players.

    Attributes:
        observation: observations of the player [B, *shape], int8 for bool. This and all that follow are new
            arrays after each call.
        action_mask: legal actions of the player, int8 [B, A].
        rewards: the player's rewards since its last decision, opening included, float64 [B]; 0 at an episode's start.
        terminated, truncated: how games have ended, bool [B].
        over: whether games have ended, bool [B]; read-only.
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
        self._layout = layout = batch_layout(batch, resolve(device))
        self._actions = HostBuffer(layout, 1, dtypes.int32)
        self._tally = HostBuffer(layout, 4, dtypes.float32)
        self._mask = HostBuffer(layout, env.num_actions, dtypes.int8)
        self._observation = observation_buffer(env, layout)
        self.over = np.zeros(batch, np.bool_)

    def begin(self, seed: int) -> None:
        """Start new games; row r is game r of the seed."""
        engine = self.env.engine
        games = self.env.init(self.batch, seed, self._layout.device).buffers
        memory = engine.game.has_memory
        both = [games, games._replace(words=engine.empty(games))] if memory else [games]
        others = None if self._policy is None else engine.empty(games)
        # arrays of the next launch and of the one after it: one buffer in place, or two in turn
        self._launches = [self._arrays(new, old, others) for old, new in zip(both, both[::-1], strict=True)]
        self._bound: Launch | None = None
        self._advance(np.full(self.batch, until.OPEN, np.int32))
        if len(both) == 1:
            self._bound = engine.bind(self._kernel, self._layout, self._launches[0])

    def _arrays(self, new: BatchBuffers, old: BatchBuffers, others: Tensor | None) -> PlayUntil.Arrays:
        table = self.env.engine.table(self._layout)
        seen = ObservationArrays(self._observation.tensor, self._mask.tensor, table)
        before = None if new is old else old.words
        return PlayUntil.Arrays(new.words, before, new.row_keys, self._actions.tensor, self._tally.tensor, seen, others)

    def restart(self, rows: np.ndarray) -> None:
        """Start the next episode where `rows`, bool [B], is True."""
        self._advance(np.where(rows, np.int32(until.BEGIN), np.int32(until.LEAVE)))

    def step(self, action: Any) -> None:
        """Play an action of the player in every game, then the other players until the player is to move again.

        A game that is over starts its next episode instead, with reward 0.
        """
        if isinstance(action, Tensor) or self.env.illegal == "raise":
            action = self._host_actions(self._state(self._launches[-1].new), action)
        self._advance(np.maximum(host_ints("action", action, self.batch), until.PASS))

    def _host_actions(self, state: State, action: Any) -> np.ndarray:
        """Return actions as a host array [B]; see `Env.step` for the errors."""
        return self._layout.table(self.env.action_buffer(state, action))[:, 0]

    def _advance(self, commands: np.ndarray) -> None:
        """Run a command for each game, see `PlayUntil`, until no game waits for the other players."""
        status = self._launch(commands)
        if self._policy is not None:
            while (waits := status == until.OTHERS_TO_MOVE).any():
                state = self._state(self._launches[-1].others)
                chosen = np.maximum(self._host_actions(state, self._policy(state)), until.PASS)
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

    def _launch(self, commands: np.ndarray) -> np.ndarray:
        """Launch one kernel and return the status of every game [B]."""
        self._actions.write(commands)
        if self._bound is None:
            self.env.engine.run(self._kernel, self._layout, self._launches[0])
        else:
            self._bound()
        self._launches.reverse()
        self._tally.wait()
        return self._tally.column(until.STATUS)

    def _state(self, words: Tensor) -> State:
        return State(self.env, BatchBuffers(words, self._launches[0].row_keys, self.batch))

    @property
    def state(self) -> State:
        """A snapshot of all games."""
        now = self._state(self._launches[-1].new).buffers
        return State(self.env, self.env.engine.copy(now, live=False))
