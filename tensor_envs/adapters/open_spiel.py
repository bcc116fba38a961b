"""OpenSpiel (package `open_spiel`): every game as a Python game of pyspiel's, so that its algorithms and tools play it.

    import pyspiel
    import tensor_envs.adapters.open_spiel

    game = pyspiel.load_game("tensor_envs_shed(cards=8)")

Importing this module registers every game under "tensor_envs_" and its id, and from then on those of `te.register`. The
rule fields that are ints, bools or strings are parameters. All that a game pays is paid at its end. In a game with
chance every action, and the beginning, is followed by a chance node of one outcome, at which the game draws: clones of
a state meet chance of their own. The parameter `seed` makes it repeatable (-1: it is not). What players see is an
observation, not a history, so there are information states for games of perfect information alone.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tensor_envs.core import registry, words
from tensor_envs.core.entry import GameEntry
from tensor_envs.core.env import Env
from tensor_envs.core.state import State
from tensor_envs.rules.spec import MAX_PLAYERS

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError:
    raise ImportError("this adapter needs OpenSpiel: pip install open_spiel") from None

PREFIX = "tensor_envs_"
MOST_PLIES = 10**6  # of a game that says no number
BEGIN = -1  # what waits for chance before the first action


class SpielState(pyspiel.State):
    """One game, kept as words on the host, which copy and pickle as pyspiel wants."""

    _words: np.ndarray
    _row_rng: np.ndarray
    _legal: list[int]
    _pending: int | None  # an action that waits for chance

    def __init__(self, game: Any):
        super().__init__(game)
        self._returns = np.zeros(game.env.num_players)
        self._over, self._mover, self._pending = False, 0, BEGIN
        if not game.env.spec.chance:
            self._play(BEGIN)

    def _game(self) -> Any:
        return self.get_game()

    @property
    def state(self) -> State:
        """The game as a State of batch 1. ValueError before chance has begun it."""
        if self._pending == BEGIN:
            raise ValueError("chance has not yet begun the game")
        env: Env = self._game().env
        return State(env, env._engine.load(self._words, self._row_rng, "CPU"))

    def _play(self, action: int) -> None:
        game = self._game()
        env: Env = game.env
        if action == BEGIN:
            state = env.init(1, int(game.rng.integers(2**63)), "CPU")
        else:
            for slot in env._engine.layout.slots.get("key", ()):  # chance of this action alone
                self._words[0, slot.word] = game.rng.integers(2**32)
            state = env.step(self.state, [action])
        self._pending = None
        self._words, self._row_rng = (state._games.cut.table(t) for t in state.tensors)
        now = env._row(state, 0)
        self._returns += now["rewards"]
        self._over, self._mover = now["terminated"] or now["truncated"], now["current_player"]
        self._legal = np.flatnonzero(now["legal_action_mask"]).tolist()

    def current_player(self) -> int:
        if self._pending is not None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL if self._over else self._mover)

    def _legal_actions(self, player: int) -> list[int]:
        return list(self._legal)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(0, 1.0)]

    def _apply_action(self, action: int) -> None:
        if self._pending is not None:
            self._play(self._pending)
        elif self._game().env.spec.chance:
            self._pending = action
        else:
            self._play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return "draw" if player == pyspiel.PlayerId.CHANCE else self._game().env._action_names[action]

    def is_terminal(self) -> bool:
        return self._over

    def returns(self) -> list[float]:
        return (self._returns * self._over).tolist()

    def __str__(self) -> str:
        if self._pending is not None:
            return f"chance, after {self.history()}"
        return words.position(self._game().env, self.state, 0, None)


class Observer:
    """What a player sees, as numbers and as text."""

    def __init__(self, env: Env):
        self.env, shape = env, env.observation_shape
        self.tensor = np.zeros(shape, np.float32).reshape(-1)
        self.dict = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: SpielState, player: int) -> None:
        seen = 0 if state._pending == BEGIN else self.env.observe(state.state, player).numpy()[0]
        self.dict["observation"][...] = seen

    def string_from(self, state: SpielState, player: int) -> str:
        return "" if state._pending == BEGIN else words.position(self.env, state.state, 0, player)


def game_class(name: str, entry: GameEntry) -> tuple[pyspiel.GameType, type]:
    """pyspiel's description of a game, and its class."""
    env = registry.make(name)
    spec, kinds, fixed = env.spec, pyspiel.GameType, entry.presets.get(name, {})
    chances, informations = kinds.ChanceMode, kinds.Information
    fields = [field.name for field in dataclasses.fields(env.rules) if field.name not in fixed]
    parameters = {"seed": -1} | {
        field: value for field in fields if isinstance(value := getattr(env.rules, field), (bool, int, str))
    }
    about = pyspiel.GameType(
        short_name=PREFIX + name,
        long_name=f"tensor_envs: {name}",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=chances.SAMPLED_STOCHASTIC if spec.chance else chances.DETERMINISTIC,
        information=informations.PERFECT_INFORMATION
        if spec.perfect_information
        else informations.IMPERFECT_INFORMATION,
        utility=kinds.Utility.ZERO_SUM if spec.zero_sum else kinds.Utility.GENERAL_SUM,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=MAX_PLAYERS,
        min_num_players=1,
        provides_information_state_string=spec.perfect_information,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=parameters,
    )

    class SpielGame(pyspiel.Game):
        def __init__(self, given: dict[str, Any] | None = None):
            chosen = {key: value for key, value in (given or {}).items() if value != parameters[key]}
            seed = chosen.pop("seed", -1)
            self.env = registry.make(name, **chosen)  # defaults may depend on each other
            self.rng = np.random.default_rng(None if seed < 0 else seed)
            spec = self.env.spec
            info = pyspiel.GameInfo(
                num_distinct_actions=spec.num_actions,
                max_chance_outcomes=int(spec.chance),
                num_players=spec.num_players,
                min_utility=-np.inf,
                max_utility=np.inf,
                utility_sum=0.0 if spec.zero_sum else None,
                max_game_length=spec.max_plies or MOST_PLIES,
            )
            super().__init__(about, info, given or {})

        def new_initial_state(self, state: Any = None) -> SpielState:
            return SpielState(self)

        def make_py_observer(self, kind: Any = None, given: Any = None) -> Any:
            if kind is None or (kind.public_info and not kind.perfect_recall):
                return Observer(self.env)
            return IIGObserverForPublicInfoGame(kind, given) if spec.perfect_information else None

    return about, SpielGame


def register_games() -> None:
    """Register every game that `te.make` knows, unless it is there; done at once for what `te.register` adds."""
    for name, entry in registry._all_ids().items():
        if PREFIX + name not in pyspiel.registered_names():
            pyspiel.register_game(*game_class(name, entry))


register_games()
registry.listeners.append(register_games)
