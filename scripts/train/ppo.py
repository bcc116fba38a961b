"""Train by proximal policy optimisation (PPO) in pure tinygrad.

    python scripts/train/ppo.py
    python scripts/train/ppo.py --env tensor_stars --num-envs 128 --hidden 128 --plot curve.png

One network plays every player against itself. Illegal actions have probability 0, and finished games are reset in the
same step. `te.jit` captures two functions: a whole rollout with its advantages, and an update from a minibatch.
The algorithm is that of J. Schulman et al., "Proximal Policy Optimization Algorithms", arXiv:1707.06347, section 5;
`te.advantages` assigns credit among the players. `ppo_torch.py` is the same algorithm in PyTorch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import Context

import tensor_envs as te
from tensor_envs._command import MAX_COUNT, real, whole
from tensor_envs.train.network import look
from train import training

COUNT = whole(1, MAX_COUNT)
NUMBERS: training.Numbers = {
    "num-envs": (COUNT, 256, "games in a batch"),
    "steps": (COUNT, 16, "steps of a rollout"),
    "updates": (COUNT, 100, "rollouts, each followed by optimiser steps"),
    "epochs": (COUNT, 4, "passes over a rollout"),
    "minibatches": (COUNT, 4, "equal groups of games, with one optimiser step each"),
    "rate": (real(0, 1, False), 5e-3, "initial learning rate, which decreases linearly to 0"),
    "entropy": (real(0, 100), 0.2, "weight of the policy's entropy, which keeps self-play diverse"),
    "clip": (real(0, 1, False), 0.2, "largest change of a probability ratio from 1 that has a gradient"),
    "gamma": (real(0, 1), 1.0, "discount from one decision of a player to the next"),
    "lam": (real(0, 1), 0.95, "lambda of the advantages"),
}

Array = Any  # a torch.Tensor or a tinygrad Tensor: `ppo_loss` uses operations of both


def ppo_parser(prog: str, doc: str | None, device: str | None = None) -> argparse.ArgumentParser:
    return training.make_parser(prog, doc, NUMBERS, device)


def check_minibatches(options: argparse.Namespace) -> None:
    if options.num_envs % options.minibatches:
        raise ValueError(f"--minibatches must divide --num-envs, got {options.minibatches} and {options.num_envs}")


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
    """Return the loss of J. Schulman et al., arXiv:1707.06347, equation 9, over decisions with known advantages.

    Args:
        logs: log-probabilities of all actions by the current network, [..., A].
        chosen: log-probabilities of the actions taken, by the current network, [...].
        value: values by the current network, [...].
        old_chosen: `chosen` by the network of the rollout, [...].
        old_value: `value` by the network of the rollout, [...].
        advantage: advantages of the actions taken, [...].
        known: 1 where the advantage is known, else 0, [...].
        clip: the largest change of a probability ratio from 1 that has a gradient.
        entropy: the weight of the policy's entropy.
    """
    count = known.sum().clamp(1)
    mean = (advantage * known).sum() / count
    off, error = advantage - mean, value - (old_value + advantage)
    scaled = off / (((off * off * known).sum() / count).sqrt() + 1e-8)
    ratio = (chosen - old_chosen).exp()
    gain = (scaled * ratio).minimum(scaled * ratio.clamp(1 - clip, 1 + clip))
    bonus = entropy * -(logs.exp() * logs).sum(-1)
    return ((0.25 * error * error - gain - bonus) * known).sum() / count


def one_hot(index: Tensor, size: int) -> Tensor:
    return (index.unsqueeze(1) == Tensor.arange(size)).float()


class PPO(training.AgainstUniform):
    """PPO with a tinygrad network."""

    def __init__(self, options: argparse.Namespace):
        Tensor.manual_seed(options.seed)
        check_minibatches(options)
        self.options, self.env, self.device = options, options.game, options.device
        self.choose_measure()
        self.network = training.initial_network(options)
        self.optimiser = nn.optim.Adam(nn.state.get_parameters(self.network), lr=options.rate, eps=1e-5)
        self.state = self.env.init(options.num_envs, options.seed, self.device)
        self.rollout, self.learn, self.best = te.jit(self._rollout), te.jit(self._learn), te.jit(self._best)

    def _best(self, state: te.State) -> Tensor:
        return self.network(*look(self.env, state))[0].argmax(1)

    def choose(self, state: te.State) -> np.ndarray:
        return te.to_numpy(self.best(state))

    def weights(self) -> dict[str, Tensor]:
        return nn.state.get_state_dict(self.network)

    def _rollout(self, state: te.State) -> tuple[te.State, list[list[Tensor]]]:
        """Play a rollout.

        Returns:
            The next state, and the minibatches. A minibatch is [n, ...] each of observations, masks, one-hot actions,
            their log-probabilities, values, advantages, and 1 where the advantage is known.
        """
        decisions, outcomes = [], []
        for _ in range(self.options.steps):
            observation, mask = look(self.env, state)
            logs, value = (t.contiguous() for t in self.network(observation, mask))
            action = te.sample_action(logs, mask, state.action_key, state.ply).contiguous()
            chosen = one_hot(action, self.env.num_actions).contiguous()
            mover = one_hot(state.current_player, self.env.num_players).contiguous()
            decisions.append((observation, mask, chosen, (logs * chosen).sum(1), value))
            after = self.env.step(state, action)
            outcomes.append((after.rewards, mover, value, after.terminated.float(), after.truncated.float()))
            state = self.env.reset(after)
        mover = one_hot(state.current_player, self.env.num_players)
        next_value = self.network(*look(self.env, state))[1]
        credit = te.advantages(outcomes, mover, next_value, self.options.gamma, self.options.lam)
        parts = [Tensor.stack(*part, dim=1) for part in (*zip(*decisions, strict=True), *credit)]
        # games are independent, so consecutive rows make unbiased minibatches
        size = self.options.num_envs // self.options.minibatches
        rows = [slice(begin, begin + size) for begin in range(0, self.options.num_envs, size)]
        return state, [[part[group].flatten(0, 1).contiguous() for part in parts] for group in rows]

    def _learn(self, observation: Tensor, mask: Tensor, chosen: Tensor, *rest: Tensor) -> None:
        logs, value = self.network(observation, mask)
        loss = ppo_loss(
            logs, (logs * chosen).sum(1), value, *rest, clip=self.options.clip, entropy=self.options.entropy
        )
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def update(self, remaining: float) -> int:
        self.optimiser.lr.assign(Tensor([self.options.rate * remaining])).realize()
        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            self.state, minibatches = self.rollout(self.state)
            for _ in range(self.options.epochs):
                for minibatch in minibatches:
                    self.learn(*minibatch)
        return int(self.options.num_envs * self.options.steps)


def main(arguments: Sequence[str] | None = None) -> None:
    training.main(ppo_parser("ppo.py", __doc__), PPO, arguments)


if __name__ == "__main__":
    main()
