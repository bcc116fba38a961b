"""Options, evaluation, learning curve and main loop of the trainers."""

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
MAX_DECISIONS = 2000  # of an evaluated game; a longer one is stopped and counts as lost


class Learner(Protocol):
    """Interface of an algorithm.

    Attributes:
        device: the device of its games, as in `Env.init`.
        measures: names of the lines of each panel of the learning curve, by the panel's title; in the order of `rates`.
    """

    device: str | None
    measures: dict[str, list[str]]

    def update(self, remaining: float) -> int:
        """Play and learn from one rollout.

        Args:
            remaining: the share of training that remains, from 1 to 0.

        Returns:
            The number of decisions.
        """

    def rates(self) -> list[float]:
        """Return the current value of every measure."""

    def weights(self) -> dict[str, Tensor]:
        """Return the parameters by the names of `network.Network`."""


# *** evaluation ***


def has_only_wins(env: te.Env, device: str | None = None) -> bool:
    """Return whether random games end in at most three different returns: won, drawn and lost."""
    played = te.rollout_from(env.init(256, device=device), "uniform", MAX_DECISIONS, autoreset=False)
    return env.spec.zero_sum and len(np.unique(played.returns.numpy())) <= len(("won", "drawn", "lost"))


def evaluate(
    env: te.Env, policy: Policy, games: int, seed: int, device: str | None = None, shares: bool = True
) -> list[float]:
    """Evaluate a policy against the uniform policy, in every seat.

    Args:
        env: the environment.
        policy: the policy of one player; the others play uniformly.
        games: the number of games, rounded down to a multiple of the number of players.
        seed: the seed of the games.
        device: as in `Env.init`.
        shares: whether to return the share of games not lost instead of the mean return. A game is lost if the player's
            rewards sum to less than 0, or if it has not ended after `MAX_DECISIONS` decisions.

    Returns:
        One number per seat.
    """
    policies, games = [policy, *[uniform] * (env.num_players - 1)], games - games % env.num_players
    result = te.evaluate(env, policies, games, seed=seed, limit=MAX_DECISIONS, device=device)
    returns = result.returns[:, 0]
    values = (returns >= 0) & (result.plies < MAX_DECISIONS) if shares else returns
    return [float(values[result.players[:, 0] == seat].mean()) for seat in range(env.num_players)]


def oracle_of(env: te.Env, device: str | None = None) -> Oracle:
    """Solve the game and return its exact values."""
    if isinstance(env.rules, Shed):
        return solve(env.rules.cards, device, progress=False)
    return te.solve(env)


class AgainstUniform:
    """Base class of learners that are evaluated against the uniform policy."""

    env: te.Env
    options: argparse.Namespace
    device: str | None

    def choose_measure(self) -> None:
        """Set `measures` to the share of games not lost, or to the mean return if games have other outcomes."""
        self.shares = has_only_wins(self.env, self.device)
        measure = "games not lost to" if self.shares else "mean return against"
        seats = [f"as player {seat}" for seat in range(self.env.num_players)]
        self.measures = {f"{measure} the uniform player, by seat": seats}

    def choose(self, state: te.State) -> np.ndarray:
        """Return the most probable action of every game, integers [B]."""
        raise NotImplementedError

    def rates(self) -> list[float]:
        options = self.options
        return evaluate(self.env, self.choose, options.games, options.seed + 1, self.device, self.shares)


@dataclass
class Curve:
    """Learning curve: measurements by decisions played and by seconds of processor time."""

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

    def summary(self) -> str:
        """Return when every seat first reached `TARGET`, or for mean returns the maximum by seat."""
        (measure,) = self.measures
        if not measure.startswith("games"):
            return f"mean return by seat at most {', '.join(f'{max(r):+.3f}' for r in zip(*self.rates, strict=True))}"
        for decisions, seconds, rates in zip(self.decisions, self.seconds, self.rates, strict=True):
            if min(rates) >= TARGET:
                return f"{TARGET:.0%} in every seat after {decisions:,} decisions and {seconds:.1f} s of training"
        return f"{TARGET:.0%} in every seat was not reached"

    def plot(self, path: Path, title: str) -> None:
        """Write the curve as PNG. The picture does not depend on measured times: a seed determines it."""
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

Numbers = Mapping[str, tuple[Any, float, str]]  # by option: type, default, help
TOWER: Numbers = {
    "blocks": (whole(0, 64), 0, "residual blocks of two 3x3 convolutions, which replace the first hidden layer"),
    "channels": (whole(1, MAX_COUNT), 32, "channels of each convolution"),
}


