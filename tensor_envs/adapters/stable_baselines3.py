"""Stable-Baselines3 (extra `sb3`): a learner's side of many games as a VecEnv, with masks for MaskablePPO.

    from sb3_contrib import MaskablePPO
    from tensor_envs.adapters.stable_baselines3 import SingleAgentVecEnv

    MaskablePPO("MlpPolicy", SingleAgentVecEnv("connect_four", num_envs=256)).learn(100_000)

A single environment needs none of this: `gymnasium.make("tensor_envs/TicTacToe-v0")` has `action_masks()`.

With `player="all"` the learner moves for every player; `env.get_attr("player")` is the player to move in each game. If
two players take turns, `gamma=-1` gives the next player's value the opposite sign.
"""

from __future__ import annotations

import functools
from collections import UserList
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tensor_envs.adapters.gymnasium import SingleAgentEnv, SingleAgentVectorEnv
from tensor_envs.adapters.spaces import Info
from tensor_envs.envs.env import Env

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise ImportError("this adapter needs Stable-Baselines3: pip install 'tensor_envs[sb3]'") from None

Indices = int | Sequence[int] | None


class Infos(UserList[Info]):
    """Infos of a step, one dictionary for each game; all are made when the first of them is read."""

    def __init__(self, infos: Iterable[Info] | Callable[[], Iterable[Info]] = ()):
        self._infos = infos

    @cached_property
    def data(self) -> list[Info]:  # type: ignore[override]  # an attribute in typeshed
        return list(self._infos() if callable(self._infos) else self._infos)

    def __reduce__(self) -> Any:
        """Return how to copy or pickle the infos: as a list."""
        return list, (self.data,)

    def __copy__(self) -> Infos:
        return self[:]


class SingleAgentVecEnv(VecEnv):
    """A learner's side of `num_envs` games that are stepped together, with the arguments of `SingleAgentVectorEnv`.

    A game that ends is reset in the same step, and its info has the `terminal_observation`. `seed` and `set_options`
    take effect at the next `reset`; without a seed one is drawn. The option "state" holds a position; all games have
    one, or none has one. `env_method("set_opponent", policy)` and `set_attr("opponent", policy)` replace the opponent.
    """

    def __init__(self, game: str | Env, num_envs: int = 1, **options: Any):
        self.vector = SingleAgentVectorEnv(game, num_envs, autoreset_mode="Disabled", **options)
        spaces = self.vector.single_observation_space, self.vector.single_action_space
        super().__init__(num_envs, *spaces)

    def reset(self) -> np.ndarray:
        chosen = [options for options in self._options if options]
        if unknown := {name for options in chosen for name in options} - {"state"}:
            raise ValueError(f"options must have no key but 'state', got {min(unknown, key=repr)!r}")
        games = [options["state"] for options in chosen]
        if len(games) not in (0, self.num_envs):
            raise ValueError(f"all {self.num_envs} games must have the option 'state' or none, got {len(games)}")
        observation = self.vector.reset(seed=self._seeds[0], options={"state": games} if games else None)[0]
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self.action_buffer = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        games = self.vector.play(self.action_buffer)
        last = games.observation
        rewards = games.rewards
        truncated = games.truncated
        ended = games.over.copy()

        def infos() -> list[Info]:
            made: list[Info] = [{} for _ in range(self.num_envs)]
            rows = np.flatnonzero(ended)
            cuts = truncated[rows].tolist()  # one conversion: a NumPy scalar for each row is slow
            for row, observation, cut in zip(rows.tolist(), last[rows], cuts, strict=True):
                made[row] = {"terminal_observation": observation, "TimeLimit.truncated": cut}
            return made

        if ended.any():
            games.restart(ended)
        return games.observation, rewards, ended, Infos(infos)

    def close(self) -> None:
        self.vector.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of some games; a method is a function for each, which is not called.

        AttributeError for an attribute that a single game does not have.
        """
        rows = self._rows(indices)
        if self._is_method(attr_name):
            return [functools.partial(self._call_one, attr_name, row) for row in rows]
        values = self.vector.get_attr(attr_name)
        return [values[row] for row in rows]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set `opponent` for all games. AttributeError for another attribute, ValueError for some games."""
        if attr_name == "opponent":
            self._check_all(indices)
        self.vector.set_attr(attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Indices = None, **named: Any) -> list[Any]:
        """Return what a method of some games returns. `set_opponent` and `close` are for all games.

        Raises:
            AttributeError: no such method.
            TypeError: an attribute that is no method.
            ValueError: `step`, which all games do together; some games for a method that is for all.
        """
        rows = self._rows(indices)
        if not self._is_method(method_name):
            self.vector.get_attr(method_name)
            raise TypeError(f"{method_name!r} is no method of the games")
        if method_name == "step":
            raise ValueError("method_name must not be 'step': all games are stepped together, by VecEnv.step")
        if method_name == "reset":
            return self._reset_some(rows, *arguments, **named)
        if method_name in ("set_opponent", "close"):
            self._check_all(indices)
        results = self.vector.call(method_name, *arguments, **named)
        return [results[row] for row in rows]

    def _call_one(self, name: str, row: int, *arguments: Any, **named: Any) -> Any:
        """Call a method of one game."""
        return self.env_method(name, *arguments, indices=row, **named)[0]

    def _reset_some(self, rows: list[int], seed: int | None = None, options: Any = None) -> list[tuple[Any, Info]]:
        """Reset some games. Return the observation and the info of each."""
        mask = np.isin(np.arange(self.num_envs), rows)
        some = {} if mask.all() else {"reset_mask": mask}
        observations, info = self.vector.reset(seed=seed, options={**(options or {}), **some})
        kept = {name: values for name, values in info.items() if name[0] != "_"}
        return [(observations[row], {name: values[row] for name, values in kept.items()}) for row in rows]

    def _is_method(self, name: str) -> bool:
        """Return whether the game's environment has a method. AttributeError for methods of the vector only."""
        if not callable(getattr(self.vector, name, None)) or name == "opponent":
            return False
        if not hasattr(SingleAgentEnv, name):
            raise AttributeError(f"a game has no method {name!r}")
        return True

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        return [False] * len(self._rows(indices))

    def get_images(self) -> Sequence[Any]:
        return self.vector.render() or ()

    def _check_all(self, indices: Indices) -> None:
        """Raise ValueError unless `indices` are all games."""
        if len(rows := self._rows(indices)) < self.num_envs:
            raise ValueError(f"indices must be all {self.num_envs} games, which share their opponent, got {rows}")

    def _rows(self, indices: Indices) -> list[int]:
        return list(self._get_indices(indices))
