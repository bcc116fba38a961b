"""Evaluation of policies: matches, Elo ratings, exploitability, and regret against perfect play."""

from tensor_envs.evaluation.matches import Evaluation, evaluate
from tensor_envs.evaluation.oracles import PlayoutOracle, regret
from tensor_envs.evaluation.ratings import Ratings, arena
from tensor_envs.evaluation.responses import ExploitabilityBound, exploitability_bound

__all__ = [
    "Evaluation",
    "ExploitabilityBound",
    "PlayoutOracle",
    "Ratings",
    "arena",
    "evaluate",
    "exploitability_bound",
    "regret",
]
