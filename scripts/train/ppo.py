"""Proximal policy optimisation in pure tinygrad: policy, draws and steps of a whole rollout are one captured graph.

    python scripts/train/ppo.py
    python scripts/train/ppo.py --env tensor_stars --num-envs 128 --hidden 128 --plot curve.png

The same algorithm as `ppo_torch.py` (J. Schulman et al., arXiv:1707.06347, section 5; credit among players by
`te.advantages`): one network plays every seat against itself, illegal actions have probability 0, finished games start
again at once. `te.jit` captures two functions: the rollout with its advantages, and learning from a minibatch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import Context

import tensor_envs as te
from tensor_envs.train.network import look
from train import training
from train.loss import check_minibatches, ppo_loss, ppo_parser
from train.training import one_hot


class Learner(training.AgainstUniform):
    def __init__(self, options: argparse.Namespace):
        Tensor.manual_seed(options.seed)
        check_minibatches(options)
        self.options, self.env, self.device = options, options.game, options.device
        self.measure()
        self.network = training.first_network(options)
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
        """The state after it and the minibatches: observations, masks, choices as one-hot rows, their
        log-probabilities, values, advantages, and which of these are known, all [n, ...].
        """
        seen, paid = [], []
        for _ in range(self.options.steps):
            observation, mask = look(self.env, state)
            logs, value = (t.contiguous() for t in self.network(observation, mask))
            action = te.sample_action(logs, mask, state.action_key, state.ply).contiguous()
            chosen = one_hot(action, self.env.num_actions).contiguous()
            mover = one_hot(state.current_player, self.env.num_players).contiguous()
            seen.append((observation, mask, chosen, (logs * chosen).sum(1), value))
            after = self.env.step(state, action)
            paid.append((after.rewards, mover, value, after.terminated.float(), after.truncated.float()))
            state = self.env.reset(after)
        mover = one_hot(state.current_player, self.env.num_players)
        next_value = self.network(*look(self.env, state))[1]
        credit = te.advantages(paid, mover, next_value, self.options.gamma, self.options.lam)
        parts = [Tensor.stack(*part, dim=1) for part in (*zip(*seen, strict=True), *credit)]
        # rows are games of their own, so any grouping of them is as good as another
        size = self.options.num_envs // self.options.minibatches
        rows = [slice(begin, begin + size) for begin in range(0, self.options.num_envs, size)]
        return state, [[part[few].flatten(0, 1).contiguous() for part in parts] for few in rows]

    def _learn(self, observation: Tensor, mask: Tensor, chosen: Tensor, *rest: Tensor) -> None:
        logs, value = self.network(observation, mask)
        loss = ppo_loss(
            logs, (logs * chosen).sum(1), value, *rest, clip=self.options.clip, entropy=self.options.entropy
        )
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def update(self, left: float) -> int:
        self.optimiser.lr.assign(Tensor([self.options.rate * left])).realize()
        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            self.state, minibatches = self.rollout(self.state)
            for _ in range(self.options.epochs):
                for minibatch in minibatches:
                    self.learn(*minibatch)
        return int(self.options.num_envs * self.options.steps)


def main(arguments: Sequence[str] | None = None) -> None:
    training.main(ppo_parser("ppo.py", __doc__), Learner, arguments)


if __name__ == "__main__":
    main()
