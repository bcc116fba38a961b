"""2048."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="2048",
    rules="tensor_envs.games.game_2048.rules:Game2048",
    notation="tensor_envs.games.game_2048.notation",
    render="tensor_envs.games.game_2048.render",
)
