"""English draughts, called checkers in America."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "Checkers", short={"quiet_plies": 8}, notation="")
