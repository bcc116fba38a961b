"""Hyperdimensional tic-tac-toe."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="hyper_tic_tac_toe",
    rules="tensor_envs.games.hyper_tic_tac_toe.rules:HyperTicTacToe",
    notation="tensor_envs.games.hyper_tic_tac_toe.notation",
    render="tensor_envs.games.hyper_tic_tac_toe.render",
    presets={
        "tic_tac_toe": {"shape": (3, 3), "k": 3},
        "qubic": {"shape": (4, 4, 4), "k": 4},
        "gomoku": {"shape": (15, 15), "k": 5},
    },
)
