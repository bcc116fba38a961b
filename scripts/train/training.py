"""The frame of the commands that learn by self-play: options, evaluation, the learning curve, the loop."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs._command import (
    MAX_COUNT,
    add_game,
    busy,
    command_parser,
    device_of,
    game_of,
    need,
    new_file,
    run,
    whole,
)
from tensor_envs.agents import Oracle, Policy, uniform
from tensor_envs.games.shed.rules import Shed
from tensor_envs.games.shed.solve import solve
from tensor_envs.train import network

TARGET = 0.95
CAP = 2000  # decisions after which a game against the uniform player is left as it is


class Learner(Protocol):
    """What a command brings.

    Attributes:
        device: where its games are, as in `Env.init`.
        measures: what `rates` gives, in order: what is measured, and of whom.
    """

    device: str | None
    measures: dict[str, list[str]]

    def update(self, left: float) -> int:
        """A round of play, and learning from it -> the number of decisions. left: the share of training left."""

    def rates(self) -> list[float]:
        """How good play is."""

    def weights(self) -> dict[str, Tensor]:
        """Those of the network, by the names of `network.Network`."""


# *** evaluation ***


def all_or_nothing(env: te.Env, device: str | None = None) -> bool:
    """Whether games are won, drawn or lost and nothing besides, as far as random ones show."""
    played = te.rollout_from(env.init(256, device=device), "uniform", CAP, autoreset=False)
    return env.spec.zero_sum and len(np.unique(played.returns.numpy())) <= len(("won", "drawn", "lost"))


def evaluate(
    env: te.Env, policy: Policy, games: int, seed: int, device: str | None = None, shares: bool = True
) -> list[float]:
    """How good play is, by seat, when one player (games take turns) chooses and the others play uniformly.

    shares: the share of games not lost, else the mean return. A game is lost if its player's rewards sum to less than
    0, or if it is not over after `CAP` decisions.
    """
    policies, games = [policy, *[uniform] * (env.num_players - 1)], games - games % env.num_players
    found = te.evaluate(env, policies, games, seed=seed, limit=CAP, device=device)
    returns = found.returns[:, 0]
    values = (returns >= 0) & (found.plies < CAP) if shares else returns
    return [float(values[found.players[:, 0] == seat].mean()) for seat in range(env.num_players)]


def oracle_of(env: te.Env, device: str | None = None) -> Oracle:
    """Who knows the exact values of a game that can be solved."""
    if isinstance(env.rules, Shed):
        return solve(env.rules.cards, device, progress=False)
    return te.solve(env)


class AgainstUniform:
    """A learner that is measured against the uniform player."""

    env: te.Env
    options: argparse.Namespace
    device: str | None

    def measure(self) -> None:
        self.shares = all_or_nothing(self.env, self.device)
        about = f"{'games not lost to' if self.shares else 'mean return against'} the uniform player, by seat"
        self.measures = {about: [f"as player {seat}" for seat in range(self.env.num_players)]}

    def choose(self, state: te.State) -> np.ndarray:
        """The likeliest action in every game, integers [B]."""
        raise NotImplementedError

    def rates(self) -> list[float]:
        options = self.options
        return evaluate(self.env, self.choose, options.games, options.seed + 1, self.device, self.shares)


@dataclass
class Curve:
    """What was measured after so many decisions and seconds of processor time."""

    env: str
    measures: Mapping[str, list[str]]
    decisions: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    rates: list[list[float]] = field(default_factory=list)

    def add(self, decisions: int, seconds: float, rates: list[float]) -> None:
        self.decisions.append(decisions)
        self.seconds.append(seconds)
        self.rates.append(rates)
        print(f"{decisions:11,} {seconds:8.1f}   " + " ".join(f"{rate:.4f}" for rate in rates), flush=True)

    def reached(self) -> str:
        """When every seat first had `TARGET`, or what the best was."""
        (measure,) = self.measures
        if not measure.startswith("games"):
            return f"mean return by seat at most {', '.join(f'{max(r):+.3f}' for r in zip(*self.rates, strict=True))}"
        for decisions, seconds, rates in zip(self.decisions, self.seconds, self.rates, strict=True):
            if min(rates) >= TARGET:
                return f"{TARGET:.0%} in every seat after {decisions:,} decisions and {seconds:.1f} s of training"
        return f"{TARGET:.0%} in every seat was not reached"

    def plot(self, path: Path, title: str) -> None:
        """Write the curve as PNG. It shows nothing that depends on the clock, so a seed gives one picture."""
        importlib.import_module("matplotlib").use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
        size = len(self.measures)
        figure, panels = pyplot.subplots(size, figsize=(6, 0.8 + 2.8 * size), sharex=True, squeeze=False)
        rates = zip(*self.rates, strict=True)
        for axes, (measure, lines) in zip(panels[:, 0], self.measures.items(), strict=True):
            for line in lines:
                axes.plot(self.decisions, next(rates), marker=".", label=line)
            if measure.startswith("games"):
                axes.axhline(TARGET, color="0.6", linewidth=0.8)
            axes.set_ylabel(measure.removesuffix(", by seat"))
            axes.grid(alpha=0.3)
            if len(lines) > 1:
                axes.legend()
        axes.set_xlabel("decisions, thousands")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}")
        panels[0, 0].set_title(title)
        figure.tight_layout()
        figure.savefig(path, dpi=100, metadata={"Software": None})
        pyplot.close(figure)


# *** the command ***

Numbers = Mapping[str, tuple[Any, float, str]]  # options: type, default, what it is
HIDDEN = "units of each of two hidden layers"
TOWER: Numbers = {
    "blocks": (whole(0, 64), 0, "residual blocks of two 3x3 convolutions in place of the first hidden layer"),
    "channels": (whole(1, MAX_COUNT), 32, "of each convolution"),
}


def make_parser(
    prog: str, doc: str | None, numbers: Numbers, device: str | None = None
) -> argparse.ArgumentParser:
    """Options of a command, and those that all have, with defaults of its own. device: the only one it knows."""
    parser = command_parser(prog, doc)
    add_game(parser)
    common: Numbers = {
        "hidden": (whole(1, MAX_COUNT), 64, HIDDEN),
        "seed": (whole(0, 2**32 - 2), 0, "of games, weights and draws"),
        "games": (whole(1, MAX_COUNT), 4096, "games of an evaluation"),
        "ratings": (whole(1, MAX_COUNT), 10, "evaluations during training"),
    }
    tower = TOWER if device is None else {}
    for name, (kind, default, text) in {**common, **tower, **numbers}.items():
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{text}; default: %(default)s")
    if device is None:
        parser.add_argument("--device", help="any tinygrad device; default: tinygrad's own choice")
    parser.set_defaults(device=device, **{name: default for name, (_, default, _) in TOWER.items()})
    about = "the network's weights as safetensors, after every evaluation"
    parser.add_argument("--save", type=new_file, metavar="FILE", help=about)
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="go on from saved weights, with their sizes"
    )
    about = "the learning curve as PNG; needs the extra 'bench'"
    parser.add_argument("--plot", type=new_file, metavar="FILE", help=about)
    parser.add_argument("--json", type=new_file, metavar="FILE", help="the learning curve as numbers")
    return parser


def check_options(options: argparse.Namespace) -> None:
    """What the parser cannot see; `options.game` is the environment, `options.known` the weights to go on from."""
    options.game, options.known = game_of(options), None
    if options.games < options.game.num_players:
        raise ValueError(f"--games must be in {options.game.num_players}..{MAX_COUNT}, got {options.games}")
    if options.plot is not None:
        need("matplotlib", "--plot", "bench")
    if options.resume is not None:
        env, options.known = network.load(options.resume)
        if env.rules != options.game.rules:
            raise ValueError(f"--resume must be weights for {options.game!r}, got those for {env!r}")
        options.hidden = len(options.known["second.bias"])


def first_network(options: argparse.Namespace) -> network.Network:
    """The one to begin with."""
    sizes = options.hidden, options.blocks, options.channels
    return network.Network(options.game, *sizes, weights=options.known, device=options.device)


def one_hot(index: Tensor, size: int) -> Tensor:
    return (index.unsqueeze(1) == Tensor.arange(size)).float()


def main(
    parser: argparse.ArgumentParser, make: Callable[[argparse.Namespace], Learner], arguments: Any
) -> None:
    """Train, evaluate and report."""

    def work(options: argparse.Namespace) -> None:
        check_options(options)
        with busy(f"compiling; {options.ratings} lines will follow"):
            train(parser.prog, make(options), options)

    run(parser, work, arguments)


def train(prog: str, learner: Learner, options: argparse.Namespace) -> None:
    """Until --seconds of processor time, where the command has this option, or --updates are over."""
    env, limit = options.game, getattr(options, "seconds", None)
    curve = Curve(env.id, learner.measures)
    length = f"{options.updates} updates" if limit is None else f"{limit:g} s of processor time"
    games = f"{options.num_envs} games x {options.steps} decisions"
    print(f"{env.id}: {length}, {games} a round, self-play on {device_of(learner.device)}")
    print(f"  decisions  seconds   {'; '.join(learner.measures)}", flush=True)
    counts, times, rated, done = list[int](), list[float](), 0, 0.0
    for update in count(1):
        begin = time.process_time()
        counts.append(learner.update(1 - done))
        times.append(time.process_time() - begin)
        done = min(1.0, update / options.updates if limit is None else sum(times) / limit)
        if done * options.ratings >= rated + 1:
            rated = int(done * options.ratings)
            curve.add(sum(counts), sum(times), learner.rates())
            if options.save is not None:
                network.save(env, learner.weights(), options.save)
        if done == 1:
            break
    if isinstance(learner, AgainstUniform):
        print(curve.reached() + " (compiling counts, evaluation does not)")
    if len(times) > 2:
        speed = sum(counts[2:]) / sum(times[2:])
        print(
            f"{speed:,.0f} decisions/s of processor time played and learned from, after the first two updates"
        )
    if options.plot is not None:
        curve.plot(options.plot, f"{prog} on {env.id}, seed {options.seed}")
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(curve)))
