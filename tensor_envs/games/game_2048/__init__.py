"""2048."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Game2048", id="2048")
