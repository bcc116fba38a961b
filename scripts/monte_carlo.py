"""Flat Monte Carlo against the uniform player, in every game: `te.playout` at work.

For every decision of the Monte Carlo seat each legal action gets the mean return of some random games that begin with
it, all of them played in one kernel, and the best is played. Like every search from a State it sees the whole of it,
hidden cards included; what chance will bring it does not know, since playouts draw their own.

    python scripts/monte_carlo.py                              # every game
    python scripts/monte_carlo.py --env shed --playouts 128    # one of them
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np

import tensor_envs as te

CHUNK = 512  # candidate actions whose playouts are one kernel: the same number every time, so that it compiles once


def best_actions(
    env: te.Env, state: te.State, rows: np.ndarray, playouts: int, limit: int, seed: int
) -> np.ndarray:
    """The action of the highest mean return for the player to move, at some rows of a state."""
    now = state.numpy()
    row, action = np.nonzero(now["legal_action_mask"] & np.isin(np.arange(state.batch), rows)[:, None])
    seat, values = now["current_player"][row], np.zeros(len(row))
    for first in range(0, len(row), CHUNK):
        padded = np.resize(np.arange(first, min(first + CHUNK, len(row))), CHUNK)
        branches = env.take(state, row[padded])
        found = te.playout(env, branches, playouts, action[padded], seed * 2**20 + first, limit).numpy()
        values[padded] = found[np.arange(CHUNK), seat[padded]]
    table = np.full((state.batch, env.num_actions), -np.inf)
    table[row, action] = values
    return table.argmax(1)


def play(env: te.Env, games: int, playouts: int, limit: int, seed: int) -> np.ndarray:
    """The Monte Carlo player's returns, one a game; its seat changes from game to game."""
    state, me = env.init(games, seed), np.arange(games) % env.num_players
    returns, turn = np.zeros(games), 0
    while True:
        now = state.numpy()
        live = ~(now["terminated"] | now["truncated"])
        if not live.any():
            return returns
        actions, mine = te.random_policy(state).numpy(), live & (now["current_player"] == me)
        if mine.any():
            chosen = best_actions(env, state, np.flatnonzero(mine), playouts, limit, seed * 2**20 + turn)
            actions = np.where(mine, chosen, actions)
        state = env.step(state, actions)
        returns += state.rewards.numpy()[np.arange(games), me]
        turn += 1


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="flat Monte Carlo against the uniform player")
    parser.add_argument("--env", nargs="*", choices=sorted(te.registered()), help="games (default: all)")
    parser.add_argument("--games", type=int, default=32, help="games of each (default: 32)")
    parser.add_argument("--playouts", type=int, default=16, help="random games an action (default: 16)")
    parser.add_argument("--limit", type=int, default=1000, help="actions a playout at most (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="0 to 4095 (default: 0)")
    parsed = parser.parse_args(arguments)
    for name in ("games", "playouts", "limit"):
        if getattr(parsed, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(parsed, name)}")
    if not 0 <= parsed.seed < 4096:
        parser.error(f"--seed must be in 0..4095, got {parsed.seed}")
    return parsed


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    print(f"{'game':22}{'won':>6}{'drawn':>7}{'lost':>6}{'mean return':>13}{'seconds':>9}")
    for name in options.env or te.registered():
        env, start = te.make(name), time.perf_counter()
        returns = play(env, options.games, options.playouts, options.limit, options.seed)
        won, lost = int((returns > 0).sum()), int((returns < 0).sum())
        seconds = time.perf_counter() - start
        drawn = options.games - won - lost
        print(f"{name:22}{won:6}{drawn:7}{lost:6}{returns.mean():13.3f}{seconds:9.1f}", flush=True)


if __name__ == "__main__":
    main()
