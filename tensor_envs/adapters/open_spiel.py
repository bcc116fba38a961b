"""OpenSpiel (package `open_spiel`): every game as a Python game of pyspiel, for its algorithms and tools.

    import pyspiel
    import tensor_envs.adapters.open_spiel

    game = pyspiel.load_game("tensor_envs_shed(cards=8)")

Importing this module registers every game under "tensor_envs_" and its id. Games of later calls of `te.register` are
registered as well. Rule fields that are ints, bools or strings are parameters, of which -1 stands for a default that
depends on other fields. Returns are paid at the end of a game.

A game with chance in its first state only, such as a deal of cards, starts with a chance node of all first states, so
that counterfactual regret minimisation and exploitability are exact. In other games with chance, the start and every
action are followed by a chance node of one outcome, at which the game samples: clones of a state sample independently.
The parameter `seed` makes samples reproducible (-1: they are not). Games can be pickled, and states serialised, but for
states of games that sample: pyspiel would need the samples still to come.

An information state lists a player's observations and actions, ply by ply. Games of hidden information whose longest
list has at most `MAX_INFORMATION` numbers have it as a tensor as well. `resample_from_infostate` draws one of the deals
with the player's information state; where chance is sampled, the rules' determinize resamples what is hidden.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tensor_envs import text
from tensor_envs._engine.entry import GameEntry
from tensor_envs._engine.inputs import INT32_END
from tensor_envs._engine.layout import FLAGS
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs._validate import integer, shown
from tensor_envs.envs import registry
from tensor_envs.envs.env import Env
from tensor_envs.envs.interpreter import debug
from tensor_envs.envs.state import State
from tensor_envs.rules.chance import KeyedChance
from tensor_envs.rules.scalar import int32
from tensor_envs.rules.spec import MAX_PLAYERS, Spec
from tensor_envs.solve.outcomes import facts, first_states

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError:
    raise ImportError("this adapter needs OpenSpiel: pip install open_spiel") from None

PREFIX = "tensor_envs_"
MAX_PLIES = 10**6  # limit for games without one
MAX_INFORMATION = 2**16  # numbers in the tensor of an information state
MAX_SEQUENCES = 256  # sequences of actions that are played to find the length of the longest game
CACHE_SIZE = 2**16  # games that a tree keeps for algorithms that walk through whole games again and again
CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)


class PositionTree:
    """Cache of positions that all pyspiel states of a game share, with the outcomes of chance.

    Attributes:
        first: words of all equally likely first states; None if there is chance in later states.
        draws: whether chance is sampled, so that positions are not kept.
        outcomes: outcomes of a chance node with their probabilities.
        start: first position of every game.
        plies: upper bound of a game's plies; None if there is none or it is not known.
    """

    def __init__(self, env: Env, seed: int):
        self.env = env
        self.rng = np.random.default_rng(None if seed < 0 else seed)
        self.first = packed_first_states(env)
        self.draws = env.spec.chance and self.first is None
        count = 1 if self.first is None else len(self.first)
        self._root: PositionLevel | None = None
        self._kept = 0
        self.outcomes = [(outcome, 1 / count) for outcome in range(count)]
        self.start = TreePosition(self, CHANCE) if env.spec.chance else self.begin().position(0)
        self.plies = env.spec.max_plies or self._longest_game()

    def __deepcopy__(self, memo: Any) -> PositionTree:
        return self

    def _longest_game(self) -> int | None:
        """Return the length of the longest game, from all sequences of actions; None if there are too many to play.

        This is for games of hidden information whose only chance is the deal: their rules limit them, though the Spec
        need not say so.
        """
        if self.env.spec.perfect_information or self.first is None:
            return None
        levels = [self.begin()]
        plies = 0
        played = 0
        while levels:
            levels = [level.after(int(action)) for level in levels for action in np.flatnonzero(level.mask.any(0))]
            plies = plies + bool(levels)
            played = played + len(levels)
            if played > MAX_SEQUENCES:
                return None
        return plies

    @property
    def information_size(self) -> int:
        """Number of values in the tensor of an information state; 0 if there is none, or there are too many."""
        env = self.env
        if env.spec.perfect_information or self.plies is None:
            return 0
        size = env.num_players + (self.plies + 1) * (math.prod(env.observation_shape) + env.num_actions)
        return size if size <= MAX_INFORMATION else 0

    def begin(self) -> PositionLevel:
        """Return the first states of all deals."""
        if self._root is None or self.draws:
            if self.first is None:
                state = self.env.init(1, int(self.rng.integers(2**63)), "CPU")
            else:
                keys = np.zeros((len(self.first), KEY_WORDS), np.uint32)
                buffers = self.env.engine.load(self.first, keys, "CPU")
                state = State(self.env, self.env.engine.refresh(buffers))
            self._root = PositionLevel(self, state)
        return self._root

    def step(self, level: PositionLevel, action: int) -> PositionLevel:
        """Return the games of all deals after an action."""
        words = level.words
        if self.draws:  # chance of this action alone
            words = words.copy()
            for slot in self.env.engine.layout.slots["key"]:
                words[:, slot.word] = self.rng.integers(2**32, size=len(words))
        games = loaded(self.env, words, level.row_keys)
        after = PositionLevel(self, self.env.step(games, [action] * len(words)), level, action)
        if not self.draws:
            self._kept += len(words)
            if self._kept > CACHE_SIZE:
                self.begin().children.clear()  # states keep their own positions
                self._kept = 0
            level.children[action] = after
        return after


class PositionLevel:
    """The games of all deals after the same actions, computed together.

    Attributes:
        words, row_keys: of the games, uint32 [D, words] and [D, KEY_WORDS].
        parent, action: the games before, and the last action; None and -1 at the start.
        over, movers, mask: whether games have ended, bool [D]; players to move [D]; legal actions, bool [D, A].
        returns: rewards so far, float64 [D, P].
        reached: whether all actions were legal in a deal, bool [D].
        positions: those of the deals, by number, as far as they are used.
        children: the games after another action.
    """

    def __init__(self, tree: PositionTree, state: State, parent: PositionLevel | None = None, action: int = -1):
        layout = state.buffers.layout
        self.tree = tree
        self.parent = parent
        self.action = action
        self.words, self.row_keys = (layout.download(part) for part in state.tensors)
        values = tree.env.engine.layout.unpack(self.words)
        self.over = values["terminated"] | values["truncated"]
        self.movers = values["current_player"]
        self.mask = values["legal_action_mask"]
        self.returns = values["rewards"].astype(np.float64)
        self.reached = np.ones(len(self.words), np.bool_)
        if parent is not None:
            self.returns = parent.returns + self.returns
            self.reached = parent.reached & parent.mask[:, action]
        self.positions: dict[int, TreePosition] = {}
        self.children: dict[int, PositionLevel] = {}
        self._observations: dict[int, np.ndarray] = {}
        self._information: dict[int, list[str]] = {}

    def __deepcopy__(self, memo: Any) -> PositionLevel:
        return self

    def position(self, deal: int) -> TreePosition:
        """Return the position of one deal."""
        if deal not in self.positions:
            player = TERMINAL if self.over[deal] else int(self.movers[deal])
            self.positions[deal] = TreePosition(self.tree, player, self, deal)
        return self.positions[deal]

    def after(self, action: int) -> PositionLevel:
        """Return the games after an action."""
        return self.children.get(action) or self.tree.step(self, action)

    def observations(self, player: int) -> np.ndarray:
        """Return a player's observations of all deals, [D, *observation_shape]."""
        if player not in self._observations:
            games = loaded(self.tree.env, self.words, self.row_keys)
            self._observations[player] = self.tree.env.observe(games, player).numpy()
        return self._observations[player]

    def information(self, player: int) -> list[str]:
        """Return a player's information states of all deals: observations, and own actions, as text."""
        level = self
        later = list[PositionLevel]()
        while player not in level._information and level.parent is not None:
            later.append(level)
            level = level.parent
        if player not in level._information:
            level._information[player] = [f"player {player} {seen}" for seen in level._observed(player)]
        texts = level._information[player]
        for after in reversed(later):
            own = [f" did {after.action} " if mover == player else " " for mover in level.movers.tolist()]
            texts = [a + b + c for a, b, c in zip(texts, own, after._observed(player), strict=True)]
            level = after
            if not self.tree.draws:  # texts of long games would take much memory
                level._information[player] = texts
        return texts

    def _observed(self, player: int) -> list[str]:
        entries = self.observations(player).reshape(len(self.words), -1)
        entries = np.packbits(entries, axis=1) if entries.dtype == bool else entries
        return [row.tobytes().hex() for row in entries]


