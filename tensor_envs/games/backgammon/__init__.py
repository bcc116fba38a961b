"""Backgammon."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="backgammon",
    rules="tensor_envs.games.backgammon.rules:Backgammon",
    notation="tensor_envs.games.backgammon.notation",
    render="tensor_envs.games.backgammon.render",
    short={"max_plies": 60},
)
