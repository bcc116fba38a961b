"""Train by proximal policy optimisation (PPO) in PyTorch on a `te.VectorEnv`.

    python scripts/train/ppo_torch.py
    python scripts/train/ppo_torch.py --env qubic --num-envs 512 --steps 32 --updates 200 --plot qubic.png

Needs PyTorch (extra `torch`). The algorithm and the options are those of `ppo.py`: one network plays every player
against itself, and illegal actions have probability 0. `te.to_torch` converts observations and masks to tensors.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs._command import need
from tensor_envs.train.network import look
from train import training
from train.ppo import check_minibatches, ppo_loss, ppo_parser

FLOOR = -1e9  # logit of illegal actions: finite, so that a row without legal actions is uniform instead of NaN


class TorchPPO(training.AgainstUniform):
    """PPO with a PyTorch network of two hidden layers."""

    device: str | None = "CPU"

    def __init__(self, options: argparse.Namespace):
        need("torch", "this script", "torch")
        self.torch: Any = importlib.import_module("torch")
        self.torch.set_num_threads(1)  # the batches are too small for more
        self.torch.manual_seed(options.seed)
        check_minibatches(options)
        self.options, self.env = options, options.game
        self.choose_measure()
        inputs, hidden = math.prod(self.env.observation_shape), options.hidden
        self.layers = {
            "first": self.linear(inputs, hidden, 2**0.5),
            "second": self.linear(hidden, hidden, 2**0.5),
            "policy": self.linear(hidden, self.env.num_actions, 0.01),
            "value": self.linear(hidden, 1, 1.0),
        }
        for name, values in (options.weights or {}).items():
            if name not in self.parameters():
                raise ValueError("--resume must be weights of two hidden layers, got some with residual blocks")
            self.parameters()[name].data = self.torch.from_numpy(values.astype(np.float32))
        self.optimiser = self.torch.optim.Adam(self.parameters().values(), eps=1e-5)
        # "next_step" keeps the last state of a finished game, whose rewards and flags are read below
        self.vector = te.VectorEnv(self.env, options.num_envs, options.seed, self.device, autoreset="next_step")
        self.inputs = te.jit(lambda state: look(self.env, state))

    def linear(self, inputs: int, outputs: int, gain: float) -> Any:
        """Return a dense layer with orthogonal weights and no bias."""
        layer = self.torch.nn.Linear(inputs, outputs)
        self.torch.nn.init.orthogonal_(layer.weight, gain)
        self.torch.nn.init.zeros_(layer.bias)
        return layer

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by the names of `tensor_envs.train.network.Network`."""
        named = [(name, layer.named_parameters()) for name, layer in self.layers.items()]
        return {f"{name}.{kind}": values for name, parts in named for kind, values in parts}

    def weights(self) -> dict[str, Tensor]:
        return {name: Tensor(values.detach().numpy()) for name, values in self.parameters().items()}

    def look(self, state: te.State) -> tuple[Any, Any]:
        """Return flat observations [B, n] float32 and masks [B, A] bool, copied because a capture reuses its output."""
        observation, mask = self.inputs(state)
        return te.to_torch(observation, copy=True), te.to_torch(mask, copy=True)

    def evaluate(self, observation: Any, mask: Any) -> tuple[Any, Any]:
        """Return log-probabilities [..., A] and values [...]."""
        features = self.layers["second"](self.layers["first"](observation).tanh()).tanh()
        logits = self.torch.where(mask, self.layers["policy"](features), FLOOR)
        return logits.log_softmax(-1), self.layers["value"](features).squeeze(-1)

    def choose(self, state: te.State) -> np.ndarray:
        with self.torch.no_grad():
            return self.evaluate(*self.look(state))[0].argmax(1).numpy()

    def movers(self, fields: dict[str, np.ndarray]) -> Any:
        """Return the player to move as one-hot rows [B, P] float32, all 0 for a finished game."""
        players = np.equal.outer(fields["current_player"], np.arange(self.env.num_players))
        decides = players & fields["legal_action_mask"].any(1, keepdims=True)
        return self.torch.from_numpy(decides.astype(np.float32))

    def rollout(self) -> tuple[Any, ...]:
        """Play a rollout.

        Returns:
            [T, B, ...] each of observations, masks, actions, their log-probabilities, values, advantages, and 1 where
            the advantage is known.
        """
        torch, decisions, outcomes = self.torch, [], []
        state = self.vector.state
        fields = state.numpy()
        for _ in range(self.options.steps):
            observation, mask = self.look(state)
            mover = self.movers(fields)
            logs, value = self.evaluate(observation, mask)
            action = torch.multinomial(logs.exp(), 1)
            decisions.append((observation, mask, action, logs.gather(1, action).squeeze(1), value))
            self.vector.step(te.from_torch(action.squeeze(1).to(torch.int32)))
            state = self.vector.state
            fields = state.numpy()
            terminated, truncated = (torch.from_numpy(fields[n]).float() for n in ("terminated", "truncated"))
            outcomes.append((torch.from_numpy(fields["rewards"]), mover, value, terminated, truncated))
        next_value = self.evaluate(*self.look(state))[1]
        credit = te.advantages(outcomes, self.movers(fields), next_value, self.options.gamma, self.options.lam)
        return tuple(map(torch.stack, (*zip(*decisions, strict=True), *credit)))

    def update(self, remaining: float) -> int:
        torch, options = self.torch, self.options
        self.optimiser.param_groups[0]["lr"] = options.rate * remaining
        with torch.no_grad():
            data = self.rollout()
        for _ in range(options.epochs):
            for rows in torch.randperm(options.num_envs).chunk(options.minibatches):
                observation, mask, action, *rest = (part[:, rows] for part in data)
                logs, value = self.evaluate(observation, mask)
                chosen = logs.gather(-1, action).squeeze(-1)
                loss = ppo_loss(logs, chosen, value, *rest, clip=options.clip, entropy=options.entropy)
                self.optimiser.zero_grad()
                loss.backward()
                self.optimiser.step()
        return int(data[1].any(-1).sum())


def main(arguments: Sequence[str] | None = None) -> None:
    training.main(ppo_parser("ppo_torch.py", __doc__, TorchPPO.device), TorchPPO, arguments)


if __name__ == "__main__":
    main()
