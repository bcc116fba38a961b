"""Training: AlphaZero and PPO in self-play, here or on a Ray cluster, and networks.

The names are loaded when they are first used, since `import tensor_envs` needs none of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensor_envs.train.actors import distributed
    from tensor_envs.train.alphazero import AlphaZero
    from tensor_envs.train.callbacks import Progress, TensorBoard, WandB
    from tensor_envs.train.config import AlphaZeroConfig, PPOConfig
    from tensor_envs.train.network import Network, evaluator
    from tensor_envs.train.ppo import PPO, response
    from tensor_envs.train.run import Callback, Trainer

_MODULES = {
    "AlphaZero": "alphazero",
    "AlphaZeroConfig": "config",
    "Callback": "run",
    "Network": "network",
    "PPO": "ppo",
    "PPOConfig": "config",
    "Progress": "callbacks",
    "TensorBoard": "callbacks",
    "Trainer": "run",
    "WandB": "callbacks",
    "distributed": "actors",
    "evaluator": "network",
    "response": "ppo",
}
__all__ = [
    "PPO",
    "AlphaZero",
    "AlphaZeroConfig",
    "Callback",
    "Network",
    "PPOConfig",
    "Progress",
    "TensorBoard",
    "Trainer",
    "WandB",
    "distributed",
    "evaluator",
    "response",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
