"""Hex."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="hex",
    rules="tensor_envs.games.hex.rules:Hex",
    notation="tensor_envs.games.hex.notation",
    render="tensor_envs.games.hex.render",
    short={"size": 5},
)
