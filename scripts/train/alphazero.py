"""Train by AlphaZero: a network learns, in self-play, the policy and the value that a search finds.

    python scripts/train/alphazero.py --env tic_tac_toe --seconds 30
    python scripts/train/alphazero.py --env connect_four --seconds 600 --save c4.safetensors --plot c4.png
    python scripts/train/alphazero.py --env connect_four --resume c4.safetensors --save c4.safetensors
    python scripts/train/alphazero.py --env gomoku --blocks 2 --channels 32
    python scripts/train/alphazero.py --env shed --regret --plot shed.png
    python scripts/train/alphazero.py --env my_games:DiceRace

`te.search.gumbel_muzero_policy` selects the actions of self-play, and its action weights are the policy's targets.
The value's target is the player's return to the end of the game; where a rollout stops first, it is the search's value.
With --warm, `te.search.playout_policy`, which needs no network, replaces that search at first. Positions of the last
rounds are resampled under all symmetries of the game. The player is evaluated against `te.search.playout_policy` and,
with --regret, by exact values: the mean loss per decision in its own games, with search and by the network alone.
`te.agents.load` plays the weights that --save writes.

Sources: D. Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play", Science 362, 2018; I. Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022; for
--warm: T. Anthony et al., "Thinking fast and slow with deep learning and tree search", NeurIPS 2017.
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
from tinygrad import Tensor, dtypes, nn
from tinygrad.helpers import Context

import tensor_envs as te
from tensor_envs import agents
from tensor_envs._command import MAX_COUNT, real, whole
from tensor_envs.rules.spec import Symmetry
from tensor_envs.train.network import evaluator
from train import training


class ReplayBuffer:
    """Positions of the last rounds, on the device: [rounds, n, ...] each of observations, masks, weights and values."""

    def __init__(self, rounds: int, symmetries: Sequence[Symmetry], device: str | None = None):
        self.rounds, self.added, self.parts, self.device = rounds, 0, list[Tensor](), device
        self.observations, self.actions = (
            Tensor([getattr(s, name) for s in symmetries], dtype=dtypes.int32, device=device).realize()
            for name in ("observation", "actions")
        )
        self.write = te.jit(self._write)

    def add(self, arrays: Sequence[np.ndarray]) -> None:
        """Replace the oldest round by arrays [n, ...] of observations, masks, weights and values."""
        # bool as uint8: a gather from a table of bool reads the whole table for every row (tinygrad 0.14)
        arrays = [x.view(np.uint8) if x.dtype == bool else x for x in arrays]
        tensors = [Tensor(x, device=self.device).realize() for x in arrays]
        if not self.parts:
            self.parts = [x.unsqueeze(0).repeat(self.rounds, *[1] * x.ndim).contiguous().realize() for x in tensors]
        self.write(Tensor([self.added % self.rounds], device=self.device).realize(), tensors)
        self.added += 1

    def _write(self, place: Tensor, tensors: list[Tensor]) -> None:
        here = Tensor.arange(self.rounds) == place
        for part, x in zip(self.parts, tensors, strict=True):
            part.assign(here.reshape(-1, *[1] * x.ndim).where(x, part)).realize()

    def size(self) -> Tensor:
        """Return the number of positions, [1]."""
        count = min(self.added, self.rounds) * int(self.parts[0].shape[1])
        return Tensor([count], device=self.device).realize()

    def sample(self, count: int, size: Tensor) -> tuple[Tensor, ...]:
        """Sample `count` of the first `size` positions, each under a random symmetry of the game."""
        place = Tensor.rand(count, device=self.device) * size
        row = place.cast(dtypes.int32).minimum(size - 1).contiguous()
        turn = Tensor.randint(count, high=self.observations.shape[0], device=self.device).contiguous()

        def gather(part: Tensor, columns: Tensor) -> Tensor:
            # from the flat table: by row and column tinygrad 0.14 reads the whole table for every element
            index = (row.unsqueeze(1) * int(part.shape[-1]) + columns).contiguous()
            return part.flatten()[index].contiguous()

        observations, masks, weights, values = self.parts
        actions = self.actions[turn]
        return (
            gather(observations, self.observations[turn]).float(),
            gather(masks, actions).bool(),
            gather(weights, actions),
            values.flatten()[row].contiguous(),
        )


class AlphaZero:
    """AlphaZero with a tinygrad network and Gumbel search."""

    def __init__(self, options: argparse.Namespace):
        Tensor.manual_seed(options.seed)
        self.options, self.env, self.device = options, options.game, options.device
        self.network = training.initial_network(options)
        self.evaluate = evaluator(self.env, self.network)
        self.optimiser = nn.optim.Adam(nn.state.get_parameters(self.network), lr=options.rate)
        self.inputs, self.learn = te.jit(self._inputs), te.jit(self._learn)
        self.state = self.env.init(options.num_envs, options.seed, options.device)
        self.replay = ReplayBuffer(options.keep, list(self.env.symmetries()), options.device)
        self.random = np.random.default_rng(options.seed)
        self.searches, self.remaining = 0, 1.0
        alone = self.env.num_players == 1
        score = "mean return" if alone else f"score against playouts of {options.rival}"
        self.measures = {score: [score]}
        self.oracle = training.oracle_of(self.env, self.device) if options.regret else None
        if self.oracle is not None:
            searching = f"searching, {options.simulations} simulations"
            self.measures["mean exact regret of a decision"] = [searching, "the network alone"]

    def weights(self) -> dict[str, Tensor]:
        return nn.state.get_state_dict(self.network)

    def _inputs(self, state: te.State) -> tuple[Tensor, Tensor]:
        """Return flat observations in their own dtype, which may be small, and masks."""
        return self.env.observe(state).flatten(1).contiguous(), state.legal_action_mask.contiguous()

    def search(self, seed: int) -> te.search.SearchOutput:
        if 1 - self.remaining < self.options.warm:
            return te.search.playout_policy(self.state, self.options.playouts, seed=seed)
        return te.search.gumbel_muzero_policy(self.state, self.evaluate, self.options.simulations, seed=seed)

    def play(self) -> int:
        """Add a round of self-play to the replay buffer and return its number of positions."""
        env, batch = self.env, self.options.num_envs
        rows = np.arange(batch)
        inputs: list[tuple[np.ndarray, ...]] = []
        steps: list[dict[str, Any]] = []
        for _ in range(self.options.steps):
            self.searches += 1
            result, before = self.search(self.searches), self.state.numpy()
            summary = result.search_tree.summary()
            observation, mask = map(te.to_numpy, self.inputs(self.state))
            inputs.append((observation, mask, summary["action_weights"]))
            action = te.to_numpy(result.action)
            # some of the first actions are random, so that games do not all visit the same positions
            explores = (before["ply"] < self.options.explore) & (self.random.random(batch) < 0.5)
            scores = np.where(before["legal_action_mask"], self.random.random((batch, env.num_actions)), -1)
            stepped = env.step(self.state, np.where(explores, scores.argmax(1), action))
            after = stepped.numpy()
            steps.append(
                {
                    "mover": before["current_player"],
                    "rewards": after["rewards"],
                    "ended": after["terminated"] | after["truncated"],
                    "explores": explores,
                    "best": summary["qvalues"][rows, action],
                    "value": summary["value"],
                }
            )
            self.state = env.reset(stepped)
        last, mover = self.search(0), self.state.numpy()["current_player"]
        returns = self._for_all_players(last.search_tree.summary()["value"], mover)
        targets = []
        for step in reversed(steps):
            mover = step["mover"]
            returns = step["rewards"] + np.where(step["ended"][:, None], 0, returns)
            returns += self.options.trust * (self._for_all_players(step["value"], mover) - returns)
            # the value of a position does not depend on an exploring action, so the best action replaces it
            best = self._for_all_players(step["best"], mover)
            returns = np.where(step["explores"][:, None], best, returns)
            targets.append(returns[rows, mover].astype(np.float32))
        values = np.concatenate(targets[::-1])
        self.replay.add([*(np.concatenate(part) for part in zip(*inputs, strict=True)), values])
        return batch * len(steps)

    def _for_all_players(self, values: np.ndarray, mover: np.ndarray) -> np.ndarray:
        """Return values [B, P] of all players from the mover's [B]: the others share the negative value equally."""
        others = max(1, self.env.num_players - 1)
        shared = np.repeat(-values[:, None] / others, self.env.num_players, axis=1)
        shared[np.arange(len(values)), mover] = values
        return shared

    def update(self, remaining: float) -> int:
        self.remaining = remaining
        decisions = self.play()
        rate = self.options.rate * max(0.1, remaining)
        self.optimiser.lr.assign(Tensor([rate], device=self.optimiser.lr.device)).realize()
        size = self.replay.size()
        # a gather reads only its rows if tinygrad 0.14 does not split its reduction over the whole table
        with Context(TRAINING=1, SPLIT_REDUCEOP=0):  # type: ignore[no-untyped-call]
            for _ in range(self.options.updates):
                self.learn(size)
        return decisions

    def _learn(self, size: Tensor) -> None:
        observations, mask, weights, values = self.replay.sample(self.options.minibatch, size)
        logs, value = self.network(observations, mask)
        loss = -(weights * logs).sum(1).mean() + (value - values).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def rates(self) -> list[float]:
        """Return the score against playout search and, with --regret, the exact regrets; search adds no noise here."""
        options, env = self.options, self.env
        searching = agents.gumbel(self.evaluate, options.simulations)
        others = [agents.playout_search(options.rival, seed=1)] * (env.num_players - 1)
        games = options.games - options.games % env.num_players
        common: dict[str, Any] = {"seed": options.seed + 1, "device": self.device, "opening": options.opening}
        result = te.evaluate(env, [searching, *others], games, **common)
        score = float((result.mean_returns if env.num_players == 1 else result.scores)[0])
        if self.oracle is None:
            return [score]
        players = (searching, agents.greedy(self.evaluate))
        return [score, *(te.regret(env, p, self.oracle, options.games, **common) for p in players)]


