"""Environments: games under fixed rules, stepped in batches."""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, cast, get_args

import numpy as np
from tinygrad import Tensor

from tensor_envs._compiler.devices import DeviceName, is_capturing, resolve, stays_lazy
from tensor_envs._engine.batch_layout import MAX_BATCH, BatchBuffers
from tensor_envs._engine.engine import Engine
from tensor_envs._engine.entry import GameEntry
from tensor_envs._engine.inputs import bool_array, host_ints, int_array
from tensor_envs._engine.layout import FLAGS
from tensor_envs._engine.random import KEY_WORDS, seed_words
from tensor_envs._validate import instance, integer, one_of, shown
from tensor_envs.rules.actions import Actions
from tensor_envs.rules.spec import INT_HIGH, INT_LOW, Spec, Symmetry
from tensor_envs.state import State, check_on_one_device

Illegal = Literal["lose", "raise"]
P = ParamSpec("P")
T = TypeVar("T")
if TYPE_CHECKING:
    import typing_extensions

    R_co = typing_extensions.TypeVar("R_co", covariant=True, default=Any)  # the game's rules
    S_co = typing_extensions.TypeVar("S_co", bound=State, covariant=True, default=State)  # its states
else:
    R_co, S_co = TypeVar("R_co"), TypeVar("S_co")  # defaults need Python 3.13

MAX_NAMED = 3  # actions in an error
SEED_ROWS = 2**32  # number of rows of a seed
DICT_DEFAULTS = {"ply": 0, "episode": 0, "key": (0, 0)}  # the key follows from seed and row
# attribute of Gymnasium's environments -> what to write
GYMNASIUM = {
    "action_space": "env.num_actions is the number of actions",
    "observation_space": "env.observation_shape and env.spec.observation_dtype describe observations",
}
# entries of a state's dictionary that are added where the other ones do not imply them
STATE_ENTRIES = ("current_player", "ply", *FLAGS)


