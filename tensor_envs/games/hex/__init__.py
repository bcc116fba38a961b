"""Hex."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Hex", short={"size": 5}, files={".sgf": f"{__name__}.sgf"})
