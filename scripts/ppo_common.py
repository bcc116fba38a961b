"""What the PPO scripts share: arguments, credit among players, evaluation, the learning curve and the loop around it.

Credit. One network plays every seat, and V(o) is what the player to move expects to be paid from there on. A player's
decisions within an episode are a chain of their own: decision k at step t_k, the next at t_{k+1}, whatever others do in
between, and however often one player moves running. With rewards r_t of [B, P], what step t pays to each player,

    R_k = sum of r_t[player] over t_k <= t < t_{k+1}        (to the end of the game if there is no next decision)
    delta_k = R_k + gamma V_{k+1} - V_k                     (V_{k+1} = 0 if the game ended before)
    A_k = delta_k + gamma lambda A_{k+1}                    (A_{k+1} = 0 there)

So an opponent's winning move is paid to the decision of its victim's before it, for any number of players, zero-sum or
not. Where the rollout stops, or a limit cuts a game off (truncated), no next decision is known but that of whoever
moves next. The last decision of the others is not learned from, and their chain starts from its value.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import tensor_envs as te
from tensor_envs.core.checks import integer

Array = Any  # a NumPy array, a torch.Tensor or a tinygrad Tensor: `advantages` uses what all three have
TARGET = 0.95
CAP = 2000  # decisions after which a game of the evaluation is left as it is


def advantages(
    steps: Sequence[tuple[Array, ...]], next_mover: Array, next_value: Array, gamma: float, lam: float
) -> tuple[list[Array], list[Array]]:
    """A of every decision and whether it is known, float32 [B] of 0 and 1, step by step; see above.

    A step is, in float32: rewards [B, P]; mover [B, P], 1 for who decides and 0 for the rest (for all, if nobody does);
    value [B]; ended and cut [B], 1 where the step ended the game by its rules or by a limit. next_mover [B, P] and
    next_value [B] are of the decisions after the last step.
    """
    # of every player's next decision, [B, P]: its value, its advantage, what is paid before it, whether it is known
    value, known = next_mover * next_value[:, None], next_mover
    ahead, paid = value * 0, value * 0
    advantage, certain = [], []
    for rewards, mover, own, ended, cut in reversed(steps):
        on, rest = ((1 - ended) * (1 - cut))[:, None], 1 - mover
        value, ahead, paid, known = value * on, ahead * on, paid * on + rewards, known * on + ended[:, None]
        certain.append((known * mover).sum(1))
        delta = ((paid + gamma * value + gamma * lam * ahead) * mover).sum(1) - own
        advantage.append(delta * certain[-1])
        value, ahead = value * rest + mover * own[:, None], ahead * rest + mover * advantage[-1][:, None]
        paid, known = paid * rest, known * rest + mover
    return advantage[::-1], certain[::-1]


class Learner(Protocol):
    """What a script brings. `device`: where its games are, as in `Env.init`."""

    device: str | None

    def update(self, rate: float) -> int:
        """One rollout and the learning from it, at a learning rate -> the number of decisions made."""

    def choose(self, state: te.State) -> np.ndarray:
        """The likeliest action in every game, integers [B]."""


def evaluate(
    env: te.Env,
    choose: Callable[[te.State], np.ndarray],
    games: int,
    seed: int,
    device: str | None = None,
) -> list[float]:
    """Share of games not lost, by seat, when one seat (games take turns) chooses and the others play uniformly.

    A game is lost if its player's rewards sum to less than 0, or if it is not over after `CAP` decisions.
    """
    seat, row = np.arange(games) % env.num_players, np.arange(games)
    state, returns, over = env.init(games, seed, device), np.zeros(games), np.zeros(games, bool)
    now = state.numpy()
    for _ in range(CAP):
        mine = now["current_player"] == seat
        state = env.step(state, np.where(mine, choose(state), te.random_policy(state).numpy()))
        now = state.numpy()
        returns += now["rewards"][row, seat]
        over = now["terminated"] | now["truncated"]
        if over.all():
            break
    kept = (returns >= 0) & over
    return [float(kept[seat == player].mean()) for player in range(env.num_players)]


@dataclass
class Curve:
    """What was measured: after how many decisions and seconds of training which shares of games, by seat."""

    decisions: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    rates: list[list[float]] = field(default_factory=list)

    def add(self, decisions: int, seconds: float, rates: list[float]) -> None:
        self.decisions.append(decisions)
        self.seconds.append(seconds)
        self.rates.append(rates)
        print(f"{decisions:11,} {seconds:8.1f}   " + " ".join(f"{rate:.4f}" for rate in rates), flush=True)

    def reached(self) -> str:
        """When every seat first had `TARGET`."""
        for decisions, seconds, rates in zip(self.decisions, self.seconds, self.rates, strict=True):
            if min(rates) >= TARGET:
                return f"{TARGET:.0%} in every seat after {decisions:,} decisions and {seconds:.1f} s of training"
        return f"{TARGET:.0%} in every seat was not reached"

    def plot(self, path: Path, title: str) -> None:
        """Write the curve as PNG. It shows nothing that depends on the clock, so a seed gives one picture."""
        pyplot = _pyplot()
        figure, axes = pyplot.subplots(figsize=(6, 3.6))
        for player, rates in enumerate(zip(*self.rates, strict=True)):
            axes.plot(self.decisions, rates, marker=".", label=f"as player {player}")
        axes.axhline(TARGET, color="0.6", linewidth=0.8)
        axes.set(xlabel="decisions, thousands", ylabel="games not lost to the uniform player", title=title)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}")
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
        figure.tight_layout()
        figure.savefig(path, dpi=100, metadata={"Software": None})
        pyplot.close(figure)


def _pyplot() -> Any:
    try:
        importlib.import_module("matplotlib").use("Agg")
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install 'tensor_envs[bench]'") from None


def parse(description: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments, checked; `options.game` is the environment."""
    parser = argparse.ArgumentParser(description=description)
    numbers: dict[str, tuple[Any, str]] = {
        "num-envs": (256, "games played side by side"),
        "steps": (16, "decisions in each of them in a rollout"),
        "updates": (100, "rollouts, each followed by learning from it"),
        "epochs": (4, "times that a rollout is learned from"),
        "minibatches": (4, "equal groups of games, an optimiser step each"),
        "hidden": (64, "units of each of two hidden layers"),
        "rate": (5e-3, "learning rate at the beginning; it falls to 0"),
        "entropy": (
            0.2,
            "weight of the policy's entropy; keeps self-play from forgetting what it no longer meets",
        ),
        "clip": (0.2, "how far from 1 the ratio of new to old probability still counts"),
        "gamma": (1.0, "discount between a player's decisions"),
        "lam": (0.95, "lambda of the advantages"),
        "seed": (0, "of games, weights and draws"),
        "games": (4096, "games of an evaluation"),
        "evaluate-every": (10, "updates between evaluations"),
    }
    parser.add_argument("--env", default="tic_tac_toe", help="any registered game; default: %(default)s")
    parser.add_argument(
        "--rules", nargs="*", default=[], metavar="FIELD=VALUE", help="fields of its rules, such as players=3"
    )
    for name, (default, text) in numbers.items():
        parser.add_argument(
            f"--{name}", type=type(default), default=default, help=f"{text}; default: %(default)s"
        )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="the learning curve as PNG; needs the extra 'bench'"
    )
    options = parser.parse_args(arguments)
    for name in ("num_envs", "steps", "updates", "epochs", "minibatches", "hidden", "evaluate_every"):
        integer("--" + name.replace("_", "-"), getattr(options, name), 1, 2**31 - 1)
    options.game = te.make(options.env, **dict(map(_rule, options.rules)))
    integer("--games", options.games, options.game.num_players, 2**31 - 1)
    integer("--seed", options.seed, 0, 2**32 - 2)
    if options.num_envs % options.minibatches:
        raise ValueError(
            f"--minibatches must divide --num-envs, got {options.minibatches} and {options.num_envs}"
        )
    if options.plot is not None:
        _pyplot()
        if not options.plot.resolve().parent.is_dir():
            raise ValueError(f"{options.plot.parent} is no directory to write {options.plot.name} to")
    return options