class TreePosition:
    """A position of a game, or a chance node, as plain values that states of pyspiel share.

    Attributes:
        player: the player to move, or pyspiel's number for chance or the end.
        level, deal: the games among which it is, and its number; None and 0 before the first chance node.
        action: action whose chance node this is; None otherwise.
        legal: legal actions.
        returns: returns of every player; 0 before the end.
    """

    __slots__ = ("action", "deal", "legal", "level", "player", "returns", "tree")

    def __init__(
        self,
        tree: PositionTree,
        player: int,
        level: PositionLevel | None = None,
        deal: int = 0,
        action: int | None = None,
    ):
        self.tree = tree
        self.player = player
        self.level = level
        self.deal = deal
        self.action = action
        self.legal: list[int] = []
        self.returns = [0.0] * tree.env.num_players
        if level is not None and player == TERMINAL:
            self.returns = level.returns[deal].tolist()
        elif level is not None and player != CHANCE:
            self.legal = np.flatnonzero(level.mask[deal]).tolist()

    def __deepcopy__(self, memo: Any) -> TreePosition:
        return self

    def after(self, action: int) -> TreePosition:
        """Return the position after an action, or after an outcome of chance."""
        level = self.level
        deal = self.deal
        tree = self.tree
        if level is None:
            return tree.begin().position(0 if tree.draws else action)
        if self.player == CHANCE:
            assert self.action is not None
            return level.after(self.action).position(deal)
        if tree.draws:
            return TreePosition(tree, CHANCE, level, deal, action)
        return level.after(action).position(deal)

    def games(self) -> State:
        """Return the game as a State of batch 1. ValueError before the first chance node."""
        if self.level is None:
            raise ValueError("chance has not yet begun the game")
        row = slice(self.deal, self.deal + 1)
        return loaded(self.tree.env, self.level.words[row], self.level.row_keys[row])

    def resampled(self, player: int, number: float) -> TreePosition:
        """Return this position with what is hidden from a player resampled by the rules' determinize.

        number: in [0, 1), selects the sample.

        Raises:
            ValueError: the game hides something, and its rules have no determinize.
        """
        env = self.tree.env
        if self.level is None or env.spec.perfect_information:
            return self
        if not env.engine.game.determinizes:
            raise ValueError(f"the rules of {env.id!r} have no determinize, which resamples what is hidden")
        layout = env.engine.layout
        words = self.level.words[self.deal]
        game = debug(env, game=env.state_to_dict(self.games(), 0))
        key = int(number * 2**53)
        game.state = game.game.determinize(game.state, int32(player), KeyedChance((key & 0xFFFFFFFF, key >> 32)))
        new = layout.pack([game.fields() | dict.fromkeys(FLAGS, False)])
        new[0, layout.field_words :] = words[layout.field_words :]  # rewards and mask
        for name in ("key", "episode"):
            for slot in layout.slots[name]:
                new[0, slot.word] = words[slot.word]
        level = PositionLevel(self.tree, loaded(env, new, self.level.row_keys), self.level.parent, self.level.action)
        level.returns = self.level.returns
        return TreePosition(self.tree, self.player, level, 0, self.action)


