"""What a game is: a Spec, the state of one game, and the protocol that its rules follow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import BOOL, INT, WORD, WORD64
from tensor_envs._validate import instance, integer, one_of, shown
from tensor_envs.rules.lists import FixedList
from tensor_envs.rules.scalar import Scalar, Value

if TYPE_CHECKING:
    from tensor_envs.rules.chance import Chance
    from tensor_envs.rules.observation import Part

Kind = Literal["int", "bool", "word", "word64"]
KINDS: dict[str, DType] = {"int": INT, "bool": BOOL, "word": WORD, "word64": WORD64}
OBSERVATION_DTYPES = ("bool", "int8", "int16", "int32", "float32")
INT_LOW, INT_HIGH = -(2**31), 2**31 - 1
MAX_PLAYERS, MAX_AXES = 1024, 32
Mask = Any  # A conditions, or words of 32 actions each: a list or a MemoryArray


@dataclass(frozen=True)
class Field:
    """A field of a game's state, a number (`shape=()`) or a list of numbers.

    low (default 0) and high (required) bound an int: a state takes no more bits than they need, and what a game
    stores must be within them. kind: "int", "bool", "word" (32 bits, a set for example) or "word64". A `memory` field
    (words, one axis) is too long to unroll: rules see a `MemoryArray`.

    Raises:
        ValueError, TypeError: a shape, bounds or a kind that are none.
    """

    name: str
    shape: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None
    kind: Kind = "int"
    memory: bool = False

    def __post_init__(self) -> None:
        instance("name", self.name, str)
        if not self.name.isidentifier() or self.name.startswith("_"):
            raise ValueError(
                f"a field's name must be an identifier without a leading _, got {shown(self.name)}"
            )
        about = f"field {self.name!r}"
        _check_shape(f"{about}: shape", self.shape)
        one_of(f"{about}: kind", self.kind, tuple(KINDS))
        instance(f"{about}: memory", self.memory, bool)
        if self.memory and (self.kind != "word" or len(self.shape) != 1):
            raise ValueError(f"{about}: a memory field is a list of words")
        if self.kind != "int":
            if (self.low, self.high) != (None, None):
                raise ValueError(f"{about}: only an int has bounds, this is a {self.kind}")
            return
        low = 0 if self.low is None else self.low
        if type(low) is not int or type(self.high) is not int or not INT_LOW <= low <= self.high <= INT_HIGH:
            raise ValueError(
                f"{about}: an int needs bounds low <= high of 32 bits, got low={shown(self.low)}, "
                f"high={shown(self.high)}"
            )
        object.__setattr__(self, "low", low)

    @property
    def size(self) -> int:
        """Numbers in it."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> DType:
        """What its numbers are to the rules, and as Tensors."""
        return KINDS[self.kind]


@dataclass(frozen=True)
class Spec:
    """Facts about a game under given rule fields; the conformance test holds the game to them.

    Attributes:
        num_players, num_actions: P and A.
        observation_shape: of one player's observation.
        fields: of the game's state.
        observation_dtype: "bool", "int8", "int16", "int32" or "float32".
        max_plies: an episode that reaches it without an end is truncated; None if the rules themselves bound the game
            or truncate it.
        chance: whether `init` or `step` draw.
        zero_sum: whether the rewards of every step sum to 0.
        perfect_information: whether every player's observation shows the whole state.
        id, version: the environment's, filled in by it.
    """

    num_players: int
    num_actions: int
    observation_shape: tuple[int, ...]
    fields: tuple[Field, ...]
    observation_dtype: str = "bool"
    max_plies: int | None = None
    chance: bool = False
    zero_sum: bool = True
    perfect_information: bool = True
    id: str = ""
    version: int = 0

    def __post_init__(self) -> None:
        integer("num_players", self.num_players, 1, MAX_PLAYERS)
        integer("num_actions", self.num_actions, 1, INT_HIGH)
        if self.max_plies is not None:
            integer("max_plies", self.max_plies, 1, INT_HIGH)
        _check_shape("observation_shape", self.observation_shape)
        one_of("observation_dtype", self.observation_dtype, OBSERVATION_DTYPES)
        for name in ("chance", "zero_sum", "perfect_information"):
            instance(name, getattr(self, name), bool)
        instance("fields", self.fields, tuple)
        for i, field in enumerate(self.fields):
            instance(f"fields[{i}]", field, Field)
        names = [field.name for field in self.all_fields]
        twice = [name for name in names if names.count(name) > 1 or (name == "key" and not self.chance)]
        if twice:
            raise ValueError(f"the field name {twice[0]!r} is taken")

    @property
    def all_fields(self) -> tuple[Field, ...]:
        """With those that the core keeps for every game; of these, rules set only `current_player`."""
        plies = INT_HIGH if self.max_plies is None else self.max_plies
        core = (
            Field("current_player", low=-1, high=self.num_players - 1),
            Field("ply", high=plies),  # decisions so far in this episode
            Field("episode", kind="word"),
        )
        return core + (Field("key", (2,), kind="word"),) * self.chance + self.fields


