"""Connect four."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "ConnectFour", short={"k": 3}, files={".txt": f"{__name__}.transcript"})