def loaded(env: Env, table: np.ndarray, row_keys: np.ndarray) -> State:
    """Return a State from the words of games."""
    return State(env, env.engine.load(table, row_keys, "CPU"))


class SpielState(pyspiel.State):
    """A game of pyspiel: a position of a tree, so that copies are cheap."""

    def __init__(self, game: Any):
        super().__init__(game)
        self._at: TreePosition = game.tree.start

    @property
    def state(self) -> State:
        """The game as a State of batch 1. ValueError before the first chance node."""
        return self._at.games()

    def current_player(self) -> int:
        return self._at.player

    def _legal_actions(self, player: int) -> list[int]:
        return self._at.legal

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return list(self._at.tree.outcomes)

    def _apply_action(self, action: int) -> None:
        legal = self.legal_actions()
        if action not in legal:
            raise ValueError(f"action must be a legal one, got {action}; legal are {shown(legal)}")
        self._at = self._at.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == CHANCE:
            return f"draw {action}"
        env = self._at.tree.env
        return env.action_to_string(action, self.state if env.names_depend_on_position else None)

    def is_terminal(self) -> bool:
        return self._at.player == TERMINAL

    def returns(self) -> list[float]:
        return list(self._at.returns)

    def resample_from_infostate(self, player_id: int, probability_sampler: Callable[[], float]) -> SpielState:
        """Return a state with the information state of a player.

        Where a deal is all chance, it has one of the deals that lead to this information state, all equally likely,
        and a history with that deal. Where chance is sampled, the rules' determinize resamples what is hidden from the
        player now; the past stays as it is.

        Args:
            player_id: the player.
            probability_sampler: returns a number in [0, 1), such as `pyspiel.UniformProbabilitySampler(0, 1)`.

        Raises:
            ValueError: no such player, or hidden information that the rules cannot resample.
        """
        at = self._at
        if not 0 <= player_id < at.tree.env.num_players:
            raise ValueError(f"player_id must be in 0..{at.tree.env.num_players - 1}, got {player_id}")
        if at.tree.first is None or at.level is None:
            state: SpielState = self.clone()
            state._at = at.resampled(player_id, probability_sampler())
            return state
        texts = at.level.information(player_id)
        reached = at.level.reached.tolist()
        alike = [deal for deal, text in enumerate(texts) if reached[deal] and text == texts[at.deal]]
        deal = alike[int(probability_sampler() * len(alike))]
        state = self.get_game().new_initial_state()
        for action in (deal, *self.history()[1:]):
            state.apply_action(action)
        return state

    def __str__(self) -> str:
        if self._at.player == CHANCE:
            return f"chance, after {self.history()}"
        return text.position(self.state, 0, None)


