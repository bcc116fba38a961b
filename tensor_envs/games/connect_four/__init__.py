"""Connect four."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="connect_four",
    rules="tensor_envs.games.connect_four.rules:ConnectFour",
    notation="tensor_envs.games.connect_four.notation",
    render="tensor_envs.games.connect_four.render",
    short={"k": 3},
)
