"""Gymnasium environments (extra `gymnasium`): one player of a game learns, the others are played by a policy.

Importing this module registers every game with Gymnasium, `tensor_envs/TicTacToe-v0` and so on, and from then on those
of `te.register`:

    import gymnasium
    import tensor_envs.adapters.gymnasium

    vector = gymnasium.make_vec("tensor_envs/Shed-v0", num_envs=4096, cards=12, player=1)
    single = gymnasium.make("tensor_envs/TicTacToe-v0", render_mode="ansi")

A step is the player's action and then the others' until the player is to move again: one kernel. Its reward is what the
player was paid over all of that. `reset` plays until the player is to move, and the first step pays what that brought,
too. A game that the others end before the player's first decision is no episode: the next one starts at once.

`info["action_mask"]`, int8 [A] (a vector's: [num_envs, A]), is what `action_space.sample(mask)` takes: 1 where an
action is legal, all 0 once a game is over. An illegal action ends its game with reward -1, or raises ValueError if the
game is made with `illegal="raise"`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tensor_envs import registry
from tensor_envs._compiler.devices import DeviceName
from tensor_envs._engine.batch_layout import MAX_BATCH
from tensor_envs._validate import integer, one_of
from tensor_envs.adapters.single_agent import Policy, SingleAgent
from tensor_envs.env import Env
from tensor_envs.registry import make
from tensor_envs.rules import Spec
from tensor_envs.state import State

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ImportError("this adapter needs Gymnasium: pip install 'tensor_envs[gymnasium]'") from None

NAMESPACE = "tensor_envs"
Info = dict[str, Any]


def observation_space(spec: Spec) -> spaces.Box:
    """The space of one observation: 0 and 1 as int8 for bool, else all that the dtype holds."""
    shape, dtype = spec.observation_shape, np.dtype(spec.observation_dtype)
    if dtype == np.bool_:
        return spaces.Box(0, 1, shape, np.int8)
    limits: Any = np.iinfo(dtype) if dtype.kind == "i" else SimpleNamespace(min=-np.inf, max=np.inf)
    return spaces.Box(limits.min, limits.max, shape, dtype.type)


def _pixels(env: Env, state: State, i: int) -> np.ndarray:
    draw = getattr(env.entry.load("render"), "draw", None)
    if draw is None:
        raise ValueError(f"{env.id!r} has no pictures in pixels; render_mode may be 'ansi' or 'svg'")
    return np.asarray(draw(env.rules, env.state_to_dict(state, i)).image(scale=1))


FRAMES: dict[str, Callable[[Env, State, int], Any]] = {
    "ansi": Env.to_string,
    "svg": Env.render,
    "rgb_array": _pixels,  # needs Pillow, extra `draw`
}
METADATA: dict[str, Any] = {"render_modes": list(FRAMES), "render_fps": 2}


class SingleAgentVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, Any, np.ndarray]):
    """One player of `num_envs` games that are stepped together, as `gymnasium.make_vec` makes it.

    game: an id, with the fields of its rules (and `illegal`) as further keyword arguments, or an Env.
    player: who learns. policy: who plays the others: "uniform", or a function of a State to integers [num_envs], a
    Tensor or an array, called for every ply of theirs (`te.jit` makes a network fast). Only its answers for rows with
    another player to move count; all others look finished in that State, whose buffers are written again afterwards. If
    equal seeds are to give equal games, its answers must depend on the State alone.
    autoreset_mode: one of Gymnasium's, or its value: "NextStep" (the default, as Gymnasium's own), "SameStep" or
    "Disabled". device: as in `Env.init`. render_mode: "ansi" (text), "svg" or "rgb_array" (pixels; needs Pillow).

    Row r plays the episodes 0, 1, 2, ... of row r of the seed of the last `reset(seed=...)`; if there was none, one is
    drawn. TypeError or ValueError for other arguments.
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
        self._all, self._begun = np.ones(self.num_envs, np.bool_), False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, Info]:
        """Start a new game in every row -> observations, info.

        seed: the rows begin with their episodes 0 of it; without a seed the next episodes start. options: None or
        {"reset_mask": bool [num_envs]}, to start the next episode in these rows only; info is about all rows anyway.
        """
        rows = self._reset_mask(seed, options)
        super().reset(seed=seed)
        if seed is not None or not self._begun:
            self.games.begin(int(self.np_random.integers(2**63)) if seed is None else seed)
        else:
            self.games.restart(rows)
        self._begun = True
        return self.games.observation, self._info(self.games.action_mask, self._all)

    def _reset_mask(self, seed: int | None, options: dict[str, Any] | None) -> np.ndarray:
        """The rows that a reset is of."""
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
        if not self._begun:
            raise ResetNeeded("the first reset must be one of all rows, without options['reset_mask']")
        return rows

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Play an action of the player's in every game, integers [num_envs], and the others' answers.

        -> observations, rewards (float64), terminations, truncations, info. In a game that was over "NextStep" starts
        the next episode instead, for reward 0, and "Disabled" raises ResetNeeded; with "SameStep" no game is ever left
        over, and info has `final_obs` and `final_info` of those that ended.
        """
        if not self._begun:
            raise ResetNeeded("call reset before step")
        games, mode, info = self.games, self.autoreset_mode, Info()
        if mode is AutoresetMode.DISABLED and games.over.any():
            over = np.flatnonzero(games.over)
            rows = ", ".join(map(str, over[:8])) + ", ..." * (over.size > 8)
            raise ResetNeeded(
                f"the games of rows {rows} are over: call reset, or give their rows in reset_mask"
            )
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
        """bool [num_envs, A]: what `info["action_mask"]` says, by the name that sb3-contrib asks for."""
        if not self._begun:
            raise ResetNeeded("call reset before action_masks")
        return self.games.action_mask.astype(np.bool_)

    @staticmethod
    def _info(action_mask: np.ndarray, rows: np.ndarray) -> Info:
        """What `info` says of some rows, in Gymnasium's form."""
        return {"action_mask": action_mask, "_action_mask": rows.copy()}

    def render(self) -> tuple[Any, ...] | None:
        """A frame of every game: a str, or uint8 [height, width, 3] if `render_mode` is "rgb_array"."""
        if not self._begun:
            raise ResetNeeded("call reset before render")
        if self.render_mode is None:
            gymnasium.logger.warn(f"render needs a render_mode, one of {', '.join(FRAMES)}")
            return None
        frame, env, state = FRAMES[self.render_mode], self.games.env, self.games.state
        return tuple(frame(env, state, i) for i in range(self.num_envs))