class Memory:
    """Observer of information states: a player's observations and actions, as text and as a tensor.

    The tensor has the player, and for every ply up to the game's limit the observation before it and the player's own
    action, 0 where there is none.
    """

    def __init__(self, tree: PositionTree):
        self.tensor = None
        self.dict = dict[str, np.ndarray]()
        if tree.information_size and tree.plies is not None:
            self.tensor = np.zeros(tree.information_size, np.float32)
            players = tree.env.num_players
            actions = tree.env.num_actions
            table = self.tensor[players:].reshape(tree.plies + 1, -1)
            self.dict = {"player": self.tensor[:players], "observations": table[:, :-actions]}
            self.dict["actions"] = table[:, -actions:]

    def set_from(self, state: SpielState, player: int) -> None:
        if self.tensor is None:
            return
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        levels = list[PositionLevel]()
        level = state._at.level
        while level is not None:
            levels.append(level)
            level = level.parent
        deal = state._at.deal
        after = None
        for ply, level in enumerate(reversed(levels)):
            if after is not None and after.movers[deal] == player:
                self.dict["actions"][ply - 1, level.action] = 1
            self.dict["observations"][ply] = level.observations(player)[deal].reshape(-1)
            after = level

    def string_from(self, state: SpielState, player: int) -> str:
        at = state._at
        return "" if at.level is None else at.level.information(player)[at.deal]


