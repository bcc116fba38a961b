"""Responses to a fixed policy, by PPO."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tinygrad import Tensor

from tensor_envs._validate import function, instance
from tensor_envs.agents import Policy, greedy
from tensor_envs.env import Env
from tensor_envs.evaluation.matches import actions_of
from tensor_envs.interop import to_numpy
from tensor_envs.jitted import jit
from tensor_envs.sampling import sample_action
from tensor_envs.state import State
from tensor_envs.train.advantages import advantages
from tensor_envs.train.config import PPOConfig
from tensor_envs.train.network import look
from tensor_envs.train.ppo import PPO

RANK = 2**16  # number of an actor whose games no evaluation plays


def response(
    env: Env,
    policy: Policy,
    steps: int | None = None,
    seconds: float | None = None,
    config: PPOConfig | None = None,
    device: str | None = None,
) -> Policy:
    """Train a response to a fixed policy by PPO, as every player, for `te.exploitability_bound`.

    Args:
        env: the environment.
        policy: the policy of all other players. It is called for every ply of the training, with `num_envs` games.
        steps, seconds: the budget, as in `Trainer.run`.
        config: settings of the training; its `ratings` do not count.
        device: as in `Env.init`.

    Returns:
        The network's most probable actions, as a policy.

    Raises:
        ValueError, TypeError: an argument out of range or of another type, or a policy that returns no actions.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> trained = te.train.response(env, te.agents.uniform, seconds=20)  # doctest: +SKIP
        >>> te.exploitability_bound(env, te.agents.uniform, [trained])  # doctest: +SKIP
        <ExploitabilityBound 0.464 +- 0.050, by player: 0.464 (response 0), 0.464 (response 0)>
    """
    instance("env", env, Env)
    trainer = _Response(env, function("policy", policy), config, device)
    trainer.run(steps, seconds)
    return greedy(trainer.evaluate)


class _Response(PPO):
    """PPO in games in which one player learns and a fixed policy plays the others. Every row has its own learner."""

    def __init__(self, env: Env, policy: Policy, config: PPOConfig | None, device: str | None):
        config = PPOConfig() if config is None else config
        instance("config", config, PPOConfig)
        super().__init__(env, replace(config, ratings=0), device, rank=RANK)
        self.policy = policy
        self.learner = np.arange(self.config.num_envs) % env.num_players
        self.look = jit(self._look)

    def play(self, step: int) -> list[list[np.ndarray]]:
        """Return the minibatches of a rollout, in which only decisions of the learners are valid."""
        env = self.env
        config = self.config
        state = self.state
        players = np.eye(env.num_players, dtype=np.float32)
        decisions = []
        outcomes = []
        for _ in range(config.rollout_length):
            before = state.numpy()
            observation, mask, logs, value, action = (to_numpy(part) for part in self.look(state))
            learns = before["current_player"] == self.learner
            actions = np.where(learns, action, actions_of(self.policy, state, ~learns))
            chosen = np.eye(env.num_actions, dtype=np.float32)[actions]
            # to `advantages` nobody decides where the fixed policy plays
            player = players[np.maximum(before["current_player"], 0)] * learns[:, None]
            decisions.append((observation, mask, chosen, (logs * chosen).sum(1), value))
            state = env.step(state, actions)
            after = state.numpy()
            ended = (after[name].astype(np.float32) for name in ("terminated", "truncated"))
            outcomes.append((after["rewards"] / np.float32(config.value_scale), player, value, *ended))
            state = env.reset(state)
        self.state = state
        last = state.numpy()["current_player"]
        next_player = players[last] * (last == self.learner)[:, None]
        next_value = to_numpy(self.look(state)[3])
        credit = advantages(outcomes, next_player, next_value, config.gamma, config.gae_lambda)
        parts = [np.stack(part, axis=1) for part in (*zip(*decisions, strict=True), *credit)]
        rows = np.split(np.arange(config.num_envs), config.minibatches)
        return [[np.ascontiguousarray(part[group].reshape(-1, *part.shape[2:])) for part in parts] for group in rows]

    def _look(self, state: State) -> tuple[Any, ...]:
        """Return observations, masks, log-probabilities, values and sampled actions of the network."""
        observation, mask = look(self.env, state)
        logs, value = self.network(observation, mask)
        action: Tensor = sample_action(logs, mask, state.action_key, state.ply)
        return observation, mask, logs, value, action
