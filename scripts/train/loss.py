"""The loss of proximal policy optimisation, for tinygrad and PyTorch alike."""

from __future__ import annotations

from typing import Any

Array = Any  # a torch.Tensor or a tinygrad Tensor: only what both have is used


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
