"""Kuhn poker."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="kuhn_poker",
    rules="tensor_envs.games.kuhn_poker.rules:KuhnPoker",
    notation="tensor_envs.games.kuhn_poker.notation",
    render="tensor_envs.games.kuhn_poker.render",
)