def _refuse_without_state(method: Callable[P, T]) -> Callable[P, T]:
    """Raise TypeError that says what to write for `env.reset(seed=0)`."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if len(args) < 2 and "state" not in kwargs:
            raise TypeError(
                "state is missing: an Env has no games of its own; write env.init(batch, seed=0) to start some"
            )
        return method(*args, **kwargs)

    return call


class Env(Generic[R_co, S_co]):
    """A game under fixed rules, for any number of games at once. Made by `tensor_envs.make`.

    Games differ in their rules; this class is the same for all of them.

    Attributes:
        id, version: identity of the environment.
        rules: frozen dataclass of rule fields.
        spec: facts about the game, see `tensor_envs.Spec`.
        num_players, num_actions, observation_shape: those of the spec.
        illegal: "lose" or "raise".
        entry, engine: the registered game and its kernels. They are for adapters and searches, and may change in any
            version.

    Examples:
        >>> env = te.make("connect_four", columns=5)
        >>> env, env.num_actions
        (<Env connect_four-v0 columns=5>, 5)
    """

    def __init__(self, entry: GameEntry, rules: R_co, name: str, illegal: Illegal = "lose"):
        one_of("illegal", illegal, get_args(Illegal))
        self.illegal: Illegal = illegal
        self.id, self.version = name, entry.version
        self.rules: R_co = rules
        self.entry, self.engine = entry, Engine(cast(Any, rules))
        self.spec: Spec = replace(self.engine.spec, id=name, version=entry.version)
        self.spec_fields = tuple(self.engine.layout.fields)
        taken = [field for field in self.spec_fields if field in dir(State) and field != "key"]
        if taken:
            raise ValueError(f"the field name {taken[0]!r} of {name!r} is a state's own; choose another")
        self.num_players, self.num_actions = self.spec.num_players, self.spec.num_actions
        self.observation_shape = self.spec.observation_shape

    def __repr__(self) -> str:
        """Return the id, the version and the rule fields that differ from their defaults."""
        values = ((f, getattr(self.rules, f.name)) for f in fields(cast(Any, self.rules)))
        chosen = ", ".join(f"{f.name}={value!r}" for f, value in values if value != f.default)
        return f"<Env {self.id}-v{self.version}{' ' * bool(chosen)}{chosen}>"

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

    def plays_like(self, other: Env) -> bool:
        """Return whether another environment has the same game and rules, so that each can step the other's states."""
        return self is other or (self.rules == other.rules and self.entry == other.entry)

    # *** states ***

    def _state(self, buffers: BatchBuffers) -> S_co:
        state: Any = State(self, buffers)  # to type checkers a class with this game's fields, see `_known_games.pyi`
        return state

    def init(self, batch: int, seed: int = 0, device: DeviceName | None = None, first_row: int = 0) -> S_co:
        """Start new games. Row r is game r of the seed, whatever the batch size.

        Args:
            batch: B.
            seed: 0..2^64-1.
            device: any tinygrad device; a tuple of them shards the batch axis; None is tinygrad's default.
            first_row: the rows are first_row, first_row + 1, ... of the seed, so that several processes share one
                large batch.

        Returns:
            The state of B games.

        Raises:
            ValueError, TypeError: a batch below 1, a seed or row out of range, a device that does not exist, or a batch
                that is no multiple of the number of devices.

        Examples:
            >>> te.make("tic_tac_toe").init(batch=3, seed=1).ply.tolist()
            [0, 0, 0]
        """
        batch, words = integer("batch", batch, 1, MAX_BATCH), seed_words(seed)
        first_row = integer("first_row", first_row, 0, SEED_ROWS - batch)
        return self._state(self.engine.init(batch, words, resolve(device), first_row))

    def step(self, state: State, action: Any) -> S_co:
        """Play one action in every game; earlier states stay valid.

        A finished game stays as it is, with rewards 0, whatever its action. The kernel is compiled at the first call
        for a number of blocks and a device. Inside a TinyJit of the caller's the step becomes part of its graph.

        Args:
            state: of this environment.
            action: integers [B], a Tensor on the state's device or anything that NumPy takes.

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

    @_refuse_without_state
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
        buffers, names = self.check_state(state).buffers, self.spec.events
        actions = self.action_buffer(state, action)
        if not names:
            return {}
        values = self.engine.events(buffers, actions)
        return {name: values[:, number] for number, name in enumerate(names)}

    @_refuse_without_state
    def reset(self, state: State, mask: Any = None) -> S_co:
        """Start next episodes.

        Args:
            state: of this environment.
            mask: bool [B], the games to reset; default: every finished one.

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
        """Return the games at some rows of a state. Each keeps its own chance; a row may come several times.

        Args:
            state: on one device.
            rows: integers [N] in 0..B-1, a Tensor on the state's device or anything that NumPy takes. The values of a
                Tensor are not checked but clamped to the batch.

        Returns:
            A state of N games.

        Raises:
            ValueError, TypeError: rows of another dtype or shape or beyond the batch, or a state on several devices.

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
        """Return a state in which the games at some rows are those of another state. Each keeps its own chance.

        Args:
            state: on one device.
            rows: integers [N] in 0..B-1, all different, as NumPy takes them.
            other: N games of this environment on the same device, one for each row.

        Returns:
            A state of B games; `state` and `other` stay as they are.

        Raises:
            ValueError, TypeError: other states; rows of another dtype or shape, beyond the batch, or repeated.

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
        places = int_array("rows", index, buffers.layout)
        return self._state(self.engine.gather(buffers, places, state.batch, other.buffers))

    def observe(self, state: State, player: Any = None) -> Tensor:
        """Return the observation of a player. It is a node of a jit that captures.

        Args:
            state: of this environment.
            player: None (each game's player to move), a player for all games, or integers [B], a Tensor or what NumPy
                takes.

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
        if isinstance(player, (Tensor, np.ndarray, list, tuple)):
            players = int_array("player", player, buffers.layout, self.num_players)
            return self.engine.observe(buffers, None, players)
        chosen = None if player is None else integer("player", player, 0, self.num_players - 1)
        return self.engine.observe(buffers, chosen)

    # *** checks, also for adapters and searches ***

    def check_state(self, state: Any) -> State:
        """Return the state. TypeError or ValueError unless it is one of this environment."""
        if not isinstance(state, State):
            raise TypeError(f"state must be a State, got {type(state).__name__}")
        if not self.plays_like(state.env):
            raise ValueError(f"the state belongs to {state.env!r}, not to {self!r}")
        return state

    def action_buffer(self, state: State, action: Any) -> Tensor:
        """Return an action argument as an int32 buffer; see `step` for the errors."""
        actions = int_array("action", action, state.buffers.layout)
        if self.illegal == "raise":
            self._check_legal(state, actions)
        return actions

    def _check_legal(self, state: State, actions: Tensor) -> None:
        """Raise ValueError that names rows and actions if a game in progress gets an illegal one. Reads the device."""
        if is_capturing():
            raise RuntimeError('illegal="raise" reads the actions on the host, so a jit cannot capture it')
        values, chosen = state.numpy(), state.buffers.layout.table(actions)[:, 0]
        inside = (chosen >= 0) & (chosen < self.num_actions)
        legal = inside & values["legal_action_mask"][np.arange(len(chosen)), np.where(inside, chosen, 0)]
        wrong = np.flatnonzero(~legal & ~values["terminated"] & ~values["truncated"])
        if len(wrong):
            some = ", ".join(f"row {row}: {chosen[row]}" for row in wrong[:8]) + ", ..." * (len(wrong) > 8)
            raise ValueError(f"{len(wrong)} illegal actions ({some}); legal_action_mask says what is allowed")

    # *** one game as plain Python ***

    def state_to_dict(self, state: State, i: int = 0, player: int | None = None) -> dict[str, Any]:
        """Return one game with the field names and encodings of its rules file.

        Where these do not imply it, as for a game that an illegal action has ended, the dictionary also has
        `current_player`, `ply`, `terminated` or `truncated`, so that `state_from_dicts` restores the game. It has
        neither the game's random key and episode nor the rewards of its last step.

        Args:
            state: of this environment.
            i: the game's row.
            player: leaves out what is hidden from that player.

        Returns:
            Plain ints, bools and nested lists by name.

        Raises:
            ValueError, TypeError: another state, row or player.

        Examples:
            >>> env = te.make("shed", cards=3)
            >>> env.state_to_dict(env.step(env.init(1), [1]))
            {'hands': [[], []], 'pile': [2], 'talon': [1, 3], 'current_player': 1, 'ply': 1}
        """
        i = integer("i", i, 0, self.check_state(state).batch - 1)
        values, to_dict = self.row(state, i), self.entry.load("notation").to_dict
        game: dict[str, Any] = to_dict(self.rules, values)
        try:
            implied = self._from_dict(game)
        except ValueError:  # an entry `truncated` of the notation's own; the ply implies that `max_plies` is reached
            game = to_dict(self.rules, values | {"truncated": False}) | {"ply": values["ply"]}
            implied = self._from_dict(game)
        game |= {name: values[name] for name in STATE_ENTRIES if implied[name] != values[name]}
        if player is None:
            return game
        player = integer("player", player, 0, self.num_players - 1)
        hide = getattr(self.entry.load("render"), "seen_by", None)
        return game if hide is None else hide(self.rules, game, player)

    def row(self, state: State, i: int) -> dict[str, Any]:
        """Return every field and flag of one game by name, as plain numbers and nested lists."""
        layout = state.buffers.layout
        return self.engine.layout.game(layout.table(state.buffers.words)[i])

    def state_from_dicts(
        self, games: Sequence[dict[str, Any]], seed: int = 0, device: DeviceName | None = None
    ) -> S_co:
        """Return a batch of plain games. Row r gets the chance of row r, episode 0, of the seed.

        Args:
            games: dictionaries as `state_to_dict` returns them.
            seed, device: as in `init`.

        Returns:
            A state of as many games.

        Raises:
            ValueError: names the game and what is wrong with it, if one is no position of this game.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> games = [env.state_to_dict(env.init(1))] * 3
            >>> env.state_from_dicts(games).batch
            3
        """
        table, device = self.pack(games), resolve(device)
        fresh = self.engine.load(table, np.zeros((len(table), KEY_WORDS), np.uint32), device)
        keys = self.engine.row_keys(len(table), seed_words(seed), device, 0)
        return self._state(self.engine.refresh(fresh._replace(row_keys=keys)))

    def pack(self, games: Sequence[dict[str, Any]]) -> np.ndarray:
        """Return the words of games [N, W], uint32, without mask, rewards and keys. ValueError for an invalid game."""
        instance("games", games, Sequence)
        values = []
        for i, game in enumerate(games):
            try:
                values.append(self._from_dict(game))
            except (ValueError, TypeError, KeyError) as error:
                what = f"{error} missing" if isinstance(error, KeyError) else error
                raise ValueError(f"game {i} is no state of {self.id!r}: {what}") from None
        integer("the number of games", len(values), 1, MAX_BATCH)
        table, names = self.engine.layout.pack(values), {*STATE_ENTRIES}
        for i, game in enumerate(games):
            if game.keys() - names:
                names |= self.entry.load("notation").to_dict(self.rules, self.engine.layout.game(table[i])).keys()
            if unknown := game.keys() - names:
                raise ValueError(
                    f"game {i} of {self.id!r} has no {shown(min(unknown, key=repr))}; it has {sorted(names)}"
                )
        return table

    def _from_dict(self, game: dict[str, Any]) -> dict[str, Any]:
        """Return the values of all fields and flags. ValueError, TypeError or KeyError for an invalid game."""
        instance("a game", game, dict)
        entries = {name: game[name] for name in STATE_ENTRIES if name in game}
        for name in entries.keys() - {*FLAGS}:
            entries[name] = integer(name, entries[name], INT_LOW, INT_HIGH)
        position = self.entry.load("notation").from_dict(self.rules, game)
        values = DICT_DEFAULTS | position | entries
        if missing := self.engine.layout.slots.keys() - values.keys():
            raise ValueError(f"{', '.join(sorted(missing))} missing")
        for name in FLAGS:
            if values[name] not in (0, 1):
                raise ValueError(f"{name} must be True or False, got {values[name]!r}")
        if any(position.get(name) for name in FLAGS) and not any(values[name] for name in FLAGS):
            raise ValueError("terminated or truncated must be True, since the position is over")
        limit, player = self.spec.max_plies, values["current_player"]
        if limit is not None and values["ply"] >= limit and not values["terminated"]:
            values["truncated"] = True
        if values["terminated"] and values["truncated"]:
            raise ValueError("a game that is terminated is not truncated")
        if not values["terminated"] and not values["truncated"] and player not in range(self.num_players):
            raise ValueError(f"current_player must be in 0..{self.num_players - 1}, got {player!r}")
        return values

    # *** notation ***

    def action_to_string(self, action: int, state: State | None = None, i: int = 0) -> str:
        """Return the name of an action.

        Args:
            action: its number.
            state: in chess, the names of actions depend on the position; other games need none.
            i: the game's row.

        Returns:
            The name in the notation of the game's players, such as "e7e5" or "(0,2)".

        Raises:
            ValueError: no such action or row; names depend on the position and no state is given, or the action is
                illegal there.
            TypeError: no int, or a state of another environment.

        Examples:
            >>> te.make("tic_tac_toe").action_to_string(2)
            '(0,2)'
        """
        action = integer("action", action, 0, self.num_actions - 1)
        if not self.names_depend_on_position:
            return self._name(action)
        names = self.legal_actions(self._position(state), i)
        if action not in names:
            raise ValueError(f"action must be legal in row {i}, got {action}; legal are {_some(names.values())}")
        return names[action]

    def string_to_action(self, name: str, state: State | None = None, i: int = 0) -> int:
        """Return the action of a name; spaces do not count.

        Args:
            name: as `action_to_string` returns it. In chess also standard and long algebraic notation, such as "Nf6",
                "exd5+" and "Ng8-f6"; with a state, in backgammon also "13/7*" for a hit and "4/off" by a higher number,
                in tic-tac-toe "b2".
            state: as there; with one, the action must be legal.
            i: the game's row.

        Returns:
            The number of the action.

        Raises:
            ValueError: no action has the name, or no legal one, with examples; otherwise as in `action_to_string`.
            TypeError: no str, or a state of another environment.

        Examples:
            >>> te.make("tic_tac_toe").string_to_action("(0, 2)")
            2
        """
        instance("name", name, str)
        actions = self.spellings(state, i)
        wanted = name.replace(" ", "")
        if self.names_depend_on_position:
            wanted = wanted.rstrip("+#!?")  # signs of check and comments
        for text, action in actions.items():
            if text.replace(" ", "") == wanted:
                return action
        kind = "action" if state is None else "legal action"
        raise ValueError(f"no {kind} of {self.id!r} is called {shown(name)}; {kind}s are called {_some(actions)}")

    def legal_actions(self, state: State, i: int = 0) -> dict[int, str]:
        """Return the numbers and names of one game's legal actions, ascending; none once it is over.

        Args:
            state: a state of this environment.
            i: the game's row.

        Returns:
            Names by numbers.

        Raises:
            ValueError, TypeError: no such row, or a state of another environment.

        Examples:
            >>> env = te.make("connect_four")
            >>> env.legal_actions(env.init(2), 1)
            {0: '1', 1: '2', 2: '3', 3: '4', 4: '5', 5: '6', 6: '7'}
        """
        row, legal = self._legal(state, i)
        if not self.names_depend_on_position:
            return {action: self.action_names[action] for action in legal}
        notation = self.entry.load("notation")
        return {action: notation.move_to_string(self.rules, action, row) for action in legal}

    def spellings(self, state: State | None = None, i: int = 0) -> dict[str, int]:
        """Return actions by all their names: in chess also standard algebraic notation, in backgammon "13/7*".

        Args:
            state: a state of this environment, for the legal actions of one game; None: all actions, except in chess.
            i: the game's row.

        Returns:
            Numbers by names; the first action where several have one name.

        Raises:
            ValueError, TypeError: as in `legal_actions`; no state where names depend on the position.

        Examples:
            >>> env = te.make("chess")
            >>> [name for name, action in env.spellings(env.init(1)).items() if name.endswith("f3")]
            ['f2f3', 'g1f3', 'f3', 'Nf3']
        """
        by_position = self.names_depend_on_position
        every = state is None and not by_position
        named = dict(enumerate(self.action_names)) if every else self.legal_actions(self._position(state), i)
        actions = dict[str, int]()
        for action, name in named.items():
            actions.setdefault(name, action)
        named_too = self._notation("spellings")
        if state is None or named_too is None:
            return actions
        more: dict[str, int] = named_too(self.rules, *self._legal(state, i))
        return actions | more

    def _legal(self, state: State, i: int) -> tuple[dict[str, Any], list[int]]:
        """Return the fields of one game and its legal actions."""
        row = self.row(state, integer("i", i, 0, self.check_state(state).batch - 1))
        return row, np.flatnonzero(row["legal_action_mask"]).tolist()

    def _position(self, state: State | None) -> State:
        """Return the state. ValueError for None, since names of actions depend on the position."""
        if state is None:
            raise ValueError(f"names of actions of {self.id!r} depend on the position: pass state, and i for a row")
        return state

    @functools.cached_property
    def names_depend_on_position(self) -> bool:
        """Whether names of actions depend on the position, as in chess."""
        return self._notation("move_to_string") is not None

    def _notation(self, function: str) -> Callable[..., Any] | None:
        """Return a function of the notation module; None if the module or the function is missing."""
        return getattr(self.entry.load("notation"), function, None) if self.entry.notation else None

    def _name(self, action: int) -> str:
        """Return an action's name by the notation, by the rules' `actions`, or its number."""
        if named := self._notation("action_to_string"):
            return str(named(self.rules, action))
        actions = getattr(self.rules, "actions", None)
        return actions.name(action) if isinstance(actions, Actions) else str(action)

    @functools.cached_property
    def action_names(self) -> tuple[str, ...]:
        """Names of all actions: those of the notation module, else of the rules' `actions`, else their numbers.

        In chess these are squares as the player to move counts them; `legal_actions` names moves.
        """
        return tuple(map(self._name, range(self.num_actions)))

    def to_string(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Return one game as text. For a `player`, the board is turned to that side, without what is hidden from it.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> print(env.to_string(env.step(env.init(1), [4])).splitlines()[2])
            1  .  X  .
        """
        text: str = self.entry.load("render").to_string(self.rules, self._view(state, i, player))
        return text

    def render(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Return one game as an SVG document. For a `player`, it is that side's view, without what is hidden from it.

        Parts of the picture that stand for actions have these as `data-actions`, numbers with spaces between them.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> env.render(env.init(1)).startswith("<svg")
            True
        """
        svg: str = self.entry.load("render").to_svg(self.rules, self._view(state, i, player))
        return svg

    def _view(self, state: State, i: int, player: int | None) -> dict[str, Any]:
        """Return one game for a `render` module, which turns its board to the viewer."""
        game = self.state_to_dict(state, i, player)
        return game if player is None else {**game, "viewer": player}

    def symmetries(self) -> Iterator[Symmetry]:
        """Yield index maps under which the game is unchanged (see `tensor_envs.Symmetry`), the identity first.

        A game whose notation has no function `symmetries` yields the identity alone.

        Examples:
            >>> len(list(te.make("tic_tac_toe").symmetries()))
            8
        """
        maps = self._notation("symmetries")
        if maps is None:
            size = math.prod(self.observation_shape)
            return iter([Symmetry(tuple(range(self.num_actions)), tuple(range(size)), {})])
        found: Iterator[Symmetry] = maps(self.rules)
        return found

    # *** names of version 0.2, until 0.4 ***

    def describe(self) -> str:
        """Return `tensor_envs.text.describe(self)`. Deprecated."""
        return _text("describe(env)").describe(self)

    def prompt(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Return `tensor_envs.text.prompt(state, i, player)`. Deprecated."""
        return _text("prompt(state, i, player)").prompt(self.check_state(state), i, player)

    def parse(self, text: str, state: State | None = None, i: int = 0) -> int:
        """Return `tensor_envs.text.parse(self, text, state, i)`. Deprecated."""
        return _text("parse(env, answer, state, i)").parse(self, text, state, i)


def _some(names: Iterable[str]) -> str:
    """Return the first names for an error."""
    return ", ".join(itertools.islice(names, MAX_NAMED)) + ", ..."


def _text(call: str) -> Any:
    """Return the module `tensor_envs.text`, with a warning that a method of Env is one of its functions now."""
    warnings.warn(f"write tensor_envs.text.{call}", DeprecationWarning, stacklevel=3)
    return importlib.import_module("tensor_envs.text")
