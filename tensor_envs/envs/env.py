"""Environments: games under fixed rules, stepped in batches; functions that combine the games of states."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, cast, get_args

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import MAX_BATCH, BatchBuffers
from tensor_envs._engine.engine import engine_of
from tensor_envs._engine.entry import GameEntry
from tensor_envs._engine.inputs import bool_array, host_array, host_ints, int_array
from tensor_envs._engine.random import KEY_WORDS, seed_words
from tensor_envs._runtime.context import is_capturing, stays_lazy
from tensor_envs._runtime.cuda import on_card
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.jitted import jit
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import instance, integer, one_of, renames, shown, wrong_type
from tensor_envs.envs.notation import NotatedGame, R_co
from tensor_envs.envs.state import State, check_on_one_device
from tensor_envs.rules.actions import Actions

Illegal = Literal["lose", "raise"]
P = ParamSpec("P")
T = TypeVar("T")
if TYPE_CHECKING:
    import typing_extensions

    S_co = typing_extensions.TypeVar("S_co", bound=State, covariant=True, default=State)  # its states
else:
    S_co = TypeVar("S_co")  # defaults need Python 3.13

SEED_ROWS = 2**32  # number of rows of a seed
# hints of errors, by attributes of Gymnasium's environments
GYMNASIUM = {
    "action_space": "env.num_actions is the number of actions",
    "observation_space": "env.observation_shape and env.spec.observation_dtype describe observations",
}


def _refuse_without_state(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method to raise a TypeError with a hint for calls without a state, such as `env.reset(seed=0)`."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if len(args) < 2 and "state" not in kwargs:
            raise TypeError(
                "state is missing: an Env has no games of its own; write env.init(batch, seed=0) to start some"
            )
        return method(*args, **kwargs)

    return call


class Env(NotatedGame[R_co], Generic[R_co, S_co]):
    """Environment: a game under fixed rules, for any number of games at once. Made by `tensor_envs.make`.

    All games share this class; they differ in their rules.

    Attributes:
        id, version: identity of the environment.
        rules: frozen dataclass of rule fields.
        spec: properties of the game, see `tensor_envs.Spec`.
        num_players, num_actions, observation_shape: those of the spec.
        illegal: effect of an illegal action, "lose" or "raise", see `make`.
        entry, engine: the registered game and its kernels, for adapters and searches. They may change in any version.

    Examples:
        >>> env = te.make("connect_four", columns=5)
        >>> env, env.num_actions
        (<Env connect_four-v0 columns=5>, 5)
    """

    def __init__(self, entry: GameEntry, rules: R_co, name: str, illegal: Illegal = "lose"):
        one_of("illegal", illegal, get_args(Illegal))
        self.illegal: Illegal = illegal
        self.engine = engine_of(cast(Any, rules))
        actions = getattr(rules, "actions", None)
        count = self.engine.game.spec.num_actions
        if isinstance(actions, Actions) and actions.count != count:
            raise ValueError(f"actions must name the {count} actions of the Spec, got names of {actions.count}")
        super().__init__(entry, rules, name, self.engine.layout)

    def __reduce__(self) -> Any:
        return Env, (self.entry, self.rules, self.id, self.illegal)

    @property
    def state_bytes(self) -> int:
        """Bytes of one game's state: fields, flags, rewards and mask. The row's random keys take 20 more."""
        return 4 * self.engine.layout.words

    if not TYPE_CHECKING:  # type checkers report unknown attributes

        def __getattr__(self, name: str) -> Any:
            hint = f": {GYMNASIUM[name]}; tensor_envs.adapters.gymnasium has spaces" if name in GYMNASIUM else ""
            raise AttributeError(f"an Env has no attribute {name!r}{hint}")

    # *** states ***

    def _state(self, buffers: BatchBuffers) -> S_co:
        """Wrap buffers. For type checkers the State has this game's fields, see `_known_games.pyi`."""
        state: Any = State(self, buffers)
        return state

    def init(self, batch: int, seed: int = 0, device: DeviceName | None = None, first_row: int = 0) -> S_co:
        """Start new games. Row r is game r of the seed, whatever the batch size.

        Args:
            batch: number of games, B.
            seed: 0..2^64-1.
            device: any tinygrad device; a tuple of them shards the batch axis; None is tinygrad's default.
            first_row: number of the first row under the seed, so that several processes can share one large batch.

        Returns:
            The state of B games.

        Raises:
            ValueError, TypeError: a batch below 1, a seed or row out of range, a device that does not exist, or a batch
                that is no multiple of the number of devices.

        Examples:
            >>> te.make("tic_tac_toe").init(batch=3, seed=1).ply.tolist()
            [0, 0, 0]
        """
        batch = integer("batch", batch, 1, MAX_BATCH)
        words = seed_words(seed)
        first_row = integer("first_row", first_row, 0, SEED_ROWS - batch)
        return self._state(self.engine.init(batch, words, open_device(device), first_row))

    def step(self, state: State, action: Any) -> S_co:
        """Play one action in every game; earlier states stay valid.

        A finished game stays as it is, with rewards 0, for any action. The kernel is compiled at the first call for a
        number of blocks and a device. Inside a TinyJit of the caller's the step becomes part of its graph.

        Args:
            state: state of this environment.
            action: integers [B], a Tensor on the state's device or anything that NumPy converts.

        Returns:
            The next state.

        Raises:
            ValueError, TypeError: a state of another environment; actions of another shape, dtype or device; with
                illegal="raise" actions that are not legal.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> state = env.step(env.init(2), [4, 8])
            >>> env.action_to_string(4), state.current_player.tolist(), state.legal_action_mask.numpy().sum().item()
            ('(1,1)', [1, 1], 16)
        """
        buffers = self.check_state(state).buffers
        return self._state(self.engine.step(buffers, self.action_buffer(state, action)))

    def events(self, state: State, action: Any) -> dict[str, Tensor]:
        """Return the events that the rules report for one action in every game; the games do not change.

        Args:
            state, action: as in `step`.

        Returns:
            int32 [B] by the names in `Spec.events`; 0 in games that are over, and for illegal actions.

        Raises:
            ValueError, TypeError: as in `step`.

        Examples:
            >>> env = te.make("three_will")
            >>> env.spec.events
            ('loan', 'stack', 'leap', 'failed attempt', 'declared win', 'challenge', 'swap')
            >>> env.events(env.init(3), [0, 0, 0])["loan"].tolist()
            [0, 0, 0]
        """
        buffers = self.check_state(state).buffers
        names = self.spec.events
        actions = self.action_buffer(state, action)
        if not names:
            return {}
        values = self.engine.events(buffers, actions)
        return {name: values[:, number] for number, name in enumerate(names)}

    @_refuse_without_state
    def reset(self, state: State, mask: Any = None) -> S_co:
        """Start next episodes.

        Args:
            state: state of this environment.
            mask: bool [B], the games to reset; None: every finished game.

        Returns:
            The next state; all rewards are 0.

        Raises:
            ValueError, TypeError: a state of another environment; a mask of another shape, dtype or device.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> state = env.step(env.init(2), [0, 1])
            >>> env.reset(state, [True, False]).ply.tolist()
            [0, 1]
        """
        buffers = self.check_state(state).buffers
        chosen = None if mask is None else bool_array("mask", mask, buffers.layout)
        return self._state(self.engine.reset(buffers, chosen))

    def take(self, state: State, rows: Any) -> S_co:
        """Return the games at some rows of a state, which may be repeated. Each game keeps its random key.

        Args:
            state: state on one device.
            rows: integers [N] in 0..B-1, a Tensor on the state's device or anything that NumPy converts. The values of
                a Tensor are clamped to this range, not checked.

        Returns:
            A state of N games.

        Raises:
            ValueError, TypeError: rows of another dtype or shape or out of range, or a state on several devices.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> env.take(env.step(env.init(3), [0, 1, 2]), [2, 2, 0]).ply.tolist()
            [1, 1, 1]
        """
        buffers = self.check_state(state).buffers
        check_on_one_device("take", state)
        if isinstance(rows, Tensor):
            count = int(rows.shape[0]) if rows.ndim == 1 and rows.shape[0] else -1
        else:
            rows = host_ints("rows", rows, None, below=state.batch)
            count = len(rows)
        layout = self.engine.batch_layout(count if count > 0 else 1, buffers.device)
        return self._state(self.engine.gather(buffers, int_array("rows", rows, layout), layout.batch))

    def put(self, state: State, rows: Any, other: State) -> S_co:
        """Return a state with the games at some rows replaced by those of another state. Each keeps its random key.

        Args:
            state: state on one device.
            rows: different integers [N] in 0..B-1, anything that NumPy converts.
            other: N games of this environment on the same device, one for each row.

        Returns:
            A state of B games; `state` and `other` stay as they are.

        Raises:
            ValueError, TypeError: other states; rows of another dtype or shape, out of range, or repeated.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> played = env.step(env.init(3), [0, 1, 2])
            >>> env.put(env.init(3), [1], played[[2]]).ply.tolist()
            [0, 1, 0]
        """
        buffers = self.check_state(state).buffers
        rows = host_ints("rows", rows, None, below=state.batch)
        index = np.arange(state.batch, dtype=np.int32)
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"rows must be different ones, got {shown(rows.tolist())}")
        if state.check_beside(other, "other").batch != len(rows):
            raise ValueError(f"other must have a game for each of the {len(rows)} rows, got {other.batch}")
        index[rows] = state.batch + np.arange(len(rows))
        sources = int_array("rows", index, buffers.layout)
        return self._state(self.engine.gather(buffers, sources, state.batch, other.buffers))

    def observe(self, state: State, player: Any = None) -> Tensor:
        """Return the observation of a player. Inside a jit it becomes part of the captured graph.

        Args:
            state: state of this environment.
            player: None (each game's player to move), a player for all games, or integers [B], a Tensor or anything
                that NumPy converts. The values of a Tensor are not checked; for a number that is no player, the
                observation is undefined.

        Returns:
            [B, *observation_shape] of dtype spec.observation_dtype.

        Raises:
            ValueError, TypeError: a state of another environment, or another player.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> env.observe(env.init(2)).shape
            (2, 2, 3, 3)
        """
        buffers = self.check_state(state).buffers
        if player is None and state._observed is not None and not stays_lazy():
            return state._observed[0]
        if isinstance(player, (Tensor, list, tuple)) or (hasattr(player, "__dlpack__") and np.ndim(player)):
            players = int_array("player", player, buffers.layout, self.num_players)
            return self.engine.observe(buffers, None, players)
        chosen = None if player is None else integer("player", player, 0, self.num_players - 1)
        return self.engine.observe(buffers, chosen)

    # *** checks, also for adapters and searches ***

    def action_buffer(self, state: State, action: Any) -> Tensor:
        """Return an action argument as an int32 buffer. It raises the errors of `step`."""
        actions = int_array("action", action, state.buffers.layout)
        if self.illegal == "raise":
            self._check_legal(state, actions, action)
        return actions

    def _check_legal(self, state: State, actions: Tensor, given: Any) -> None:
        """Raise ValueError, with rows and actions as given, if an action is illegal in an unfinished game."""
        if is_capturing():
            raise RuntimeError('illegal="raise" reads the actions on the host, so a jit cannot capture it')
        values = state.numpy()
        chosen = state.buffers.layout.download(actions)[:, 0]
        inside = (chosen >= 0) & (chosen < self.num_actions)
        legal = inside & values["legal_action_mask"][np.arange(len(chosen)), np.where(inside, chosen, 0)]
        wrong = np.flatnonzero(~legal & ~values["terminated"] & ~values["truncated"])
        if len(wrong):
            # The buffer has -1 in place of numbers that int32 cannot hold, so the argument itself is printed.
            argument = chosen if on_card(given) else host_array("action", given)
            examples = ", ".join(f"row {row}: {argument[row]}" for row in wrong[:8]) + ", ..." * (len(wrong) > 8)
            raise ValueError(f"{len(wrong)} illegal actions ({examples}); legal_action_mask says what is allowed")

    @renames(games="positions")
    def state_from_dicts(
        self,
        positions: Sequence[dict[str, Any] | str],
        seed: int = 0,
        device: DeviceName | None = None,
        first_row: int = 0,
    ) -> S_co:
        """Return a batch of games from dictionaries. Row r has the random keys of row first_row + r of the seed.

        Args:
            positions: dictionaries as `state_to_dict` returns them, also with NumPy's arrays and numbers, or strings of
                the game's notation, such as a FEN in chess.
            seed, device, first_row: as in `init`.

        Returns:
            A state of as many games, in episode 0.

        Raises:
            ValueError: a position is invalid. The error has its number and the reason.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> positions = [env.state_to_dict(env.init(1))] * 3
            >>> env.state_from_dicts(positions).batch
            3
        """
        table = self.pack(positions)
        device = open_device(device)
        buffers = self.engine.load(table, np.zeros((len(table), KEY_WORDS), np.uint32), device)
        first_row = integer("first_row", first_row, 0, SEED_ROWS - len(table))
        keys = self.engine.row_keys(len(table), seed_words(seed), device, first_row)
        return self._state(self.engine.refresh(buffers._replace(row_keys=keys)))

    # *** names of version 0.2, until 0.4 ***

    def describe(self) -> str:
        """Return `tensor_envs.text.describe(self)`. Deprecated."""
        return _text("describe(env)").describe(self)

    def prompt(self, state: State, row: int = 0, player: int | None = None) -> str:
        """Return `tensor_envs.text.prompt(state, row, player)`. Deprecated."""
        return _text("prompt(state, row, player)").prompt(self.check_state(state), row, player)

    def parse(self, text: str, state: State | None = None, row: int = 0) -> int:
        """Return `tensor_envs.text.parse(self, text, state, row)`. Deprecated."""
        return _text("parse(env, answer, state, row)").parse(self, text, state, row)


