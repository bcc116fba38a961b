"""Strength of playout search: matches between constants of exploration, and mistakes that exact values find."""
