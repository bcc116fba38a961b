"""Score playout search with the default exploration against others of equal simulations, in a table.

python scripts/search_strength.py --env hex gomoku --games 256
"""

import argparse
from collections.abc import Sequence

import tensor_envs as te
from tensor_envs._command import command_parser, run, whole

GAMES = ["connect_four", "othello", "breakthrough", "ultimate_tic_tac_toe", "hyper_tic_tac_toe", "hex", "gomoku"]
GAMES += ["dots_and_boxes", "kalah", "nine_mens_morris", "qubic"]
WEIGHTS = 0.3, 0.6, 2.4, 4.8


def work(options: argparse.Namespace) -> None:
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("search_strength.py", __doc__)
    parser.add_argument("--env", nargs="+", default=GAMES, metavar="ID", help="games for two players")
    parser.add_argument("--simulations", nargs="+", type=whole(1, 2**20), default=[128, 1024], metavar="N")
    parser.add_argument("--games", type=whole(2), default=128, help="games of each pair, even; default: %(default)s")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
