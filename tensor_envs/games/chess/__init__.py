"""Chess."""

from tensor_envs.games._kit.entry import game_entry

PRESETS = {"gardner_chess": {"side": 5}}
GAME = game_entry(__name__, "Chess", presets=PRESETS, short={"quiet_plies": 6}, files={".pgn": f"{__name__}.pgn"})
