"""Shogi, minishogi and animal shogi."""

from tensor_envs.games._kit.entry import game_entry

PRESETS = {"minishogi": {"files": 5}, "animal_shogi": {"files": 3}}
GAME = game_entry(__name__, "Shogi", presets=PRESETS, short={"files": 3, "window": 8})
