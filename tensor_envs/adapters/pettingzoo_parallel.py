"""Base of the PettingZoo environments, and Tensor (stars) with agents that act together; see `adapters.pettingzoo`."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import EzPickle
from pettingzoo import ParallelEnv  # type: ignore[import-untyped,import-not-found]

from tensor_envs._engine.inputs import INT32_END
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import instance, integer, one_of
from tensor_envs.adapters.host import HostGame
from tensor_envs.adapters.spaces import FRAMES, Info, MaskedObservation, observation_space
from tensor_envs.envs.env import Illegal
from tensor_envs.envs.registry import make
from tensor_envs.envs.state import State
from tensor_envs.games.tensor_stars.data import PIECES
from tensor_envs.games.tensor_stars.resolution import ALL_PLACED

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
        self.max_cycles = None if max_cycles is None else integer("max_cycles", max_cycles, 1, INT32_END - 1)
        self.game = make(id, illegal=illegal, **rule_fields)
        self._device = open_device(device)
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
        mask = spaces.Box(0, 1, (actions,), np.int8)
        observation = observation_space(self.game.spec)
        return spaces.Dict({"observation": observation, "action_mask": mask})

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return a `Discrete` space, whose `sample(mask)` draws a legal action. ValueError for an unknown agent."""
        return self._action_spaces[self._checked(agent)]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return a `Dict` space of "observation" and "action_mask". ValueError for an unknown agent."""
        return self._observation_spaces[self._checked(agent)]

    def _checked(self, agent: str) -> str:
        return one_of("agent", agent, tuple(self.possible_agents))

    @property
    def game_state(self) -> State:
        """The game as a State of batch 1, for `game.to_string` and the like. ResetNeeded before the first reset."""
        return self._current.state

    @property
    def _current(self) -> HostGame:
        if self._playing is None:
            raise ResetNeeded("no game has begun: call reset first")
        return self._playing

    @staticmethod
    def _action(action: Any) -> int:
        return integer("action", action, -(2**63), 2**63 - 1)

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


class parallel_env(ZooBase, ParallelEnv[str, MaskedObservation, int]):  # type: ignore[misc]
    """Tensor (stars) with both players acting in every step, since they place their cards at the same time.

    A step has one of two kinds. Placing: both agents choose a card for the next piece, red, blue, then yellow; the turn
    resolves after yellow. Order: the owner of a card chooses the order of its two parts. The last action, `wait`, is
    not one of the game's: it is the only legal action of an agent without a decision, and illegal otherwise. The other
    agent's cards of this turn are hidden until they are revealed.

    An illegal action ends the game: -1 for its agent and +1 for the other; if both are illegal, 0 for both. A cycle of
    `max_cycles` is a step. The other arguments are those of `ZooBase`. ValueError for any other game.

    In the game's rules player 0 places three cards before player 1. So player 1's cards are held back until all six are
    chosen, and `game_state` and pictures show those of player 0 alone. Meanwhile player 1 observes a second game, in
    which player 0 has placed any three cards; they lie face down, so the observation is the same.
    """

    waiting_actions = 1
    _views: tuple[HostGame, HostGame]  # the game that each player observes
    _masks: np.ndarray  # int8 [2, A + 1]

    def __init__(self, id: str = "tensor_stars", render_mode: str | None = None, **arguments: Any):
        super().__init__(id, render_mode, **arguments)
        if self.game.entry.id != "tensor_stars":
            raise ValueError(f"the turns of {id!r} are sequential: use env; parallel_env is for 'tensor_stars'")
        self.wait = self.game.num_actions
        self._other: HostGame | None = None  # the game that player 1 observes while cards are placed

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, MaskedObservation], dict[str, Info]]:
        """Start the first game of a seed, 0..2^64-1, or the next game. Options are ignored."""
        self._begin(seed)
        self._cycles = 0
        self._held = list[int]()
        self._update_views()
        self._show()
        return self._observations(), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, MaskedObservation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Play an action of every agent. Once the game is over there are no agents, no actions, and five empty dicts.

        Returns:
            Observations, rewards, terminations, truncations and infos, by agent.

        Raises:
            ValueError: the actions are not those of exactly the agents.
            TypeError: an action is no int.
        """
        instance("actions", actions, dict)
        if set(actions) != set(self.agents):
            raise ValueError(f"actions must be for the agents {self.agents}, got some for {list(actions)}")
        if not self.agents:
            return {}, {}, {}, {}, {}
        agents = self.agents
        chosen = [self._action(actions[agent]) for agent in self.agents]
        legal = [0 <= a <= self.wait and bool(mask[a]) for a, mask in zip(chosen, self._masks, strict=True)]
        if all(legal):
            rewards, terminated, truncated = self._play(chosen)
        else:
            rewards = self._forfeit(legal, chosen)
            terminated = True
            truncated = False
        self._cycles += 1
        if self.max_cycles is not None and not terminated:
            truncated |= self._cycles >= self.max_cycles
        if terminated or truncated:
            self._masks = np.zeros_like(self._masks)
            self.agents = []
        self._show()
        return (
            self._observations(),
            dict(zip(agents, rewards, strict=True)),
            dict.fromkeys(agents, terminated),
            dict.fromkeys(agents, truncated),
            {agent: {} for agent in agents},
        )

    def _forfeit(self, legal: list[bool], chosen: list[int]) -> list[float]:
        """Return the rewards of illegal play: a player who alone acted illegally loses. ValueError with "raise"."""
        if self.game.illegal == "raise":
            raise ValueError(f"illegal actions: {chosen} where action_mask is {self._masks.tolist()}")
        return [float(legal[player] - legal[1 - player]) for player in range(2)]

    def _play(self, chosen: list[int]) -> tuple[list[float], bool, bool]:
        """Play legal actions of both players and return rewards, terminated and truncated."""
        game = self._current
        decisions = [action for action in chosen if action != self.wait]
        game.step(decisions[0])
        self._held += decisions[1:]
        if len(self._held) == PIECES:
            for card in self._held:
                game.step(card)
            self._held = []
        self._update_views()
        return game.rewards, game.terminated, game.truncated

    def _update_views(self) -> None:
        """Update both players' views and masks."""
        mine = theirs = self._current
        if self._held:
            theirs = self._views[1]
            theirs.step(self._held[-1])
        elif mine.number("placed") != ALL_PLACED and not mine.over:
            self._other = theirs = self._other or HostGame(self.game, 0, self._device)
            theirs.copy(mine)
            for card in np.flatnonzero(mine.mask)[:PIECES]:
                theirs.step(card)
        self._views = mine, theirs
        self._masks = np.zeros((2, self.wait + 1), np.int8)
        for player, view in enumerate(self._views):
            if view.number("current_player") == player:
                self._masks[player, : self.wait] = view.mask
            else:
                self._masks[player, self.wait] = not mine.over

    def _observations(self) -> dict[str, MaskedObservation]:
        return {
            agent: {"observation": view.observe(player), "action_mask": mask.copy()}
            for player, (agent, view, mask) in enumerate(
                zip(self.possible_agents, self._views, self._masks, strict=True)
            )
        }
