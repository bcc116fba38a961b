"""Final score: the highest lowest token wins, then the next lowest, then GPU (F42)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.data import TYPES, RuleFields
from tensor_envs.rules import GameState, Outcome, Scalar, Value, float32, sort, sum_of, uint32, where

LEVEL_BITS, GPU_BITS = 5, 7


def standing(level: Scalar, gpu: Scalar) -> Scalar:
    """Return a word that orders players by F42: token levels ascending, then GPU."""
    tokens = sort(level >> tally.BITS * t & tally.LOWEST for t in range(TYPES))
    return reduce(lambda ordered, token: ordered << LEVEL_BITS | token, tokens) << GPU_BITS | uint32(gpu)


def rewards(rules: RuleFields, s: GameState, scored: Scalar) -> Sequence[Value]:
    """Return the rewards: 0 before the end, then winners share the losers' losses, or ranks are paid (G42)."""
    standings = [standing(level, gpu) for level, gpu in zip(s.level, s.gpu, strict=True)]
    if rules.reward_mode == "rank":
        ranks = [
            sum_of(mine > other for other in standings) - sum_of(mine < other for other in standings)
            for mine in standings
        ]
        return [where(scored, float32(rank) * (1 / (rules.players - 1)), 0.0) for rank in ranks]
    return Outcome.scores(s, standings, scored).rewards
