"""Chess."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="chess",
    rules="tensor_envs.games.chess.rules:Chess",
    notation="tensor_envs.games.chess.notation",
    render="tensor_envs.games.chess.render",
    short={"quiet_plies": 6},
)
