"""Train by AlphaZero in PyTorch, in one file to copy and change.

    python scripts/train/alphazero_torch.py
    python scripts/train/alphazero_torch.py --env connect_four --seconds 600 --hidden 256 --save connect_four.pt

Needs PyTorch (extra `torch`). `te.search.gumbel_muzero_policy` selects the actions of self-play with the network. Its
action weights are the policy's targets. The value's target is the player's return to the end of the game; where a
round stops first, or a random action follows, it is the search's value. `te.train.AlphaZero` trains such a
network (`network=`) with symmetries, more kinds of games and learning curves.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

import tensor_envs as te

try:
    import torch
    from torch import nn
except ImportError:
    raise SystemExit("this script needs PyTorch: pip install 'tensor_envs[torch]'") from None

Round = tuple[torch.Tensor, ...]  # positions: observations, masks, targets of the policy, targets of the value


class Network(nn.Module):  # type: ignore[misc] # PyTorch has no types where it is not installed
    """Two hidden layers; the value is that of the player to move."""

    def __init__(self, env: te.Env, hidden: int):
        super().__init__()
        inputs = int(np.prod(env.observation_shape))
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.policy, self.value = nn.Linear(hidden, env.num_actions), nn.Linear(hidden, 1)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(observation.flatten(1).float())
        return self.policy(features), self.value(features).squeeze(1)


class AlphaZero:
    """Self-play of a batch of games, and a network that learns from the last rounds."""

    def __init__(self, env: te.Env, options: argparse.Namespace):
        self.env, self.options, self.searches = env, options, 0
        self.random = np.random.default_rng(options.seed)
        self.network = Network(env, options.hidden)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=options.rate)
        self.state = env.init(options.num_envs, options.seed, "CPU")
        self.rounds: deque[Round] = deque(maxlen=options.keep)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def evaluate(self, state: te.State) -> tuple[torch.Tensor, torch.Tensor]:
        """Return prior logits [B, A] and values [B], for a search."""
        return self.network(te.to_torch(self.env.observe(state)))

    def search(self) -> te.search.SearchOutput:
        self.searches += 1
        return te.search.gumbel_muzero_policy(self.state, self.evaluate, self.options.simulations, seed=self.searches)

    def play(self) -> int:
        """Play a round of self-play and return its number of decisions."""
        env, rows, steps = self.env, np.arange(self.options.num_envs), list[dict[str, Any]]()
        for _ in range(self.options.steps):
            output, before = self.search(), self.state.numpy()
            summary = output.search_tree.summary()
            # some of the first actions are random, so that games do not all visit the same positions
            explores = (before["ply"] < self.options.explore) & (self.random.random(len(rows)) < 0.5)
            actions = [te.to_numpy(x) for x in (te.agents.uniform(self.state), output.action)]
            stepped = env.step(self.state, np.where(explores, *actions))
            after = stepped.numpy()
            steps.append(
                {
                    "observation": te.to_torch(env.observe(self.state)),
                    "mask": before["legal_action_mask"],
                    "weights": summary["action_weights"],
                    "value": summary["value"],
                    "explores": explores,
                    "mover": before["current_player"],
                    "rewards": after["rewards"],
                    "over": after["terminated"] | after["truncated"],
                }
            )
            self.state = env.reset(stepped)  # finished games only
        value, mover = self.search().search_tree.summary()["value"], self.state.numpy()["current_player"]
        returns = np.repeat(-value[:, None], env.num_players, axis=1)  # [B, P]: of the rest of each game
        returns[rows, mover] = value
        for step in reversed(steps):
            returns = step["rewards"] + np.where(step["over"][:, None], 0, returns)
            # what follows a random action says little about the position before it
            target = np.where(step["explores"], step["value"], returns[rows, step["mover"]])
            step["return"] = target.astype(np.float32)
        parts = ("observation", "mask", "weights", "return")
        self.rounds.append(tuple(torch.cat([torch.as_tensor(step[part]) for step in steps]) for part in parts))
        return len(rows) * len(steps)

    def learn(self) -> float:
        """Learn from a minibatch of the last rounds and return the loss."""
        sizes = torch.randint(len(self.rounds), (self.options.minibatch,)).bincount(minlength=len(self.rounds))
        chosen = [[part[rows] for part in played] for played, rows in zip(self.rounds, self._rows(sizes), strict=True)]
        observation, mask, weights, returns = (torch.cat(parts) for parts in zip(*chosen, strict=True))
        logits, value = self.network(observation)
        logs = logits.masked_fill(~mask, -1e9).log_softmax(1)
        loss = -(weights * logs).sum(1).mean() + (value - returns).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def _rows(self, sizes: torch.Tensor) -> list[torch.Tensor]:
        """Return random rows of each round."""
        return [torch.randint(len(played[0]), (int(n),)) for played, n in zip(self.rounds, sizes, strict=True)]

    def rating(self) -> te.Evaluation:
        """Return the result of games with search against a search by random playouts."""
        players = [te.agents.gumbel(self.evaluate, self.options.simulations)]
        players += [te.agents.playout_search(self.options.rival, seed=1)] * (self.env.num_players - 1)
        return te.evaluate(self.env, players, self.options.games, seed=1, opening=2, device="CPU")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("alphazero_torch.py", description=__doc__.split("\n")[0])
    for name, default, text in (
        ("seconds", 60.0, "processor time of self-play and learning"),
        ("num-envs", 256, "games in a batch"),
        ("steps", 16, "decisions of each game in a round"),
        ("explore", 4, "first plies of a game in which half of the actions are random"),
        ("simulations", 32, "simulations of a search"),
        ("hidden", 128, "units of each hidden layer"),
        ("keep", 12, "rounds to learn from"),
        ("updates", 16, "minibatches after a round"),
        ("minibatch", 1024, "positions of a minibatch"),
        ("rate", 2e-3, "learning rate"),
        ("rival", 64, "simulations of the opponent's search by playouts"),
        ("games", 128, "games of a rating"),
        ("ratings", 5, "ratings during training"),
        ("seed", 0, "seed of games and weights"),
    ):
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{text}; default: %(default)s")
    parser.add_argument("--env", default="tic_tac_toe", help="game for one player, or for two with zero sum")
    parser.add_argument("--save", metavar="FILE", help="file for the network's parameters, by torch.save")
    options = parser.parse_args(arguments)
    env = te.make(options.env)
    if env.num_players > 2 or (env.num_players == 2 and not env.spec.zero_sum):
        parser.error(f"--env must be a game for one player, or for two with zero sum, got {env!r}")
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # the layers are too small for more
    learner, spent, decisions, ratings = AlphaZero(env, options), 0.0, 0, 0
    while spent < options.seconds:
        start = time.process_time()
        decisions += learner.play()
        loss = sum(learner.learn() for _ in range(options.updates)) / options.updates
        spent += time.process_time() - start
        if min(1, spent / options.seconds) * options.ratings >= ratings + 1:
            ratings += 1
            print(f"{decisions:,} decisions, {spent:.0f} s, loss {loss:.3f}: {learner.rating()}", flush=True)
    if options.save:
        torch.save(learner.network.state_dict(), options.save)


if __name__ == "__main__":
    main()
