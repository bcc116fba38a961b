"""Gymnasium environments (extra `gymnasium`): one player of a game learns, the others are played by a policy.

Importing this module registers every game with Gymnasium, such as `tensor_envs/TicTacToe-v0`. Games of later calls of
`te.register` are registered as well.

    import gymnasium
    import tensor_envs.adapters.gymnasium

    vector = gymnasium.make_vec("tensor_envs/Shed-v0", num_envs=4096, cards=12, player=1)
    single = gymnasium.make("tensor_envs/TicTacToe-v0", render_mode="ansi")

A step plays the player's action and then the other players until the player is to move again, in one kernel. Its reward
is the sum of the player's rewards over these plies. `reset` plays until the player is to move; rewards of this opening
are added to those of the first step. A game that ends before the player's first decision is skipped.

`info["action_mask"]` is int8 [A], for a vector [num_envs, A]: 1 for legal actions, all 0 once a game is over.
`action_space.sample` takes it. An illegal action ends its game with reward -1; with `illegal="raise"` it raises
ValueError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs import registry
from tensor_envs._compiler.devices import DeviceName
from tensor_envs._engine.batch_layout import MAX_BATCH
from tensor_envs._validate import integer, one_of
from tensor_envs.adapters.host import SingleAgent
from tensor_envs.env import Env
from tensor_envs.registry import gymnasium_id, make

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space

    from tensor_envs.adapters.spaces import FRAMES, observation_space
except ImportError:
    raise ImportError("this adapter needs Gymnasium: pip install 'tensor_envs[gymnasium]'") from None

if TYPE_CHECKING:
    from tensor_envs.agents import Policy

Info = dict[str, Any]


METADATA: dict[str, Any] = {"render_modes": list(FRAMES), "render_fps": 2}


class SingleAgentVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, Any, np.ndarray]):
    """One player of `num_envs` games that are stepped together, for `gymnasium.make_vec`.

    Row r plays episodes 0, 1, 2, ... of row r of the last seed given to `reset`. Without any seed one is drawn.

    Args:
        game: an id, with the fields of its rules and `illegal` as further keyword arguments, or an Env.
        player: the player who learns.
        policy: policy of the other players, "uniform" or a function from a State to integers [num_envs], a Tensor or an
            array. It is called once for each of their plies. Rows in which the player is to move look finished in the
            State, and actions for them are ignored. The buffers of the State are reused afterwards. Games are
            reproducible only if the function depends on the State alone. `te.jit` makes a network fast.
        autoreset_mode: one of Gymnasium's, or its value: "NextStep" (the default), "SameStep" or "Disabled".
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
        player: int = 0,
        policy: str | Policy = "uniform",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        device: DeviceName | None = None,
        render_mode: str | None = None,
        **rule_fields: Any,
    ):
        env = _environment(game, rule_fields)
        self.num_envs = integer("num_envs", num_envs, 1, MAX_BATCH)
        if not isinstance(autoreset_mode, AutoresetMode):
            values = tuple(mode.value for mode in AutoresetMode)
            autoreset_mode = AutoresetMode(one_of("autoreset_mode", autoreset_mode, values))
        self.autoreset_mode = autoreset_mode
        self.metadata = {**self.metadata, "autoreset_mode": autoreset_mode}
        self.render_mode = None if render_mode is None else one_of("render_mode", render_mode, tuple(FRAMES))
        self.games = SingleAgent(env, self.num_envs, player, policy, device)
        self.single_observation_space = observation_space(env.spec)
        self.single_action_space = spaces.Discrete(env.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all, self._started = np.ones(self.num_envs, np.bool_), False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Info]:
        """Start a new game in every row.

        Args:
            seed: starts episode 0 of this seed in every row; None starts the next episodes.
            options: {"reset_mask": bool [num_envs]} starts the next episodes in these rows only.

        Returns:
            Observations and info, of all rows.
        """
        rows = self._reset_mask(seed, options)
        super().reset(seed=seed)
        if seed is not None or not self._started:
            self.games.begin(int(self.np_random.integers(2**63)) if seed is None else seed)
        else:
            self.games.restart(rows)
        self._started = True
        return self.games.observation, self._info(self.games.action_mask, self._all)

    def _reset_mask(self, seed: int | None, options: dict[str, Any] | None) -> np.ndarray:
        """Return the rows to reset, bool [num_envs]. Raise TypeError, ValueError or ResetNeeded for wrong options."""
        unknown = [name for name in options or () if name != "reset_mask"]
        if unknown:
            raise ValueError(f"options must have no key but 'reset_mask', got {unknown[0]!r}")
        if not options:
            return self._all
        rows, shape = options["reset_mask"], (self.num_envs,)
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
        """Play an action of the player in every game, then the other players.

        In a game that is over, "NextStep" starts the next episode instead, with reward 0, and "Disabled" raises
        ResetNeeded. "SameStep" resets games as they end and puts their `final_obs` and `final_info` into info.

        Args:
            actions: integers [num_envs].

        Returns:
            Observations, rewards (float64), terminations, truncations and info.
        """
        if not self._started:
            raise ResetNeeded("call reset before step")
        games, mode, info = self.games, self.autoreset_mode, Info()
        if mode is AutoresetMode.DISABLED and games.over.any():
            over = np.flatnonzero(games.over)
            rows = ", ".join(map(str, over[:8])) + ", ..." * (over.size > 8)
            raise ResetNeeded(f"the games of rows {rows} are over: call reset, or give their rows in reset_mask")
        games.step(actions)
        rewards, terminated, truncated, ended = games.rewards, games.terminated, games.truncated, games.over
        if mode is AutoresetMode.SAME_STEP and ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            final[ended] = np.fromiter(games.observation[ended], dtype=object, count=ended.sum())
            nothing = np.zeros_like(games.action_mask)  # is legal once a game is over
            info = {"final_obs": final, "_final_obs": ended.copy()}
            info |= {"final_info": self._info(nothing, ended), "_final_info": ended.copy()}
            games.restart(ended)
        info |= self._info(games.action_mask, self._all)
        return games.observation, rewards, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Return `info["action_mask"]` as bool [num_envs, A], under the name that sb3-contrib uses."""
        if not self._started:
            raise ResetNeeded("call reset before action_masks")
        return self.games.action_mask.astype(np.bool_)

    @staticmethod
    def _info(action_mask: np.ndarray, rows: np.ndarray) -> Info:
        """Return the info of some rows in Gymnasium's form."""
        return {"action_mask": action_mask, "_action_mask": rows.copy()}

    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of every game: a str, or uint8 [height, width, 3] if `render_mode` is "rgb_array"."""
        if not self._started:
            raise ResetNeeded("call reset before render")
        if self.render_mode is None:
            gymnasium.logger.warn(f"render needs a render_mode, one of {', '.join(FRAMES)}")
            return None
        frame, env, state = FRAMES[self.render_mode], self.games.env, self.games.state
        return tuple(frame(env, state, i) for i in range(self.num_envs))


class SingleAgentEnv(gymnasium.Env[np.ndarray, Any]):
    """One player of one game, for `gymnasium.make`; the arguments are those of `SingleAgentVectorEnv`.

    It plays the episodes of row 0. `gymnasium.make_vec` steps many games at once and is far faster.
    """

    metadata = METADATA

    def __init__(
        self,
        game: str | Env,
        *,
        player: int = 0,
        policy: str | Policy = "uniform",
        device: DeviceName | None = None,
        render_mode: str | None = None,
        **rule_fields: Any,
    ):
        self.vector = SingleAgentVectorEnv(
            game,
            player=player,
            policy=policy,
            autoreset_mode=AutoresetMode.DISABLED,
            device=device,
            render_mode=render_mode,
            **rule_fields,
        )
        self.render_mode = self.vector.render_mode
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Info]:
        """Start the first game of a seed, or the next game. Raise ValueError for any options."""
        super().reset(seed=seed)
        if options:
            raise ValueError(f"this environment has no options, got {options!r}")
        observation, info = self.vector.reset(seed=seed)
        return observation[0], {"action_mask": info["action_mask"][0]}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        """Play an action of the player, then the other players. Raise ResetNeeded once the game is over."""
        observation, rewards, terminated, truncated, info = self.vector.step(np.asarray(action)[None])
        mask = info["action_mask"][0]
        return (observation[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {"action_mask": mask})

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
        return make(game, **rule_fields)
    if rule_fields:
        raise TypeError(f"an Env has its rules already, got {next(iter(rule_fields))!r} besides")
    return game


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
