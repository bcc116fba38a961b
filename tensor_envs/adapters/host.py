"""What the host reads and writes: buffers without a copy through the device, and a single game."""

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
    """A buffer of some values a game. On CPU devices the host uses its memory itself, once `wait` has returned."""

    def __init__(self, where: BatchLayout, values: int, dtype: DType):
        self.tensor, self._cut = where.empty(values, dtype), where
        buffer = buffer_of(self.tensor)
        assert buffer is not None
        parts = shards(buffer)
        self._memory: list[np.ndarray] = []
        self._devices: list[Any] = []
        if all(part.device.split(":")[0] == "CPU" for part in parts):
            self._devices = [Device[part.device] for part in parts]
            for part in parts:
                self._memory.append(np.frombuffer(part.as_memoryview(force_zero_copy=True), dtype.fmt))

    def __reduce__(self) -> Any:
        """It is memory that kernels are bound to, and so is every environment that has one."""
        raise TypeError(
            "an adapter's games cannot be copied or pickled: make another environment and reset it with the same seed"
        )

    def wait(self) -> None:
        """Wait for the kernels that use the memory."""
        for device in self._devices:
            device.synchronize()

    def _parts(self) -> list[np.ndarray]:
        """The values on every device."""
        return self._memory or np.split(download(self.tensor), self._cut.shards)

    def rows(self, *shape: int) -> np.ndarray:
        """The values of the batch, stored game by game, as a new array of a shape."""
        grid, share = self._cut.grid, self._cut.share
        return np.concatenate([part.reshape(grid.rows, -1)[:share] for part in self._parts()]).reshape(shape)

    def column(self, k: int) -> np.ndarray:
        """One value of every game of the batch, stored by lanes, as a new array [B]."""
        grid, share = self._cut.grid, self._cut.share
        blocks = (part.reshape(grid.blocks, -1, grid.lanes)[:, k] for part in self._parts())
        return np.concatenate([part.reshape(-1)[:share] for part in blocks])

    def write(self, values: np.ndarray) -> None:
        """Write one value a game; games that nobody sees may keep theirs."""
        if not self._memory:
            write(self.tensor, self._cut.padded(values))
        for part, piece in zip(self._memory, values.reshape(self._cut.shards, -1), strict=False):
            part[: self._cut.share] = piece


def observation_buffer(env: Env, where: BatchLayout) -> HostBuffer:
    """For what players see, int8 for bool."""
    dtype = DTYPES[env.spec.observation_dtype]
    return HostBuffer(where, math.prod(env.observation_shape), dtypes.int8 if dtype is dtypes.bool else dtype)


class HostGame:
    """One game, stepped in place and read on the host."""

    def __init__(self, env: Env, seed: int, device: DeviceName):
        self.env, self._vector = env, VectorEnv(env, 1, seed, device, "disabled")
        self._cut = self._vector.buffers.layout
        self._seen = observation_buffer(env, self._cut)
        self._bound_to: Tensor | None = None
        self._observe: list[Launch] = []
        self._read()

    @property
    def state(self) -> State:
        """The game as a State of batch 1: a snapshot."""
        return self._vector.state

    def restart(self) -> None:
        """Start the next episode."""
        self._vector.reset([True])
        self._read()

    def step(self, action: int) -> None:
        """Play an action, as `VectorEnv.step`."""
        self._vector.step([action])
        self._read()

    def copy(self, game: HostGame) -> None:
        """Become a copy of another game of the same environment."""
        self._vector.state = game.state
        self._read()

    def _read(self) -> None:
        layout = self.env.engine.layout
        self._words = words = self._cut.table(self._vector.buffers.words)[0]
        self.rewards: list[float] = words[layout.rewards : layout.mask].view(np.float32).tolist()
        bits = words[layout.mask :].astype("<u4").view(np.uint8)
        self.mask = np.unpackbits(bits, count=self.env.num_actions, bitorder="little").view(np.int8)
        self.terminated, self.truncated = (bool(self.number(name)) for name in ("terminated", "truncated"))
        self.over = self.terminated or self.truncated

    def number(self, name: str) -> int:
        """A field that is a single number."""
        slot = self.env.engine.layout.slots[name][0]
        return (int(self._words[slot.word]) >> slot.shift & (1 << slot.width) - 1) + slot.low

    def observe(self, player: int) -> np.ndarray:
        """What a player sees, int8 for bool."""
        engine, where, words = self.env.engine, self._cut, self._vector.buffers.words
        if self._bound_to is words:
            self._observe[player]()
        else:
            kernel = Observe("each", where.grid.lanes)
            seen = ObservationArrays(self._seen.tensor, None, engine.table(where))
            players = [cached_upload((p,) * where.rows, where.device) for p in range(self.env.num_players)]
            arrays = [Observe.Arrays(seen, words, p) for p in players]
            engine.run(kernel, where, arrays[player])
            self._observe, self._bound_to = [engine.bind(kernel, where, a) for a in arrays], words
        self._seen.wait()
        return self._seen.rows(*self.env.observation_shape)
