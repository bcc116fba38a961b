"""Base of the PettingZoo environments: one game, its agents, their spaces, and pictures."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import EzPickle

from tensor_envs._compiler.devices import resolve
from tensor_envs._engine.inputs import INT32
from tensor_envs._validate import integer, one_of
from tensor_envs.adapters.gymnasium import FRAMES, observation_space
from tensor_envs.adapters.host import HostGame
from tensor_envs.env import Illegal
from tensor_envs.registry import make
from tensor_envs.state import State

Info = dict[str, Any]
Observation = dict[str, np.ndarray]
RENDER_MODES = ("human", *FRAMES)


class ZooBase(EzPickle):
    """One game and its agents.

    Args:
        id: a registered id.
        render_mode: None, "human" (prints the game as text at every reset and step), "ansi" (text), "svg" or
            "rgb_array" (uint8 [height, width, 3]; needs Pillow, extra `draw`).
        max_cycles: number of cycles after which the game is truncated; None leaves it to the rules.
        illegal: "lose" or "raise", as in `te.make`.
        device: as in `Env.init`.
        rule_fields: the fields of the game's rules.

    Raises:
        TypeError, ValueError: other arguments.
    """

    waiting_actions = 0  # number of actions besides the game's

    def __init__(
        self,
        id: str,
        render_mode: str | None = None,
        *,
        max_cycles: int | None = None,
        illegal: Illegal = "lose",
        device: str | None = None,
        **rule_fields: Any,
    ):
        arguments = {"max_cycles": max_cycles, "illegal": illegal, "device": device}
        EzPickle.__init__(self, id, render_mode, **arguments, **rule_fields)
        self.render_mode = None if render_mode is None else one_of("render_mode", render_mode, RENDER_MODES)
        self.max_cycles = None if max_cycles is None else integer("max_cycles", max_cycles, 1, INT32 - 1)
        self.game, self._device = make(id, illegal=illegal, **rule_fields), resolve(device)
        name = f"{id}_v{self.game.version}"
        modes = list(RENDER_MODES)
        self.metadata = {"name": name, "render_modes": modes, "render_fps": 2, "is_parallelizable": False}
        self.possible_agents = [f"player_{player}" for player in range(self.game.num_players)]
        self.agents: list[str] = []
        self._playing: HostGame | None = None
        actions = self.game.num_actions + self.waiting_actions
        self._action_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Discrete(actions) for agent in self.possible_agents
        }
        self._observation_spaces = {agent: self._agent_space(actions) for agent in self.possible_agents}

    def _agent_space(self, actions: int) -> spaces.Dict:
        mask, observation = spaces.Box(0, 1, (actions,), np.int8), observation_space(self.game.spec)
        return spaces.Dict({"observation": observation, "action_mask": mask})

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return a `Discrete`, whose `sample(mask)` draws a legal action. Raise ValueError for an unknown agent."""
        return self._action_spaces[self._checked(agent)]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return a `Dict` of "observation" and "action_mask". Raise ValueError for an unknown agent."""
        return self._observation_spaces[self._checked(agent)]

    def _checked(self, agent: str) -> str:
        return one_of("agent", agent, tuple(self.possible_agents))

    @property
    def game_state(self) -> State:
        """The game as a State of batch 1, for `game.to_string` and the like. ResetNeeded before the first reset."""
        return self._now.state

    @property
    def _now(self) -> HostGame:
        if self._playing is None:
            raise ResetNeeded("no game has begun: call reset first")
        return self._playing

    @staticmethod
    def _action(action: Any) -> int:
        return integer("action", action, -INT32, INT32 - 1)

    def _begin(self, seed: int | None) -> None:
        """Start the first game of a seed or, without a seed, the next game."""
        if seed is None and self._playing is not None:
            self._playing.restart()
        else:
            seed = secrets.randbits(64) if seed is None else seed
            self._playing = HostGame(self.game, seed, self._device)
        self.agents = self.possible_agents[:]

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """Return the whole game, hidden cards included, in the `render_mode`; "human" prints it and returns None."""
        if self.render_mode is None:
            logger.warn(f"render needs a render_mode, one of {', '.join(RENDER_MODES)}")
            return None
        if self.render_mode == "human":
            print(self.game.to_string(self.game_state))
            return None
        return FRAMES[self.render_mode](self.game, self.game_state, 0)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
