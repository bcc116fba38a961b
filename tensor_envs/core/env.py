"""The environment: one class for every game, final. Games differ in their rules alone."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, get_args

import numpy as np
from tinygrad import Tensor

from tensor_envs._compiler.devices import DeviceName, is_capturing, resolve
from tensor_envs.core import words
from tensor_envs.core.engine import Engine, batch_layout
from tensor_envs.core.entry import GameEntry
from tensor_envs.core.inputs import bool_array, host_ints, int_array
from tensor_envs.core.layout import FLAGS, KEY_WORDS
from tensor_envs.core.random import seed_words
from tensor_envs.core.state import State
from tensor_envs.core.validate import instance, integer, one_of, shown
from tensor_envs.rules.spec import INT_HIGH, INT_LOW, Spec, Symmetry

Illegal = Literal["lose", "raise"]

MAX_BATCH = 2**31 - 1
ROWS = 2**32  # of a seed
DICT_DEFAULTS = {"ply": 0, "episode": 0, "key": (0, 0)}  # the key is worked out from seed and row
ALSO = (
    "current_player",
    "ply",
    *FLAGS,
)  # what a dictionary says besides, where its game's own entries do not


class Env:
    """A game under fixed rules, for any number of games at once. Made by `tensor_envs.make`.

    Attributes:
        id, version: the environment's.
        rules: the frozen dataclass of rule fields.
        spec: facts about the game, see `tensor_envs.Spec`.
        num_players, num_actions, observation_shape: those of the spec.
        illegal: "lose" or "raise".
    """

    def __init__(self, entry: GameEntry, rules: Any, name: str, illegal: Illegal = "lose"):
        one_of("illegal", illegal, get_args(Illegal))
        self.illegal: Illegal = illegal
        self.rules, self.id, self.version = rules, name, entry.version
        self._entry, self._engine = entry, Engine(rules)
        self.spec: Spec = replace(self._engine.spec, id=name, version=entry.version)
        self.spec_fields = tuple(self._engine.layout.fields)
        taken = [field for field in self.spec_fields if field in dir(State) and field != "key"]
        if taken:
            raise ValueError(f"the field name {taken[0]!r} of {name!r} is a state's own; choose another")
        self.num_players, self.num_actions = self.spec.num_players, self.spec.num_actions
        self.observation_shape = self.spec.observation_shape

    def __repr__(self) -> str:
        """With the rule fields that have not their default."""
        values = ((f, getattr(self.rules, f.name)) for f in fields(self.rules))
        chosen = ", ".join(f"{f.name}={value!r}" for f, value in values if value != f.default)
        return f"<Env {self.id}-v{self.version}{' ' * bool(chosen)}{chosen}>"

    def __reduce__(self) -> Any:
        return Env, (self._entry, self.rules, self.id, self.illegal)

    @property
    def state_bytes(self) -> int:
        """Bytes of a game's state: fields and flags, rewards and mask. Its random keys take 20 more, once."""
        return 4 * self._engine.layout.words

    # *** states ***

    def init(self, batch: int, seed: int = 0, device: DeviceName | None = None, first_row: int = 0) -> State:
        """New games, row r being game r of the seed whatever the batch size.

        Args:
            batch: B.
            seed: 0..2^64-1.
            device: any tinygrad device; a tuple of them shards the batch axis; None is tinygrad's default.
            first_row: the rows are first_row, first_row + 1, ... of the seed, so that several processes share one
                large batch.

        Returns:
            The state of B games.

        Raises:
            ValueError, TypeError: a batch below 1, a seed or row out of range, a device that is not there, or a batch
                that the devices cannot share equally.
        """
        batch, words = integer("batch", batch, 1, MAX_BATCH), seed_words(seed)
        first_row = integer("first_row", first_row, 0, ROWS - batch)
        return State(self, self._engine.init(batch, words, resolve(device), first_row))

    def step(self, state: State, action: Any) -> State:
        """Play one action in every game; earlier states stay valid.

        A finished game stays as it is, with rewards 0, whatever its action. Compiled at the first call for a number of
        blocks of games and a device; inside a TinyJit of the caller's it becomes part of that.

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
        games = self._checked(state)._games
        return State(self, self._engine.step(games, self._actions(state, action)))

    def reset(self, state: State, mask: Any = None) -> State:
        """Start next episodes.

        Args:
            state: of this environment.
            mask: bool [B], the games that begin again; default: every finished one.

        Returns:
            The next state; all rewards are 0.

        Raises:
            ValueError, TypeError: a state of another environment; a mask of another shape, dtype or device.
        """
        games = self._checked(state)._games
        chosen = None if mask is None else bool_array("mask", mask, games.layout)
        return State(self, self._engine.reset(games, chosen))

    def take(self, state: State, rows: Any) -> State:
        """A batch of the games at some rows of a state, each with its own chance going on; a row may come many times.

        Args:
            state: on one device.
            rows: integers [N] in 0..B-1, a Tensor on the state's device or anything that NumPy takes. A Tensor's
                values are not looked at, and held within the batch.

        Returns:
            A state of N games.

        Raises:
            ValueError, TypeError: rows of another dtype or shape or beyond the batch, or a state on several devices.
        """
        games = self._checked(state)._games
        _on_one_device("take", state)
        if isinstance(rows, Tensor):
            count = int(rows.shape[0]) if rows.ndim == 1 and rows.shape[0] else -1
        else:
            rows = host_ints("rows", rows, None, below=state.batch)
            count = len(rows)
        where = batch_layout(count if count > 0 else 1, games.device)
        return State(self, self._engine.gather(games, int_array("rows", rows, where), where.batch))

    def put(self, state: State, rows: Any, other: State) -> State:
        """A state in which the games at some rows are those of another one, each with its own chance going on.

        Args:
            state: on one device.
            rows: integers [N] in 0..B-1, all different, as NumPy takes them.
            other: N games of this environment on the same device, one for each row.

        Returns:
            A state of B games; `state` and `other` stay as they are.

        Raises:
            ValueError, TypeError: other states; rows of another dtype or shape, beyond the batch, or twice the same.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> played = env.step(env.init(3), [0, 1, 2])
            >>> env.put(env.init(3), [1], played[[2]]).ply.tolist()
            [0, 1, 0]
        """
        games = self._checked(state)._games
        rows = host_ints("rows", rows, None, below=state.batch)
        index = np.arange(state.batch, dtype=np.int32)
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"rows must be different ones, got {shown(rows.tolist())}")
        if self._beside(state, other, "other").batch != len(rows):
            raise ValueError(f"other must have a game for each of the {len(rows)} rows, got {other.batch}")
        index[rows] = state.batch + np.arange(len(rows))
        return State(
            self,
            self._engine.gather(games, int_array("rows", index, games.layout), state.batch, other._games),
        )

    def _beside(self, state: State, other: Any, name: str) -> State:
        """Another state of the same environment and device. TypeError or ValueError."""
        instance(name, other, State)
        self._checked(other)
        for one in (state, other):
            _on_one_device("what is put together", one)
        if other.device != state.device:
            raise ValueError(f"{name} must be on {state.device} as the first state is, got {other.device}")
        return other

    def _checked(self, state: Any) -> State:
        """The state, if it is one of this environment, else TypeError or ValueError."""
        if not isinstance(state, State):
            raise TypeError(f"state must be a State, got {type(state).__name__}")
        if state.env is not self and (state.env.rules != self.rules or state.env._entry != self._entry):
            raise ValueError(f"the state belongs to {state.env!r}, not to {self!r}")
        return state

    def _actions(self, state: State, action: Any) -> Tensor:
        """An action argument as an int32 buffer; see `step` for the errors."""
        actions = int_array("action", action, state._games.layout)
        if self.illegal == "raise":
            self._check_legal(state, actions)
        return actions

    def _check_legal(self, state: State, actions: Tensor) -> None:
        """ValueError naming rows and actions if a game that goes on gets an illegal one; looks at them on the host."""
        if is_capturing():
            raise RuntimeError(
                'illegal="raise" looks at the actions on the host, so it cannot be captured by a jit'
            )
        now, chosen = state.numpy(), state._games.layout.table(actions)[:, 0]
        inside = (chosen >= 0) & (chosen < self.num_actions)
        legal = inside & now["legal_action_mask"][np.arange(len(chosen)), np.where(inside, chosen, 0)]
        wrong = np.flatnonzero(~legal & ~now["terminated"] & ~now["truncated"])
        if len(wrong):
            some = ", ".join(f"row {row}: {chosen[row]}" for row in wrong[:8]) + ", ..." * (len(wrong) > 8)
            raise ValueError(f"{len(wrong)} illegal actions ({some}); legal_action_mask says what is allowed")

    def observe(self, state: State, player: Any = None) -> Tensor:
        """What a player sees; a node of a jit that captures.

        Args:
            state: of this environment.
            player: None (each game's player to move), a player for all games, or integers [B], a Tensor or what NumPy
                takes.

        Returns:
            [B, *observation_shape] of dtype spec.observation_dtype.

        Raises:
            ValueError, TypeError: a state of another environment, or another player.
        """
        games = self._checked(state)._games
        if isinstance(player, (Tensor, np.ndarray, list, tuple)):
            return self._engine.observe(
                games, None, int_array("player", player, games.layout, self.num_players)
            )
        return self._engine.observe(
            games, None if player is None else integer("player", player, 0, self.num_players - 1)
        )

    # *** one game as plain Python, and in writing ***

    def state_to_dict(self, state: State, i: int = 0, player: int | None = None) -> dict[str, Any]:
        """One game with the field names and encodings of its rules file.

        Where these do not say it, as of a game that an illegal action has ended, it also has `current_player`, `ply`,
        `terminated` or `truncated`, so that `state_from_dicts` gives back the game. Its chance, its episode and what
        its last step paid are not told.

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
        i = integer("i", i, 0, self._checked(state).batch - 1)
        values = self._row(state, i)
        game: dict[str, Any] = self._entry.load("notation").to_dict(self.rules, values)
        told = self._from_dict(game)
        game |= {name: values[name] for name in ALSO if told[name] != values[name]}
        if player is None:
            return game
        player = integer("player", player, 0, self.num_players - 1)
        hide = getattr(self._entry.load("render"), "seen_by", None)
        return game if hide is None else hide(self.rules, game, player)

    def _row(self, state: State, i: int) -> dict[str, Any]:
        """All of one game by name, as plain numbers and nested lists."""
        games = state._games
        return self._engine.layout.game(games.layout.table(games.words)[i])

    def state_from_dicts(
        self, games: Sequence[dict[str, Any]], seed: int = 0, device: DeviceName | None = None
    ) -> State:
        """A batch from plain games; row r gets the chance of row r, episode 0, of the seed.

        Args:
            games: dictionaries as `state_to_dict` gives them.
            seed, device: as in `init`.

        Returns:
            A state of as many games.

        Raises:
            ValueError: names the game and what is wrong with it, if one is no position of this game.
        """
        table, where = self._table(games), resolve(device)
        fresh = self._engine.load(table, np.zeros((len(table), KEY_WORDS), np.uint32), where)
        rng = self._engine.rng(len(table), seed_words(seed), where, 0)
        return State(self, self._engine.refresh(fresh._replace(row_keys=rng)))

    def _table(self, games: Sequence[dict[str, Any]]) -> np.ndarray:
        """The words of games, without mask, rewards and keys. ValueError for what is no game."""
        instance("games", games, Sequence)
        values = []
        for i, game in enumerate(games):
            try:
                values.append(self._from_dict(game))
            except (ValueError, TypeError, KeyError) as error:
                what = f"{error} missing" if isinstance(error, KeyError) else error
                raise ValueError(f"game {i} is no state of {self.id!r}: {what}") from None
        integer("the number of games", len(values), 1, MAX_BATCH)
        table, known = self._engine.layout.pack(values), {*ALSO}
        for i, game in enumerate(games):
            if game.keys() - known:
                told = self._entry.load("notation").to_dict(self.rules, self._engine.layout.game(table[i]))
                known |= told.keys()
            if unknown := game.keys() - known:
                raise ValueError(
                    f"game {i} of {self.id!r} has no {shown(min(unknown, key=repr))}; it has {sorted(known)}"
                )
        return table

    def _from_dict(self, game: dict[str, Any]) -> dict[str, Any]:
        """Values of all fields and flags; ValueError, TypeError or KeyError for what is no game."""
        instance("a game", game, dict)
        also = {name: game[name] for name in ALSO if name in game}
        for name in also.keys() - {*FLAGS}:
            also[name] = integer(name, also[name], INT_LOW, INT_HIGH)
        own = self._entry.load("notation").from_dict(self.rules, game)
        values = DICT_DEFAULTS | own | also
        if missing := self._engine.layout.slots.keys() - values.keys():
            raise ValueError(f"{', '.join(sorted(missing))} missing")
        for name in FLAGS:
            if values[name] not in (0, 1):
                raise ValueError(f"{name} must be True or False, got {values[name]!r}")
        if any(own.get(name) for name in FLAGS) and not any(values[name] for name in FLAGS):
            raise ValueError("terminated or truncated must be True, since the position is over")
        limit, player = self.spec.max_plies, values["current_player"]
        if limit is not None and values["ply"] >= limit and not values["terminated"]:
            values["truncated"] = True
        if values["terminated"] and values["truncated"]:
            raise ValueError("a game that is terminated is not truncated")
        if not values["terminated"] and not values["truncated"] and player not in range(self.num_players):
            raise ValueError(f"current_player must be in 0..{self.num_players - 1}, got {player!r}")
        return values

    def action_to_string(self, action: int) -> str:
        """The name of an action, such as "(0,2)". ValueError if there is none of that number."""
        action = integer("action", action, 0, self.num_actions - 1)
        name: str = self._entry.load("notation").action_to_string(self.rules, action)
        return name

    def string_to_action(self, name: str) -> int:
        """The action of a name. ValueError, with examples, if none is called so."""
        instance("name", name, str)
        wanted = name.replace(" ", "")
        for action in range(self.num_actions):
            if self.action_to_string(action).replace(" ", "") == wanted:
                return action
        examples = ", ".join(self.action_to_string(a) for a in range(min(3, self.num_actions)))
        raise ValueError(
            f"no action of {self.id!r} is called {shown(name)}; actions are called {examples}, ..."
        )

    def to_string(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Game i as text: all of it, or without what is hidden from a player."""
        text: str = self._entry.load("render").to_string(self.rules, self.state_to_dict(state, i, player))
        return text

    def render(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Game i as an SVG document: all of it, or without what is hidden from a player.

        Parts of the picture that stand for actions have these as `data-actions`, numbers with spaces between them.
        """
        svg: str = self._entry.load("render").to_svg(self.rules, self.state_to_dict(state, i, player))
        return svg

    @functools.cached_property
    def _action_names(self) -> tuple[str, ...]:
        """The numbers of the actions, if the game has no notation."""
        try:
            return tuple(map(self.action_to_string, range(self.num_actions)))
        except NotImplementedError:
            return tuple(map(str, range(self.num_actions)))

    @functools.cached_property
    def _action_pattern(self) -> tuple[re.Pattern[str], dict[str, int]]:
        return words.names_pattern(self._action_names)

    def describe(self) -> str:
        """The rules in words, for a player that reads: the game's RULES.md, or its docstring, and its rule fields."""
        return words.describe(self)

    def prompt(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Game i in words, for a player that reads: what that player may know and, if it is to move, the legal moves.

        Args:
            state: of this environment.
            i: the game's row.
            player: who is asked; default: the player to move.

        Returns:
            Text that ends with what `parse` understands. Nothing in it depends on what is hidden from the player.

        Raises:
            ValueError, TypeError: another state, row or player.
            NotImplementedError: a game that hides something and has no render.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> print(env.prompt(env.step(env.init(1), [4])))
            You are player 1 in tic_tac_toe; the players are 0 to 1.
            <BLANKLINE>
               0  1  2
            0  .  .  .
            1  .  X  .
            2  .  .  .
            <BLANKLINE>
            the second player (O) to move
            <BLANKLINE>
            You are to move. Legal moves: (0,0); (0,1); (0,2); (1,0); (1,2); (2,0); (2,1); (2,2)
            End your answer with a line that names one of them, such as: move: (0,0)
            <BLANKLINE>
        """
        i = integer("i", i, 0, self._checked(state).batch - 1)
        if player is not None:
            player = integer("player", player, 0, self.num_players - 1)
        return words.prompt(self, state, i, player)

    def parse(self, text: str, state: State | None = None, i: int = 0) -> int:
        """The action that a text names: after the last "move:" or "answer:", in the last line, or anywhere.

        Case and spaces do not count. Where several moves are named, a state helps, since only one of them may be legal.

        Args:
            text: any answer.
            state: of this environment; the action must be legal in it.
            i: the game's row.

        Returns:
            The action.

        Raises:
            ValueError: it names no move, several, or one that is not legal; the message is fit to ask again.
            TypeError: `text` is no str, or another state.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> env.parse("The centre is taken by (1,1), so I take a corner.\\nMove: **( 0, 2 )**")
            2
        """
        instance("text", text, str)
        if state is None:
            return words.parse(self, text, None)
        i = integer("i", i, 0, self._checked(state).batch - 1)
        legal = np.flatnonzero(self._row(state, i)["legal_action_mask"]).tolist()
        return words.parse(self, text, legal)

    def symmetries(self) -> Iterator[Symmetry]:
        """Index maps under which the game is unchanged (see `tensor_envs.Symmetry`), the identity first.

        Of a game without notation nothing is known but the identity.
        """
        if not self._entry.notation:
            size = math.prod(self.observation_shape)
            return iter([Symmetry(tuple(range(self.num_actions)), tuple(range(size)), {})])
        found: Iterator[Symmetry] = self._entry.load("notation").symmetries(self.rules)
        return found


def _on_one_device(what: str, state: State) -> None:
    if state._games.layout.shards > 1:
        raise ValueError(f"{what} needs a state on one device, got one on {state.device}")
