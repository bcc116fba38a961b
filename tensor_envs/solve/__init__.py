"""Exact solving and counting of positions."""
