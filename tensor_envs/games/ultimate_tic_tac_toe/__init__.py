"""Ultimate tic-tac-toe."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "UltimateTicTacToe")
