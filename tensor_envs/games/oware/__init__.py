"""Oware."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Oware", short={"houses": 3, "seeds": 2, "quiet_plies": 12})
