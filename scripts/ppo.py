"""Proximal policy optimisation in pure tinygrad: policy, draws and steps of a whole rollout are one captured graph.

    python scripts/ppo.py
    python scripts/ppo.py --env tensor_stars --num-envs 128 --hidden 128 --plot curve.png

The same algorithm as `ppo_torch.py` (J. Schulman et al., arXiv:1707.06347, section 5; credit among players as in
`ppo_common.py`): one network plays every seat against itself, illegal actions have probability 0, finished games start
again at once. `te.jit` captures two functions: the rollout with its advantages, and learning from a minibatch.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np
import ppo_common
from tinygrad import Tensor, nn
from tinygrad.helpers import Context

import tensor_envs as te


class Network:
    """Two hidden layers from the flat observation to log-probabilities [B, A] and values [B]."""

    def __init__(self, env: te.Env, hidden: int):
        self.first = nn.Linear(math.prod(env.observation_shape), hidden)
        self.second = nn.Linear(hidden, hidden)
        self.policy, self.value = nn.Linear(hidden, env.num_actions), nn.Linear(hidden, 1)
        self.policy.weight *= 0.01  # the first policy is nearly uniform
        # realised now, else every capture would draw weights of its own
        Tensor.realize(*nn.state.get_parameters(self))

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.second(self.first(observation).tanh()).tanh()
        return te.masked_logits(self.policy(features), mask).log_softmax(), self.value(features).squeeze(1)


class Learner:
    device: str | None = None

    def __init__(self, options: argparse.Namespace):
        Tensor.manual_seed(options.seed)
        self.options, self.env = options, options.game
        self.network = Network(self.env, options.hidden)
        self.optimiser = nn.optim.Adam(nn.state.get_parameters(self.network), lr=options.rate, eps=1e-5)
        self.state = self.env.init(options.num_envs, options.seed, self.device)
        self.rollout, self.learn, self.best = te.jit(self._rollout), te.jit(self._learn), te.jit(self._best)

    def look(self, state: te.State) -> tuple[Tensor, Tensor]:
        """Observations float32 [B, n] and masks bool [B, A] of those to move."""
        return self.env.observe(state).flatten(1).float().contiguous(), state.legal_action_mask.contiguous()

    def one_hot(self, index: Tensor, size: int) -> Tensor:
        return (index.unsqueeze(1) == Tensor.arange(size)).float()

    def _best(self, state: te.State) -> Tensor:
        return self.network(*self.look(state))[0].argmax(1)

    def choose(self, state: te.State) -> np.ndarray:
        return te.to_numpy(self.best(state))

    def _rollout(self, state: te.State) -> tuple[te.State, list[list[Tensor]]]:
        """The state after it and the minibatches: observations, masks, choices as one-hot rows, their
        log-probabilities, values, advantages, and which of these are known, all [n, ...].
        """
        seen, paid = [], []
        for _ in range(self.options.steps):
            observation, mask = self.look(state)
            logs, value = (t.contiguous() for t in self.network(observation, mask))
            action = te.sample_action(logs, mask, state.action_key, state.ply).contiguous()
            chosen = self.one_hot(action, self.env.num_actions).contiguous()
            mover = self.one_hot(state.current_player, self.env.num_players).contiguous()
            seen.append((observation, mask, chosen, (logs * chosen).sum(1), value))
            after = self.env.step(state, action)
            paid.append((after.rewards, mover, value, after.terminated.float(), after.truncated.float()))
            state = self.env.reset(after)
        mover = self.one_hot(state.current_player, self.env.num_players)
        next_value = self.network(*self.look(state))[1]
        credit = ppo_common.advantages(paid, mover, next_value, self.options.gamma, self.options.lam)
        parts = [Tensor.stack(*part, dim=1) for part in (*zip(*seen, strict=True), *credit)]
        # rows are games of their own, so any grouping of them is as good as another
        size = self.options.num_envs // self.options.minibatches
        rows = [slice(begin, begin + size) for begin in range(0, self.options.num_envs, size)]
        return state, [[part[few].flatten(0, 1).contiguous() for part in parts] for few in rows]

    def _learn(
        self,
        observation: Tensor,
        mask: Tensor,
        chosen: Tensor,
        old: Tensor,
        value: Tensor,
        advantage: Tensor,
        known: Tensor,
    ) -> None:
        options, count = self.options, known.sum().maximum(1)
        target = value + advantage
        mean = (advantage * known).sum() / count
        spread = (((advantage - mean).square() * known).sum() / count).sqrt()
        scaled = (advantage - mean) / (spread + 1e-8)
        logs, guess = self.network(observation, mask)
        ratio = ((logs * chosen).sum(1) - old).exp()
        gain = (scaled * ratio).minimum(scaled * ratio.clamp(1 - options.clip, 1 + options.clip))
        entropy = -(logs.exp() * logs).sum(1)
        each = 0.25 * (guess - target).square() - gain - options.entropy * entropy
        self.optimiser.zero_grad()
        ((each * known).sum() / count).backward()
        self.optimiser.step()

    def update(self, rate: float) -> int:
        self.optimiser.lr.assign(Tensor([rate])).realize()
        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            self.state, minibatches = self.rollout(self.state)
            for _ in range(self.options.epochs):
                for minibatch in minibatches:
                    self.learn(*minibatch)
        return int(self.options.num_envs * self.options.steps)


def main(arguments: Sequence[str] | None = None) -> int:
    return ppo_common.main("ppo.py", Learner, arguments, str(__doc__).split("\n")[0])


if __name__ == "__main__":
    sys.exit(main())
