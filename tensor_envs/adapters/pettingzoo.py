"""PettingZoo environments (extra `pettingzoo`): every game agent by agent; Tensor (stars) also with both at once.

    from tensor_envs.adapters import pettingzoo

    env = pettingzoo.env("tensor_equilibrium", players=3, render_mode="ansi")
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        done = termination or truncation
        env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

Agents are "player_0" to "player_P-1", an observation is {"observation": what `Env.observe` gives for that player
(bool as int8), "action_mask": int8, 1 where an action is legal}; the mask is all 0 for an agent that is not to move and
once the game is over. An illegal action, an int out of the action space included, ends the game: -1 for its agent,
1/(P-1) for every other (`illegal="raise"`: ValueError). Chance comes from the seed of `reset`: `reset(seed=s)` is
episode 0 of row 0 of that seed, each `reset()` after it the next episode; without any seed one is drawn. For speed play
many games at a time: `te.VectorEnv`.
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

from tensor_envs.adapters.pettingzoo_parallel import parallel_env
from tensor_envs.adapters.zoo import Info, Seen, ZooBase

__all__ = ["env", "parallel_env", "raw_env"]


class raw_env(ZooBase, AECEnv[str, Seen, int | None]):  # type: ignore[misc]
    """A game agent by agent, in the order in which its rules let them decide; `env` adds checks of the order of calls.

    A cycle of `max_cycles` is as many decisions as there are agents. The other arguments: see `ZooBase`.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game: the first of the seed, 0..2^64-1, or the next. No options are known; they are ignored."""
        self._begin(seed)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.infos: dict[str, Info] = {agent: {} for agent in self.agents}
        self._read()
        self._show()

    def step(self, action: int | None) -> None:
        """Play an action of `agent_selection`; None, and only that, for an agent whose game is over.

        TypeError if it is no int, ResetNeeded without a game.
        """
        if not self.agents:
            raise ResetNeeded("no game is going on: call reset first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._now.step(self._action(action))
        self._cumulative_rewards[agent] = 0.0
        self._read()
        self._accumulate_rewards()
        self._show()

    def _read(self) -> None:
        """What the state says, in PettingZoo's attributes."""
        now = self._now
        truncated = now.truncated
        if self.max_cycles is not None and not now.terminated:
            truncated |= now.number("ply") >= self.max_cycles * self.game.num_players
        over = now.terminated or truncated
        self.rewards = dict(zip(self.agents, now.rewards, strict=True))
        self.terminations = dict.fromkeys(self.agents, now.terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.agent_selection = self.agents[0 if over else now.number("current_player")]
        self._mask = now.mask * (not over)

    def observe(self, agent: str) -> Seen:
        """What an agent sees now, whoever is to move. ValueError for an unknown agent, ResetNeeded without a game."""
        now, player = self._now, self.possible_agents.index(self._known(agent))
        mask = self._mask.copy() if agent == self.agent_selection else np.zeros_like(self._mask)
        return {"observation": now.observe(player), "action_mask": mask}


def env(id: str, render_mode: str | None = None, **arguments: Any) -> AECEnv[str, Seen, int | None]:
    """A game agent by agent, with errors for calls in a wrong order. The arguments are those of `raw_env`."""
    return OrderEnforcingWrapper(raw_env(id, render_mode, **arguments))
