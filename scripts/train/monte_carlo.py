"""Flat Monte Carlo against the uniform player, in every game: `te.search.flat_monte_carlo` at work.

    python scripts/train/monte_carlo.py                              # every game
    python scripts/train/monte_carlo.py --env shed --playouts 128    # one of them

For every decision of the Monte Carlo player each legal action gets the mean return of some random games that begin
with it, and the best is played.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tensor_envs._command import MAX_COUNT, add_games, busy, command_parser, device_of, run, whole

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

import tensor_envs as te
from tensor_envs.search import flat_monte_carlo


def play(env: te.Env, games: int, playouts: int, limit: int, seed: int) -> np.ndarray:
    """The Monte Carlo player's returns, one a game; its seat changes from game to game."""
    state, player = env.init(games, seed), np.arange(games) % env.num_players
    returns, turn = np.zeros(games), 0
    while True:
        now = state.numpy()
        live = ~(now["terminated"] | now["truncated"])
        if not live.any():
            return returns
        actions, mine = te.agents.uniform(state).numpy(), live & (now["current_player"] == player)
        if mine.any():
            rows = np.flatnonzero(mine)
            chosen = flat_monte_carlo(state, playouts, seed * 2**20 + turn, limit, rows)
            actions = np.where(mine, chosen, actions)
        state = env.step(state, actions)
        returns += state.rewards.numpy()[np.arange(games), player]
        turn += 1


def work(options: argparse.Namespace) -> None:
    print(f"{'game':22}{'won':>6}{'drawn':>7}{'lost':>6}{'mean return':>13}{'seconds':>9}   on {device_of()}")
    for name in options.env:
        env, start = te.make(name), time.perf_counter()
        with busy(f"{name}: compiling, then {options.games} games"):
            returns = play(env, options.games, options.playouts, options.limit, options.seed)
        won, lost = int((returns > 0).sum()), int((returns < 0).sum())
        seconds = time.perf_counter() - start
        drawn = options.games - won - lost
        print(f"{name:22}{won:6}{drawn:7}{lost:6}{returns.mean():13.3f}{seconds:9.1f}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("monte_carlo.py", __doc__)
    add_games(parser)
    parser.add_argument("--games", type=whole(1), default=32, help="games of each (default: 32)")
    parser.add_argument("--playouts", type=whole(1), default=16, help="random games an action (default: 16)")
    parser.add_argument(
        "--limit", type=whole(1, MAX_COUNT), default=1000, help="actions a playout at most (default: 1000)"
    )
    parser.add_argument("--seed", type=whole(0, 4095), default=0, help="0 to 4095 (default: 0)")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
