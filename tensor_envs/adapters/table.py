"""One game as PettingZoo's environments have it: its agents, their spaces and eyes, and pictures."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import EzPickle
from tinygrad import Tensor

from tensor_envs.adapters.gymnasium import FRAMES, observation_space
from tensor_envs.core.arguments import INT32
from tensor_envs.core.checks import integer, one_of
from tensor_envs.core.device import download, empty_buffer, resolve, upload
from tensor_envs.core.registry import make
from tensor_envs.core.replay import Replay
from tensor_envs.core.state import State

Info = dict[str, Any]
Seen = dict[str, np.ndarray]
RENDER_MODES = ("human", *FRAMES)


class Eyes:
    """What a seat sees of a single game, on the host: `Env.observe`, captured once for all seats.

    Building the expression anew takes tens of milliseconds, replaying it a few microseconds a kernel.
    """

    def __init__(self, state: State):
        env, device = state.env, state.device
        self._shape = env.observation_shape
        self._seats = [upload(np.array([seat], np.int32), device) for seat in range(env.num_players)]
        self._seen = empty_buffer(int(np.prod(self._shape)), env.spec.observation_dtype, device)

        def look(*buffers: Tensor) -> None:
            *tensors, seat, seen = buffers
            known = State(env, tuple(tensors), state.lanes)
            Tensor.realize(seen.assign(env.observe(known, seat).flatten()))

        self._look = Replay(look)

    def __call__(self, state: State, seat: int) -> np.ndarray:
        self._look(*state.tensors, self._seats[seat], self._seen)
        seen = download(self._seen).reshape(self._shape)
        return seen.view(np.int8) if seen.dtype == np.bool_ else seen


class Table(EzPickle):
    """One game and its agents, which both kinds of environment have in common.

    id: what `te.make` knows; rule_fields: the fields of its rules. render_mode: None, "human" (prints the game as text
    at every reset and step), "ansi" (text), "svg" or "rgb_array" (uint8 [height, width, 3]; needs Pillow, extra
    `draw`). max_cycles: the game is truncated after so many cycles; None leaves it to the rules. illegal: "lose" or
    "raise", as in `te.make`; device: as in `Env.init`. TypeError or ValueError for other arguments.
    """

    waiting_actions = 0  # actions besides the game's

    def __init__(
        self,
        id: str,
        render_mode: str | None = None,
        *,
        max_cycles: int | None = None,
        illegal: str = "lose",
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
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.num_players)]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._state: State | None = None
        self._eyes: Eyes | None = None
        actions = self.game.num_actions + self.waiting_actions
        self._action_spaces = {agent: spaces.Discrete(actions) for agent in self.possible_agents}
        self._observation_spaces = {agent: self._seen_space(actions) for agent in self.possible_agents}

    def _seen_space(self, actions: int) -> spaces.Dict:
        mask, observation = spaces.Box(0, 1, (actions,), np.int8), observation_space(self.game.spec)
        return spaces.Dict({"observation": observation, "action_mask": mask})

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """`Discrete`; `sample(mask)` draws a legal action. ValueError for an unknown agent."""
        return self._action_spaces[self._known(agent)]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """`Dict` of "observation" and "action_mask". ValueError for an unknown agent."""
        return self._observation_spaces[self._known(agent)]

    def _known(self, agent: str) -> str:
        return one_of("agent", agent, tuple(self.possible_agents))

    @property
    def game_state(self) -> State:
        """The game as a State of batch 1, for `game.to_string` and the like. ResetNeeded before the first reset."""
        if self._state is None:
            raise ResetNeeded("no game has begun: call reset first")
        return self._state

    @staticmethod
    def _action(action: Any) -> int:
        return integer("action", action, -INT32, INT32 - 1)

    def _begin(self, seed: int | None) -> None:
        """A new game: the first of a seed or, without one, the next."""
        if seed is None and self._state is not None:
            everywhere = upload(np.ones(1, np.int32), self._state.device)
            self._state = self.game.run(self._state, "restart", actions=everywhere)
        else:
            self._state = self.game.init(1, secrets.randbits(64) if seed is None else seed, self._device)
        self._eyes = self._eyes or Eyes(self._state)
        self.agents = self.possible_agents[:]

    def _see(self, state: State, seat: int) -> np.ndarray:
        assert self._eyes is not None
        return self._eyes(state, seat)

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """The whole game, hidden cards included, as `render_mode` says; None for "human", which prints it."""
        if self.render_mode is None:
            logger.warn(f"render needs a render_mode, one of {', '.join(RENDER_MODES)}")
            return None
        if self.render_mode == "human":
            print(self.game.to_string(self.game_state))
            return None
        return FRAMES[self.render_mode](self.game, self.game_state, 0)

    def close(self) -> None:
        """Nothing is held that must be released."""
