"""Shed: whoever is made to hold all cards loses."""

from tensor_envs import GameEntry

GAME = GameEntry(
    id="shed",
    rules="tensor_envs.games.shed.rules:Shed",
    notation="tensor_envs.games.shed.notation",
    render="tensor_envs.games.shed.render",
)
