"""Strength of playout search: matches between weights and rules of selection, and mistakes that exact values find."""
