"""Chess."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Chess", short={"quiet_plies": 6}, files={".pgn": f"{__name__}.pgn"})
