"""Counts and values of whole games: what can be checked by those who trust nobody."""
