"""AlphaZero: a network that learns, in self-play, to say at once what a search says after a while.

    python scripts/train/alphazero.py --env tic_tac_toe --seconds 30
    python scripts/train/alphazero.py --env connect_four --seconds 600 --save c4.safetensors --plot c4.png
    python scripts/train/alphazero.py --env connect_four --resume c4.safetensors --save c4.safetensors
    python scripts/train/alphazero.py --env my_games:DiceRace

In every game `te.search.gumbel_muzero_policy` chooses and gives the weights that the policy learns; values learn what
the mover was paid to the end of the game, or where the games are cut what the search says it will be. Positions of the
last rounds are learned from under all symmetries of the game. The player is rated against `te.search.playout_policy`.

Sources: D. Silver and others, "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play", Science 362, 2018; I. Danihelka and others, "Policy improvement by planning with Gumbel", ICLR 2022.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    import command.first  # noqa: F401

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import Context

import tensor_envs as te
from command import MOST, Parser, busy, need, new_file, real, run, whole
from command.games import add_game, device_of, game_of
from tensor_envs import policies
from train.network import Network, load, look, save

Positions = tuple[np.ndarray, ...]  # observations, masks, weights, values: a row each


class Learner:
    """The network, its search and what it learns from."""

    def __init__(self, env: te.Env, network: Network, options: argparse.Namespace):
        self.env, self.network, self.options = env, network, options
        self.optimiser = nn.optim.Adam(nn.state.get_parameters(network), lr=options.rate)
        self.look, self.learn = te.jit(lambda state: look(env, state)), te.jit(self._learn)
        self.state = env.init(options.batch, options.seed, options.device)
        self.memory: deque[Positions] = deque(maxlen=options.keep)
        self.random = np.random.default_rng(options.seed)
        self.symmetries = list(env.symmetries())
        self.searches = 0

    def evaluate(self, state: te.State) -> tuple[Tensor, Tensor]:
        """For the search: values of the mover, of a game for two that is not zero-sum those of both."""
        logits, value = self.network(*look(self.env, state))
        spec = self.env.spec
        if spec.num_players == 1 or (spec.num_players == 2 and spec.zero_sum):
            return logits, value
        # the others share what the mover loses: right in zero-sum games, else the best that one value can say
        mover = state.current_player.reshape(-1, 1) == Tensor.arange(spec.num_players).reshape(1, -1)
        return logits, mover.where(value.reshape(-1, 1), -value.reshape(-1, 1) / (spec.num_players - 1))

    def play(self) -> int:
        """A round of self-play, into the memory -> the number of positions."""
        env, batch = self.env, self.options.batch
        rows = np.arange(batch)
        steps: list[dict[str, Any]] = []
        for _ in range(self.options.steps):
            before = self.state
            self.searches += 1
            found = te.search.gumbel_muzero_policy(
                before, self.evaluate, self.options.simulations, seed=self.searches
            )
            seen, mask = self.look(before)
            now, action = before.numpy(), te.to_numpy(found.action)
            best = found.search_tree.summary()["qvalues"][rows, action]
            # at random, so that games come from everywhere
            strays = (now["ply"] < self.options.explore) & (self.random.random(batch) < 0.5)
            drawn = np.where(now["legal_action_mask"], self.random.random((batch, env.num_actions)), -1)
            after = env.step(before, np.where(strays, drawn.argmax(1), action))
            then = after.numpy()
            steps.append(
                {
                    "seen": te.to_numpy(seen),
                    "mask": te.to_numpy(mask),
                    "weights": te.to_numpy(found.action_weights),
                    "mover": now["current_player"],
                    "rewards": then["rewards"],
                    "over": then["terminated"] | then["truncated"],
                    "strays": strays,
                    "best": best,
                }
            )
            self.state = env.reset(after)
        last = te.search.gumbel_muzero_policy(self.state, self.evaluate, self.options.simulations, seed=0)
        mover = self.state.numpy()["current_player"]
        paid = self._shared(last.search_tree.summary()["value"], mover)
        for step in reversed(steps):
            paid = step["rewards"] + np.where(step["over"][:, None], 0, paid)
            # what comes before a stray action is worth what the best one is
            paid = np.where(step["strays"][:, None], self._shared(step["best"], step["mover"]), paid)
            step["value"] = paid[rows, step["mover"]].astype(np.float32)
        names = ("seen", "mask", "weights", "value")
        self.memory.append(tuple(np.concatenate([step[name] for step in steps]) for name in names))
        return batch * len(steps)

    def _shared(self, values: np.ndarray, mover: np.ndarray) -> np.ndarray:
        """What every player has of a value of the mover's, [B, P]: the others share the loss of it."""
        others = max(1, self.env.num_players - 1)
        paid = np.repeat(-values[:, None] / others, self.env.num_players, axis=1)
        paid[np.arange(len(values)), mover] = values
        return paid

    def update(self, rate: float) -> float:
        """Learn from random positions of the memory -> the last loss."""
        self.optimiser.lr.assign(Tensor([rate], device=self.optimiser.lr.device)).realize()
        pool, size = [np.concatenate(part) for part in zip(*self.memory, strict=True)], self.options.minibatch
        loss = Tensor.zeros(1)
        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            for _ in range(self.options.updates):
                rows = self.random.integers(len(pool[0]), size=size)
                seen, mask, weights, values = (part[rows] for part in pool)
                symmetry = self.symmetries[self.random.integers(len(self.symmetries))]
                actions, observation = np.array(symmetry.actions), np.array(symmetry.observation)
                given = seen[:, observation], mask[:, actions], weights[:, actions], values
                loss = self.learn(
                    *(te.from_numpy(np.ascontiguousarray(x), self.options.device) for x in given)
                )
        return float(loss.item())

    def _learn(self, seen: Tensor, mask: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        logs, value = self.network(seen, mask)
        loss = -(weights * logs).sum(1).mean() + (value - values).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.reshape(1).contiguous()

    def rate(self) -> te.Evaluation:
        """Against playouts; the player searches without noise."""
        options = self.options
        mine = policies.gumbel(self.evaluate, options.simulations)
        others = [policies.playout_search(options.rival, seed=1)] * (self.env.num_players - 1)
        games = options.games // self.env.num_players * self.env.num_players
        return te.evaluate(
            self.env,
            [mine, *others],
            games,
            opening=options.opening,
            seed=options.seed + 1,
            device=options.device,
        )


def report(env: te.Env, found: te.Evaluation) -> tuple[float, str]:
    if env.num_players == 1:
        return float(found.mean_returns[0]), f"mean return {found.mean_returns[0]:.1f}"
    return float(found.scores[0]), f"{found.scores[0]:.3f} +- {found.interval()[0]:.3f}"


def work(options: argparse.Namespace) -> None:
    env = game_of(options)
    if options.plot is not None:
        need("matplotlib", "--plot", "bench")
    if options.games < env.num_players:
        raise ValueError(f"--games must be in {env.num_players}..{MOST}, got {options.games}")
    Tensor.manual_seed(options.seed)
    with busy("compiling"):
        network = Network(env, options.hidden) if options.resume is None else load(env, str(options.resume))
        learner = Learner(env, network, options)
    about = f"{options.simulations} simulations, against playout search of {options.rival}"
    print(
        f"{env.id}: AlphaZero on {device_of(options.device)}, {about}, for {options.seconds:g} s of processor time"
    )
    print("  seconds  positions   loss   score", flush=True)
    spent, positions, checked, curve = 0.0, 0, 0.0, list[tuple[float, float]]()
    loss = float("nan")
    while True:
        finished = spent >= options.seconds
        if finished or spent >= checked or not curve:
            with busy("compiling and rating") if not curve else nullcontext():
                score, text = report(env, learner.rate())
            curve.append((spent, score))
            checked = spent + options.seconds / options.ratings
            print(f"{spent:9.1f} {positions:10,} {loss:6.3f}   {text}", flush=True)
            if options.save is not None:
                save(nn.state.get_state_dict(network), options.save)
        if finished:
            break
        begin = time.process_time()
        with busy("compiling, playing and learning") if not positions else nullcontext():
            positions += learner.play()
            loss = learner.update(options.rate * max(0.1, 1 - spent / options.seconds))
        spent += time.process_time() - begin
    if options.plot is not None:
        draw(options.plot, env, curve, options)
    if options.json is not None:
        options.json.write_text(json.dumps({"env": env.id, "curve": curve, "positions": positions}))


def draw(path: Path, env: te.Env, curve: list[tuple[float, float]], options: argparse.Namespace) -> None:
    importlib.import_module("matplotlib").use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(6, 3.6))
    axes.plot(*zip(*curve, strict=True), marker=".")
    axes.set(
        xlabel="processor time of playing and learning, s",
        ylabel="mean return" if env.num_players == 1 else f"score against playouts of {options.rival}",
        title=f"AlphaZero on {env.id}",
    )
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    parser, count = Parser("alphazero.py", __doc__), whole(1, MOST)
    add_game(parser)
    numbers: dict[str, tuple[Any, float, str]] = {
        "seconds": (real(0, 1e9, False), 60, "processor time of playing and learning"),
        "batch": (count, 256, "games played side by side"),
        "steps": (count, 16, "decisions in each of them in a round"),
        "simulations": (count, 32, "of a decision"),
        "explore": (whole(0, MOST), 4, "plies of self-play in which every second action is random"),
        "hidden": (count, 128, "units of each of two hidden layers"),
        "keep": (count, 12, "rounds that are learned from"),
        "updates": (count, 16, "optimiser steps after a round"),
        "minibatch": (count, 1024, "positions of a step"),
        "rate": (real(0, 1, False), 2e-3, "learning rate at the beginning; it falls to a tenth"),
        "rival": (count, 64, "simulations of the playout search that it is rated against"),
        "games": (count, 128, "of a rating"),
        "opening": (whole(0, 10_000), 2, "random plies of these"),
        "ratings": (count, 5, "during training, besides the first one"),
        "seed": (whole(0, 2**32 - 2), 0, "of games, weights and draws"),
    }
    for name, (kind, default, text) in numbers.items():
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{text}; default: %(default)s")
    parser.add_argument("--device", help="any tinygrad device; default: tinygrad's own choice")
    parser.add_argument(
        "--save", type=new_file, metavar="FILE", help="weights as safetensors, after every rating"
    )
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on from saved weights")
    parser.add_argument(
        "--plot", type=new_file, metavar="FILE", help="the curve as PNG; needs the extra 'bench'"
    )
    parser.add_argument("--json", type=new_file, metavar="FILE", help="the curve as numbers")
    return run(parser, work, arguments)


if __name__ == "__main__":
    sys.exit(main())
