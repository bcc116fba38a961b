"""The parts of `known_results.py`."""
