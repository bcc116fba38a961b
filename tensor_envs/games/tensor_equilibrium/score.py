"""Who has won: the highest lowest token, then the next lowest, at last the GPU (F42)."""

from __future__ import annotations

from functools import reduce

from tinygrad import UOp, dtypes

from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.data import TYPES, RuleFields

LEVEL_BITS, GPU_BITS = 5, 7
# A sorting network of five, its comparisons in order.
COMPARISONS = ((0, 1), (3, 4), (2, 4), (2, 3), (1, 4), (0, 3), (0, 2), (1, 3), (1, 2))


def standing(level: Scalar, gpu: Scalar) -> Scalar:
    """One uint32 that orders players as F42 does: levels ascending, the lowest first, then GPU."""
    tokens = [level >> tally.BITS * t & tally.LOWEST for t in range(TYPES)]
    for i, j in COMPARISONS:
        sorted_already = tokens[i] < tokens[j]
        low = sorted_already.where(tokens[i], tokens[j])
        tokens[i], tokens[j] = low, tokens[i] ^ tokens[j] ^ low
    word = reduce(lambda word, token: word << LEVEL_BITS | token, tokens)
    return word << GPU_BITS | gpu.cast(dtypes.uint32)


def rewards(rules: RuleFields, s: GameState, scored: Scalar) -> list[Scalar]:
    """Paid to every player if the game is scored: the winners share what the others lose, or all by rank (G42)."""
    players, rivals = rules.players, rules.players - 1
    keys = [standing(level, gpu) for level, gpu in zip(s.level, s.gpu, strict=True)]
    if rules.reward_mode == "rank":
        zero = UOp.const(0, dtypes.int32)
        results = [
            sum(((other < key).where(1, 0) - (key < other).where(1, 0) for other in keys), start=zero)
            for key in keys
        ]
        return [scored.where(result.cast(dtypes.float32) / rivals, 0.0) for result in results]
    best = reduce(lambda a, b: (a < b).where(b, a), keys)
    wins = [key.eq(best) for key in keys]
    winners = sum((win.where(1, 0) for win in wins), start=UOp.const(0, dtypes.int32))
    share = UOp.const(0.0, dtypes.float32)
    for n in range(1, players + 1):
        share = winners.eq(n).where((players / n - 1) / rivals, share)
    return [scored.where(win.where(share, -1 / rivals), 0.0) for win in wins]
