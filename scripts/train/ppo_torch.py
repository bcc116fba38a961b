"""Train by proximal policy optimisation (PPO) in PyTorch on a `te.VectorEnv`.

    python scripts/train/ppo_torch.py --steps 100
    python scripts/train/ppo_torch.py --env qubic --num-envs 512 --rollout-length 32 --steps 200

Needs PyTorch (extra `torch`). The algorithm and its settings are those of `te.train.PPO`: one network plays every
player against itself, and illegal actions have probability 0. `VectorEnv.torch` returns what the games show.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

import tensor_envs as te
from tensor_envs._command import MAX_COUNT, add_game, busy, command_parser, game_of, run, whole
from tensor_envs._validate import need
from tensor_envs.train.options import add_settings, settings_of
from tensor_envs.train.ppo import ppo_loss
from tensor_envs.train.rating import Judges, rate

DEVICE = "CPU"
FLOOR = -1e9  # logit of illegal actions: finite, so that a row without legal actions is uniform instead of NaN


class TorchPPO:
    """PPO with a PyTorch network of two hidden layers."""

    def __init__(self, env: te.Env, config: te.train.PPOConfig):
        need("torch", "this script", "torch")
        self.torch: Any = importlib.import_module("torch")
        self.torch.set_num_threads(1)  # the batches are too small for more
        self.torch.manual_seed(config.seed)
        self.env, self.config = env, config
        inputs, hidden = math.prod(env.observation_shape), config.hidden
        self.layers = {
            "first": self.linear(inputs, hidden, 2**0.5),
            "second": self.linear(hidden, hidden, 2**0.5),
            "policy": self.linear(hidden, env.num_actions, 0.01),
            "value": self.linear(hidden, 1, 1.0),
        }
        parameters = [values for layer in self.layers.values() for values in layer.parameters()]
        self.optimizer = self.torch.optim.Adam(parameters, eps=1e-5)
        # "next_step" shows the last position of a finished game, which has no legal action
        self.vector = te.VectorEnv(env, config.num_envs, config.seed, DEVICE, autoreset="next_step", observe=True)

    def linear(self, inputs: int, outputs: int, gain: float) -> Any:
        """Return a dense layer with orthogonal weights and no bias."""
        layer = self.torch.nn.Linear(inputs, outputs)
        self.torch.nn.init.orthogonal_(layer.weight, gain)
        self.torch.nn.init.zeros_(layer.bias)
        return layer

    def look(self) -> dict[str, Any]:
        """Return copies of what the games show, see `VectorEnv.torch`, with flat observations, float32 [B, n]."""
        shown = {name: values.clone() for name, values in self.vector.torch().items()}
        return shown | {"observation": shown["observation"].flatten(1).float()}

    def evaluate(self, observation: Any, mask: Any) -> tuple[Any, Any]:
        """Return log-probabilities [..., A] and values [...]."""
        activation = self.torch.tanh if self.config.tanh else self.torch.relu
        features = activation(self.layers["second"](activation(self.layers["first"](observation))))
        logits = self.torch.where(mask, self.layers["policy"](features), FLOOR)
        return logits.log_softmax(-1), self.layers["value"](features).squeeze(-1)

    def choose(self, state: te.State) -> np.ndarray:
        """Return the most probable action of every game, integers [B]."""
        return self.log_probabilities(state).argmax(1).numpy()

    def probabilities(self, state: te.State) -> np.ndarray:
        """Return the probabilities of all actions, float32 [B, A]."""
        return self.log_probabilities(state).exp().numpy()

    def log_probabilities(self, state: te.State) -> Any:
        """Return the logarithms of the probabilities of all actions, a torch tensor [B, A] float32."""
        observation, mask = (te.to_torch(x) for x in (self.env.observe(state), state.legal_action_mask))
        with self.torch.no_grad():
            return self.evaluate(observation.flatten(1).float(), mask)[0]

    def players(self, shown: dict[str, Any]) -> Any:
        """Return the player to move as one-hot rows [B, P] float32, all 0 for a finished game."""
        players = self.torch.nn.functional.one_hot(shown["current_player"].long(), self.env.num_players)
        return (players * shown["legal_action_mask"].any(1, keepdim=True)).float()

    def play(self) -> tuple[Any, ...]:
        """Play a rollout.

        Returns:
            [T, B, ...] each of observations, masks, actions, their log-probabilities, values, advantages, and 1 where
            the advantage is valid.
        """
        torch, decisions, outcomes = self.torch, [], []
        shown = self.look()
        for _ in range(self.config.rollout_length):
            observation, mask, player = shown["observation"], shown["legal_action_mask"], self.players(shown)
            logs, value = self.evaluate(observation, mask)
            action = torch.multinomial(logs.exp(), 1)
            decisions.append((observation, mask, action, logs.gather(1, action).squeeze(1), value))
            self.vector.step(action.squeeze(1))
            shown = self.look()
            terminated, truncated = shown["terminated"].float(), shown["truncated"].float()
            outcomes.append((shown["rewards"], player, value, terminated, truncated))
        next_value = self.evaluate(shown["observation"], shown["legal_action_mask"])[1]
        credit = te.advantages(outcomes, self.players(shown), next_value, self.config.gamma, self.config.gae_lambda)
        return tuple(map(torch.stack, (*zip(*decisions, strict=True), *credit)))

    def step(self, progress: float) -> int:
        """Play a rollout, learn from it and return the number of decisions; `progress` is 0..1."""
        torch, config = self.torch, self.config
        self.optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - progress)
        with torch.no_grad():
            data = self.play()
        for _ in range(config.epochs):
            for rows in torch.randperm(config.num_envs).chunk(config.minibatches):
                observation, mask, action, *rest = (part[:, rows] for part in data)
                logs, value = self.evaluate(observation, mask)
                chosen = logs.gather(-1, action).squeeze(-1)
                weights = {"clip": config.clip, "entropy": config.entropy, "kl": config.kl}
                policy, error = ppo_loss(logs, chosen, value, *rest, **weights)
                self.optimizer.zero_grad()
                (policy + error).backward()
                self.optimizer.step()
        return int(data[1].any(-1).sum())


def work(options: argparse.Namespace) -> None:
    config = te.train.PPOConfig(**settings_of(options, te.train.PPOConfig))
    learner = TorchPPO(game_of(options), config)
    judges = Judges.of(learner.env, config, DEVICE)
    decisions, seconds = 0, 0.0
    with busy("compiling"):
        for step in range(1, options.steps + 1):
            begin = time.process_time()
            decisions += learner.step((step - 1) / options.steps)
            seconds += time.process_time() - begin
            if step * config.ratings // options.steps > (step - 1) * config.ratings // options.steps:
                ratings = rate(learner.env, learner.choose, learner.probabilities, config, judges, DEVICE)
                rated = " ".join(f"{name} {value:.4f}" for name, value in ratings.items())
                print(f"step {step:,}, {decisions:,} positions, {seconds:,.1f} s: {rated}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/train/ppo_torch.py", __doc__)
    add_game(parser)
    parser.add_argument("--steps", type=whole(1, MAX_COUNT), default=100, help="rollouts; default: %(default)s")
    add_settings(parser, te.train.PPOConfig)
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
