"""Settings of training runs that take a second."""

from __future__ import annotations

from typing import Any

import tensor_envs as te

ALPHAZERO: dict[str, Any] = {
    "num_envs": 8,
    "rollout_length": 4,
    "num_simulations": 4,
    "updates": 2,
    "minibatch": 32,
    "hidden": 8,
    "replay_steps": 3,
    "checkpoint_steps": 2,
    "ratings": 0,
    "rating_games": 8,
    "rival_simulations": 4,
}
PPO: dict[str, Any] = {
    "num_envs": 8,
    "rollout_length": 4,
    "hidden": 8,
    "minibatches": 2,
    "epochs": 1,
    "checkpoint_steps": 2,
    "ratings": 0,
    "rating_games": 30,
}


def alphazero(env: te.Env, network: Any = None, **settings: Any) -> te.train.AlphaZero:
    """Return a small trainer."""
    return te.train.AlphaZero(env, te.train.AlphaZeroConfig(**(ALPHAZERO | settings)), network=network)


def ppo(env: te.Env, network: Any = None, **settings: Any) -> te.train.PPO:
    """Return a small trainer."""
    return te.train.PPO(env, te.train.PPOConfig(**(PPO | settings)), network=network)


SETTINGS = {"alphazero": ALPHAZERO, "ppo": PPO}
TRAINERS: dict[str, Any] = {"alphazero": alphazero, "ppo": ppo}
