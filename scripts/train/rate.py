"""Rate trained players: Elo of a round robin with uniform and playout-search players, and exact regret.

    python scripts/train/rate.py --env connect_four
    python scripts/train/rate.py --env shed --simulations 0 32 --regret --weights my_weights.safetensors

Elo ratings, with 95 % intervals, have mean 0 in a game; a score is the mean of 1 for a win and 0.5 for a draw. Both
seats of every deal are played, after two random plies. The regret is the mean difference between the exact value of a
position and that of the decision taken there, over the player's own games.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import tensor_envs as te
from tensor_envs._command import MAX_COUNT, add_game, busy, command_parser, device_of, game_of, run, whole
from train.training import oracle_of


def work(options: argparse.Namespace) -> None:
    env = game_of(options)
    if env.num_players != 2:
        raise ValueError(f"--env must be a game for two, {env!r} has {env.num_players} players")
    if options.games % 2:
        raise ValueError(f"--games must be even, got {options.games}")
    path, oracle = options.weights or env.id, oracle_of(env) if options.regret else None
    players: dict[str, te.agents.Policy] = {"uniform": te.agents.uniform}
    players |= {f"playout search of {n}": te.agents.playout_search(n, seed=1) for n in options.rivals}
    trained = {f"trained, {n} simulations": te.agents.load(path, n) for n in options.simulations}
    print(f"{env.id} on {device_of()}, {options.games} games of each pair, weights of {path}", flush=True)
    with busy("compiling and playing"):
        print(te.arena(env, players | trained, options.games, opening=2, seed=options.seed), flush=True)
    if oracle is not None:
        for name, player in trained.items():
            value = te.regret(env, player, oracle, options.games, options.seed, opening=2)
            print(f"{name}: mean exact regret {value:.5f}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("rate.py", __doc__)
    add_game(parser, "connect_four")
    parser.add_argument("--weights", metavar="FILE", help="default: those that come with the package")
    parser.add_argument(
        "--simulations",
        nargs="+",
        type=whole(0, 2**20),
        default=[0, 32],
        help="simulations of the trained player's search, 0 for the network alone; default: 0 and 32",
    )
    parser.add_argument(
        "--rivals",
        nargs="*",
        type=whole(1, 2**20),
        default=[128, 1024],
        help="simulations of playout search; default: 128 and 1,024",
    )
    parser.add_argument(
        "--games", type=whole(1, MAX_COUNT), default=256, help="games of each pair; default: %(default)s"
    )
    parser.add_argument("--seed", type=whole(0, 2**32 - 2), default=1)
    parser.add_argument("--regret", action="store_true", help="also compute exact regret (solvable games only)")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