class SingleAgentEnv(gymnasium.Env[np.ndarray, Any]):
    """One player of one game, as `gymnasium.make` makes it; the arguments are those of `SingleAgentVectorEnv`.

    Episodes are those of row 0. For speed use many games at once, `gymnasium.make_vec`.
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

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, Info]:
        """Start a game: the first of a seed, or the next. ValueError for any options."""
        super().reset(seed=seed)
        if options:
            raise ValueError(f"this environment has no options, got {options!r}")
        observation, info = self.vector.reset(seed=seed)
        return observation[0], {"action_mask": info["action_mask"][0]}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        """Play an action of the player's, and the others' answers. ResetNeeded once the game is over."""
        observation, rewards, terminated, truncated, info = self.vector.step(np.asarray(action)[None])
        mask = info["action_mask"][0]
        return (
            observation[0],
            float(rewards[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            {"action_mask": mask},
        )

    def action_masks(self) -> np.ndarray:
        """bool [A]: what `info["action_mask"]` says, by the name that sb3-contrib's MaskablePPO asks for."""
        return self.vector.action_masks()[0]

    def render(self) -> Any:
        """The game as `render_mode` says: a str, or uint8 [height, width, 3]."""
        frames = self.vector.render()
        return None if frames is None else frames[0]


def _environment(game: Any, rule_fields: dict[str, Any]) -> Env:
    if not isinstance(game, Env):
        return make(game, **rule_fields)
    if rule_fields:
        raise TypeError(f"an Env has its rules already, got {next(iter(rule_fields))!r} besides")
    return game


def gymnasium_id(name: str, version: int) -> str:
    """Gymnasium's id of a game: "tic_tac_toe", version 0 -> "tensor_envs/TicTacToe-v0"."""
    words = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return f"{NAMESPACE}/{words}-v{version}"


def register_games() -> None:
    """Register every game that `te.make` knows, unless it is there; done at once for what `te.register` adds."""
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
