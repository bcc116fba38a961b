"""OpenSpiel (package `open_spiel`): every game as a Python game of pyspiel, for its algorithms and tools.

    import pyspiel
    import tensor_envs.adapters.open_spiel

    game = pyspiel.load_game("tensor_envs_shed(cards=8)")

Importing this module registers every game under "tensor_envs_" and its id. Games of later calls of `te.register` are
registered as well. Rule fields that are ints, bools or strings are parameters. Returns are paid at the end of a game.

A game with chance in its first state only, such as a deal of cards, starts with a chance node of all first states, so
that counterfactual regret minimisation and exploitability are exact. In other games with chance, the start and every
action are followed by a chance node of one outcome, at which the game samples: clones of a state sample independently.
The parameter `seed` makes samples reproducible (-1: they are not). An information state lists a player's observations
and actions, ply by ply.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np

from tensor_envs import registry, text
from tensor_envs._engine.entry import GameEntry
from tensor_envs._engine.layout import FLAGS
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs.env import Env
from tensor_envs.rules.spec import MAX_PLAYERS
from tensor_envs.solve.outcomes import facts, first_states
from tensor_envs.state import State

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError:
    raise ImportError("this adapter needs OpenSpiel: pip install open_spiel") from None

PREFIX = "tensor_envs_"
MAX_PLIES = 10**6  # limit for games without one
BEGIN = -1  # pending action of a game before its first chance node
NO_KEYS = np.zeros((1, KEY_WORDS), np.uint32)
CACHE_SIZE = 2**16  # answers of kernels, which algorithms that walk through whole games ask for again and again


class Played(NamedTuple):
    """Result of an action or of the start of a game."""

    words: bytes
    rewards: np.ndarray
    over: bool
    mover: int
    legal: tuple[int, ...]

    @staticmethod
    def of(state: State) -> Played:
        values, table = state.env.row(state, 0), state.buffers.layout.table(state.tensors[0])
        over, legal = values["terminated"] or values["truncated"], np.flatnonzero(values["legal_action_mask"])
        return Played(table.tobytes(), values["rewards"], over, values["current_player"], tuple(legal.tolist()))


def loaded(env: Env, table: np.ndarray, row_keys: np.ndarray) -> State:
    """Return a State of batch 1 from the words of a game."""
    return State(env, env.engine.load(table, row_keys, "CPU"))


class SpielState(pyspiel.State):
    """One game as words on the host, which copy and pickle as pyspiel requires."""

    _words: np.ndarray
    _row_keys: np.ndarray
    _legal: list[int]
    _pending: int | None  # an action whose chance node comes next
    _past: tuple[tuple[bytes, int, int], ...]  # words before each action, its player, the action

    def __init__(self, game: Any):
        super().__init__(game)
        self._returns, self._past = np.zeros(game.env.num_players), ()
        self._over, self._mover, self._pending = False, 0, BEGIN
        if not game.env.spec.chance:
            self._play(BEGIN)

    def _game(self) -> Any:
        return self.get_game()

    @property
    def state(self) -> State:
        """The game as a State of batch 1. ValueError before the first chance node."""
        if self._pending == BEGIN:
            raise ValueError("chance has not yet begun the game")
        return loaded(self._game().env, self._words, self._row_keys)

    def _play(self, action: int, outcome: int = 0) -> None:
        """Apply an action; `outcome` is that of the first chance node."""
        game = self._game()
        if action == BEGIN:
            state = game.begin(outcome)
            self._row_keys, played = state.buffers.layout.table(state.tensors[1]), Played.of(state)
        else:
            self._past += ((self._words.tobytes(), self._mover, action),)
            if game.draws:  # chance of this action alone
                for slot in game.env.engine.layout.slots["key"]:
                    self._words[0, slot.word] = game.rng.integers(2**32)
            played = game.after(self._words.tobytes(), self._row_keys.tobytes(), action)
        self._pending = None
        self._words = np.frombuffer(played.words, np.uint32)[None].copy()
        self._returns = self._returns + played.rewards
        self._over, self._mover, self._legal = played.over, played.mover, list(played.legal)

    def current_player(self) -> int:
        if self._pending is not None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL if self._over else self._mover)

    def _legal_actions(self, player: int) -> list[int]:
        return list(self._legal)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        first = self._game().first
        count = 1 if first is None else len(first)
        return [(outcome, 1 / count) for outcome in range(count)]

    def _apply_action(self, action: int) -> None:
        if self._pending is not None:
            self._play(self._pending, action)
        elif self._game().draws:
            self._pending = action
        else:
            self._play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return f"draw {action}" if player == pyspiel.PlayerId.CHANCE else self._game().env.action_names[action]

    def is_terminal(self) -> bool:
        return self._over

    def returns(self) -> list[float]:
        return (self._returns * self._over).tolist()

    def __str__(self) -> str:
        if self._pending is not None:
            return f"chance, after {self.history()}"
        return text.position(self.state, 0, None)


class Memory:
    """Observer of information states: a player's observations and actions as text."""

    def __init__(self, env: Env):
        self.env, self.tensor, self.dict = env, None, dict[str, np.ndarray]()
        self._observed = functools.lru_cache(CACHE_SIZE)(self._observe)

    def _observe(self, words: bytes, player: int) -> str:
        state = loaded(self.env, np.frombuffer(words, np.uint32)[None], NO_KEYS)
        entries = self.env.observe(state, player).numpy()
        return (np.packbits(entries) if entries.dtype == bool else entries).tobytes().hex()

    def set_from(self, state: SpielState, player: int) -> None:
        """Do nothing: an information state has no tensor."""

    def string_from(self, state: SpielState, player: int) -> str:
        if state._pending == BEGIN:
            return ""
        text = [f"player {player}"]
        for table, mover, action in state._past:
            text += [self._observed(table, player)] + [f"did {action}"] * (mover == player)
        return " ".join([*text, self._observed(state._words.tobytes(), player)])


