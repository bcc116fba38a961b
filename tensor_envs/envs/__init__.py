"""Environments: batches of games and their states, rollouts, names of actions, and inspection of games and kernels."""