def _rule(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise ValueError(f"--rules takes FIELD=VALUE with a plain Python value, got {text!r}") from None


def main(
    script: str,
    make: Callable[[argparse.Namespace], Learner],
    arguments: Sequence[str] | None,
    description: str,
) -> int:
    """Train, evaluate and report -> exit code: 0, or 2 with one line on stderr for bad input."""
    try:
        options = parse(description, arguments)
        train(script, make(options), options)
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError) as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 2
    return 0


def train(script: str, learner: Learner, options: argparse.Namespace) -> None:
    env, curve = options.game, Curve()
    print(
        f"{env.id}: {options.updates} updates of {options.num_envs} games x {options.steps} decisions, self-play"
    )
    print("  decisions  seconds   games not lost to the uniform player, by seat")
    counts, times = [], []
    for update in range(options.updates):
        begin = time.perf_counter()
        counts.append(learner.update(options.rate * (1 - update / options.updates)))
        times.append(time.perf_counter() - begin)
        if (update + 1) % options.evaluate_every == 0 or update + 1 == options.updates:
            rates = evaluate(env, learner.choose, options.games, options.seed + 1, learner.device)
            curve.add(sum(counts), sum(times), rates)
    print(curve.reached() + " (compiling counts, evaluation does not)")
    if len(times) > 2:
        speed = sum(counts[2:]) / sum(times[2:])
        print(f"{speed:,.0f} decisions/s played and learned from, after the first two updates")
    if options.plot is not None:
        curve.plot(options.plot, f"{script} on {env.id}, seed {options.seed}")
