"""Play matches of playout search against OpenSpiel's MCTSBot (C++) with equal simulations.

    python scripts/benchmark.py --strength
    python scripts/benchmark.py --strength --env connect_four hex --simulations 128 --games 200

Both value positions by one random game. MCTSBot proves outcomes, too (`solve=True`), and has UCT's constant c. Games
start with two random plies, each start once with either player to begin. The score of `te.search.playout_policy` has
a 95 % interval; times are processor times of a decision, ours in a batch of all games.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs._command import Failure, busy, command_parser, run, whole
from tensor_envs._validate import need
from tensor_envs.evaluation.engines.open_spiel import GAMES, load_game

OPENING = 2  # random plies
CONSTANTS = 0.7, 1.4


# rules that differ from the defaults
RULES: dict[str, dict[str, Any]] = {"connect_four": {}, "othello": {}, "hex": {"size": 7}, "breakthrough": {}, "go": {}}


def match(name: str, simulations: int, constant: float, games: int, seed: int) -> tuple[np.ndarray, float, float]:
    """Return our points in each game, and the seconds of a decision of ours and of theirs."""
    spiel = importlib.import_module("pyspiel")
    env = te.make(name, **RULES[name])
    game = load_game(env)
    number = GAMES[name].number
    evaluator = spiel.RandomRolloutEvaluator(1, seed)
    bot = spiel.MCTSBot(game, evaluator, constant, simulations, 1000, True, seed, False)
    # games 2 k and 2 k + 1 start with the same actions, and we have either seat
    others = [game.new_initial_state() for _ in range(games)]
    state = env.init(games, seed=seed)
    seats = np.arange(games) % 2
    random = np.random.default_rng(seed)
    points = np.full(games, np.nan)
    our_seconds = list[float]()
    their_seconds = list[float]()
    ply = 0
    while (open_games := np.flatnonzero(np.isnan(points))).size:
        fields = state.numpy()
        draws = random.integers(2**31, size=games // 2)
        begin = time.process_time()
        actions = te.to_numpy(te.search.playout_policy(state, simulations, seed=seed).action).copy()
        our_seconds.append(time.process_time() - begin)
        for row in open_games:
            legal = np.flatnonzero(fields["legal_action_mask"][row])
            their_actions = {number(action): action for action in others[row].legal_actions()}
            if legal.tolist() != sorted(their_actions):
                raise Failure(f"OpenSpiel plays {name} by other rules")
            if ply < OPENING:
                actions[row] = legal[draws[row // 2] % len(legal)]
            elif fields["current_player"][row] != seats[row]:
                begin = time.process_time()
                actions[row] = number(bot.step(others[row]))
                their_seconds.append(time.process_time() - begin)
            others[row].apply_action(their_actions[int(actions[row])])
            if others[row].is_terminal():
                points[row] = (others[row].returns()[seats[row]] + 1) / 2
        state = env.step(state, actions)
        ply += 1
    return points, float(np.mean(our_seconds)) / games, float(np.mean(their_seconds))


def work(options: argparse.Namespace) -> None:
    """Print a row for each game, number of simulations and constant."""
    need("pyspiel", "--strength", "peers")
    if options.games % 2:
        raise ValueError(f"--games must be even, got {options.games}")
    print("| game | simulations | c | score | ms per decision | MCTSBot, ms |")
    print("|---" * 6 + "|")
    for name in options.env:
        for simulations in options.simulations:
            for constant in CONSTANTS:
                with busy(f"{name}, {simulations} simulations, c {constant}"):
                    points, ours, theirs = match(name, simulations, constant, options.games, options.seed)
                score = f"{points.mean():.3f} +- {1.96 * points.std() / len(points) ** 0.5:.3f}"
                row = name, f"{simulations:,}", constant, score, f"{1e3 * ours:.3f}", f"{1e3 * theirs:.3f}"
                print("| " + " | ".join(map(str, row)) + " |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/benchmark.py", __doc__)
    parser.add_argument("--strength", action="store_true", required=True, help="matches, not speed")
    text = f"of {', '.join(RULES)}, which is the default; hex is on 7x7 cells"
    parser.add_argument("--env", nargs="+", choices=RULES, default=list(RULES), metavar="ID", help=text)
    parser.add_argument("--simulations", nargs="+", type=whole(1, 2**20), default=[128, 1024], metavar="N")
    parser.add_argument("--games", type=whole(2), default=200, help="games of each match, even; default: %(default)s")
    parser.add_argument("--seed", type=whole(0, 2**31 - 1), default=1)
    run(parser, work, arguments)
