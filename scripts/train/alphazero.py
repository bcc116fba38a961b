"""AlphaZero: a network that learns, in self-play, to say at once what a search says after a while.

    python scripts/train/alphazero.py --env tic_tac_toe --seconds 30
    python scripts/train/alphazero.py --env connect_four --seconds 600 --save c4.safetensors --plot c4.png
    python scripts/train/alphazero.py --env connect_four --resume c4.safetensors --save c4.safetensors
    python scripts/train/alphazero.py --env gomoku --blocks 2 --channels 32
    python scripts/train/alphazero.py --env shed --regret --plot shed.png
    python scripts/train/alphazero.py --env my_games:DiceRace

In every game `te.search.gumbel_muzero_policy` chooses and gives the weights that the policy learns; values learn what
the mover was paid to the end of the game, or where the games are cut what the search says it will be. With --warm
`te.search.playout_policy`, which needs no network, does all that at first. Positions of the last rounds are learned
from under all symmetries of the game. The player is rated against `te.search.playout_policy` and, with --regret, by
exact values: the mean that it and its network alone give away in a decision of their own games. `te.agents.load`
plays what --save has saved.

Sources: D. Silver and others, "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play", Science 362, 2018; I. Danihelka and others, "Policy improvement by planning with Gumbel", ICLR 2022; for
--warm: T. Anthony and others, "Thinking fast and slow with deep learning and tree search", NeurIPS 2017.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensor_envs._command import MAX_COUNT, real, whole

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from tinygrad import Tensor, dtypes, nn
from tinygrad.helpers import Context

import tensor_envs as te
from tensor_envs import agents
from tensor_envs.rules.spec import Symmetry
from tensor_envs.train.network import evaluator
from train import training


class Memory:
    """The positions of the last rounds, on the device: observations, masks, weights, values, [rounds, n, ...] each."""

    def __init__(self, rounds: int, symmetries: Sequence[Symmetry], device: str | None = None):
        self.rounds, self.added, self.parts, self.device = rounds, 0, list[Tensor](), device
        self.seen, self.actions = (
            Tensor([getattr(s, name) for s in symmetries], dtype=dtypes.int32, device=device).realize()
            for name in ("observation", "actions")
        )
        self.write = te.jit(self._write)

    def add(self, new: Sequence[np.ndarray]) -> None:
        """A round [n, ...] each, in place of the oldest one."""
        # truths as small numbers: of a table of truths tinygrad reads every row for each that is drawn
        new = [x.view(np.uint8) if x.dtype == bool else x for x in new]
        given = [Tensor(x, device=self.device).realize() for x in new]
        if not self.parts:
            self.parts = [
                x.unsqueeze(0).repeat(self.rounds, *[1] * x.ndim).contiguous().realize() for x in given
            ]
        self.write(Tensor([self.added % self.rounds], device=self.device).realize(), given)
        self.added += 1

    def _write(self, place: Tensor, new: list[Tensor]) -> None:
        here = Tensor.arange(self.rounds) == place
        for part, x in zip(self.parts, new, strict=True):
            part.assign(here.reshape(-1, *[1] * x.ndim).where(x, part)).realize()

    def size(self) -> Tensor:
        """How many positions there are, [1]."""
        count = min(self.added, self.rounds) * int(self.parts[0].shape[1])
        return Tensor([count], device=self.device).realize()

    def drawn(self, count: int, size: Tensor) -> tuple[Tensor, ...]:
        """Some of the first positions, each under a symmetry of its own."""
        place = Tensor.rand(count, device=self.device) * size
        row = place.cast(dtypes.int32).minimum(size - 1).contiguous()
        turn = Tensor.randint(count, high=self.seen.shape[0], device=self.device).contiguous()

        def at(part: Tensor, columns: Tensor) -> Tensor:
            # by places in the flat table, else tinygrad reads all of it for each
            index = (row.unsqueeze(1) * int(part.shape[-1]) + columns).contiguous()
            return part.flatten()[index].contiguous()

        seen, mask, weights, values = self.parts
        seen, mask = at(seen, self.seen[turn]).float(), at(mask, self.actions[turn]).bool()
        return seen, mask, at(weights, self.actions[turn]), values.flatten()[row].contiguous()


class Learner:
    """The network, its search and what it learns from."""

    def __init__(self, options: argparse.Namespace):
        Tensor.manual_seed(options.seed)
        self.options, self.env, self.device = options, options.game, options.device
        self.network = training.first_network(options)
        self.evaluate = evaluator(self.env, self.network)
        self.optimiser = nn.optim.Adam(nn.state.get_parameters(self.network), lr=options.rate)
        self.look, self.learn = te.jit(self._look), te.jit(self._learn)
        self.state = self.env.init(options.num_envs, options.seed, options.device)
        self.memory = Memory(options.keep, list(self.env.symmetries()), options.device)
        self.random = np.random.default_rng(options.seed)
        self.searches, self.left = 0, 1.0
        alone = self.env.num_players == 1
        against = "mean return" if alone else f"score against playouts of {options.rival}"
        self.measures = {against: [against]}
        self.oracle = training.oracle_of(self.env, self.device) if options.regret else None
        if self.oracle is not None:
            searching = f"searching, {options.simulations} simulations"
            self.measures["mean exact regret of a decision"] = [searching, "the network alone"]

    def weights(self) -> dict[str, Tensor]:
        return nn.state.get_state_dict(self.network)

    def _look(self, state: te.State) -> tuple[Tensor, Tensor]:
        """What is kept of positions: observations in a dtype of their own, which may be small."""
        return self.env.observe(state).flatten(1).contiguous(), state.legal_action_mask.contiguous()

    def search(self, seed: int) -> te.search.SearchOutput:
        if 1 - self.left < self.options.warm:
            return te.search.playout_policy(self.state, self.options.playouts, seed=seed)
        return te.search.gumbel_muzero_policy(self.state, self.evaluate, self.options.simulations, seed=seed)

    def play(self) -> int:
        """A round of self-play, into the memory -> the number of positions."""
        env, batch = self.env, self.options.num_envs
        rows = np.arange(batch)
        seen: list[tuple[np.ndarray, ...]] = []
        steps: list[dict[str, Any]] = []
        for _ in range(self.options.steps):
            self.searches += 1
            found, now = self.search(self.searches), self.state.numpy()
            known = found.search_tree.summary()
            given = (te.to_numpy(x) for x in self.look(self.state))
            seen.append((*given, known["action_weights"]))
            action = te.to_numpy(found.action)
            # at random, so that games come from everywhere
            strays = (now["ply"] < self.options.explore) & (self.random.random(batch) < 0.5)
            drawn = np.where(now["legal_action_mask"], self.random.random((batch, env.num_actions)), -1)
            after = env.step(self.state, np.where(strays, drawn.argmax(1), action))
            then = after.numpy()
            steps.append(
                {
                    "mover": now["current_player"],
                    "rewards": then["rewards"],
                    "over": then["terminated"] | then["truncated"],
                    "strays": strays,
                    "best": known["qvalues"][rows, action],
                    "worth": known["value"],
                }
            )
            self.state = env.reset(after)
        last, mover = self.search(0), self.state.numpy()["current_player"]
        paid = self._shared(last.search_tree.summary()["value"], mover)
        for step in reversed(steps):
            paid = step["rewards"] + np.where(step["over"][:, None], 0, paid)
            paid += self.options.trust * (self._shared(step["worth"], step["mover"]) - paid)
            # what comes before a stray action is worth what the best one is
            paid = np.where(step["strays"][:, None], self._shared(step["best"], step["mover"]), paid)
            step["value"] = paid[rows, step["mover"]].astype(np.float32)
        values = np.concatenate([step["value"] for step in steps])
        self.memory.add([*(np.concatenate(part) for part in zip(*seen, strict=True)), values])
        return batch * len(steps)

    def _shared(self, values: np.ndarray, mover: np.ndarray) -> np.ndarray:
        """What every player has of a value of the mover's, [B, P]: the others share the loss of it."""
        others = max(1, self.env.num_players - 1)
        paid = np.repeat(-values[:, None] / others, self.env.num_players, axis=1)
        paid[np.arange(len(values)), mover] = values
        return paid

    def update(self, left: float) -> int:
        """A round of play, and learning from random positions of the memory."""
        self.left = left
        decisions = self.play()
        rate = self.options.rate * max(0.1, left)
        self.optimiser.lr.assign(Tensor([rate], device=self.optimiser.lr.device)).realize()
        size = self.memory.size()
        # a draw from the memory reads what it draws, if its sum over the whole memory is not split
        with Context(TRAINING=1, SPLIT_REDUCEOP=0):  # type: ignore[no-untyped-call]
            for _ in range(self.options.updates):
                self.learn(size)
        return decisions

    def _learn(self, size: Tensor) -> None:
        seen, mask, weights, values = self.memory.drawn(self.options.minibatch, size)
        logs, value = self.network(seen, mask)
        loss = -(weights * logs).sum(1).mean() + (value - values).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def rates(self) -> list[float]:
        """Against playouts, and by exact values; the player searches without noise."""
        options, env = self.options, self.env
        mine = agents.gumbel(self.evaluate, options.simulations)
        others = [agents.playout_search(options.rival, seed=1)] * (env.num_players - 1)
        about: dict[str, Any] = {"seed": options.seed + 1, "device": self.device, "opening": options.opening}
        games = options.games - options.games % env.num_players
        found = te.evaluate(env, [mine, *others], games, **about)
        score = float((found.mean_returns if env.num_players == 1 else found.scores)[0])
        if self.oracle is None:
            return [score]
        players = (mine, agents.greedy(self.evaluate))
        return [score, *(te.regret(env, p, self.oracle, options.games, **about) for p in players)]


