"""Dots and boxes."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "DotsAndBoxes", short={"rows": 2, "columns": 2})
