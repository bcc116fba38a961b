"""Chinese checkers for 2, 3, 4 or 6 players."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "ChineseCheckers", short={"max_turns": 30})
