"""Lines of Action."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "LinesOfAction", short={"quiet_plies": 8})