def _text(call: str) -> Any:
    """Return the module `tensor_envs.text`, and warn that a method of Env has become one of its functions."""
    warnings.warn(f"write tensor_envs.text.{call}", DeprecationWarning, stacklevel=3)
    return importlib.import_module("tensor_envs.text")


def concat(states: Sequence[State]) -> State:
    """Concatenate states along the batch. Each game keeps its random key.

    Args:
        states: one or more states of one environment, on one device.

    Returns:
        A state of all games.

    Raises:
        ValueError, TypeError: no states, or states of several environments or devices.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.concat([env.init(2), env.step(env.init(1), [4])]).ply.tolist()
        [0, 0, 1]
    """
    if not isinstance(states, (list, tuple)):
        raise wrong_type("states", "a list of States", states)
    if not states:
        raise ValueError("states must be one or more, got none")
    instance("states[0]", states[0], State)
    first: State = states[0]
    for i, other in enumerate(states):
        first.check_beside(other, f"states[{i}]")
    buffers = first.buffers
    for other in states[1:]:
        count = integer("the number of games", buffers.batch + other.batch, 1, MAX_BATCH)
        rows = int_array("rows", np.arange(count, dtype=np.int32), first.env.engine.batch_layout(count, buffers.device))
        buffers = first.env.engine.gather(buffers, rows, count, other.buffers)
    return State(first.env, buffers)


