"""Credit among players, and the loss of proximal policy optimisation, for tinygrad and PyTorch alike.

One network plays every seat, and V(o) is what the player to move expects to be paid from there on. A player's
decisions within an episode are a chain of their own: decision k at step t_k, the next at t_{k+1}, whatever others do in
between, and however often one player moves running. With rewards r_t of [B, P], what step t pays to each player,

    R_k = sum of r_t[player] over t_k <= t < t_{k+1}        (to the end of the game if there is no next decision)
    delta_k = R_k + gamma V_{k+1} - V_k                     (V_{k+1} = 0 if the game ended before)
    A_k = delta_k + gamma lambda A_{k+1}                    (A_{k+1} = 0 there)

So an opponent's winning move is paid to the decision of its victim's before it, for any number of players, zero-sum or
not. Where the rollout stops, or a limit cuts a game off (truncated), no next decision is known but that of whoever
moves next. The last decision of the others is not learned from, and their chain starts from its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Array = Any  # a NumPy array, a torch.Tensor or a tinygrad Tensor: only what all of them have is used


def advantages(
    steps: Sequence[tuple[Array, ...]], next_mover: Array, next_value: Array, gamma: float, lam: float
) -> tuple[list[Array], list[Array]]:
    """A of every decision and whether it is known, float32 [B] of 0 and 1, step by step; see above.

    A step is, in float32: rewards [B, P]; mover [B, P], 1 for who decides and 0 for the rest (for all, if nobody does);
    value [B]; ended and cut [B], 1 where the step ended the game by its rules or by a limit. next_mover [B, P] and
    next_value [B] are of the decisions after the last step.
    """
    # of every player's next decision, [B, P]: its value, its advantage, what is paid before it, whether it is known
    value, known = next_mover * next_value[:, None], next_mover
    ahead, paid = value * 0, value * 0
    advantage, certain = [], []
    for rewards, mover, own, ended, cut in reversed(steps):
        on, rest = ((1 - ended) * (1 - cut))[:, None], 1 - mover
        value, ahead, paid, known = value * on, ahead * on, paid * on + rewards, known * on + ended[:, None]
        certain.append((known * mover).sum(1))
        delta = ((paid + gamma * value + gamma * lam * ahead) * mover).sum(1) - own
        advantage.append(delta * certain[-1])
        value, ahead = value * rest + mover * own[:, None], ahead * rest + mover * advantage[-1][:, None]
        paid, known = paid * rest, known * rest + mover
    return advantage[::-1], certain[::-1]


def ppo_loss(
    logs: Array,
    chosen: Array,
    value: Array,
    old_chosen: Array,
    old_value: Array,
    advantage: Array,
    known: Array,
    *,
    clip: float,
    entropy: float,
) -> Array:
    """J. Schulman et al., arXiv:1707.06347, equation 9, over the decisions whose advantage is known.

    logs [..., A], chosen [...], value [...]: all log-probabilities, those of the actions taken, and values, by the
    network as it is; old_chosen and old_value: as it was when it played. clip: how far from 1 the ratio of new to old
    probability still counts. entropy: the weight of the policy's entropy.
    """
    count = known.sum().clamp(1)
    mean = (advantage * known).sum() / count
    off, error = advantage - mean, value - (old_value + advantage)
    scaled = off / (((off * off * known).sum() / count).sqrt() + 1e-8)
    ratio = (chosen - old_chosen).exp()
    gain = (scaled * ratio).minimum(scaled * ratio.clamp(1 - clip, 1 + clip))
    bonus = entropy * -(logs.exp() * logs).sum(-1)
    return ((0.25 * error * error - gain - bonus) * known).sum() / count
