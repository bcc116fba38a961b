"""Compare settings of AlphaZero by the players that equal processor time trains, with several seeds each.

    python scripts/benchmark.py --settings
    python scripts/benchmark.py --settings --env othello --seconds 60 --changes num_simulations=16 num_simulations=64

Each row changes one of the defaults. Every run is a folder of `te.train.AlphaZero`, so the command continues where it
was interrupted. A player of 32 simulations is rated at the end of its run against playout search; intervals are of 95 %
by Student's t over the seeds, of the score, in a game for one of the mean return, and of its differences from the
defaults with the same seed.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import tensor_envs as te
from tensor_envs._command import add_game, busy, command_parser, device_of, game_of, real, run, whole
from tensor_envs._validate import literal
from tensor_envs.train.metrics_file import METRICS

DEFAULTS = "defaults"
CHANGES = (
    "tanh=True", "learning_rate=0.002", "learning_rate=0.008", "search_value_weight=0.0", "replay_steps=12",
    "explore_plies=4", "updates=12", "updates=48",
)  # fmt: skip
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)  # .975 quantiles, by degrees of freedom from 1 on


def config_of(change: str, seed: int, options: argparse.Namespace) -> te.train.AlphaZeroConfig:
    """Return the settings of a run: the defaults, but for one change.

    Raises:
        ValueError, TypeError: the change is not NAME=VALUE, or not one of the settings.
    """
    name, _, value = change.partition("=")
    if change != DEFAULTS and not (value and name in te.train.AlphaZeroConfig.__dataclass_fields__):
        raise ValueError(f"--changes must be NAME=VALUE of te.train.AlphaZeroConfig, got {change!r}")
    changed: dict[str, Any] = {} if change == DEFAULTS else {name: literal(value)}
    rating = {"ratings": 1, "rating_games": options.games, "rival_simulations": options.rival}
    return te.train.AlphaZeroConfig(**{"seed": seed, **rating, **changed})


def folder_of(change: str, seed: int, options: argparse.Namespace) -> Path:
    """Return the folder of a run; commands whose runs differ in game, time or rating do not meet in one."""
    game = "-".join([options.env, *(f"{name}={value}" for name, value in options.rules)])
    folder: Path = options.folder / f"{game}-{options.seconds:g}s-{options.games}-{options.rival}" / f"{change}-{seed}"
    return folder


def trained(env: te.Env, config: te.train.AlphaZeroConfig, seconds: float, folder: Path) -> dict[str, float]:
    """Train a player, unless its folder has it, and return its last metrics."""
    te.train.AlphaZero(env, config).run(seconds=seconds, folder=folder)
    metrics: dict[str, float] = json.loads((folder / METRICS).read_text().splitlines()[-1])
    return metrics


def interval(values: Sequence[float]) -> str:
    """Return a mean with its 95 % interval."""
    return f"{mean(values):.3f} +- {STUDENT[len(values) - 2] * stdev(values) / math.sqrt(len(values)):.3f}"


def compare(options: argparse.Namespace) -> None:
    env, changes = game_of(options), [DEFAULTS, *options.changes]
    configs = [[config_of(change, seed, options) for seed in range(options.seeds)] for change in changes]
    with tempfile.TemporaryDirectory() as folder, busy("compiling"):  # what the first run would compile
        trained(env, configs[0][0], 1, Path(folder))
    results: list[list[dict[str, float]]] = [[] for _ in changes]
    for seed in range(options.seeds):  # seeds in the outer loop: changes of the machine's load meet all settings
        for change, row, result in zip(changes, configs, results, strict=True):
            with busy(f"{change}, seed {seed}"):
                result.append(trained(env, row[seed], options.seconds, folder_of(change, seed, options)))
    rival = f" against playout search of {options.rival}" if env.num_players > 1 else ""
    print(f"{env.id} on {device_of()}, {options.seconds:g} seconds a run, {options.games} games{rival}\n")
    print("| settings | scores by seed | score | difference | network alone | positions |\n|---|---|---|---|---|---|")
    rating = "score" if env.num_players > 1 else "mean_return"
    first = [result[rating] for result in results[0]]
    for change, result in zip(changes, results, strict=True):
        scores, alone = ([r[name] for r in result] for name in (rating, f"network_{rating}"))
        shown = ", ".join(f"{score:.3f}" for score in scores)
        better = "" if change == DEFAULTS else interval([a - b for a, b in zip(scores, first, strict=True)])
        positions = mean(r["positions"] for r in result)
        print(f"| {change} | {shown} | {interval(scores)} | {better} | {interval(alone)} | {positions:,.0f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/benchmark.py", __doc__)
    parser.add_argument("--settings", action="store_true", required=True, help="settings of training, not steps")
    add_game(parser, "connect_four")
    parser.add_argument(
        "--changes", nargs="+", default=CHANGES, metavar="NAME=VALUE", help=f"default: {' '.join(CHANGES)}"
    )
    text = "processor time of a run; default: %(default)s"
    parser.add_argument("--seconds", type=real(0, 1e7, inclusive=False), default=30, help=text)
    parser.add_argument("--seeds", type=whole(2, 10), default=3, help="runs of each settings; default: %(default)s")
    parser.add_argument("--games", type=whole(2, 2**20), default=512, help="games of a rating; default: %(default)s")
    text = "simulations of the opponent's playout search; default: %(default)s"
    parser.add_argument("--rival", type=whole(1, 2**20), default=256, help=text)
    parser.add_argument("--folder", type=Path, default=Path("runs/settings"), help="of the runs; default: %(default)s")
    run(parser, compare, arguments)
