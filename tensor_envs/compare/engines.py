"""Other engines for `tensor_envs.compare`: OpenSpiel, Pgx, EnvPool, and classes in plain Python."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from tensor_envs._engine.random import seed_words
from tensor_envs._validate import need, shown
from tensor_envs.compare.open_spiel import open_spiel
from tensor_envs.compare.protocol import Fields, OtherEngine, known_name
from tensor_envs.envs.env import Env
from tensor_envs.games.chess.rules import Chess, kinds_of
from tensor_envs.rules.chance import threefry
from tensor_envs.rules.plain import state_of

# *** Pgx and EnvPool, whose games have the same actions ***

PGX_NAMES = {
    "tic_tac_toe": "tic_tac_toe",
    "connect_four": "connect_four",
    "othello": "othello",
    "hex": "hex",
    "go": "go_9x9",
    "chess": "chess",
    "gardner_chess": "gardner_chess",
    "backgammon": "backgammon",
    "2048": "2048",
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_holdem",
}
ENVPOOL_NAMES = {  # without games of chance, whose dice and cards cannot be set
    "tic_tac_toe": "TicTacToe-v1",
    "connect_four": "ConnectFour-v1",
    "othello": "Othello-v1",
    "hex": "Hex-v1",
    "go": "Go9x9-v1",
    "chess": "Chess-v1",
}
CHESS = Chess().board
KING = 4 * CHESS.side * len(CHESS.planes)  # the first action from e1
# their numbers of our actions, where they differ
PGX_ACTIONS: dict[str, dict[int, int]] = {
    "chess": {CHESS.castles[k]: KING + CHESS.planes.index(step) for k, step in enumerate(((-2, 0), (2, 0)))},
    "kuhn_poker": {0: 1, 1: 0},
    "leduc_poker": {0: 2, 1: 0, 2: 1},
    "2048": {0: 1, 1: 2, 2: 3, 3: 0},
    "backgammon": {action: 0 for action in range(6)},  # each of them passes
}


class _Numbered:
    """Base of engines with Pgx's numbers of actions, in which chance says which player begins."""

    first: int  # their number of our player 0
    returns: list[float]

    def __init__(self, env: Env):
        self.id = env.id
        self.rules = env.rules
        self.num_players = env.num_players
        self.theirs = PGX_ACTIONS.get(env.id, {})
        self.ours = {theirs: ours for ours, theirs in sorted(self.theirs.items(), reverse=True)}

    def _our_actions(self, mask: Any, fields: Fields) -> list[int]:
        """Return our numbers of their legal actions. fields: our position."""
        legal = np.flatnonzero(np.asarray(mask)).tolist()
        if self.id == "backgammon":
            return sorted({0 if action < 6 else action for action in legal})
        if self.id == "chess":  # a move of two squares from e1 is castling if the king stands there
            *_, king = kinds_of(state_of(self.rules, fields))
            if not (int(king.value) & fields["own"]) >> 4 * CHESS.side & 1:
                return legal
        return [self.ours.get(action, action) for action in legal]

    def _our_player(self, player: int) -> int:
        return (player - self.first) % self.num_players

    def _paid(self, rewards: Any) -> None:
        """Add rewards by their players."""
        for player, reward in enumerate(np.asarray(rewards).tolist()):
            self.returns[self._our_player(player)] += reward


