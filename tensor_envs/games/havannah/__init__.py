"""Havannah."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Havannah", short={"size": 4}, notation="", render="")
