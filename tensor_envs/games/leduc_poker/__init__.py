"""Leduc poker."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="leduc_poker",
    rules="tensor_envs.games.leduc_poker.rules:LeducPoker",
    notation="tensor_envs.games.leduc_poker.notation",
    render="tensor_envs.games.leduc_poker.render",
)