class Pgx(_Numbered):
    """A game of Pgx. Cards, dice and tiles are put into its states."""

    def __init__(self, env: Env):
        super().__init__(env)
        pgx = need("pgx", "--with pgx", "peers")
        self.jax = need("jax", "--with pgx", "peers")
        name = known_name("pgx", env, PGX_NAMES)
        game = pgx.make(name)
        self.module = importlib.import_module(type(game).__module__)
        self.step = self.jax.jit(game.step)
        self.first_state = self.jax.jit(game.init)(self.jax.random.PRNGKey(0))

    def begin(self, fields: Fields, seed: int, row: int) -> None:
        self.first = int(self.first_state.current_player)
        self.returns = [0.0] * self.num_players
        self.fields = fields
        self.state = self._dealt(self.first_state, fields)

    def apply(self, action: int, fields: Fields) -> None:
        number = self.theirs.get(action, action)
        self.fields = fields
        self.state = self.step(self.state, number, self.jax.random.PRNGKey(0))
        self._paid(self.state.rewards)
        self.state = self._dealt(self.state, fields)

    def _dealt(self, state: Any, fields: Fields) -> Any:
        """Return a state with the cards, dice or tiles of our game."""
        array = self.jax.numpy.asarray
        if self.id in ("kuhn_poker", "leduc_poker"):
            cards = [fields["cards"][self._our_player(player)] for player in range(2)]
            if self.id == "leduc_poker":
                cards = [card // 2 for card in (*cards, fields["public"])]
            return state.replace(_cards=array(cards, dtype=state._cards.dtype))
        if self.id == "2048":
            board = array(np.ravel(fields["board"]), dtype=state._board.dtype)
            mask = self.module._legal_action_mask(board.reshape(4, 4))
            return state.replace(_board=board, legal_action_mask=mask, terminated=~mask.any())
        if self.id == "backgammon" and not state.terminated and int(state._played_dice_num) == 0:
            faces = [face for face, left in enumerate(fields["dice"]) if left]
            dice = array([faces[0], faces[-1]], dtype=state._dice.dtype)
            playable = self.module._set_playable_dice(dice)
            mask = self.module._legal_action_mask(state._board, playable)
            return state.replace(_dice=dice, _playable_dice=playable, legal_action_mask=mask)
        return state

    @property
    def over(self) -> bool:
        return bool(self.state.terminated | self.state.truncated)

    @property
    def player(self) -> int:
        return self._our_player(int(self.state.current_player))

    def legal(self) -> list[int]:
        return self._our_actions(self.state.legal_action_mask, self.fields)

    def __str__(self) -> str:
        return (
            f"{type(self.state).__module__}: current_player {self.state.current_player}, step {self.state._step_count}"
        )


class EnvPool(_Numbered):
    """A game of EnvPool without chance."""

    def __init__(self, env: Env):
        super().__init__(env)
        name = known_name("envpool", env, ENVPOOL_NAMES)
        self.games = need("envpool", "--with envpool", "peers").make_gymnasium(name, num_envs=1)

    def begin(self, fields: Fields, seed: int, row: int) -> None:
        self.info = self.games.reset()[1]
        self.fields = fields
        self.first = int(self.info["current_player"][0])
        self.over = False
        self.returns = [0.0] * self.num_players

    def apply(self, action: int, fields: Fields) -> None:
        number = np.array([self.theirs.get(action, action)], np.int32)
        self.fields = fields
        _, rewards, terminated, truncated, self.info = self.games.step(number)
        self.over = bool(terminated[0] or truncated[0])
        self._paid(rewards)

    @property
    def player(self) -> int:
        return self._our_player(int(self.info["current_player"][0]))

    def legal(self) -> list[int]:
        return self._our_actions(self.info["legal_action_mask"][0], self.fields)

    def __str__(self) -> str:
        return str(self.info["board"][0])


# *** plain Python ***


class PlainPython:
    """A game of a class `Name(key, **fields)` with `legal_actions()`, `apply(action)` and the state's attributes.

    Its attributes are `current_player`, `rewards` (of the last action), `terminated` and `truncated`, as in `te.State`;
    `key` is a pair of 32-bit words for its chance, as in `tensor_envs.rules.chance`.
    """

    def __init__(self, make: Callable[[tuple[int, int]], Any], num_players: int):
        self.make = make
        self.num_players = num_players

    def begin(self, fields: Fields, seed: int, row: int) -> None:
        low, high = (int(word.value) for word in threefry(seed_words(seed), (row, 0)))
        self.game = self.make((low, high))
        self.returns = [0.0] * self.num_players

    def apply(self, action: int, fields: Fields) -> None:
        self.game.apply(action)
        self.returns = [total + float(paid) for total, paid in zip(self.returns, self.game.rewards, strict=True)]

    @property
    def over(self) -> bool:
        return bool(self.game.terminated or self.game.truncated)

    @property
    def player(self) -> int:
        return int(self.game.current_player)

    def legal(self) -> list[int]:
        return list(self.game.legal_actions())

    def __str__(self) -> str:
        return str(self.game.to_dict()) if hasattr(self.game, "to_dict") else ""


ENGINES: dict[str, Callable[[Env], OtherEngine]] = {"open_spiel": open_spiel, "pgx": Pgx, "envpool": EnvPool}


def engine_of(name: str, env: Env) -> OtherEngine:
    """Return another engine for a game.

    Args:
        name: one of `ENGINES`; "reference", the class of a checkout's tests; or "package.module:Class" of such a class.
        env: the game.

    Raises:
        ValueError: no such engine, or one that lacks the game.
        ModuleNotFoundError: its package is missing.
    """
    if name in ENGINES:
        return ENGINES[name](env)
    if name == "reference":
        if not isinstance(env.entry.rules, str) or not env.entry.rules.startswith("tensor_envs.games."):
            raise ValueError(f"reference engines are those of the package's games, {env!r} is none")
        name = f"tests.games.{env.entry.rules.split('.')[2]}.reference:Reference"  # type: ignore[union-attr]
    module, separator, attribute = name.partition(":")
    if not separator:
        raise ValueError(
            f"an engine must be {', '.join(ENGINES)}, reference or package.module:Class, got {shown(name)}"
        )
    try:
        made = getattr(importlib.import_module(module), attribute, None)
        if made is None:
            raise ValueError(f"an engine must be package.module:Class, and {module!r} has no {attribute!r}")
        if not hasattr(made, "legal_actions"):
            raise ValueError(f"an engine must be a class with legal_actions and apply, and {name!r} is {shown(made)}")
    except ModuleNotFoundError:
        if module.startswith("tests."):
            raise ValueError("reference engines are in a checkout of the repository: run the command there") from None
        raise
    return PlainPython(functools.partial(made, **_rule_fields(env, made)), env.num_players)


def _rule_fields(env: Env, made: Callable[..., Any]) -> dict[str, Any]:
    """Return the rule fields that a class names as parameters, and those that differ from their defaults."""
    named = inspect.signature(made).parameters
    rules = env.rules
    defaults = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(rules)}
    values = {name: getattr(rules, name) for name in defaults}
    return {name: value for name, value in values.items() if name in named or value != defaults[name]}