def make_parser() -> argparse.ArgumentParser:
    count = whole(1, MAX_COUNT)
    numbers: dict[str, tuple[Any, float, str]] = {
        "seconds": (real(0, 1e9, False), 60, "processor time of playing and learning"),
        "num-envs": (count, 256, "games played side by side"),
        "steps": (count, 16, "decisions in each of them in a round"),
        "simulations": (count, 32, "of a decision"),
        "warm": (real(0, 1), 0, "share of the seconds in which playout search plays, the first ones"),
        "playouts": (count, 256, "simulations of its decisions"),
        "trust": (real(0, 1), 0, "share of what the search says, at every decision, in the values to learn"),
        "explore": (whole(0, MAX_COUNT), 4, "plies of self-play in which every second action is random"),
        "hidden": (count, 128, training.HIDDEN),
        "keep": (count, 12, "rounds that are learned from"),
        "updates": (count, 16, "optimiser steps after a round"),
        "minibatch": (count, 1024, "positions of a step"),
        "rate": (real(0, 1, False), 2e-3, "learning rate at the beginning; it falls to a tenth"),
        "rival": (count, 64, "simulations of the playout search that it is rated against"),
        "games": (count, 128, "of a rating"),
        "opening": (whole(0, 10_000), 2, "random plies of these"),
        "ratings": (count, 5, "evaluations during training"),
    }
    parser = training.make_parser("alphazero.py", __doc__, numbers)
    parser.add_argument(
        "--regret", action="store_true", help="rate by exact values, too, of a game that can be solved"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    training.main(make_parser(), Learner, arguments)


if __name__ == "__main__":
    main()
