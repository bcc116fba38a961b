"""Othello."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="othello",
    rules="tensor_envs.games.othello.rules:Othello",
    notation="tensor_envs.games.othello.notation",
    render="tensor_envs.games.othello.render",
)
