"""Referee for players that read and write: whole games, scores with exact regret, disguises, reports."""

from tensor_envs.referee.disguise import KINDS, Disguise
from tensor_envs.referee.matches import Score, Settings, play, ratings, scores, tournament
from tensor_envs.referee.players import Participant, command, endpoint, function, packaged

__all__ = [
    "KINDS",
    "Disguise",
    "Participant",
    "Score",
    "Settings",
    "command",
    "endpoint",
    "function",
    "packaged",
    "play",
    "ratings",
    "scores",
    "tournament",
]
