"""Learning and search, each file a command: `python scripts/train/ppo.py`; what they share is in the other files."""
