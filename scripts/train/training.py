"""The frame of both PPO commands: options, evaluation, the learning curve and the loop around them."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from command import MOST, Parser, busy, need, new_file, real, run, whole
from command.games import add_game, device_of, game_of
from train.network import save

TARGET = 0.95
CAP = 2000  # decisions after which a game of the evaluation is left as it is
Choose = Callable[[te.State], np.ndarray]  # an action in every game, integers [B]


class Learner(Protocol):
    """What a command brings. `device`: where its games are, as in `Env.init`."""

    device: str | None

    def update(self, rate: float) -> int:
        """One rollout and the learning from it, at a learning rate -> the number of decisions made."""

    def choose(self, state: te.State) -> np.ndarray:
        """The likeliest action in every game, integers [B]."""

    def weights(self) -> dict[str, Tensor]:
        """Those of the network, by the names of `network.Network`."""


# *** evaluation ***


def play_uniform(
    env: te.Env, choose: Choose, player: np.ndarray, seed: int, device: str | None = None, cap: int = CAP
) -> tuple[np.ndarray, np.ndarray]:
    """One game a row in which `player` [B] chooses and the others play uniformly -> its return, and whether it is over.

    A game that is not over after `cap` decisions is left as it is.
    """
    batch = len(player)
    state, returns, over = env.init(batch, seed, device), np.zeros(batch), np.zeros(batch, bool)
    now = state.numpy()
    for _ in range(cap):
        mine = now["current_player"] == player
        state = env.step(state, np.where(mine, choose(state), te.random_policy(state).numpy()))
        now = state.numpy()
        returns += now["rewards"][np.arange(batch), player]
        over = now["terminated"] | now["truncated"]
        if over.all():
            break
    return returns, over


def all_or_nothing(env: te.Env, device: str | None = None) -> bool:
    """Whether games are won, drawn or lost and nothing besides, as far as random ones show."""
    played = te.rollout_from(env.init(256, device=device), "uniform", CAP, autoreset=False)
    return env.spec.zero_sum and len(np.unique(played.returns.numpy())) <= len(("won", "drawn", "lost"))


def evaluate(
    env: te.Env, choose: Choose, games: int, seed: int, device: str | None = None, shares: bool = True
) -> list[float]:
    """How good play is, by seat, when one player (games take turns) chooses and the others play uniformly.

    shares: the share of games not lost, else the mean return. A game is lost if its player's rewards sum to less than
    0, or if it is not over after `CAP` decisions.
    """
    player = np.arange(games) % env.num_players
    returns, over = play_uniform(env, choose, player, seed, device)
    values = (returns >= 0) & over if shares else returns
    return [float(values[player == seat].mean()) for seat in range(env.num_players)]


@dataclass
class Curve:
    """What was measured: by decisions and seconds of training the shares of games, or mean returns, by seat."""

    shares: bool
    decisions: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    rates: list[list[float]] = field(default_factory=list)

    def add(self, decisions: int, seconds: float, rates: list[float]) -> None:
        self.decisions.append(decisions)
        self.seconds.append(seconds)
        self.rates.append(rates)
        print(f"{decisions:11,} {seconds:8.1f}   " + " ".join(f"{rate:.4f}" for rate in rates), flush=True)

    @property
    def measure(self) -> str:
        return f"{'games not lost to' if self.shares else 'mean return against'} the uniform player"

    def reached(self) -> str:
        """When every seat first had `TARGET`, or what the best was."""
        if not self.shares:
            return f"mean return by seat at most {', '.join(f'{max(r):+.3f}' for r in zip(*self.rates, strict=True))}"
        for decisions, seconds, rates in zip(self.decisions, self.seconds, self.rates, strict=True):
            if min(rates) >= TARGET:
                return f"{TARGET:.0%} in every seat after {decisions:,} decisions and {seconds:.1f} s of training"
        return f"{TARGET:.0%} in every seat was not reached"

    def plot(self, path: Path, title: str) -> None:
        """Write the curve as PNG. It shows nothing that depends on the clock, so a seed gives one picture."""
        importlib.import_module("matplotlib").use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
        figure, axes = pyplot.subplots(figsize=(6, 3.6))
        for player, rates in enumerate(zip(*self.rates, strict=True)):
            axes.plot(self.decisions, rates, marker=".", label=f"as player {player}")
        if self.shares:
            axes.axhline(TARGET, color="0.6", linewidth=0.8)
        axes.set(xlabel="decisions, thousands", ylabel=self.measure, title=title)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}")
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
        figure.tight_layout()
        figure.savefig(path, dpi=100, metadata={"Software": None})
        pyplot.close(figure)


# *** the command ***


def make_parser(prog: str, doc: str | None) -> Parser:
    parser, count = Parser(prog, doc), whole(1, MOST)
    add_game(parser)
    numbers: dict[str, tuple[Any, float, str]] = {
        "num-envs": (count, 256, "games played side by side"),
        "steps": (count, 16, "decisions in each of them in a rollout"),
        "updates": (count, 100, "rollouts, each followed by learning from it"),
        "epochs": (count, 4, "times that a rollout is learned from"),
        "minibatches": (count, 4, "equal groups of games, an optimiser step each"),
        "hidden": (count, 64, "units of each of two hidden layers"),
        "rate": (real(0, 1, False), 5e-3, "learning rate at the beginning; it falls to 0"),
        "entropy": (
            real(0, 100),
            0.2,
            "weight of the policy's entropy; keeps self-play from forgetting what it no longer meets",
        ),
        "clip": (real(0, 1, False), 0.2, "how far from 1 the ratio of new to old probability still counts"),
        "gamma": (real(0, 1), 1.0, "discount between a player's decisions"),
        "lam": (real(0, 1), 0.95, "lambda of the advantages"),
        "seed": (whole(0, 2**32 - 2), 0, "of games, weights and draws"),
        "games": (count, 4096, "games of an evaluation"),
        "evaluate-every": (count, 10, "updates between evaluations"),
    }
    for name, (kind, default, text) in numbers.items():
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{text}; default: %(default)s")
    parser.add_argument(
        "--plot", type=new_file, metavar="FILE", help="the learning curve as PNG; needs the extra 'bench'"
    )
    parser.add_argument(
        "--save",
        type=new_file,
        metavar="FILE",
        help="the network's weights as safetensors, after every evaluation",
    )
    return parser


def check_options(options: argparse.Namespace) -> None:
    """What the parser cannot see; `options.game` is the environment."""
    options.game = game_of(options)
    if options.games < options.game.num_players:
        raise ValueError(f"--games must be in {options.game.num_players}..{MOST}, got {options.games}")
    if options.num_envs % options.minibatches:
        raise ValueError(
            f"--minibatches must divide --num-envs, got {options.minibatches} and {options.num_envs}"
        )
    if options.plot is not None:
        need("matplotlib", "--plot", "bench")


def main(
    prog: str,
    doc: str | None,
    make: Callable[[argparse.Namespace], Learner],
    arguments: Sequence[str] | None,
) -> int:
    """Train, evaluate and report."""

    def work(options: argparse.Namespace) -> None:
        check_options(options)
        with busy(f"compiling; a line every {options.evaluate_every} updates"):
            train(prog, make(options), options)

    return run(make_parser(prog, doc), work, arguments)


def train(prog: str, learner: Learner, options: argparse.Namespace) -> None:
    env, device = options.game, device_of(learner.device)
    curve = Curve(all_or_nothing(env, learner.device))
    games = f"{options.num_envs} games x {options.steps} decisions"
    print(f"{env.id}: {options.updates} updates of {games}, self-play on {device}")
    print(f"  decisions  seconds   {curve.measure}, by seat", flush=True)
    counts, times = [], []
    for update in range(options.updates):
        begin = time.perf_counter()
        counts.append(learner.update(options.rate * (1 - update / options.updates)))
        times.append(time.perf_counter() - begin)
        if (update + 1) % options.evaluate_every == 0 or update + 1 == options.updates:
            rates = evaluate(
                env, learner.choose, options.games, options.seed + 1, learner.device, curve.shares
            )
            curve.add(sum(counts), sum(times), rates)
            if options.save is not None:
                save(learner.weights(), options.save)
    print(curve.reached() + " (compiling counts, evaluation does not)")
    if len(times) > 2:
        speed = sum(counts[2:]) / sum(times[2:])
        print(f"{speed:,.0f} decisions/s played and learned from, after the first two updates")
    if options.plot is not None:
        curve.plot(options.plot, f"{prog} on {env.id}, seed {options.seed}")
