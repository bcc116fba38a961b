"""Proximal policy optimisation in PyTorch on a `te.VectorEnv`: one network plays every seat against itself.

    python scripts/train/ppo_torch.py
    python scripts/train/ppo_torch.py --env qubic --num-envs 512 --steps 32 --updates 200 --plot qubic.png

Needs PyTorch (extra `torch`). The algorithm is J. Schulman et al., "Proximal Policy Optimization Algorithms",
arXiv:1707.06347, section 5; how players are credited for what others do in between: `te.advantages`. Illegal
actions have probability 0. Every few updates the policy's likeliest actions are measured against the uniform player.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensor_envs._command import need

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from train import training
from train.loss import check_minibatches, ppo_loss, ppo_parser

FLOOR = -1e9  # of illegal logits: finite, so that a row without legal actions is uniform and never NaN


def network(torch: Any, env: te.Env, hidden: int) -> tuple[Any, Any, Any]:
    """Body, policy head and value head, over the flat observation."""

    def linear(inputs: int, outputs: int, gain: float) -> Any:
        layer = torch.nn.Linear(inputs, outputs)
        torch.nn.init.orthogonal_(layer.weight, gain)
        torch.nn.init.zeros_(layer.bias)
        return layer

    inputs, tanh = math.prod(env.observation_shape), torch.nn.Tanh()
    body = torch.nn.Sequential(linear(inputs, hidden, 2**0.5), tanh, linear(hidden, hidden, 2**0.5), tanh)
    return body, linear(hidden, env.num_actions, 0.01), linear(hidden, 1, 1.0)


class Learner(training.AgainstUniform):
    device: str | None = "CPU"

    def __init__(self, options: argparse.Namespace):
        need("torch", "this script", "torch")
        self.torch: Any = importlib.import_module("torch")
        self.torch.set_num_threads(1)  # the batches are too small for more
        self.torch.manual_seed(options.seed)
        check_minibatches(options)
        self.options, self.env = options, options.game
        self.measure()
        self.body, self.policy, self.value = network(self.torch, self.env, options.hidden)
        for name, values in (options.known or {}).items():
            if name not in self.named():
                raise ValueError(
                    "--resume must be weights of two hidden layers, got some with residual blocks"
                )
            self.named()[name].data = self.torch.from_numpy(values.astype(np.float32))
        self.parameters = [p for part in (self.body, self.policy, self.value) for p in part.parameters()]
        self.optimiser = self.torch.optim.Adam(self.parameters, eps=1e-5)
        # a game that is over starts again in the next step: what ended it is read with the rest of the state
        self.vector = te.VectorEnv(
            self.env, options.num_envs, options.seed, self.device, autoreset="next_step"
        )
        self.view = te.jit(self._view)

    def _view(self, state: te.State) -> tuple[Any, Any]:
        return self.env.observe(state).flatten(1).float().contiguous(), state.legal_action_mask.contiguous()

    def look(self, state: te.State) -> tuple[Any, Any]:
        """Observations float32 [B, n] and masks bool [B, A] of those to move; they are copied out of the capture."""
        observation, mask = self.view(state)
        return te.to_torch(observation, copy=True), te.to_torch(mask, copy=True)

    def judge(self, observation: Any, mask: Any) -> tuple[Any, Any]:
        """Log-probabilities [..., A] and values [...]."""
        features = self.body(observation)
        logits = self.torch.where(mask, self.policy(features), FLOOR)
        return logits.log_softmax(-1), self.value(features).squeeze(-1)

    def choose(self, state: te.State) -> np.ndarray:
        with self.torch.no_grad():
            return self.judge(*self.look(state))[0].argmax(1).numpy()

    def named(self) -> dict[str, Any]:
        layers = {"first": self.body[0], "second": self.body[2], "policy": self.policy, "value": self.value}
        return {f"{name}.{kind}": w for name, layer in layers.items() for kind, w in layer.named_parameters()}

    def weights(self) -> dict[str, Tensor]:
        return {name: Tensor(weight.detach().numpy()) for name, weight in self.named().items()}

    def movers(self, now: dict[str, np.ndarray]) -> Any:
        """float32 [B, P]: 1 for who decides; nobody does in a game that is over."""
        players = np.equal.outer(now["current_player"], np.arange(self.env.num_players))
        decides = players & now["legal_action_mask"].any(1, keepdims=True)
        return self.torch.from_numpy(decides.astype(np.float32))

    def rollout(self) -> tuple[Any, ...]:
        """[T, B, ...]: observations, masks, actions, log-probabilities, values, advantages, and which are known."""
        torch, seen, paid = self.torch, [], []
        state = self.vector.state
        now = state.numpy()
        for _ in range(self.options.steps):
            observation, mask = self.look(state)
            mover = self.movers(now)
            logs, value = self.judge(observation, mask)
            action = torch.multinomial(logs.exp(), 1)
            seen.append((observation, mask, action, logs.gather(1, action).squeeze(1), value))
            self.vector.step(te.from_torch(action.squeeze(1).to(torch.int32)))
            state = self.vector.state
            now = state.numpy()
            ended, cut = (torch.from_numpy(now[name]).float() for name in ("terminated", "truncated"))
            paid.append((torch.from_numpy(now["rewards"]), mover, value, ended, cut))
        next_value = self.judge(*self.look(state))[1]
        credit = te.advantages(paid, self.movers(now), next_value, self.options.gamma, self.options.lam)
        return tuple(map(torch.stack, (*zip(*seen, strict=True), *credit)))

    def update(self, left: float) -> int:
        torch, options = self.torch, self.options
        self.optimiser.param_groups[0]["lr"] = options.rate * left
        with torch.no_grad():
            data = self.rollout()
        for _ in range(options.epochs):
            for rows in torch.randperm(options.num_envs).chunk(options.minibatches):
                loss = self.loss(*(part[:, rows] for part in data))
                self.optimiser.zero_grad()
                loss.backward()
                self.optimiser.step()
        return int(data[1].any(-1).sum())

    def loss(self, observation: Any, mask: Any, action: Any, *rest: Any) -> Any:
        logs, value = self.judge(observation, mask)
        chosen = logs.gather(-1, action).squeeze(-1)
        return ppo_loss(logs, chosen, value, *rest, clip=self.options.clip, entropy=self.options.entropy)


def main(arguments: Sequence[str] | None = None) -> None:
    training.main(ppo_parser("ppo_torch.py", __doc__, Learner.device), Learner, arguments)


if __name__ == "__main__":
    main()
