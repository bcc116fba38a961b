"""Games under fixed rules with their notation, and single games in plain Python."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np

from tensor_envs._engine.batch_layout import MAX_BATCH
from tensor_envs._engine.entry import GameEntry
from tensor_envs._engine.layout import FLAGS, Layout
from tensor_envs._validate import instance, integer, plain, renames, shown, wrong_type
from tensor_envs.envs.state import State
from tensor_envs.render.scene import without_secrets
from tensor_envs.rules.actions import Actions
from tensor_envs.rules.spec import INT_HIGH, INT_LOW, Spec, Symmetry

if TYPE_CHECKING:
    import typing_extensions

    from tensor_envs.envs.env import Env

    R_co = typing_extensions.TypeVar("R_co", covariant=True, default=Any)  # the game's rules
else:
    R_co = TypeVar("R_co")  # defaults need Python 3.13

MAX_EXAMPLES = 3  # names of actions in an error
DICT_DEFAULTS = {"ply": 0, "episode": 0, "key": (0, 0)}  # the key follows from seed and row
# entries of a state's dictionary that are added if the other ones do not imply them
STATE_ENTRIES = ("current_player", "ply", *FLAGS)


class NotatedGame(Generic[R_co]):
    """Game under fixed rules, with names of actions, and dictionaries, text and pictures of single games.

    The subclass `Env` adds batches of games.
    """

    def __init__(self, entry: GameEntry, rules: R_co, name: str, layout: Layout):
        self.id = name
        self.version = entry.version
        self.entry = entry
        self.rules = rules
        self._layout = layout
        self.spec: Spec = replace(layout.spec, id=name, version=entry.version)
        self.spec_fields = tuple(layout.fields)
        taken = [field for field in self.spec_fields if field in dir(State) and field != "key"]
        if taken:
            raise ValueError(f"the field name {taken[0]!r} of {name!r} is a state's own; choose another")
        self.num_players = self.spec.num_players
        self.num_actions = self.spec.num_actions
        self.observation_shape = self.spec.observation_shape

    def __repr__(self) -> str:
        """Return the id, the version and the rule fields that differ from their defaults."""
        values = ((f, getattr(self.rules, f.name)) for f in fields(cast(Any, self.rules)))
        changed = ", ".join(f"{f.name}={value!r}" for f, value in values if value != f.default)
        return f"<Env {self.id}-v{self.version}{' ' * bool(changed)}{changed}>"

    def plays_like(self, other: Env) -> bool:
        """Return whether another environment has the same game and rules, so that each can step the other's states."""
        return self is other or (self.rules == other.rules and self.entry == other.entry)

    def check_state(self, state: Any) -> State:
        """Return the argument. TypeError or ValueError unless it is a State of this environment."""
        if not isinstance(state, State):
            raise TypeError(f"state must be a State, got {type(state).__name__}")
        if not self.plays_like(state.env):
            raise ValueError(f"the state belongs to {state.env!r}, not to {self!r}")
        return state

    # *** one game as plain Python ***

    @renames(i="row")
    def state_to_dict(self, state: State, row: int = 0, player: int | None = None) -> dict[str, Any]:
        """Return one game as a dictionary with the names and encodings of its RULES.md.

        The dictionary also has `current_player`, `ply`, `terminated` or `truncated` if its other entries do not imply
        it, as in a game that an illegal action has ended, so that `state_from_dicts` restores the game. It lacks the
        game's random key and episode and the rewards of its last step.

        Args:
            state: state of this environment.
            row: row of the game in the batch.
            player: a player, from whom hidden information is removed; None: everything is included.

        Returns:
            Plain ints, bools, strings and nested lists by name, which JSON can hold; see `tensor_envs.text.schema`.

        Raises:
            ValueError, TypeError: another state, row or player.
            NotImplementedError: `player` in a game with hidden information whose render module has no `seen_by`.

        Examples:
            >>> env = te.make("shed", cards=3)
            >>> env.state_to_dict(env.step(env.init(1), [1]))
            {'hands': [[], []], 'pile': [2], 'talon': [1, 3], 'current_player': 1, 'ply': 1}
        """
        row = integer("row", row, 0, self.check_state(state).batch - 1)
        values = self.row(state, row)
        to_dict = self.entry.load("notation").to_dict
        game: dict[str, Any] = plain(to_dict(self.rules, values))
        try:
            implied = self._from_dict(game)
        except ValueError:
            # The notation itself has an entry `truncated`, but the ply already implies that `max_plies` is reached.
            game = plain(to_dict(self.rules, values | {"truncated": False})) | {"ply": values["ply"]}
            implied = self._from_dict(game)
        game |= {name: values[name] for name in STATE_ENTRIES if implied[name] != values[name]}
        if player is None:
            return game
        player = integer("player", player, 0, self.num_players - 1)
        return without_secrets(self.rules, self.entry.load("render"), game, player)

    def row(self, state: State, row: int) -> dict[str, Any]:
        """Return every field and flag of one game by name, as plain numbers and nested lists."""
        layout = state.buffers.layout
        return self._layout.game(layout.download(state.buffers.words)[row])

    def pack(self, positions: Sequence[dict[str, Any] | str]) -> np.ndarray:
        """Return the words of positions, uint32 [N, words], without mask, rewards and keys.

        Positions are dictionaries or strings of the game's notation. ValueError for an invalid one.
        """
        instance("positions", positions, Sequence)
        values = []
        if isinstance(positions, str):
            raise wrong_type("positions", "a list of dictionaries or strings", positions)
        games = list[Any]()
        for i, position in enumerate(positions):
            try:
                games.append(self._plain_game(position))
                values.append(self._from_dict(games[i]))
            except (ValueError, TypeError, KeyError) as error:
                reason = f"{error} missing" if isinstance(error, KeyError) else error
                raise ValueError(f"game {i} is no state of {self.id!r}: {reason}") from None
        integer("the number of positions", len(values), 1, MAX_BATCH)
        table = self._layout.pack(values)
        # Refuse entries that the notation does not have. Its names may depend on the game.
        names = {*STATE_ENTRIES}
        for i, game in enumerate(games):
            if game.keys() - names:
                names |= self.entry.load("notation").to_dict(self.rules, self._layout.game(table[i])).keys()
            if unknown := game.keys() - names:
                raise ValueError(
                    f"game {i} of {self.id!r} has no {shown(min(unknown, key=repr))}; it has {sorted(names)}"
                )
        return table

    def _plain_game(self, game: Any) -> Any:
        """Return a position as a dictionary of plain numbers and lists; anything but a dictionary or string as it is.

        ValueError for a string if the game has no notation of positions.
        """
        if isinstance(game, dict):
            return plain(game)
        if not isinstance(game, str):
            return game
        parse = getattr(self.entry.find("notation"), "from_string", None)
        if parse is None:
            text = f"positions of {self.id!r} have no notation as a string, got {shown(game)}; give a dictionary"
            raise ValueError(text)
        return parse(self.rules, game)

    def _from_dict(self, game: dict[str, Any]) -> dict[str, Any]:
        """Return the values of all fields and flags. ValueError, TypeError or KeyError for an invalid game."""
        instance("a game", game, dict)
        entries = {name: game[name] for name in STATE_ENTRIES if name in game}
        # Numbers must fit int32 before the notation reads them. Flags are checked last, since it may compute them.
        for name in entries.keys() - {*FLAGS}:
            entries[name] = integer(name, entries[name], INT_LOW, INT_HIGH)
        position = self.entry.load("notation").from_dict(self.rules, game)
        # A history implies the ply and the player to move, except if an illegal action has ended the game.
        is_over = any((position | entries).get(name) for name in FLAGS)
        for name in entries.keys() & position.keys() - {*FLAGS}:
            if entries[name] != position[name] and not is_over:
                raise ValueError(f"{name} must be {position[name]}, as the other entries say, got {entries[name]}")
        values = DICT_DEFAULTS | position | entries
        if missing := self._layout.slots.keys() - values.keys():
            raise ValueError(f"{', '.join(sorted(missing))} missing")
        for name in FLAGS:
            if values[name] not in (0, 1):
                raise ValueError(f"{name} must be True or False, got {values[name]!r}")
        # A position that the rules have ended must not be unfinished, but max_plies may end any position.
        if any(position.get(name) for name in FLAGS) and not any(values[name] for name in FLAGS):
            raise ValueError("terminated or truncated must be True, since the position is over")
        limit = self.spec.max_plies
        player = values["current_player"]
        if limit is not None and values["ply"] >= limit and not values["terminated"]:
            values["truncated"] = True
        if values["terminated"] and values["truncated"]:
            raise ValueError("a game that is terminated is not truncated")
        if not values["terminated"] and not values["truncated"] and player not in range(self.num_players):
            raise ValueError(f"current_player must be in 0..{self.num_players - 1}, got {player!r}")
        return values

    # *** notation ***

    @renames(i="row")
    def action_to_string(self, action: int, state: State | None = None, row: int = 0) -> str:
        """Return the name of an action.

        Args:
            action: its number.
            state: state with the position, which only games such as chess need, where names depend on it.
            row: row of the game in the batch.

        Returns:
            The name in the notation of the game's players, such as "e7e5" or "(0,2)".

        Raises:
            ValueError: no such action or row; if names depend on the position, no state or an illegal action.
            TypeError: `action` is no int, or `state` is of another environment.

        Examples:
            >>> te.make("tic_tac_toe").action_to_string(2)
            '(0,2)'
        """
        action = integer("action", action, 0, self.num_actions - 1)
        if not self.names_depend_on_position:
            if state is not None:
                integer("row", row, 0, self.check_state(state).batch - 1)
            return self._name(action)
        names = self.legal_actions(self._position(state), row)
        if action not in names:
            raise ValueError(f"action must be legal in row {row}, got {action}; legal are {_examples(names.values())}")
        return names[action]

    @renames(i="row")
    def string_to_action(self, name: str, state: State | None = None, row: int = 0) -> int:
        """Return the action with a name; spaces are ignored.

        Args:
            name: name as `action_to_string` returns it, or another spelling, see `spellings`: in chess standard and
                long algebraic notation, such as "Nf6", "exd5+" and "Ng8-f6". With a state, in backgammon "13/7*" for a
                hit and "4/off" by a higher number, in tic-tac-toe "b2".
            state: state in which the action must be legal; None: any action, except in games such as chess.
            row: row of the game in the batch.

        Returns:
            The number of the action.

        Raises:
            ValueError: no action, or no legal action, has the name; no such row; names depend on the position and there
                is no state.
            TypeError: `name` is no str, or `state` is of another environment.

        Examples:
            >>> te.make("tic_tac_toe").string_to_action("(0, 2)")
            2
        """
        instance("name", name, str)
        actions = self.spellings(state, row)
        # Signs such as "+" for check in chess may be left out. In shogi "+" is part of the name: a promotion.
        signs = getattr(self.entry.find("notation"), "COMMENT_SIGNS", "")
        stripped = name.replace(" ", "").rstrip(signs)
        for text, action in actions.items():
            if text.replace(" ", "") == stripped:
                return action
        kind = "action" if state is None else "legal action"
        raise ValueError(f"no {kind} of {self.id!r} is called {shown(name)}; {kind}s are called {_examples(actions)}")

    @renames(i="row")
    def legal_actions(self, state: State, row: int = 0) -> dict[int, str]:
        """Return the numbers and names of one game's legal actions, ascending; none if the game is over.

        Args:
            state: a state of this environment.
            row: row of the game in the batch.

        Returns:
            The name of each legal action, by its number.

        Raises:
            ValueError, TypeError: no such row, or a state of another environment.

        Examples:
            >>> env = te.make("connect_four")
            >>> env.legal_actions(env.init(2), 1)
            {0: '1', 1: '2', 2: '3', 3: '4', 4: '5', 5: '6', 6: '7'}
        """
        values, legal = self._legal(state, row)
        if not self.names_depend_on_position:
            return {action: self.action_names[action] for action in legal}
        notation = self.entry.load("notation")
        return {action: notation.move_to_string(self.rules, action, values) for action in legal}

    @renames(i="row")
    def spellings(self, state: State | None = None, row: int = 0) -> dict[str, int]:
        """Return actions by all their names: in chess also algebraic notation, in backgammon "13/7*".

        Args:
            state: a state of this environment, for the legal actions of one game; None: all actions, except in chess.
            row: row of the game in the batch.

        Returns:
            The number of each action, by its names; if several actions share a name, that of the first one.

        Raises:
            ValueError, TypeError: as in `legal_actions`; names depend on the position and there is no state.

        Examples:
            >>> env = te.make("chess")
            >>> [name for name, action in env.spellings(env.init(1)).items() if name.endswith("f3")]
            ['f2f3', 'g1f3', 'f3', 'f2-f3', 'Nf3', 'Ngf3', 'N1f3', 'Ng1-f3', 'Ng1f3']
        """
        if state is None and not self.names_depend_on_position:
            names = dict(enumerate(self.action_names))
        else:
            names = self.legal_actions(self._position(state), row)
        actions = dict[str, int]()
        for action, name in names.items():
            actions.setdefault(name, action)
        spellings = self._notation("spellings")
        if state is None or spellings is None:
            return actions
        others: dict[str, int] = spellings(self.rules, *self._legal(state, row))
        return actions | others

    def _legal(self, state: State, row: int) -> tuple[dict[str, Any], list[int]]:
        """Return the fields of one game and its legal actions."""
        values = self.row(state, integer("row", row, 0, self.check_state(state).batch - 1))
        return values, np.flatnonzero(values["legal_action_mask"]).tolist()

    def _position(self, state: State | None) -> State:
        """Return the argument. ValueError for None, since names of actions depend on the position."""
        if state is None:
            raise ValueError(f"names of actions of {self.id!r} depend on the position: pass state, and its row")
        return state

    @functools.cached_property
    def names_depend_on_position(self) -> bool:
        """Whether names of actions depend on the position, as in chess."""
        return self._notation("move_to_string") is not None

    def _notation(self, function: str) -> Callable[..., Any] | None:
        """Return a function of the notation module; None if the module or the function is missing."""
        return getattr(self.entry.find("notation"), function, None)

    def _name(self, action: int) -> str:
        """Return an action's name: that of the notation module, else of the rules' `actions`, else its number."""
        if action_to_string := self._notation("action_to_string"):
            return str(action_to_string(self.rules, action))
        actions = getattr(self.rules, "actions", None)
        return actions.name(action) if isinstance(actions, Actions) else str(action)

    @functools.cached_property
    def action_names(self) -> tuple[str, ...]:
        """Names of all actions: those of the notation module, else of the rules' `actions`, else their numbers.

        In chess these are squares from the view of the player to move; `legal_actions` names moves.
        """
        return tuple(map(self._name, range(self.num_actions)))

    @renames(i="row")
    def to_string(self, state: State, row: int = 0, player: int | None = None) -> str:
        """Return one game as text. With a `player`, the board faces that side and hidden information is removed.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> print(env.to_string(env.step(env.init(1), [4])).splitlines()[2])
            1  .  X  .
        """
        text: str = self.entry.load("render").to_string(self.rules, self._view(state, row, player))
        return text

    @renames(i="row")
    def render(self, state: State, row: int = 0, player: int | None = None) -> str:
        """Return one game as an SVG document. With a `player`, it is that player's view, without hidden information.

        Parts of the picture that stand for actions have an attribute `data-actions` with their numbers.

        Examples:
            >>> env = te.make("tic_tac_toe")
            >>> env.render(env.init(1)).startswith("<svg")
            True
        """
        render = self.entry.load("render")
        view = self._view(state, row, player)
        drawn = hasattr(render, "draw")
        svg: str = render.draw(self.rules, view).to_svg() if drawn else render.to_svg(self.rules, view)
        return svg

    def _view(self, state: State, row: int, player: int | None) -> dict[str, Any]:
        """Return one game for a render module, with an entry `viewer` if a player is given."""
        game = self.state_to_dict(state, row, player)
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
        symmetries: Iterator[Symmetry] = maps(self.rules)
        return symmetries


def _examples(names: Iterable[str]) -> str:
    """Return the first names, for an error."""
    return ", ".join(itertools.islice(names, MAX_EXAMPLES)) + ", ..."
