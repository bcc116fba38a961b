"""Games whose arrays live on the host, and batches of games for one player."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler.capture import Launch
from tensor_envs._compiler.devices import DeviceName, cached_upload, download, host_memory, resolve, write
from tensor_envs._compiler.threads import synchronize
from tensor_envs._engine.batch_layout import BatchBuffers, BatchLayout, batch_layout
from tensor_envs._engine.inputs import host_ints
from tensor_envs._engine.kernels import until
from tensor_envs._engine.kernels.observe import DTYPES, Observe, Outputs
from tensor_envs._engine.kernels.until import PlayUntil
from tensor_envs._validate import instance, integer
from tensor_envs.env import Env
from tensor_envs.sampling import uniform
from tensor_envs.state import State
from tensor_envs.vector import VectorEnv

if TYPE_CHECKING:
    from tensor_envs.agents import Policy


class HostBuffer:
    """A device buffer of some values for each game. On CPU devices the host uses its memory itself, after `wait`."""

    def __init__(self, layout: BatchLayout, values: int, dtype: DType):
        self.tensor, self._layout = layout.empty(values, dtype), layout
        self._memory = host_memory(self.tensor)

    def __reduce__(self) -> Any:
        """Refuse to copy or pickle: kernels are bound to the memory."""
        raise TypeError(
            "an adapter's games cannot be copied or pickled: make another environment and reset it with the same seed"
        )

    def wait(self) -> None:
        """Wait for the kernels that use the memory."""
        synchronize(self._layout.device)

    def _parts(self) -> list[np.ndarray]:
        """Return the values on every device."""
        return self._memory or np.split(download(self.tensor), self._layout.shards)

    def rows(self, *shape: int) -> np.ndarray:
        """Return the batch's values, stored game by game, as a new array of this shape."""
        grid, share = self._layout.grid, self._layout.share
        return np.concatenate([part.reshape(grid.rows, -1)[:share] for part in self._parts()]).reshape(shape)

    def column(self, k: int) -> np.ndarray:
        """Return value k of every game as a new array [B]; the values are stored by lanes."""
        grid, share = self._layout.grid, self._layout.share
        blocks = (part.reshape(grid.blocks, -1, grid.lanes)[:, k] for part in self._parts())
        return np.concatenate([part.reshape(-1)[:share] for part in blocks])

    def write(self, values: np.ndarray) -> None:
        """Write one value for each game; padding may keep old values."""
        if not self._memory:
            write(self.tensor, self._layout.padded(values))
        for part, piece in zip(self._memory, values.reshape(self._layout.shards, -1), strict=False):
            part[: self._layout.share] = piece


def observation_buffer(env: Env, layout: BatchLayout) -> HostBuffer:
    """Return a buffer for observations; int8 stands for bool."""
    dtype = DTYPES[env.spec.observation_dtype]
    return HostBuffer(layout, math.prod(env.observation_shape), dtypes.int8 if dtype is dtypes.bool else dtype)


class HostGame:
    """One game that is stepped in place and read on the host.

    Attributes:
        rewards: of the last step, for every player.
        mask: legal actions, int8 [A].
        terminated, truncated, over: how the game has ended, and whether it has.
    """

    def __init__(self, env: Env, seed: int, device: DeviceName):
        self.env, self._vector = env, VectorEnv(env, 1, seed, device, "disabled")
        self._layout = self._vector.buffers.layout
        self._observation = observation_buffer(env, self._layout)
        self._bound_to: Tensor | None = None
        self._observe: list[Launch] = []
        self._read()

    @property
    def state(self) -> State:
        """A snapshot of the game as a State of batch 1."""
        return self._vector.state

    def restart(self) -> None:
        """Start the next episode."""
        self._vector.reset([True])
        self._read()

    def step(self, action: int) -> None:
        """Play an action."""
        self._vector.step([action])
        self._read()

    def copy(self, game: HostGame) -> None:
        """Replace the position by that of another game of the same environment."""
        self._vector.state = game.state
        self._read()

    def _read(self) -> None:
        layout = self.env.engine.layout
        self._words = words = self._layout.table(self._vector.buffers.words)[0]
        self.rewards: list[float] = words[layout.rewards : layout.mask].view(np.float32).tolist()
        bits = words[layout.mask :].astype("<u4").view(np.uint8)
        self.mask = np.unpackbits(bits, count=self.env.num_actions, bitorder="little").view(np.int8)
        self.terminated, self.truncated = (bool(self.number(name)) for name in ("terminated", "truncated"))
        self.over = self.terminated or self.truncated

    def number(self, name: str) -> int:
        """Return the value of a field that is a single number."""
        slot = self.env.engine.layout.slots[name][0]
        return (int(self._words[slot.word]) >> slot.shift & (1 << slot.width) - 1) + slot.low

    def observe(self, player: int) -> np.ndarray:
        """Return the observation of a player; int8 stands for bool."""
        engine, layout, words = self.env.engine, self._layout, self._vector.buffers.words
        if self._bound_to is words:
            self._observe[player]()
        else:
            kernel = Observe("each", layout.grid.lanes)
            out = Outputs(self._observation.tensor)
            players = [cached_upload((p,) * layout.rows, layout.device) for p in range(self.env.num_players)]
            arrays = [Observe.Arrays(out, words, p) for p in players]
            engine.run(kernel, layout, arrays[player])
            self._observe, self._bound_to = [engine.bind(kernel, layout, a) for a in arrays], words
        self._observation.wait()
        return self._observation.rows(*self.env.observation_shape)


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
        buffers = self.env.init(self.batch, seed, self._layout.device).buffers
        memory = engine.game.has_memory
        both = [buffers, buffers._replace(words=engine.empty(buffers))] if memory else [buffers]
        others = None if self._policy is None else engine.empty(buffers)
        # arrays of the next launch and of the one after it: one buffer in place, or two in turn
        self._launches = [self._arrays(new, old, others) for old, new in zip(both, both[::-1], strict=True)]
        self._bound: Launch | None = None
        self._advance(np.full(self.batch, until.OPEN, np.int32))
        if len(both) == 1:
            self._bound = engine.bind(self._kernel, self._layout, self._launches[0])

    def _arrays(self, new: BatchBuffers, old: BatchBuffers, others: Tensor | None) -> PlayUntil.Arrays:
        out = Outputs(self._observation.tensor, self._mask.tensor)
        before = None if new is old else old.words
        return PlayUntil.Arrays(new.words, before, new.row_keys, self._actions.tensor, self._tally.tensor, out, others)

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
        buffers = self._state(self._launches[-1].new).buffers
        return State(self.env, self.env.engine.copy(buffers, live=False))
