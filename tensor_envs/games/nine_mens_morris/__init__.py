"""Nine men's morris."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "NineMensMorris", short={"max_turns": 30})
