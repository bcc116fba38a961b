"""Tensor (stars)."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="tensor_stars",
    rules="tensor_envs.games.tensor_stars.rules:StarsRules",
    notation="tensor_envs.games.tensor_stars.notation",
    render="tensor_envs.games.tensor_stars.render",
)
