"""The options and the loss of proximal policy optimisation, for tinygrad and PyTorch alike."""

from __future__ import annotations

import argparse
from typing import Any

from tensor_envs._command import MAX_COUNT, real, whole
from train.training import make_parser

COUNT = whole(1, MAX_COUNT)
NUMBERS: dict[str, tuple[Any, float, str]] = {
    "num-envs": (COUNT, 256, "games played side by side"),
    "steps": (COUNT, 16, "decisions in each of them in a rollout"),
    "updates": (COUNT, 100, "rollouts, each followed by learning from it"),
    "epochs": (COUNT, 4, "times that a rollout is learned from"),
    "minibatches": (COUNT, 4, "equal groups of games, an optimiser step each"),
    "rate": (real(0, 1, False), 5e-3, "learning rate at the beginning; it falls to 0"),
    "entropy": (
        real(0, 100),
        0.2,
        "weight of the policy's entropy; keeps self-play from forgetting what it no longer meets",
    ),
    "clip": (real(0, 1, False), 0.2, "how far from 1 the ratio of new to old probability still counts"),
    "gamma": (real(0, 1), 1.0, "discount between a player's decisions"),
    "lam": (real(0, 1), 0.95, "lambda of the advantages"),
}

Array = Any  # a torch.Tensor or a tinygrad Tensor: only what both have is used


def ppo_parser(prog: str, doc: str | None, device: str | None = None) -> argparse.ArgumentParser:
    return make_parser(prog, doc, NUMBERS, device)


def check_minibatches(options: argparse.Namespace) -> None:
    if options.num_envs % options.minibatches:
        raise ValueError(
            f"--minibatches must divide --num-envs, got {options.minibatches} and {options.num_envs}"
        )


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
