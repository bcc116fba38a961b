"""Engines of others as players: Stockfish, GNU Go, GNU Backgammon, OpenSpiel's search, and programs of UCI and GTP."""

from tensor_envs.evaluation.engines.player import EnginePlayer
from tensor_envs.evaluation.engines.process import EngineError

__all__ = ["EngineError", "EnginePlayer"]
