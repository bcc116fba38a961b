"""Gymnasium environments (extra `gymnasium`): a learner plays one player of a game, or all of them.

Importing this module registers every game with Gymnasium, such as `tensor_envs/TicTacToe-v0`. Games of later calls of
`te.register` are registered as well.

    import gymnasium
    import tensor_envs.adapters.gymnasium

    vector = gymnasium.make_vec("tensor_envs/Shed-v0", num_envs=4096, cards=12, player="random")
    single = gymnasium.make("tensor_envs/TicTacToe-v0", render_mode="ansi")

A step plays the learner's action and then the other players until the learner is to move again, in one kernel. Its
reward is the sum of the learner's rewards over these plies. `reset` plays until the learner is to move; rewards of this
opening are added to those of the first step. A game that ends before the learner's first decision is skipped.

With `player="all"` the learner moves for every player: a step is one ply, the observation is that of the player to
move, and the reward is that of the player who has moved. This is the convention of Pgx's AlphaZero (examples/alphazero/
train.py in github.com/sotetsuk/pgx): the value of the next observation counts with the opposite sign, a discount of -1.

`info["action_mask"]` is int8 [A], for a vector [num_envs, A]: 1 for legal actions, all 0 once a game is over.
`action_space.sample` takes it. An illegal action ends its game with reward -1; with `illegal="raise"` it raises
ValueError. `info["player"]` is the learner's player, or the player to move, unless `player` is a single index. With
`player="all"` `info["rewards"]` has every player's reward for the ply, float64 [P].
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._engine.batch_layout import MAX_BATCH
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._validate import instance, integer, one_of, shown, wrong_type
from tensor_envs.adapters.host import SingleAgent
from tensor_envs.envs import registry
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import gymnasium_id, make
from tensor_envs.envs.state import State

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space

    from tensor_envs.adapters.spaces import FRAMES, Info, observation_space
except ImportError:
    raise ImportError("this adapter needs Gymnasium: pip install 'tensor_envs[gymnasium]'") from None

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Policy


METADATA: dict[str, Any] = {"render_modes": list(FRAMES), "render_fps": 2}


class SingleAgentVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, Any, np.ndarray]):
    """A learner's side of `num_envs` games that are stepped together, for `gymnasium.make_vec`.

    Row r plays episodes 0, 1, 2, ... of row r of the last seed given to `reset`. Without any seed one is drawn.

    Args:
        game: an id, with the fields of its rules and `illegal` as further keyword arguments, or an Env.
        player: the learner's player: an index; a list of indices, of which each episode draws one; "random", which is
            the list of all; or "all", to move for every player. Draws depend on seed, row and episode alone.
        opponent: policy of the other players, "uniform" or a function from a State to integers [num_envs], a Tensor or
            an array. It is called once for each of their plies. Rows in which the learner is to move look finished in
            the State, and actions for them are ignored. The buffers of the State are reused afterwards. Games are
            reproducible only if the function depends on the State alone. `te.jit` makes a network fast.
        autoreset_mode: one of Gymnasium's, or its value: "NextStep" (the default), "SameStep" or "Disabled".
        max_episode_steps: decisions of the learner after which a game is truncated, 1..2^24; None for no limit. As with
            Gymnasium's TimeLimit, its last observation and mask are those of a game in progress.
        device: as in `Env.init`.
        render_mode: "ansi" (text), "svg" or "rgb_array" (pixels; needs Pillow).

    Raises:
        TypeError, ValueError: other arguments.
    """

    metadata = METADATA

    def __init__(
        self,
        game: str | Env,
        num_envs: int = 1,
        *,
        player: int | str | Sequence[int] = 0,
        opponent: str | Policy = "uniform",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        device: DeviceName | None = None,
        render_mode: str | None = None,
        **rule_fields: Any,
    ):
        if "policy" in rule_fields:  # the name of version 0.2, until 0.4
            warnings.warn("write opponent=, not policy=", DeprecationWarning, stacklevel=2)
            opponent = rule_fields.pop("policy")
        env = _environment(game, rule_fields)
        self.num_envs = integer("num_envs", num_envs, 1, MAX_BATCH)
        if not isinstance(autoreset_mode, AutoresetMode):
            values = tuple(mode.value for mode in AutoresetMode)
            autoreset_mode = AutoresetMode(one_of("autoreset_mode", autoreset_mode, values))
        self.autoreset_mode = autoreset_mode
        self.metadata = {**self.metadata, "autoreset_mode": autoreset_mode}
        self.render_mode = None if render_mode is None else one_of("render_mode", render_mode, tuple(FRAMES))
        self.games = SingleAgent(env, self.num_envs, player, opponent, device, max_episode_steps)
        self.single_observation_space = observation_space(env.spec)
        self.single_action_space = spaces.Discrete(env.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all = np.ones(self.num_envs, np.bool_)
        self._started = False

    @property
    def player(self) -> np.ndarray:
        """The learner's player in each game, int64 [num_envs], or the player to move if the learner moves for all."""
        return self.games.players

    @property
    def opponent(self) -> str | Policy:
        """Policy of the other players."""
        return self.games.opponent

    @opponent.setter
    def opponent(self, opponent: str | Policy) -> None:
        self.games.set_opponent(opponent)

    def set_opponent(self, opponent: str | Policy) -> None:
        """Replace the policy of the other players in all games, from their next decision on."""
        self.games.set_opponent(opponent)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return a method's results, or an attribute, for every game, as Gymnasium's vector environments do."""
        value = getattr(self, f"single_{name}" if name.endswith("_space") else name)
        if callable(value) and name != "opponent":
            value = value(*args, **kwargs)
        return tuple(value) if isinstance(value, (tuple, np.ndarray)) else (value,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute for every game."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set `opponent`, to one policy or to a list that has it for every game.

        Raises:
            AttributeError: another attribute, since the games share one environment.
            ValueError: a list of another length, or of different policies.
        """
        if name != "opponent":
            raise AttributeError(f"the games share one environment, so {name!r} cannot be set; 'opponent' can")
        if isinstance(values, (list, tuple)):
            if len(values) != self.num_envs or any(value is not values[0] for value in values):
                raise ValueError(
                    f"values must be one policy, or {self.num_envs} times the same one, since the games share their "
                    f"opponent, got {shown(values)}; te.agents.league draws policies per game"
                )
            values = values[0]
        self.set_opponent(values)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Info]:
        """Start a new game in every row.

        Args:
            seed: starts episode 0 of this seed in every row; None starts the next episodes.
            options: {"reset_mask": bool [num_envs]} starts the next episodes in these rows only. {"state": positions}
                starts from given positions, either one for every game or a list of one for each: dictionaries as
                `Env.state_to_dict` returns them, strings of the game's notation (a FEN in chess), or a State. The
                fields are taken, and chance is that of the row and episode. Later episodes start as usual.

        Returns:
            Observations and info, of all rows.

        Raises:
            TypeError, ValueError: other options; a position that is over, or none of this game.
            ResetNeeded: a first reset with "reset_mask".
        """
        options = {} if options is None else options
        instance("options", options, dict)
        if unknown := options.keys() - {"reset_mask", "state"}:
            raise ValueError(f"options must have no key but 'reset_mask' and 'state', got {min(unknown, key=repr)!r}")
        rows = self._reset_mask(seed, options["reset_mask"]) if "reset_mask" in options else self._all
        words = positions(self.games.env, options["state"], int(rows.sum())) if "state" in options else None
        super().reset(seed=seed)
        if seed is None and not self._started:
            seed = int(self.np_random.integers(2**63))
        if words is not None:
            self.games.begin_from(rows, words, seed)
        elif seed is not None:
            self.games.begin(seed)
        else:
            self.games.restart(rows)
        self._started = True
        games = self.games
        return games.observation, self._info(games.action_mask, self._all, games.all_rewards)

    def _reset_mask(self, seed: int | None, rows: Any) -> np.ndarray:
        """Return the rows to reset, bool [num_envs]. Raise TypeError, ValueError or ResetNeeded for a wrong mask."""
        shape = (self.num_envs,)
        if not isinstance(rows, np.ndarray) or rows.dtype != np.bool_:
            kind = f"dtype {rows.dtype}" if isinstance(rows, np.ndarray) else type(rows).__name__
            raise TypeError(f"options['reset_mask'] must be a NumPy array of bool, got {kind}")
        if rows.shape != shape or not rows.any():
            got = "no True" if rows.shape == shape else f"shape {rows.shape}"
            raise ValueError(f"options['reset_mask'] must have shape {shape} and some True, got {got}")
        if seed is not None:
            raise ValueError("a seed is every row's: reset takes a seed or options['reset_mask'], not both")
        if not self._started:
            raise ResetNeeded("the first reset must be one of all rows, without options['reset_mask']")
        return rows

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Play an action of the learner in every game, then the other players.

        In a game that is over, "NextStep" starts the next episode instead, with reward 0, and "Disabled" raises
        ResetNeeded. "SameStep" resets games as they end and puts their `final_obs` and `final_info` into info.

        Args:
            actions: integers [num_envs].

        Returns:
            Observations, rewards (float64), terminations, truncations and info.
        """
        games = self.play(actions)
        info = Info()
        rewards = games.rewards
        terminated = games.terminated
        truncated = games.truncated
        ended = games.over
        all_rewards = games.all_rewards  # a restart clears them
        if self.autoreset_mode is AutoresetMode.SAME_STEP and ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            final[ended] = np.fromiter(games.observation[ended], dtype=object, count=ended.sum())
            mask = games.action_mask * ended[:, None]
            info = {"final_obs": final, "_final_obs": ended.copy()}
            info |= {"final_info": self._info(mask, ended, all_rewards), "_final_info": ended.copy()}
            games.restart(ended)
        info |= self._info(games.action_mask, self._all, all_rewards)
        return games.observation, rewards.astype(np.float64), terminated, truncated, info

    def play(self, actions: Any, played: np.ndarray | None = None) -> SingleAgent:
        """Play a step and return the games, whose attributes are its results; for adapters to other libraries.

        Args:
            actions: integers [num_envs].
            played: the games to step, bool [num_envs]; None for all. The others stay as they are.
        """
        if not self._started:
            raise ResetNeeded("call reset before step")
        games = self.games
        stuck = games.over if played is None else games.over & played
        if self.autoreset_mode is AutoresetMode.DISABLED and stuck.any():
            over = np.flatnonzero(stuck)
            rows = ", ".join(map(str, over[:8])) + ", ..." * (over.size > 8)
            raise ResetNeeded(f"the games of rows {rows} are over: call reset, or give their rows in reset_mask")
        games.step(actions, played)
        return games

    def action_masks(self) -> np.ndarray:
        """Return `info["action_mask"]` as bool [num_envs, A], under the name that sb3-contrib uses."""
        if not self._started:
            raise ResetNeeded("call reset before action_masks")
        return self.games.action_mask.astype(np.bool_)

    def _info(self, action_mask: np.ndarray, rows: np.ndarray, all_rewards: np.ndarray) -> Info:
        """Return the info of some rows in Gymnasium's form; `all_rewards` count if the learner moves for all."""
        games = self.games
        info = {"action_mask": action_mask, "_action_mask": rows.copy()}
        if games.names_players:
            info |= {"player": games.players * rows, "_player": rows.copy()}
        if games.seats is None:
            info |= {"rewards": (all_rewards * rows[:, None]).astype(np.float64), "_rewards": rows.copy()}
        return info

    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of every game: a str, or uint8 [height, width, 3] if `render_mode` is "rgb_array"."""
        if not self._started:
            raise ResetNeeded("call reset before render")
        if self.render_mode is None:
            gymnasium.logger.warn(f"render needs a render_mode, one of {', '.join(FRAMES)}")
            return None
        frame = FRAMES[self.render_mode]
        env = self.games.env
        state = self.games.state
        return tuple(frame(env, state, i) for i in range(self.num_envs))


class SingleAgentEnv(gymnasium.Env[np.ndarray, Any]):
    """A learner's side of one game, for `gymnasium.make`; the arguments are those of `SingleAgentVectorEnv`.

    It plays the episodes of row 0. `gymnasium.make_vec` steps many games at once and is far faster.
    """

    metadata = METADATA

    def __init__(self, game: str | Env, *, render_mode: str | None = None, **options: Any):
        self.vector = SingleAgentVectorEnv(
            game, autoreset_mode=AutoresetMode.DISABLED, render_mode=render_mode, **options
        )
        self.render_mode = self.vector.render_mode
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    @property
    def opponent(self) -> str | Policy:
        """Policy of the other players."""
        return self.vector.opponent

    @opponent.setter
    def opponent(self, opponent: str | Policy) -> None:
        self.vector.opponent = opponent

    def set_opponent(self, opponent: str | Policy) -> None:
        """Replace the policy of the other players, from their next decision on."""
        self.vector.set_opponent(opponent)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Info]:
        """Start the first game of a seed, or the next game; {"state": position} as in `SingleAgentVectorEnv.reset`."""
        super().reset(seed=seed)
        options = {} if options is None else options
        instance("options", options, dict)
        if unknown := options.keys() - {"state"}:
            raise ValueError(f"options must have no key but 'state', got {min(unknown, key=repr)!r}")
        observation, info = self.vector.reset(seed=seed, options=options)
        return observation[0], self._info(info)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        """Play an action of the learner, then the other players. Raise ResetNeeded once the game is over."""
        action = np.asarray(action)
        if action.shape:
            raise ValueError(f"action must be a single integer, got an array of shape {action.shape}")
        observation, rewards, terminated, truncated, info = self.vector.step(action[None])
        return (observation[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), self._info(info))

    @staticmethod
    def _info(info: Info) -> Info:
        """Return the first row of a vector's info."""
        return {name: rows[0] for name, rows in info.items() if name[0] != "_"}

    def action_masks(self) -> np.ndarray:
        """Return `info["action_mask"]` as bool [A], under the name that sb3-contrib's MaskablePPO uses."""
        return self.vector.action_masks()[0]

    def render(self) -> Any:
        """Return a frame in the `render_mode`: a str, or uint8 [height, width, 3]."""
        frames = self.vector.render()
        return None if frames is None else frames[0]


