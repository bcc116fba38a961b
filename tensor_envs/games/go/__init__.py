"""Go."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="go",
    rules="tensor_envs.games.go.rules:Go",
    notation="tensor_envs.games.go.notation",
    render="tensor_envs.games.go.render",
    short={"size": 4},
)