def _check_shape(name: str, shape: Any) -> None:
    """A tuple of positive ints, of at most 2^31 - 1 numbers."""
    if not isinstance(shape, tuple) or not all(type(n) is int and n > 0 for n in shape):
        raise ValueError(f"{name} must be a tuple of positive ints, got {shown(shape)}")
    if len(shape) > MAX_AXES or math.prod(shape) > INT_HIGH:
        raise ValueError(
            f"{name} must be of at most {MAX_AXES} axes and {INT_HIGH} numbers, got {shown(shape)}"
        )


class GameState:
    """The fields of one game by name, as rules have them, immutable: scalars, and flat lists of them, in C order.

    A notation has them as a plain dictionary of ints, bools and nested lists.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]):
        given = {name: FixedList(x) if type(x) is list else x for name, x in fields.items()}
        object.__setattr__(self, "_fields", given)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; the fields are {', '.join(self._fields)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a game state is immutable: use replace({name}=...)")

    def __repr__(self) -> str:
        return f"GameState({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"

    def replace(self, **changes: Any) -> GameState:
        """The same state with some fields changed; ValueError for a name that is no field."""
        unknown = changes.keys() - self._fields.keys()
        if unknown:
            raise ValueError(
                f"no field {', '.join(sorted(unknown))}; the fields are {', '.join(self._fields)}"
            )
        return GameState({**self._fields, **changes})

    def asdict(self) -> dict[str, Any]:
        """The fields by name, in a dictionary of its own."""
        return dict(self._fields)


@dataclass(frozen=True)
class Outcome:
    """What one legal action led to: rewards of every player for this action, and whether the game is over."""

    state: GameState
    rewards: Sequence[Value]
    terminated: Value
    truncated: Value = False


@dataclass(frozen=True)
class Symmetry:
    """Index maps under which a game is unchanged: new[i] = old[map[i]], for flattened arrays.

    `actions` [A] maps legal_action_mask (and so policies); `observation` maps the flattened observation; `state` maps
    list entries of the state dictionary by name.
    """

    actions: tuple[int, ...]
    observation: tuple[int, ...]
    state: Mapping[str, tuple[int, ...]]


class Rules(Protocol):
    """A frozen dataclass of rule fields with these methods, written for one game.

    They are traced once into a kernel for a whole batch: what differs from game to game is chosen by `where`, never by
    `if`. Python control flow may depend on rule fields and on constants. Called with plain numbers they play one game.

    Rules of a game with hidden information may also have `determinize(s, player, chance)`: the state with all that
    `player` cannot know dealt anew, as likely as the rules make it, and all that `player` sees as it was. Then a search
    deals anew in every simulation, and knows no more than who is to move.
    """

    @property
    def spec(self) -> Spec: ...

    def init(self, chance: Chance) -> Mapping[str, Any]:
        """Fields of a new game that are not zero; lists flat."""

    def legal_action_mask(self, s: GameState) -> Mask:
        """The legal actions of a game that goes on: A conditions, or words of 32 actions each."""

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        """Play a legal action. `s.ply` is the number of decisions before this one."""

    def observe(self, s: GameState, player: Scalar) -> Sequence[Part]:
        """What a player sees, in parts (`bits`, `one_hot`, `number`) end to end; `s.legal_action_mask` is words."""
