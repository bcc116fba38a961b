"""Breakthrough."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Breakthrough", short={"rows": 5, "columns": 4}, notation="", render="")
