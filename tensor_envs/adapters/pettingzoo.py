"""PettingZoo environments (extra `pettingzoo`): every game agent by agent; Tensor (stars) also with both at once.

    from tensor_envs.adapters import pettingzoo

    env = pettingzoo.env("tensor_equilibrium", players=3, render_mode="ansi")
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        done = termination or truncation
        env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

Agents are "player_0" to "player_P-1". An observation is a dict of "observation", the array of `Env.observe` for that
player (int8 for bool), and "action_mask", int8 with 1 for legal actions. The mask is all 0 for an agent that is not to
move and once the game is over. An illegal action, such as an int out of the action space, ends the game: -1 for its
agent, 1/(P-1) for every other. With `illegal="raise"` it raises ValueError. `reset(seed=s)` starts episode 0 of row 0
of that seed, and `reset()` the next episode; without any seed one is drawn. `te.VectorEnv` plays many games at once and
is far faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from pettingzoo import AECEnv  # type: ignore[import-untyped,import-not-found]
    from pettingzoo.utils import OrderEnforcingWrapper  # type: ignore[import-untyped,import-not-found]
except ImportError:
    raise ImportError("this adapter needs PettingZoo: pip install 'tensor_envs[pettingzoo]'") from None
from gymnasium.error import ResetNeeded

from tensor_envs.adapters.pettingzoo_parallel import ZooBase, parallel_env
from tensor_envs.adapters.spaces import Info, MaskedObservation

__all__ = ["env", "parallel_env", "raw_env"]


class raw_env(ZooBase, AECEnv[str, MaskedObservation, int | None]):  # type: ignore[misc]
    """A game agent by agent, in the order of its rules; `env` adds checks of the order of calls.

    A cycle of `max_cycles` is as many decisions as there are agents. The other arguments: see `ZooBase`.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start the first game of a seed, 0..2^64-1, or the next game. Options are ignored."""
        self._begin(seed)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.infos: dict[str, Info] = {agent: {} for agent in self.agents}
        self._read()
        self._show()

    def step(self, action: int | None) -> None:
        """Play an action of `agent_selection`; it must be None for an agent whose game is over.

        Raises:
            TypeError: the action is no int.
            ResetNeeded: no game is going on.
        """
        if not self.agents:
            raise ResetNeeded("no game is going on: call reset first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._current.step(self._action(action))
        self._cumulative_rewards[agent] = 0.0
        self._read()
        self._accumulate_rewards()
        self._show()

    def _read(self) -> None:
        """Set PettingZoo's attributes from the state."""
        game = self._current
        truncated = game.truncated
        if self.max_cycles is not None and not game.terminated:
            truncated |= game.number("ply") >= self.max_cycles * self.game.num_players
        over = game.terminated or truncated
        self.rewards = dict(zip(self.agents, game.rewards, strict=True))
        self.terminations = dict.fromkeys(self.agents, game.terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.agent_selection = self.agents[0 if over else game.number("current_player")]
        self._mask = game.mask * (not over)

    def observe(self, agent: str) -> MaskedObservation:
        """Return the observation of any agent. Raise ValueError for an unknown agent, ResetNeeded without a game."""
        game = self._current
        player = self.possible_agents.index(self._checked(agent))
        mask = self._mask.copy() if agent == self.agent_selection else np.zeros_like(self._mask)
        return {"observation": game.observe(player), "action_mask": mask}


def env(id: str, render_mode: str | None = None, **arguments: Any) -> AECEnv[str, MaskedObservation, int | None]:
    """Return a game agent by agent that raises for calls in a wrong order. The arguments are those of `raw_env`."""
    return OrderEnforcingWrapper(raw_env(id, render_mode, **arguments))
