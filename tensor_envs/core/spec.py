"""What a game is to the core: declared fields, the state of one game, and the protocol that its rules follow.

Rules are written for one game, as branch-free integer code. The values that they compute with are scalars of a traced
kernel (`Scalar`, a tinygrad UOp): arithmetic, shifts and bit operations, comparisons with `<`, `.eq`, `.ne`, and
`condition.where(a, b)`. Python control flow may depend on rule fields and on constants, never on a scalar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tinygrad import Tensor, UOp, dtypes
from tinygrad.dtype import DType

Scalar = UOp
Mask = Any  # uint32 words, action a at bit a % 32 of word a // 32: a list, or a MemoryArray if the fields are

# A field's storage: signed and unsigned fields of one width share a tensor, so a state has few buffers.
STORAGE = {
    dtypes.bool: dtypes.uint8,
    dtypes.int8: dtypes.uint8,
    dtypes.uint8: dtypes.uint8,
    dtypes.int16: dtypes.uint16,
    dtypes.uint16: dtypes.uint16,
    dtypes.int32: dtypes.uint32,
    dtypes.uint32: dtypes.uint32,
    dtypes.uint64: dtypes.uint64,
}
UNSIGNED_WORDS = (dtypes.uint32, dtypes.uint64)


@dataclass(frozen=True)
class Field:
    """One declared field of a game's state: a scalar (`shape=()`) or an array of fixed shape.

    dtype says how it is stored. Rules see `bool` fields as booleans, `uint32` and `uint64` as bit words, everything
    else as int32. A `memory` field (one axis) is too large to unroll: rules see a `MemoryArray`, read and written at
    computed indices.
    """

    name: str
    shape: tuple[int, ...] = ()
    dtype: DType = dtypes.int8
    memory: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple) or not all(isinstance(n, int) and n > 0 for n in self.shape):
            raise ValueError(
                f"field {self.name!r}: shape must be a tuple of positive ints, got {self.shape!r}"
            )
        if self.dtype not in STORAGE:
            raise ValueError(
                f"field {self.name!r}: dtype {self.dtype} is not one of {', '.join(map(str, STORAGE))}"
            )

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def scalar_dtype(self) -> DType:
        return self.dtype if self.dtype in UNSIGNED_WORDS or self.dtype is dtypes.bool else dtypes.int32


# Kept by the core for every game, readable by rules; of these, rules set only `current_player`.
CORE_FIELDS = (
    Field("current_player", (), dtypes.int32),
    Field("ply", (), dtypes.int32),  # decisions so far in this episode
    Field("episode", (), dtypes.uint32),
)
CHANCE_FIELD = Field("key", (2,), dtypes.uint32)  # the game key of rules that use chance


@dataclass(frozen=True)
class Spec:
    """Facts about a game under given rule fields; the conformance test holds the game to them.

    max_plies: an episode that reaches it without an end is truncated; None if the rules themselves bound the game or
    truncate it. chance: whether `init` or `step` draw. zero_sum: whether every episode's returns sum to 0.
    """

    num_players: int
    num_actions: int
    observation_shape: tuple[int, ...]
    fields: tuple[Field, ...]
    observation_dtype: DType = dtypes.bool
    max_plies: int | None = None
    chance: bool = False
    zero_sum: bool = True
    id: str = ""  # the environment's, filled in by it
    version: int = 0

    def __post_init__(self) -> None:
        names = [field.name for field in (*CORE_FIELDS, CHANCE_FIELD, *self.fields)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the field name {twice[0]!r} is taken")

    @property
    def all_fields(self) -> tuple[Field, ...]:
        return CORE_FIELDS + (CHANCE_FIELD,) * self.chance + self.fields

    def layout(self) -> dict[DType, list[Field]]:
        """Storage dtype -> its fields in row order, for a state stored as one [rows, B] tensor a dtype."""
        groups: dict[DType, list[Field]] = {}
        for field in self.all_fields:
            groups.setdefault(STORAGE[field.dtype], []).append(field)
        return groups

    def places(self) -> dict[str, tuple[int, int]]:
        """Field name -> the number of its tensor, in the order of `layout`, and its first row there."""
        found = {}
        for number, fields in enumerate(self.layout().values()):
            row = 0
            for field in fields:
                found[field.name] = number, row
                row += field.size
        return found

    @property
    def state_bytes(self) -> int:
        """Bytes that one game's fields take."""
        return sum(dtype.itemsize * sum(f.size for f in fields) for dtype, fields in self.layout().items())


class GameState:
    """The fields of one game by name, immutable.

    The same view serves three uses: scalars while a kernel is traced (arrays are flat lists, C order), Tensors
    [B, *shape] in `observe`, plain ints, bools and nested lists in `to_dict` and `from_dict`.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]):
        object.__setattr__(self, "_fields", dict(fields))

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; the fields are {', '.join(self._fields)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a game state is immutable: use replace({name}=...)")

    def replace(self, **changes: Any) -> GameState:
        """The same state with some fields changed; ValueError for a name that is no field."""
        unknown = changes.keys() - self._fields.keys()
        if unknown:
            raise ValueError(
                f"no field {', '.join(sorted(unknown))}; the fields are {', '.join(self._fields)}"
            )
        return GameState({**self._fields, **changes})

    def asdict(self) -> dict[str, Any]:
        return dict(self._fields)


@dataclass(frozen=True)
class Outcome:
    """What one legal action led to: rewards of every player for this action, and whether the game is over."""

    state: GameState
    rewards: Sequence[Scalar | int]
    terminated: Scalar | bool
    truncated: Scalar | bool = False


@dataclass(frozen=True)
class Symmetry:
    """Index maps under which a game is unchanged: new[i] = old[map[i]], for flattened arrays.

    `actions` [A] maps legal_action_mask (and so policies); `observation` maps the flattened observation; `state` maps
    list entries of the state dictionary by name.
    """

    actions: tuple[int, ...]
    observation: tuple[int, ...]
    state: Mapping[str, tuple[int, ...]]


class Chance(Protocol):
    """A game's chance events, by counter (see `core.random`).

    A counter names one value for the whole episode, in `init` as in every `step`: an event of every ply takes a
    counter with `s.ply` in it.
    """

    def bits(self, counter: Scalar | int) -> Scalar: ...
    def draw(self, counter: Scalar | int, n: Scalar | int) -> Scalar: ...


class Rules(Protocol):
    """A frozen dataclass of rule fields with these methods. Shapes: A actions, P players, B games.

    `init`, `legal_action_mask` and `step` are traced once for one game: fields are scalars, arrays of them lists, and
    what differs from game to game is chosen by `where`, never by `if`. `core.memory.select` and `put` read and change
    a list at a computed index.
    """

    @property
    def spec(self) -> Spec: ...

    def init(self, chance: Chance) -> Mapping[str, Any]:
        """Fields of a new game that are not zero; arrays as flat lists."""

    def legal_action_mask(self, s: GameState) -> Mask:
        """The legal actions of a game that goes on, as bit words (`ops.bits.pack_flags` makes them from A booleans)."""

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        """Play a legal action. `s.ply` is the number of decisions before this one."""

    def observe(self, s: GameState, player: Tensor) -> Tensor:
        """Fields as Tensors [B, *shape] and the observing seat [B] int32 -> [B, *observation_shape], lazy.

        Besides the fields, `s.legal_action_mask` is there, bool [B, A].
        """
