"""The state of a batch of games: a few buffers, and views of them by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.device import DeviceName, device_of, download, is_capturing, is_gpu, resolve, upload
from tensor_envs.core.plan import Plan, Reset, Task
from tensor_envs.core.random import ACTION_COUNTER, threefry
from tensor_envs.core.spec import STORAGE, Field, GameState
from tensor_envs.ops.bits import WORD, num_words

if TYPE_CHECKING:
    from tensor_envs.core.env import Env


class State:
    """B games of one environment, immutable to its user: stepping makes a new state and leaves this one valid.

    Games lie in blocks, so that all fields of a block are close together: every buffer is a flat [blocks, rows, lanes]
    and game b is lane b % lanes of block b // lanes. The properties are Tensors [B, ...], worked out when asked for, by
    kernels that are kept, and lazy while a jit captures; every declared field of the game is one of them by name
    (`state.current_player`, `state.ply`, ...).
    """

    __slots__ = ("env", "fields", "flags", "lanes", "mask", "reward_rows", "stream")

    def __init__(self, env: Env, tensors: tuple[Tensor, ...], lanes: int):
        self.env, self.lanes = env, lanes
        n = len(env.layout)
        self.fields: tuple[Tensor, ...] = tensors[:n]
        self.mask, self.flags, self.reward_rows, self.stream = tensors[n:]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All buffers, as the constructor takes them."""
        return (*self.fields, self.mask, self.flags, self.reward_rows, self.stream)

    def __flatten__(self) -> tuple[Any, tuple[Tensor, ...]]:
        """For `jit`: what a state is besides its tensors, and these."""
        return (self.env, self.lanes), self.tensors

    @classmethod
    def __unflatten__(cls, about: Any, tensors: tuple[Tensor, ...]) -> State:
        return cls(about[0], tensors, about[1])

    def __reduce__(self) -> Any:
        """By values: tinygrad knows a buffer by a number, which may be another one's where it is loaded."""
        return _restored, (self.env, [download(t) for t in self.tensors], self.device, self.lanes)

    def replace(self, *, flags: Tensor) -> State:
        """The same games with other flag rows."""
        return State(self.env, (*self.fields, self.mask, flags, self.reward_rows, self.stream), self.lanes)

    @property
    def batch(self) -> int:
        """B, the number of games."""
        return int(self.flags.shape[0]) // 2

    @property
    def shards(self) -> int:
        """Number of devices."""
        return 1 if isinstance(self.device, str) else len(self.device)

    @property
    def device(self) -> DeviceName:
        return device_of(self.flags)

    def plan(self, task: Task, reset: Reset = "none") -> Plan:
        """The plan of a kernel for this batch."""
        return Plan(self.batch // self.shards // self.lanes, self.lanes, is_gpu(self.device), task, reset)

    def __len__(self) -> int:
        return self.batch

    def __repr__(self) -> str:
        return f"<State of {self.batch} games of {self.env!r} on {self.device}>"

    def _rows(self, buffer: Tensor, first: int, shape: tuple[int, ...]) -> Tensor:
        """Some rows of a buffer as [B, *shape]."""
        rows = buffer.reshape(self.batch // self.lanes, -1, self.lanes)[:, first : first + math.prod(shape)]
        return rows.permute(0, 2, 1).reshape(self.batch, *shape)

    def lazy(self, name: str) -> Tensor:
        """A property as an expression of the buffers."""
        if name in self.env.places:
            number, row = self.env.places[name]
            field = self.env.fields[name]
            return _declared(self._rows(self.fields[number], row, field.shape), field)
        match name:
            case "legal_action_mask":
                words = self._rows(self.mask, 0, (num_words(self.env.num_actions), 1))
                bits = words >> Tensor.arange(WORD, dtype=dtypes.uint32)
                return (bits & 1).reshape(self.batch, -1)[:, : self.env.num_actions] != 0
            case "rewards":
                return self._rows(self.reward_rows, 0, (self.env.num_players,))
            case "policy_key":
                return self._rows(self.stream, 3, (2,))
        return self._rows(self.flags, ("terminated", "truncated").index(name), ())

    def _read(self, name: str) -> Tensor:
        return self.lazy(name) if is_capturing() else self.env.read(self, name)

    def __getattr__(self, name: str) -> Tensor:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.env.places:
            return self._read(name)
        known = ", ".join(self.env.fields)
        others = "legal_action_mask, rewards, terminated, truncated"
        raise AttributeError(
            f"a state of {self.env.id!r} has no field {name!r}; its fields are {known}; it also has {others}"
        )

    @property
    def legal_action_mask(self) -> Tensor:
        """bool [B, A]; all False once the game is over."""
        return self._read("legal_action_mask")

    @property
    def rewards(self) -> Tensor:
        """float32 [B, P]: what the last step paid to every player."""
        return self._read("rewards")

    @property
    def terminated(self) -> Tensor:
        """bool [B]: the game has ended by its rules."""
        return self._read("terminated")

    @property
    def truncated(self) -> Tensor:
        """bool [B]: the game was cut off by a limit."""
        return self._read("truncated")

    @property
    def policy_key(self) -> Tensor:
        """uint32 [B, 2]: the row's key of the uniform policy."""
        return self._read("policy_key")

    @property
    def action_key(self) -> Tensor:
        """uint32 [B, 2]: a key for every row and episode, for `sample_action`; no draw of the uniform policy's."""
        low, high = (self.policy_key[:, k] for k in range(2))
        return Tensor.stack(
            *threefry((low, high), (self.episode.const_like(ACTION_COUNTER), self.episode)), dim=1
        )

    def numpy(self) -> dict[str, np.ndarray]:
        """Everything at once on the host: all fields, legal_action_mask, rewards, terminated, truncated, by name.

        Reads each buffer once, which is far cheaper than reading the properties one by one.
        """
        values = unpack(self.env, [self.table(buffer) for buffer in self.fields])
        bits = np.unpackbits(self.table(self.mask).astype("<u4").view(np.uint8), axis=1, bitorder="little")
        terminated, truncated = self.table(self.flags).T
        return values | {
            "legal_action_mask": bits[:, : self.env.num_actions] != 0,
            "rewards": self.table(self.reward_rows),
            "terminated": terminated,
            "truncated": truncated,
        }

    def table(self, buffer: Tensor) -> np.ndarray:
        """One of the state's buffers on the host, [B, rows]."""
        blocks = download(buffer).reshape(self.batch // self.lanes, -1, self.lanes)
        return np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(self.batch, blocks.shape[1])

    def game_state(self) -> GameState:
        """All fields, lazy, as Tensors [B, *shape], and `legal_action_mask` [B, A] for observations that show it."""
        return GameState({name: self.lazy(name) for name in (*self.env.fields, "legal_action_mask")})


def _restored(env: Env, arrays: list[np.ndarray], device: DeviceName, lanes: int) -> State:
    where = resolve(device)
    return State(env, tuple(upload(array, where) for array in arrays), lanes)


def _declared(rows: Tensor, field: Field) -> Tensor:
    """Stored words in the field's own dtype."""
    if field.dtype is dtypes.bool:
        return rows != 0
    return rows if STORAGE[field.dtype] is field.dtype else rows.bitcast(field.dtype)


def pack(layout: dict[DType, list[Field]], games: list[dict[str, Any]], lanes: int) -> list[np.ndarray]:
    """Plain field values of every game -> arrays [blocks, rows, lanes], one a storage dtype.

    ValueError if a value does not fit its field.
    """
    arrays = []
    for dtype, fields in layout.items():
        columns = []
        for field in fields:
            declared = np.dtype(_numpy_name(field.dtype))
            column = np.array([np.ravel(game[field.name]) for game in games], dtype=object)
            if column.shape != (len(games), field.size):
                raise ValueError(
                    f"field {field.name!r} must have {field.size} values a game, got {column.shape[1:]}"
                )
            typed = column.astype(declared)
            if not (typed == column).all():
                raise ValueError(f"field {field.name!r} has values that {field.dtype} cannot hold")
            columns.append(typed.view(f"u{declared.itemsize}"))
        table = np.concatenate(columns, axis=1).reshape(-1, lanes, sum(f.size for f in fields))
        arrays.append(table.transpose(0, 2, 1).astype(f"u{dtype.itemsize}"))
    return arrays


def unpack(env: Env, tables: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays [B, rows], one a storage dtype -> the declared fields, [B, *shape] each."""
    values = {}
    for name, (number, row) in env.places.items():
        field = env.fields[name]
        words = np.ascontiguousarray(tables[number][:, row : row + field.size])
        values[name] = words.view(_numpy_name(field.dtype)).reshape(-1, *field.shape)
    return values


def _numpy_name(dtype: DType) -> str:
    return "bool" if dtype is dtypes.bool else f"{'u' if dtypes.is_unsigned(dtype) else 'i'}{dtype.itemsize}"
