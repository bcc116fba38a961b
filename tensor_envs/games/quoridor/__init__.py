"""Quoridor."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Quoridor", short={"size": 5, "walls": 3})
