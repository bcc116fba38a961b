"""Shed: the player who has to take all cards loses."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Shed", oracle=f"{__name__}.oracle")
