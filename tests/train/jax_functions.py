"""Small network of JAX, as users write one."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

import tensor_envs as te


def parameters_of(env: te.Env, width: int = 8, seed: int = 0) -> dict[str, Any]:
    """Return random parameters of a hidden layer and two heads."""
    random = np.random.default_rng(seed)
    inputs = math.prod(env.observation_shape)
    sizes = {"body": (inputs, width), "policy": (width, env.num_actions), "value": (width, 1)}
    return {
        "layers": {
            name: {"kernel": random.normal(0, 0.3, shape).astype(np.float32), "bias": np.zeros(shape[1], np.float32)}
            for name, shape in sizes.items()
        }
    }


def apply(parameters: dict[str, Any], observation: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return logits [B, A] and values [B]."""
    layers = parameters["layers"]

    def linear(name: str, x: jax.Array) -> jax.Array:
        return x @ layers[name]["kernel"] + layers[name]["bias"]

    features = jax.nn.relu(linear("body", observation.reshape(observation.shape[0], -1)))
    return linear("policy", features), linear("value", features)[:, 0]
