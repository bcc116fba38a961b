"""Specification of a game: its Spec, the state of one game, and the protocol of its rules."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as default
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from tinygrad.dtype import DType

from tensor_envs._compiler.tape import BOOL, INT32
from tensor_envs._validate import instance, integer, one_of, shown
from tensor_envs.rules.kinds import KINDS, Kind, checked_kind
from tensor_envs.rules.lists import FixedList, select, sum_of
from tensor_envs.rules.scalar import Scalar, Value, int32, maximum, refuse, scalar, where

if TYPE_CHECKING:
    from tensor_envs.rules.chance import Chance
    from tensor_envs.rules.observation import Observation

OBSERVATION_DTYPES = ("bool", "int8", "int16", "int32", "float32")
INT_LOW = -(2**31)
INT_HIGH = 2**31 - 1
MAX_PLAYERS, MAX_AXES = 1024, 32
Mask = Any  # A conditions, or words of 32 actions each: a list or a MemoryArray


@dataclass(frozen=True)
class Field:
    """Field of a game's state: a number, or nested lists of numbers of a shape.

    Attributes:
        name: an identifier without a leading underscore.
        shape: () for a number; rules, dictionaries and arrays of a field (2, 6) have two rows of six numbers.
        low, high: bounds of an int32; low is 0 by default, high is required. Values must be within them, since a state
            has no more bits than they need.
        kind: "int32", "bool", "uint32" (a word of 32 bits, a set for example) or "uint64".
        memory: whether the field, a list of words, is too long to unroll; in rules it is a `MemoryArray`.

    Raises:
        ValueError, TypeError: an invalid name, shape, bound or kind.

    Examples:
        >>> te.Field("dice", (2,), low=1, high=6).size
        2
    """

    name: str
    shape: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None
    kind: Kind = "int32"
    memory: bool = False

    def __post_init__(self) -> None:
        instance("name", self.name, str)
        if not self.name.isidentifier() or self.name.startswith("_"):
            raise ValueError(f"a field's name must be an identifier without a leading _, got {shown(self.name)}")
        subject = f"field {self.name!r}"
        _check_shape(f"{subject}: shape", self.shape)
        object.__setattr__(self, "kind", checked_kind(f"{subject}: kind", self.kind))
        instance(f"{subject}: memory", self.memory, bool)
        if self.memory and (self.kind != "uint32" or len(self.shape) != 1):
            raise ValueError(f"{subject}: a memory field is a list of words")
        if self.kind != "int32":
            if (self.low, self.high) != (None, None):
                raise ValueError(f"{subject}: only an int32 has bounds, this is a {self.kind}")
            return
        low = 0 if self.low is None else self.low
        if type(low) is not int or type(self.high) is not int or not INT_LOW <= low <= self.high <= INT_HIGH:
            raise ValueError(
                f"{subject}: an int32 needs bounds low <= high of 32 bits, got low={shown(self.low)}, "
                f"high={shown(self.high)}"
            )
        object.__setattr__(self, "low", low)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> DType:
        """Dtype of the values, in kernels and as Tensors."""
        return KINDS[self.kind]


def wrong_shape(field: Field, shape: tuple[int, ...]) -> str:
    """Return the error message for a field's value of a wrong shape."""
    expected = f"have shape {field.shape}" if field.shape else "be one number"
    return f"field {field.name!r} must {expected}, got shape {shape}"


