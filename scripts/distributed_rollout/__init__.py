"""Parts of `scripts/distributed_rollout.py`."""