def make_parser() -> argparse.ArgumentParser:
    count = whole(1, MAX_COUNT)
    numbers: training.Numbers = {
        "seconds": (real(0, 1e9, False), 60, "processor time of self-play and learning"),
        "num-envs": (count, 256, "games in a batch"),
        "steps": (count, 16, "steps of a round"),
        "simulations": (count, 32, "simulations of a search"),
        "warm": (real(0, 1), 0, "share of the seconds, from the start, in which playout search plays"),
        "playouts": (count, 256, "simulations of these playout searches"),
        "trust": (real(0, 1), 0, "weight of the search's value, at every decision, in the value's target"),
        "explore": (whole(0, MAX_COUNT), 4, "first plies of self-play in which half of the actions are random"),
        "hidden": (count, 128, "units of each of two hidden layers"),
        "keep": (count, 12, "rounds in the replay buffer"),
        "updates": (count, 16, "optimiser steps after a round"),
        "minibatch": (count, 1024, "positions of an optimiser step"),
        "rate": (real(0, 1, False), 2e-3, "initial learning rate, which decreases to a tenth"),
        "rival": (count, 64, "simulations of the opponent's playout search"),
        "games": (count, 128, "games of an evaluation"),
        "opening": (whole(0, 10_000), 2, "random plies at the start of these games"),
        "ratings": (count, 5, "evaluations during training"),
    }
    parser = training.make_parser("alphazero.py", __doc__, numbers)
    parser.add_argument("--regret", action="store_true", help="also evaluate by exact values (solvable games only)")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    training.main(make_parser(), AlphaZero, arguments)


if __name__ == "__main__":
    main()
