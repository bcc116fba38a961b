"""Barrage Stratego."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "BarrageStratego")
