"""Score playout search with the default exploration against others of equal simulations, in a table.

    python scripts/search_strength.py --env hex gomoku --games 256
    python scripts/search_strength.py --simulations 128 1024 8192 --games 128 64 16
    python scripts/search_strength.py --critical 4000 --simulations 8192 --seed 1

The others are the same rule with other weights of exploration, the same rule without the history of actions, and the
rule of version 0.2. That one knew no history and proved nothing, and its exploration term was 1.4 * sqrt(visits) / (1 +
visits of the action), whatever the number of legal actions.

`--critical` counts mistakes in random positions of connect four with at most 16 empty cells instead. In a critical
position some legal actions keep the exact value and others lose it. An exact search is the judge.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs._command import command_parser, run, whole
from tensor_envs.evaluation.agents import Policy
from tensor_envs.search.memory import SearchSize
from tensor_envs.search.policies import EXPLORATION, exploration_table, search_config
from tensor_envs.search.runners import run_search
from tensor_envs.search.selection import ProgressiveHistory

GAMES = ["connect_four", "tic_tac_toe", "kalah", "ultimate_tic_tac_toe", "hyper_tic_tac_toe", "nine_mens_morris"]
GAMES += ["dots_and_boxes", "qubic", "three_will", "breakthrough", "othello", "checkers", "hex", "tensor_stars"]
GAMES += ["gomoku", "oware", "y", "havannah"]
WEIGHTS = 1, 2, 8, 16
OLD_WEIGHT = 1.4  # of the rule of version 0.2
LIMIT = 400  # plies of a game
PLAYOUT = 2**31 - 1  # plies of a playout, which ends its game
CELLS = 42  # of connect four
EMPTY = 16  # empty cells of the earliest judged positions
BATCH = 2048  # random games at once


class NoHistory(ProgressiveHistory):
    """The rule without the history of actions."""

    history_weight = 0.0


def plain_search(num_simulations: int, seed: int) -> Policy:
    """Return a policy that plays by the present rule without the history of actions."""
    size = SearchSize(num_simulations)

    def play(state: te.State) -> Tensor:
        table = exploration_table(EXPLORATION, size.slots, state.env.num_actions)
        return run_search(state, search_config(state.env, NoHistory), size, table, seed, PLAYOUT, None).action

    return play


def old_search(num_simulations: int, seed: int) -> Policy:
    """Return a policy that plays by the rule of version 0.2."""
    size = SearchSize(num_simulations)
    weights = OLD_WEIGHT * np.sqrt(np.arange(size.slots)) + 1e-6

    def play(state: te.State) -> Tensor:
        # the second factor of the exploration term does not depend on the number of legal actions
        factors = np.concatenate([weights, np.ones(state.env.num_actions + 1)])
        config = search_config(state.env, NoHistory, prove=False)
        return run_search(state, config, size, factors.astype(np.float32).tobytes(), seed, PLAYOUT, None).action

    return play


def print_scores(options: argparse.Namespace) -> None:
    """Print a row for each game and number of simulations."""
    numbers = options.games if len(options.games) > 1 else options.games * len(options.simulations)
    if len(numbers) != len(options.simulations):
        wanted = f"one number, or {len(options.simulations)} as --simulations has"
        raise ValueError(f"--games must have {wanted}, got {len(numbers)}")
    opponents = [*(f"against {weight}" for weight in WEIGHTS), "without history", "against version 0.2"]
    print("| game | simulations | games | " + " | ".join(opponents) + " |")
    print("|---" * (3 + len(opponents)) + "|")
    for name in options.env:
        env = te.make(name)
        for count, games in zip(options.simulations, numbers, strict=True):
            print(f"| {env.id} | {count:,} | {games} |", end="", flush=True)
            others = [te.agents.playout_search(count, seed=7, exploration=weight) for weight in WEIGHTS]
            for other in (*others, plain_search(count, seed=7), old_search(count, seed=7)):
                players = te.agents.playout_search(count, seed=11), other
                result = te.evaluate(env, players, games, opening=2, seed=5, limit=LIMIT)
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


def print_mistakes(count: int, simulations: Sequence[int], search_seed: int = 0) -> None:
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
            output = te.search.playout_policy(state, number, seed=seed + search_seed)
            mistakes[number] += int((~best[rows, te.to_numpy(output.action)]).sum())
            proven[number] += int(te.to_numpy(output.search_tree.proven).sum())
        judged += len(rows)
        seed += 1
    print(f"| simulations | mistakes in {judged:,} critical positions | proven |\n|---|---|---|")
    for number in simulations:
        print(f"| {number:,} | {mistakes[number]:,} | {proven[number] / judged:.1%} |")


def work(options: argparse.Namespace) -> None:
    if options.critical:
        print_mistakes(options.critical, options.simulations, options.seed)
    else:
        print_scores(options)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/search_strength.py", __doc__)
    parser.add_argument("--env", nargs="+", default=GAMES, metavar="ID", help="games for two players")
    parser.add_argument("--simulations", nargs="+", type=whole(1, 2**20), default=[128, 1024], metavar="N")
    text = "games of each pair, even, for all numbers of simulations or for each; default: 128"
    parser.add_argument("--games", nargs="+", type=whole(2), default=[128], metavar="N", help=text)
    parser.add_argument("--critical", type=whole(1), metavar="N", help="count mistakes in N critical positions instead")
    parser.add_argument("--seed", type=whole(0, 2**31), default=0, help="seed of the searches of --critical")
    run(parser, work, arguments)
