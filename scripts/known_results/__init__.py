"""Parts of `scripts/known_results.py`."""
