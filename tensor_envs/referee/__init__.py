"""Referee for players of text, such as language models: games, scores with exact regret, disguises and reports."""

from tensor_envs.referee.disguise import KINDS, Disguise
from tensor_envs.referee.matches import play, tournament
from tensor_envs.referee.players import Participant, command, endpoint, function, packaged
from tensor_envs.referee.scoring import Score, ratings, scores
from tensor_envs.referee.settings import Settings

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
