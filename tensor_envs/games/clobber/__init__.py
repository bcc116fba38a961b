"""Clobber."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Clobber", short={"rows": 3, "columns": 4}, notation="", render="")