@dataclass(frozen=True)
class Spec:
    """Properties of a game with given rule fields; `te.testing.check_env` tests them.

    Attributes:
        num_players, num_actions: number of players, P, and of actions, A.
        observation_shape: shape of one player's observation.
        fields: fields of the game's state.
        observation_dtype: "bool", "int8", "int16", "int32" or "float32".
        max_plies: number of plies after which an unfinished episode is truncated; None if the rules themselves bound
            the game or truncate it.
        chance: whether `init` or `step` draw random values.
        zero_sum: whether the rewards of every step sum to 0.
        perfect_information: whether nothing is hidden: every player's observations so far show the whole state.
        events: names of the events that every `Outcome` of `step` reports.
        max_legal: largest number of legal actions of a position, to be declared if few of the actions are legal: trees
            of searches then store only legal actions. None: they store all actions.
        id, version: identity of the environment, which sets them.

    Examples:
        >>> spec = te.make("tic_tac_toe").spec
        >>> spec.num_players, spec.num_actions, spec.observation_shape
        (2, 9, (2, 3, 3))
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
    events: tuple[str, ...] = ()
    max_legal: int | None = None
    id: str = ""
    version: int = 0

    def __post_init__(self) -> None:
        integer("num_players", self.num_players, 1, MAX_PLAYERS)
        integer("num_actions", self.num_actions, 1, INT_HIGH)
        if self.max_plies is not None:
            integer("max_plies", self.max_plies, 1, INT_HIGH)
        _check_shape("observation_shape", self.observation_shape)
        if self.max_legal is not None:
            integer("max_legal", self.max_legal, 1, self.num_actions)
        one_of("observation_dtype", self.observation_dtype, OBSERVATION_DTYPES)
        for name in ("chance", "zero_sum", "perfect_information"):
            instance(name, getattr(self, name), bool)
        instance("fields", self.fields, tuple)
        for i, field in enumerate(self.fields):
            instance(f"fields[{i}]", field, Field)
        instance("events", self.events, tuple)
        for event in self.events:
            instance("events", event, str)
        if len(set(self.events)) < len(self.events):
            raise ValueError(f"events must be different names, got {shown(self.events)}")
        names = [field.name for field in self.all_fields]
        reserved = ["key"] * (not self.chance) + ["replace", "asdict"]  # the latter are methods of GameState
        taken = [name for name in names if names.count(name) > 1 or name in reserved]
        if taken:
            raise ValueError(f"the field name {taken[0]!r} is taken")

    @property
    def all_fields(self) -> tuple[Field, ...]:
        """Fields that every game has, of which `init` and `step` set only `current_player`, then those of this game."""
        plies = INT_HIGH if self.max_plies is None else self.max_plies
        core = (
            Field("current_player", low=-1, high=self.num_players - 1),
            Field("ply", high=plies),  # decisions so far in this episode
            Field("episode", kind="uint32"),
        )
        return core + (Field("key", (2,), kind="uint32"),) * self.chance + self.fields


def _check_shape(name: str, shape: Any) -> None:
    """Raise ValueError unless a shape is a tuple of positive ints, of at most 2^31 - 1 values."""
    if not isinstance(shape, tuple) or not all(type(n) is int and n > 0 for n in shape):
        raise ValueError(f"{name} must be a tuple of positive ints, got {shown(shape)}")
    if len(shape) > MAX_AXES or math.prod(shape) > INT_HIGH:
        raise ValueError(f"{name} must be of at most {MAX_AXES} axes and {INT_HIGH} numbers, got {shown(shape)}")


_LISTS = (list, tuple, np.ndarray)  # types that become a FixedList


class GameState:
    """Immutable fields of one game by name, for rules: scalars, and lists of them, nested by the field's shape.

    An index is an int, as in NumPy, or a Scalar: `s.board[s.current_player][-1]`. `replace` takes nested lists and
    NumPy arrays of numbers and Scalars.

    Examples:
        >>> s = te.debug(te.make("tic_tac_toe")).state
        >>> s.ply, s.replace(ply=3).ply
        (int32(0), 3)
    """

    def __init__(self, fields: Mapping[str, Any], num_players: int = 0):
        """Store the fields; `num_players` may be 0 for a state that is not passed to rules."""
        # Plain attributes are faster than a `__getattr__`.
        values = {
            name: FixedList(x) if isinstance(x, _LISTS) and type(x) is not FixedList else x
            for name, x in fields.items()
        }
        vars(self).update(values, _num_players=num_players)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no field {name!r}; the fields are {', '.join(self.asdict())}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a game state is immutable: use replace({name}=...)")

    def __repr__(self) -> str:
        return f"GameState({', '.join(f'{name}={value!r}' for name, value in self.asdict().items())})"

    def replace(self, **changes: Any) -> GameState:
        """Return the state with some fields replaced. ValueError for a name that is no field."""
        fields = self.asdict()
        unknown = changes.keys() - fields.keys()
        if unknown:
            raise ValueError(f"no field {', '.join(sorted(unknown))}; the fields are {', '.join(fields)}")
        return GameState(fields | changes, self._num_players)

    def asdict(self) -> dict[str, Any]:
        """Return the fields by name, in a new dictionary."""
        fields = vars(self).copy()
        del fields["_num_players"]
        return fields


def players_of(s: GameState) -> int:
    """Return the number of players of a state's game."""
    instance("s", s, GameState)
    return s._num_players or refuse("this GameState has no number of players: write GameState(fields, num_players)")


