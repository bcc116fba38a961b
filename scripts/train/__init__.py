"""Trainers with other libraries, each a command (`python scripts/train/ppo_torch.py`)."""