class Observer:
    """Observer of observations, as a tensor and as text."""

    def __init__(self, env: Env):
        self.env = env
        shape = env.observation_shape
        self.tensor = np.zeros(shape, np.float32).reshape(-1)
        self.dict = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: SpielState, player: int) -> None:
        at = state._at
        self.dict["observation"][...] = 0 if at.level is None else at.level.observations(player)[at.deal]

    def string_from(self, state: SpielState, player: int) -> str:
        return "" if state._at.level is None else text.position(state.state, 0, player)


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


def _parameters(env: Env, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a game with their defaults: the seed, and rule fields of types that pyspiel has."""
    values: dict[str, Any] = {"seed": -1}
    for field in dataclasses.fields(env.rules):
        value = getattr(env.rules, field.name)
        # pyspiel adds defaults to what a user gives: as a number, one that depends on other fields would look chosen
        if field.default is None and value is not None:
            value = -1
        if field.name not in fixed and isinstance(value, (bool, int, str)):
            values[field.name] = value
    return values


def _game_type(name: str, spec: Spec, parameters: Mapping[str, Any]) -> functools.partial[pyspiel.GameType]:
    """Return pyspiel's description of a game, in which the kind of chance and of tensors is open."""
    kinds = pyspiel.GameType
    informations = kinds.Information
    return functools.partial(
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
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=parameters,
    )


def game_class(name: str, entry: GameEntry) -> tuple[pyspiel.GameType, type]:
    """Return pyspiel's description of a game, and its class."""
    env = registry.make(name)
    spec = env.spec
    parameters = _parameters(env, entry.presets.get(name, {}))
    game_type = _game_type(name, spec, parameters)
    chances = pyspiel.GameType.ChanceMode
    sampled = chances.SAMPLED_STOCHASTIC if spec.chance else chances.DETERMINISTIC

    class SpielGame(pyspiel.Game):
        def __init__(self, params: dict[str, Any] | None = None):
            chosen = {key: value for key, value in (params or {}).items() if value != parameters[key]}
            seed = chosen.pop("seed", -1)
            env = registry.make(name, **chosen)
            self.tree = PositionTree(env, integer("seed", seed, -1, INT32_END - 1))
            spec = env.spec
            info = pyspiel.GameInfo(
                num_distinct_actions=spec.num_actions,
                max_chance_outcomes=len(self.tree.outcomes) * spec.chance,
                num_players=spec.num_players,
                min_utility=-np.inf,
                max_utility=np.inf,
                utility_sum=0.0 if spec.zero_sum else None,
                max_game_length=self.tree.plies or MAX_PLIES,
            )
            # Parameters decide whether chance can be enumerated, so a game's type may differ from its class's.
            mode = sampled if self.tree.first is None else chances.EXPLICIT_STOCHASTIC
            tensor = self.tree.information_size > 0
            super().__init__(game_type(chance_mode=mode, provides_information_state_tensor=tensor), info, params or {})

        def __reduce__(self) -> Any:
            """Pickle as the text that `pyspiel.load_game` takes."""
            return _load, (str(self),)

        def new_initial_state(self, state: Any = None) -> SpielState:
            return SpielState(self)

        def make_py_observer(self, kind: Any = None, parameters: Any = None) -> Any:
            if kind is None or (kind.public_info and not kind.perfect_recall):
                return Observer(self.tree.env)
            if spec.perfect_information:
                return IIGObserverForPublicInfoGame(kind, parameters)
            return Memory(self.tree) if kind.public_info else None

    return game_type(chance_mode=sampled, provides_information_state_tensor=False), SpielGame


def _load(text: str) -> Any:
    """Return a game; unpickling imports this module, which registers the games."""
    return pyspiel.load_game(text)


def register_games() -> None:
    """Register every registered game with pyspiel, unless it is there already."""
    for name, entry in registry.entries().items():
        if PREFIX + name not in pyspiel.registered_names():
            pyspiel.register_game(*game_class(name, entry))


register_games()
registry.listeners.append(register_games)
