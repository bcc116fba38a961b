"""Environments: games of a batch, their state, rollouts, names of actions, and looks into one game and its kernels."""