def next_player(s: GameState, alive: Sequence[Value] | None = None) -> Scalar:
    """Return the player whose turn follows that of `s.current_player`, in order of their numbers.

    Args:
        s: the state.
        alive: a condition for each player, False to skip the player; None: no player is skipped.

    Returns:
        An int32; the current player if there is no other.

    Raises:
        ValueError: `alive` is of another length.

    Examples:
        >>> next_player(te.debug(te.make("tic_tac_toe")).state)
        int32(1)
    """
    count = players_of(s)
    player = s.current_player
    if alive is not None and len(alive) != count:
        refuse(f"alive must have a condition for each of the {count} players, got {len(alive)}", ValueError)
    others = [_wrap_player(player + k, count) for k in range(1, count)]  # in the order of their turns
    if alive is None:
        return others[0] if others else player
    chosen = player
    for other in reversed(others):
        chosen = where(select(alive, other), other, chosen)
    return chosen


def _wrap_player(x: Scalar, n: int) -> Scalar:
    """Return a number in 0..2n-1 modulo n."""
    return x & n - 1 if n & n - 1 == 0 else where(x < n, x, x - n)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a legal action. `win` and `scores` create the outcome of an action that may end the game.

    Attributes:
        state: state after the action.
        rewards: rewards for this action, one for each player.
        terminated, truncated: whether the game is over, by the rules or by a limit.
        events: bools or ints by the names in `Spec.events`, which rollouts and the laboratory count. They do not affect
            the game.

    Examples:
        >>> s = te.debug(te.make("tic_tac_toe")).state
        >>> Outcome(s, rewards=(1.0, -1.0), terminated=True).truncated
        False
    """

    state: GameState
    rewards: Sequence[Value]
    terminated: Value
    truncated: Value = False
    events: Mapping[str, Value] = default(default_factory=dict)

    @classmethod
    def win(cls, after: GameState, player: Value, won: Value) -> Outcome:
        """Return the outcome of an action by which a player may have won.

        Args:
            after: the state after the action.
            player: the winner, an int.
            won: whether the game is won, a bool. If not, it goes on, with rewards of 0.

        Returns:
            An outcome with reward 1 for the winner, and -1 / (P - 1) for each of the other P - 1 players.

        Examples:
            >>> s = te.debug(te.make("tic_tac_toe")).state
            >>> Outcome.win(s, player=1, won=True).rewards
            [int32(-1), int32(1)]
        """
        count = players_of(after)
        player = scalar(player)
        won = scalar(won)
        if player.dtype not in (INT32, BOOL):
            refuse(f"a winner is an int32, got {player.kind}")
        if player.is_plain and won.is_plain and won.value and not 0 <= player.value < count:
            refuse(f"a winner must be in 0..{count - 1}, got {player.value}", ValueError)
        if count == 2:
            first = where(player == 0, int32(won), -int32(won))
            return cls(after, [first, -first], won)
        loss = -1 / max(count - 1, 1)
        return cls(after, [where(won, where(player == p, 1.0, loss), 0.0) for p in range(count)], won)

    def draw(self, over: Value) -> Outcome:
        """Return this outcome, in which the game also ends if `over` holds, with unchanged rewards.

        Examples:
            >>> s = te.debug(te.make("tic_tac_toe")).state
            >>> full = s.ply + 1 == 9
            >>> Outcome.win(s, s.current_player, won=False).draw(full).terminated
            bool(False)
        """
        return replace(self, terminated=scalar(self.terminated) | over)

    def counting(self, **events: Value) -> Outcome:
        """Return this outcome with more events.

        Args:
            events: bools or ints by name.

        Examples:
            >>> s = te.debug(te.make("tic_tac_toe")).state
            >>> Outcome.win(s, player=1, won=True).counting(corner=True).events
            {'corner': True}
        """
        return replace(self, events={**self.events, **events})

    @classmethod
    def scores(cls, after: GameState, scores: Sequence[Value], over: Value = True) -> Outcome:
        """Return the outcome of an action after which scores may decide the game.

        Args:
            after: the state after the action.
            scores: one number for each of P players, two or more.
            over: whether the game is over, a bool. If not, it goes on, with rewards of 0.

        Returns:
            An outcome with reward -1 / (P - 1) for every player below the highest score. The players with the highest
            score share the opposite sum: a single winner gets 1, and if all scores are equal, all rewards are 0.

        Raises:
            ValueError: another number of scores, or a single player.

        Examples:
            >>> s = te.debug(te.make("tic_tac_toe")).state
            >>> Outcome.scores(s, [int32(3), 5]).rewards
            [int32(-1), int32(1)]
        """
        count = players_of(after)
        over = scalar(over)
        if len(scores) != count or count == 1:
            expected = f"{count} scores, one a player" if count > 1 else "two or more players"
            refuse(f"scores must be of {expected}, got {len(scores)} scores", ValueError)
        if count == 2:
            first = where(over, int32(scores[0] > scores[1]) - int32(scores[0] < scores[1]), 0)
            return cls(after, [first, -first], over)
        best = reduce(maximum, scores)
        wins = [scalar(score) == best for score in scores]
        share = select([(count / n - 1) / (count - 1) for n in range(1, count + 1)], sum_of(wins) - 1)
        return cls(after, [where(over, where(win, share, -1 / (count - 1)), 0.0) for win in wins], over)


@dataclass(frozen=True)
class Symmetry:
    """Index maps under which a game is unchanged: new[i] = old[map[i]], for flattened arrays.

    Attributes:
        actions: map of the legal action mask, and so of policies, [A].
        observation: map of the flattened observation.
        state: maps of lists in the state dictionary, by name.
        fields: maps of the fields in `Spec.fields` that the symmetry changes, by name. A map permutes the bits of a
            word, of a list of words or of a number, or the entries of a list of bools or numbers. It applies to each
            row of the last axis; bits beyond the map stay. `te.solve` and `te.perft` identify positions by these maps,
            and ignore a symmetry whose `fields` are None.
        values: maps of the values of int32 fields, such as the number of a cell, by name.
        derived: names of fields that follow from the other fields, so that they are not needed to identify a position.

    Examples:
        >>> identity, *others = te.make("tic_tac_toe").symmetries()
        >>> identity.actions
        (0, 1, 2, 3, 4, 5, 6, 7, 8)
    """

    actions: tuple[int, ...]
    observation: tuple[int, ...]
    state: Mapping[str, tuple[int, ...]]
    fields: Mapping[str, tuple[int, ...]] | None = None
    values: Mapping[str, tuple[int, ...]] = default(default_factory=dict)
    derived: tuple[str, ...] = ()


class Rules(Protocol):
    """Protocol of rules: a frozen dataclass of rule fields with these methods, written for one game.

    The methods are traced once into a kernel for a whole batch: values that differ from game to game are selected by
    `where`, never by `if`. Python control flow may depend on rule fields and on constants. With plain numbers as
    arguments, the methods play one game.

    Rules of a game with hidden information may also have `determinize(s, player, chance)`. It resamples all that is
    hidden from `player`, with the probabilities of the rules, and keeps the rest. A search then resamples in every
    simulation, and uses no more information than the player to move has. An attribute `actions`, an `Actions`, names
    actions by default.

    Two optional declarations make `te.solve(method="search")` faster and change no result. `promise(s)` returns an int
    from -1,000 to 1,000, an estimate of an unfinished position for the player who does not move. The search tries
    actions in this order. The int `set_colouring` is a number of first actions, of which each gives a free cell for
    good to the player who moves. It declares that two players alternate, that one of them wins, and that an own cell
    never does harm. The search then leaves out actions that cannot change the result.

    Examples:
        >>> rules = te.make("tic_tac_toe").rules
        >>> rules.spec.num_actions
        9
    """

    @property
    def spec(self) -> Spec: ...

    def init(self, chance: Chance) -> Mapping[str, Any]:
        """Return the fields of a new game, in their shapes; fields that are left out are 0."""

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the legal actions of a game in progress: A conditions, or words of 32 actions each."""

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        """Play a legal action. `s.ply` is the number of decisions before this one."""

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the parts (`bits`, `one_hot`, `number`) of a player's observation; `s.legal_action_mask` has words.

        Parts are a list, or a dictionary by their names, in which a name may have a list of parts. The documents show
        the names.
        """


@functools.cache
def with_max_plies(rules: Any) -> Any:
    """Return a subclass of a rules dataclass with one more rule field: `max_plies`, after which games are truncated."""

    @dataclass(frozen=True)
    class Limited(rules):  # type: ignore[misc] # the class of a game
        max_plies: int = INT_HIGH

        def __post_init__(self) -> None:
            object.__setattr__(self, "max_plies", integer("max_plies", self.max_plies, 1, INT_HIGH))
            getattr(super(), "__post_init__", lambda: None)()

        @property
        def spec(self) -> Spec:
            spec: Spec = super().spec
            return replace(spec, max_plies=min(self.max_plies, spec.max_plies or INT_HIGH))

        def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
            """Truncate in the rules as well, since `te.solve` may ignore the limit of the Spec."""
            outcome = super().step(s, action, chance)
            instance("what step gives", outcome, Outcome)
            return replace(outcome, truncated=outcome.truncated | (s.ply + 1 >= self.max_plies))

        def __reduce__(self) -> Any:
            return _empty_limited, (rules,), self.__getstate__()

    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(Limited, name, getattr(rules, name))
    return Limited


def _empty_limited(rules: Any) -> Any:
    """Return rules without values, for pickle and copy to fill in."""
    limited = with_max_plies(rules)
    return limited.__new__(limited)