def make_parser(prog: str, doc: str | None, numbers: Numbers, device: str | None = None) -> argparse.ArgumentParser:
    """Return a parser of the common options and of `numbers`, which may replace defaults.

    Args:
        prog: the command's name.
        doc: the command's docstring.
        numbers: options of the algorithm.
        device: the only supported device; None adds the options --device, --blocks and --channels.
    """
    parser = command_parser(prog, doc)
    add_game(parser)
    common: Numbers = {
        "hidden": (whole(1, MAX_COUNT), 64, "units of each of two hidden layers"),
        "seed": (whole(0, 2**32 - 2), 0, "seed of games, weights and actions"),
        "games": (whole(1, MAX_COUNT), 4096, "games of an evaluation"),
        "ratings": (whole(1, MAX_COUNT), 10, "evaluations during training"),
    }
    tower = TOWER if device is None else {}
    for name, (kind, default, text) in {**common, **tower, **numbers}.items():
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{text}; default: %(default)s")
    if device is None:
        parser.add_argument("--device", help="any tinygrad device; default: tinygrad's default device")
    parser.set_defaults(device=device, **{name: default for name, (_, default, _) in TOWER.items()})
    parser.add_argument(
        "--save",
        type=new_file,
        metavar="FILE",
        help="file for the network's weights (safetensors), written after every evaluation",
    )
    parser.add_argument("--resume", type=Path, metavar="FILE", help="file of weights to start from")
    parser.add_argument("--plot", type=new_file, metavar="FILE", help="learning curve as PNG; needs the extra 'bench'")
    parser.add_argument("--json", type=new_file, metavar="FILE", help="learning curve as numbers")
    return parser


def check_options(options: argparse.Namespace) -> None:
    """Check the options and set `options.game`, the environment, and `options.weights`, those of --resume or None.

    Raises:
        ValueError: an option has a wrong value.
        ImportError: --plot is given and matplotlib is not installed.
    """
    options.game, options.weights = game_of(options), None
    if options.games < options.game.num_players:
        raise ValueError(f"--games must be in {options.game.num_players}..{MAX_COUNT}, got {options.games}")
    if options.plot is not None:
        need("matplotlib", "--plot", "bench")
    if options.resume is not None:
        env, options.weights = network.load(options.resume)
        if env.rules != options.game.rules:
            raise ValueError(f"--resume must be weights for {options.game!r}, got those for {env!r}")
        options.hidden = len(options.weights["second.bias"])


def initial_network(options: argparse.Namespace) -> network.Network:
    """Return the network of --resume, or one with random weights."""
    sizes = options.hidden, options.blocks, options.channels
    return network.Network(options.game, *sizes, weights=options.weights, device=options.device)


def main(parser: argparse.ArgumentParser, make: Callable[[argparse.Namespace], Learner], arguments: Any) -> None:
    """Run a trainer's command and return the exit code."""

    def work(options: argparse.Namespace) -> None:
        check_options(options)
        with busy(f"compiling; {options.ratings} lines will follow"):
            train(parser.prog, make(options), options)

    run(parser, work, arguments)


def train(prog: str, learner: Learner, options: argparse.Namespace) -> None:
    """Train for --seconds of processor time, or for --updates where the command has no such option."""
    env, limit = options.game, getattr(options, "seconds", None)
    curve = Curve(env.id, learner.measures)
    length = f"{options.updates} updates" if limit is None else f"{limit:g} s of processor time"
    games = f"{options.num_envs} games x {options.steps} decisions"
    print(f"{env.id}: {length}, {games} a round, self-play on {device_of(learner.device)}")
    print(f"  decisions  seconds   {'; '.join(learner.measures)}", flush=True)
    counts, times, evaluations, done = list[int](), list[float](), 0, 0.0
    for update in count(1):
        begin = time.process_time()
        counts.append(learner.update(1 - done))
        times.append(time.process_time() - begin)
        done = min(1.0, update / options.updates if limit is None else sum(times) / limit)
        if done * options.ratings >= evaluations + 1:
            evaluations = int(done * options.ratings)
            curve.add(sum(counts), sum(times), learner.rates())
            if options.save is not None:
                network.save(env, learner.weights(), options.save)
        if done == 1:
            break
    if isinstance(learner, AgainstUniform):
        print(curve.summary() + " (compiling counts, evaluation does not)")
    if len(times) > 2:
        speed = sum(counts[2:]) / sum(times[2:])
        print(f"{speed:,.0f} decisions/s of processor time played and learned from, after the first two updates")
    if options.plot is not None:
        curve.plot(options.plot, f"{prog} on {env.id}, seed {options.seed}")
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(curve)))
