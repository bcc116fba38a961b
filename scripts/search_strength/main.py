"""Score playout search with the default exploration against others of equal simulations, in a table.

python scripts/search_strength.py --env hex gomoku --games 256
python scripts/search_strength.py --critical 4000 --simulations 8192

`--critical` counts mistakes in random positions of connect four with at most 16 empty cells instead. In a critical
position some legal actions keep the exact value and others lose it. An exact search is the judge.
"""

import argparse
from collections.abc import Sequence

import numpy as np

import tensor_envs as te
from tensor_envs._command import command_parser, run, whole

GAMES = ["connect_four", "tic_tac_toe", "kalah", "ultimate_tic_tac_toe", "hyper_tic_tac_toe", "nine_mens_morris"]
GAMES += ["dots_and_boxes", "qubic", "three_will", "breakthrough", "othello", "checkers", "hex", "tensor_stars"]
GAMES += ["gomoku"]
WEIGHTS = 0.3, 0.6, 2.4, 4.8
CELLS = 42  # of connect four
EMPTY = 16  # empty cells of the earliest judged positions
BATCH = 2048  # random games at once


def print_scores(options: argparse.Namespace) -> None:
    """Print a row for each game and number of simulations."""
    print("| game | simulations |" + "".join(f" against {weight} |" for weight in WEIGHTS))
    print("|---" * (2 + len(WEIGHTS)) + "|")
    for env in map(te.make, options.env):
        for count in options.simulations:
            print(f"| {env.id} | {count:,} |", end="")
            default = te.agents.playout_search(count, seed=11)
            for weight in WEIGHTS:
                players = default, te.agents.playout_search(count, seed=7, exploration=weight)
                result = te.evaluate(env, players, options.games, opening=2, seed=5, limit=400)
                print(f" {result.scores[0]:.3f} +- {result.interval()[0]:.3f} |", end="", flush=True)
            print()


def critical_positions(env: te.Env, oracle: te.SearchSolution, seed: int) -> tuple[te.State, np.ndarray]:
    """Return critical positions of random games, and the actions that keep their values, bool [B, A]."""
    state = env.init(BATCH, seed)
    # later positions have fewer empty cells
    for _ in range(CELLS - EMPTY + seed % (EMPTY // 2)):
        state = env.step(state, te.agents.uniform(state))
    state = state[np.flatnonzero(~te.to_numpy(state.terminated))]
    best = oracle.best_actions(state)
    loses = te.to_numpy(state.legal_action_mask) & ~best
    critical = np.flatnonzero(best.any(1) & loses.any(1))
    return state[critical], best[critical]


def print_mistakes(count: int, simulations: Sequence[int]) -> None:
    """Print the mistakes of each number of simulations in `count` critical positions."""
    env = te.make("connect_four")
    oracle = te.solve(env, method="search")
    mistakes = dict.fromkeys(simulations, 0)
    proven = dict.fromkeys(simulations, 0)
    judged = seed = 0
    while judged < count:
        state, best = critical_positions(env, oracle, seed)
        rows = np.arange(min(state.batch, count - judged))
        state = state[rows]
        for number in simulations:
            output = te.search.playout_policy(state, number, seed=seed)
            mistakes[number] += int((~best[rows, te.to_numpy(output.action)]).sum())
            proven[number] += int(te.to_numpy(output.search_tree.proven).sum())
        judged += len(rows)
        seed += 1
    print(f"| simulations | mistakes in {judged:,} critical positions | proven |\n|---|---|---|")
    for number in simulations:
        print(f"| {number:,} | {mistakes[number]:,} | {proven[number] / judged:.1%} |")


def work(options: argparse.Namespace) -> None:
    if options.critical:
        print_mistakes(options.critical, options.simulations)
    else:
        print_scores(options)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("search_strength.py", __doc__)
    parser.add_argument("--env", nargs="+", default=GAMES, metavar="ID", help="games for two players")
    parser.add_argument("--simulations", nargs="+", type=whole(1, 2**20), default=[128, 1024], metavar="N")
    parser.add_argument("--games", type=whole(2), default=128, help="games of each pair, even; default: %(default)s")
    parser.add_argument("--critical", type=whole(1), metavar="N", help="count mistakes in N critical positions instead")
    run(parser, work, arguments)
