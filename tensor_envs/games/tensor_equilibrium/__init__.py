"""Tensor: A Game of Equilibrium."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "TensorEquilibrium")
