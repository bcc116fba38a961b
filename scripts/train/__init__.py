"""Trainers by self-play, each a command (`python scripts/train/ppo.py`), and `training.py`, which they share."""
