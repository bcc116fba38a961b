"""Buffers that the host reads and writes in place, and a single game on the host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tinygrad import Device, Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler.capture import Launch
from tensor_envs._compiler.devices import DeviceName, buffer_of, cached_upload, download, shards, write
from tensor_envs._engine.batch_layout import BatchLayout
from tensor_envs._engine.kernels.observe import DTYPES, ObservationArrays, Observe
from tensor_envs.env import Env
from tensor_envs.state import State
from tensor_envs.vector import VectorEnv


class HostBuffer:
    """A device buffer of some values for each game. On CPU devices the host uses its memory itself, after `wait`."""

    def __init__(self, layout: BatchLayout, values: int, dtype: DType):
        self.tensor, self._layout = layout.empty(values, dtype), layout
        buffer = buffer_of(self.tensor)
        assert buffer is not None
        parts = shards(buffer)
        on_cpu = all(part.device.split(":")[0] == "CPU" for part in parts)
        self._devices: list[Any] = [Device[part.device] for part in parts if on_cpu]
        self._memory = [np.frombuffer(part.as_memoryview(force_zero_copy=True), dtype.fmt) for part in parts if on_cpu]

    def __reduce__(self) -> Any:
        """Refuse to copy or pickle: kernels are bound to the memory."""
        raise TypeError(
            "an adapter's games cannot be copied or pickled: make another environment and reset it with the same seed"
        )

    def wait(self) -> None:
        """Wait for the kernels that use the memory."""
        for device in self._devices:
            device.synchronize()

    def _parts(self) -> list[np.ndarray]:
        """Return the values on every device."""
        return self._memory or np.split(download(self.tensor), self._layout.shards)

    def rows(self, *shape: int) -> np.ndarray:
        """Return a new array of this shape of the batch's values, which are stored game by game."""
        grid, share = self._layout.grid, self._layout.share
        return np.concatenate([part.reshape(grid.rows, -1)[:share] for part in self._parts()]).reshape(shape)

    def column(self, k: int) -> np.ndarray:
        """Return value k of every game as a new array [B]; the values are stored by lanes."""
        grid, share = self._layout.grid, self._layout.share
        blocks = (part.reshape(grid.blocks, -1, grid.lanes)[:, k] for part in self._parts())
        return np.concatenate([part.reshape(-1)[:share] for part in blocks])

    def write(self, values: np.ndarray) -> None:
        """Write one value for each game; padding may keep what it has."""
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
            out = ObservationArrays(self._observation.tensor, None, engine.table(layout))
            players = [cached_upload((p,) * layout.rows, layout.device) for p in range(self.env.num_players)]
            arrays = [Observe.Arrays(out, words, p) for p in players]
            engine.run(kernel, layout, arrays[player])
            self._observe, self._bound_to = [engine.bind(kernel, layout, a) for a in arrays], words
        self._observation.wait()
        return self._observation.rows(*self.env.observation_shape)
