"""Tensor: A Game of Equilibrium."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="tensor_equilibrium",
    rules="tensor_envs.games.tensor_equilibrium.rules:TensorEquilibrium",
    notation="tensor_envs.games.tensor_equilibrium.notation",
    render="tensor_envs.games.tensor_equilibrium.render",
)
