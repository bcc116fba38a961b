"""Kalah."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Kalah", short={"houses": 3, "seeds": 2})
