"""States of batches of games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs._runtime.context import realize_before_capture, stays_lazy
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.launch import eager
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import instance, wrong_type

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env

DISPLAYED_GAMES = 16  # number of games of a batch that notebooks display


class State:
    """State of B games of one environment. It is immutable: a step returns a new state and leaves this one valid.

    Every field of the game is a property of its name, a Tensor [B, *shape] that is computed when read. So are
    `current_player` (int32 [B]), `ply` (int32 [B], number of decisions so far in the episode) and `episode`
    (uint32 [B]). The Tensors are lazy while a jit captures.

    Attributes:
        env: the environment.
        tensors: the buffers, for a custom `TinyJit`.
        buffers: the buffers with the batch size, for adapters and searches. They may change in any version.

    Examples:
        >>> state = te.make("tic_tac_toe").init(3)
        >>> state.batch, state.current_player.tolist(), state[1:].batch
        (3, [0, 0, 0], 2)
    """

    __slots__ = ("_observed", "buffers", "env")

    def __init__(self, env: Env, buffers: BatchBuffers, observed: tuple[Tensor, Tensor] | None = None):
        """Wrap buffers.

        Args:
            env: the environment.
            buffers: buffers of the games.
            observed: observation of the players to move and legal action mask, if a search has computed them already.
        """
        self.env = env
        self.buffers = buffers
        self._observed = observed
        realize_before_capture(buffers.words, buffers.row_keys)

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        return self.buffers.words, self.buffers.row_keys

    def __flatten__(self) -> tuple[Any, tuple[Tensor, ...]]:
        """Return the static part and the tensors, for `jit`."""
        return (self.env, self.buffers.layout), self.tensors

    @classmethod
    def __unflatten__(cls, metadata: Any, tensors: tuple[Tensor, Tensor]) -> State:
        return cls(metadata[0], BatchBuffers(*tensors, metadata[1]))

    def __reduce__(self) -> Any:
        """Pickle by values, since tinygrad's number of a buffer may stand for another one in another process."""
        layout = self.buffers.layout
        return _restored, (self.env, *(layout.download(t) for t in self.tensors), self.device)

    @property
    def batch(self) -> int:
        """B, the number of games."""
        return self.buffers.batch

    @property
    def device(self) -> DeviceName:
        """Name of the device, or a tuple of names."""
        return self.buffers.device

    def __len__(self) -> int:
        return self.batch

    def __getitem__(self, rows: Any) -> Self:
        """Return the games at a row, a slice, rows, or where a bool [B] is True.

        Raises:
            IndexError: a row is out of range.
            TypeError, ValueError: rows of another type, or no rows.
        """
        if isinstance(rows, slice):
            rows = np.arange(self.batch)[rows]
        # The values of a mask determine the number of games, which a jit needs.
        elif not isinstance(rows, Tensor) or (rows.dtype == dtypes.bool and not stays_lazy()):
            index = np.atleast_1d(eager(rows).numpy() if isinstance(rows, Tensor) else rows)
            if index.size and index.dtype.kind not in "iub":
                raise wrong_type("rows", "integers, a slice or a bool [B]", rows)
            rows = np.arange(self.batch)[index] if index.size else []  # NumPy's indexing, where -1 is the last row
        state: Any = self.env.take(self, rows)
        return state

    def __repr__(self) -> str:
        return f"<State of {self.batch} games of {self.env!r} on {self.device}>"

    def __dir__(self) -> list[str]:
        """Return the public attributes, the game's fields included."""
        return [*(name for name in super().__dir__() if not name.startswith("_")), *self.env.spec_fields]

    def _repr_svg_(self) -> str:
        """Return a picture of the first games, for notebooks."""
        from tensor_envs.render.compose import table  # needed only here

        rows = range(min(DISPLAYED_GAMES, self.batch))
        return table([self.env.render(self, row) for row in rows], [f"game {row}" for row in rows])

    def __getattr__(self, name: str) -> Tensor:
        if not name.startswith("_") and name in self.env.spec_fields:
            return self.env.engine.read(self.buffers, name)
        if name.startswith("__"):
            raise AttributeError(name)
        names = ", ".join(self.env.spec_fields)
        raise AttributeError(
            f"a state of {self.env.id!r} has no field {name!r}; its fields are {names}; it also has "
            "legal_action_mask, rewards, terminated, truncated"
        )

    @property
    def legal_action_mask(self) -> Tensor:
        """bool [B, A]; all False once the game is over."""
        if self._observed is not None and not stays_lazy():
            return self._observed[1]
        return self.env.engine.read(self.buffers, "legal_action_mask")

    @property
    def rewards(self) -> Tensor:
        """float32 [B, P]: rewards of the last step for every player."""
        return self.env.engine.read(self.buffers, "rewards")

    @property
    def terminated(self) -> Tensor:
        """bool [B]: whether the game has ended by its rules."""
        return self.env.engine.read(self.buffers, "terminated")

    @property
    def truncated(self) -> Tensor:
        """bool [B]: whether a limit has ended the game."""
        return self.env.engine.read(self.buffers, "truncated")

    @property
    def action_key(self) -> Tensor:
        """uint32 [B, 2]: random key of the row and episode, for `sample_action`. The uniform policy has another key."""
        return self.env.engine.read(self.buffers, "action_key")

    def numpy(self) -> dict[str, np.ndarray]:
        """Return all fields, legal_action_mask, rewards, terminated and truncated as NumPy arrays, by name.

        It reads the buffer once, which is much faster than reading the properties one by one.

        Examples:
            >>> te.make("tic_tac_toe").init(3).numpy()["legal_action_mask"].sum(1).tolist()
            [9, 9, 9]
        """
        layout = self.buffers.layout
        return self.env.engine.layout.unpack(layout.download(self.buffers.words))

    def check_beside(self, other: Any, name: str) -> State:
        """Return the argument `name`. TypeError or ValueError unless this State can be combined with it."""
        instance(name, other, State)
        self.env.check_state(other)
        # The result has only one environment, which defines the effect of illegal actions.
        if other.env.illegal != self.env.illegal:
            raise ValueError(
                f"{name} must be of an environment with illegal={self.env.illegal!r} as the first state is, "
                f"got illegal={other.env.illegal!r}"
            )
        for state in (self, other):
            check_on_one_device("what is put together", state)
        if other.device != self.device:
            raise ValueError(f"{name} must be on {self.device} as the first state is, got {other.device}")
        return other  # type: ignore[no-any-return]


def check_on_one_device(operation: str, state: State) -> None:
    """Raise ValueError for a sharded state."""
    if state.buffers.layout.shards > 1:
        raise ValueError(f"{operation} needs a state on one device, got one on {state.device}")


def _restored(env: Env, table: np.ndarray, row_keys: np.ndarray, device: Any) -> State:
    """Return a pickled state."""
    return State(env, env.engine.load(table, row_keys, open_device(device)))
