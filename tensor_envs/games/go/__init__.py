"""Go."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Go", short={"size": 4}, files={".sgf": f"{__name__}.sgf"})