class Observer:
    """Observer of observations, as a tensor and as text."""

    def __init__(self, env: Env):
        self.env, shape = env, env.observation_shape
        self.tensor = np.zeros(shape, np.float32).reshape(-1)
        self.dict = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: SpielState, player: int) -> None:
        entries = 0 if state._pending == BEGIN else self.env.observe(state.state, player).numpy()[0]
        self.dict["observation"][...] = entries

    def string_from(self, state: SpielState, player: int) -> str:
        return "" if state._pending == BEGIN else text.position(state.state, 0, player)


def packed_first_states(env: Env) -> np.ndarray | None:
    """Return the words of all equally likely first states, or None if there is chance in later states."""
    if not env.spec.chance or env.engine.game.has_memory:
        return None
    try:
        if facts(env.rules).outcomes > 1:
            return None
        first = list(first_states(env.rules))
    except ValueError:  # too many to count
        return None
    return env.engine.layout.pack([game | dict.fromkeys(FLAGS, False) for game in first])


def game_class(name: str, entry: GameEntry) -> tuple[pyspiel.GameType, type]:
    """Return pyspiel's description of a game, and its class."""
    env = registry.make(name)
    spec, kinds, fixed = env.spec, pyspiel.GameType, entry.presets.get(name, {})
    chances, informations = kinds.ChanceMode, kinds.Information
    fields = [field.name for field in dataclasses.fields(env.rules) if field.name not in fixed]
    parameters = {"seed": -1} | {
        field: value for field in fields if isinstance(value := getattr(env.rules, field), (bool, int, str))
    }
    game_type = functools.partial(
        pyspiel.GameType,
        short_name=PREFIX + name,
        long_name=f"tensor_envs: {name}",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        information=informations.PERFECT_INFORMATION
        if spec.perfect_information
        else informations.IMPERFECT_INFORMATION,
        utility=kinds.Utility.ZERO_SUM if spec.zero_sum else kinds.Utility.GENERAL_SUM,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=MAX_PLAYERS,
        min_num_players=1,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=parameters,
    )

    sampled = chances.SAMPLED_STOCHASTIC if spec.chance else chances.DETERMINISTIC

    class SpielGame(pyspiel.Game):
        def __init__(self, params: dict[str, Any] | None = None):
            chosen = {key: value for key, value in (params or {}).items() if value != parameters[key]}
            seed = chosen.pop("seed", -1)
            self.env = registry.make(name, **chosen)  # defaults may depend on each other
            self.rng = np.random.default_rng(None if seed < 0 else seed)
            self.first, spec = packed_first_states(self.env), self.env.spec
            self.draws = spec.chance and self.first is None
            self.after = self._after if self.draws else functools.lru_cache(CACHE_SIZE)(self._after)
            outcomes = int(spec.chance) if self.first is None else len(self.first)
            info = pyspiel.GameInfo(
                num_distinct_actions=spec.num_actions,
                max_chance_outcomes=outcomes,
                num_players=spec.num_players,
                min_utility=-np.inf,
                max_utility=np.inf,
                utility_sum=0.0 if spec.zero_sum else None,
                max_game_length=spec.max_plies or MAX_PLIES,
            )
            mode = sampled if self.first is None else chances.EXPLICIT_STOCHASTIC
            super().__init__(game_type(chance_mode=mode), info, params or {})

        def begin(self, outcome: int) -> State:
            if self.first is None:
                return self.env.init(1, int(self.rng.integers(2**63)), "CPU")
            buffers = self.env.engine.load(self.first[outcome : outcome + 1], NO_KEYS, "CPU")
            return State(self.env, self.env.engine.refresh(buffers))

        def _after(self, words: bytes, row_keys: bytes, action: int) -> Played:
            table, keys = (np.frombuffer(part, np.uint32)[None] for part in (words, row_keys))
            return Played.of(self.env.step(loaded(self.env, table, keys), [action]))

        def new_initial_state(self, state: Any = None) -> SpielState:
            return SpielState(self)

        def make_py_observer(self, kind: Any = None, given: Any = None) -> Any:
            if kind is None or (kind.public_info and not kind.perfect_recall):
                return Observer(self.env)
            if spec.perfect_information:
                return IIGObserverForPublicInfoGame(kind, given)
            return Memory(self.env) if kind.public_info else None

    return game_type(chance_mode=sampled), SpielGame


def register_games() -> None:
    """Register every registered game with pyspiel, unless it is there already."""
    for name, entry in registry.entries().items():
        if PREFIX + name not in pyspiel.registered_names():
            pyspiel.register_game(*game_class(name, entry))


register_games()
registry.listeners.append(register_games)
