"""Y."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Y", short={"size": 5}, notation="", render="")
