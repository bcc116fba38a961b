"""Hyperdimensional tic-tac-toe."""

from tensor_envs.games._kit.entry import game_entry

PRESETS = {
    "tic_tac_toe": {"shape": (3, 3), "k": 3},
    "qubic": {"shape": (4, 4, 4), "k": 4},
    "gomoku": {"shape": (15, 15), "k": 5},
}
GAME = game_entry(__name__, "HyperTicTacToe", presets=PRESETS, files={".txt": f"{__name__}.transcript"})