def _environment(game: Any, rule_fields: dict[str, Any]) -> Env:
    """Return the Env of an id and rule fields, or an Env as it is."""
    if not isinstance(game, Env):
        try:
            return make(game, **rule_fields)
        except TypeError as error:
            for name in rule_fields:
                if f"no rule field {name!r}" in str(error):  # in Python's words, which TorchRL's GymEnv looks for
                    raise TypeError(f"unexpected keyword argument {name!r}: {error}") from None
            raise
    if rule_fields:
        raise TypeError(f"an Env has its rules already, got {next(iter(rule_fields))!r} besides")
    return game


def positions(env: Env, start: Any, count: int) -> np.ndarray:
    """Return the words of `count` positions [count, W], see `SingleAgentVectorEnv.reset`. TypeError, ValueError."""
    name = "options['state']"
    games = [start] if isinstance(start, (dict, str)) else start
    if not isinstance(games, (list, tuple, State)):
        raise wrong_type(name, "a dictionary, a string, a State, or a list of dictionaries or strings", start)
    if len(games) not in (1, count):
        raise ValueError(f"{name} must have one position, or one for each of {count} games, got {len(games)}")
    if isinstance(games, State):
        words = games.buffers.layout.download(env.check_state(games).buffers.words)
    else:
        for game in games:
            if not isinstance(game, (dict, str)):
                raise wrong_type("a position", "a dictionary or a string", game)
        words = env.pack(games)
    flags = env.engine.layout.unpack(words)
    if (over := flags["terminated"] | flags["truncated"]).any():
        raise ValueError(f"{name} must have no games that are over, got one at {over.argmax()}")
    return np.repeat(words, count // len(words), axis=0)


def register_games() -> None:
    """Register every registered game with Gymnasium, unless it is there already."""
    for name, entry in registry.entries().items():
        id = gymnasium_id(name, entry.version)
        if id not in gymnasium.registry:
            gymnasium.register(
                id,
                entry_point=f"{__name__}:{SingleAgentEnv.__name__}",
                vector_entry_point=f"{__name__}:{SingleAgentVectorEnv.__name__}",
                kwargs={"game": name},
            )


register_games()
registry.listeners.append(register_games)
