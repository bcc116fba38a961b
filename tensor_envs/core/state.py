"""The state of a batch of games."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from tinygrad import Tensor

from tensor_envs._compiler.devices import DeviceName, keep_valid, resolve
from tensor_envs.core.engine import BatchBuffers
from tensor_envs.render.compose import Picture, table

if TYPE_CHECKING:
    from tensor_envs.core.env import Env


SHOWN_GAMES = 16  # of a batch, where nobody says which


def contact_sheet(
    state: State, rows: Iterable[int], columns: int = 4, width: float = 240, player: int | None = None
) -> str:
    """Some games of a batch as one SVG; see `tensor_envs.contact_sheet`."""
    found = list(rows)
    pictures = [Picture.of(state.env.render(state, row, player)) for row in found]
    return table(pictures, [f"game {row}" for row in found], columns, width)


class State:
    """B games of one environment, immutable to its user: stepping makes a new state and leaves this one valid.

    Every declared field of the game is a property by name, as `current_player` (int32 [B]), `ply` (int32 [B], decisions
    so far in the episode) and `episode` (uint32 [B]) are: a Tensor [B, *shape], worked out when asked for, and lazy
    while a jit captures.

    Attributes:
        env: the environment.
        tensors: the buffers, for a `TinyJit` of one's own.
    """

    __slots__ = ("_games", "env")

    def __init__(self, env: Env, games: BatchBuffers):
        self.env, self._games = env, games
        keep_valid(games.words, games.row_keys)

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        return self._games.words, self._games.row_keys

    def __flatten__(self) -> tuple[Any, tuple[Tensor, ...]]:
        """For `jit`: what a state is besides its tensors, and these."""
        return (self.env, self.batch), self.tensors

    @classmethod
    def __unflatten__(cls, about: Any, tensors: tuple[Tensor, Tensor]) -> State:
        return cls(about[0], BatchBuffers(*tensors, about[1]))

    def __reduce__(self) -> Any:
        """By values: tinygrad knows a buffer by a number, which may be another one's where it is loaded."""
        where = self._games.layout
        return _restored, (self.env, *(where.table(t) for t in self.tensors), self.device)

    @property
    def batch(self) -> int:
        """B, the number of games."""
        return self._games.batch

    @property
    def device(self) -> DeviceName:
        """Where the games are: a name, or a tuple of them."""
        return self._games.device

    def __len__(self) -> int:
        return self.batch

    def __getitem__(self, rows: Any) -> State:
        """The games of some rows, as `env.take`: a row, a slice, rows, or bool [B]. IndexError beyond the batch."""
        if isinstance(rows, slice):
            rows = np.arange(self.batch)[rows]
        elif not isinstance(rows, Tensor):
            rows = np.arange(self.batch)[np.atleast_1d(rows)]  # NumPy's own meaning, -1 being the last
        return self.env.take(self, rows)

    def __repr__(self) -> str:
        return f"<State of {self.batch} games of {self.env!r} on {self.device}>"

    def __dir__(self) -> list[str]:
        """What a user may ask for: the game's fields, and what every state has."""
        return [*(name for name in super().__dir__() if not name.startswith("_")), *self.env.spec_fields]

    def _repr_svg_(self) -> str | None:
        """For notebooks: the first games; None if the game has no pictures."""
        try:
            return contact_sheet(self, range(min(SHOWN_GAMES, self.batch)))
        except NotImplementedError:
            return None

    def __getattr__(self, name: str) -> Tensor:
        if not name.startswith("_") and name in self.env.spec_fields:
            return self.env._engine.read(self._games, name)
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(self.env.spec_fields)
        raise AttributeError(
            f"a state of {self.env.id!r} has no field {name!r}; its fields are {known}; it also has "
            "legal_action_mask, rewards, terminated, truncated"
        )

    @property
    def legal_action_mask(self) -> Tensor:
        """bool [B, A]; all False once the game is over."""
        return self.env._engine.read(self._games, "legal_action_mask")

    @property
    def rewards(self) -> Tensor:
        """float32 [B, P]: what the last step paid to every player."""
        return self.env._engine.read(self._games, "rewards")

    @property
    def terminated(self) -> Tensor:
        """bool [B]: the game has ended by its rules."""
        return self.env._engine.read(self._games, "terminated")

    @property
    def truncated(self) -> Tensor:
        """bool [B]: the game was cut off by a limit."""
        return self.env._engine.read(self._games, "truncated")

    @property
    def action_key(self) -> Tensor:
        """uint32 [B, 2]: a key for every row and episode, for `sample_action`; no draw of the uniform policy's."""
        return self.env._engine.read(self._games, "action_key")

    def numpy(self) -> dict[str, np.ndarray]:
        """Everything at once on the host: all fields, legal_action_mask, rewards, terminated, truncated, by name.

        Reads the buffer once, which is far cheaper than reading the properties one by one.
        """
        games = self._games
        return self.env._engine.layout.unpack(games.layout.table(games.words))


def _restored(env: Env, table: np.ndarray, rng: np.ndarray, device: Any) -> State:
    return State(env, env._engine.load(table, rng, resolve(device)))