def where(mask: Any, a: State, b: State) -> State:
    """Select each row's game from one of two states. Each game keeps its random key.

    Args:
        mask: bool [B], a Tensor on the states' device or anything that NumPy converts.
        a, b: states of one environment, device and batch size.

    Returns:
        A state with the games of `a` where the mask is True and those of `b` elsewhere.

    Raises:
        ValueError, TypeError: states that cannot be combined; a mask of another shape, dtype or device.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(3)
        >>> te.where([True, False, True], env.step(state, [0, 1, 2]), state).ply.tolist()
        [1, 0, 1]
    """
    if not isinstance(a, State):
        raise wrong_type("a", "a State (tensor_envs.rules.where chooses between numbers)", a)
    buffers = a.buffers
    a.check_beside(b, "b")
    if b.batch != a.batch:
        raise ValueError(f"b must have {a.batch} games as a has, got {b.batch}")
    rows = _selected_rows(buffers.layout.column(bool_array("mask", mask, buffers.layout)))
    sources = int_array("mask", rows, buffers.layout)
    return State(a.env, a.env.engine.gather(buffers, sources, a.batch, b.buffers))


@jit
def _selected_rows(mask: Tensor) -> Tensor:
    """Return the rows that a mask selects from two concatenated states, int32 [B]."""
    count = int(mask.shape[0])
    row = Tensor.arange(count, dtype=dtypes.int32)
    return (mask != 0).where(row, row + count).contiguous()
