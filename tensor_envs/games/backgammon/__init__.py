"""Backgammon."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Backgammon", short={"max_plies": 60}, files={".mat": f"{__name__}.mat"})
