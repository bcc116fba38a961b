"""Solve a game: its value and the best first actions, by `te.solve`.

    python -m tensor_envs.solve tic_tac_toe
    python -m tensor_envs.solve connect_four --rules rows=4 columns=5
    python -m tensor_envs.solve hex --rules size=4 --method search
    python -m tensor_envs.solve my_games:Nim    # a custom game

Every position is enumerated. A game of too many positions is searched instead, with --method search, if it is for two
with wins, draws and losses alone and without chance. Games of hidden information have equilibria: `te.equilibrium`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from tensor_envs._command import add_rules, busy, command_parser, run, whole
from tensor_envs.envs.registry import make
from tensor_envs.envs.state import State
from tensor_envs.render.status import counted
from tensor_envs.solve.alpha_beta import MAX_MEMORY, SearchSolution
from tensor_envs.solve.enumeration import Solution, solve
from tensor_envs.solve.values import MAX_POSITIONS

RESULTS = {1: "a win", 0: "a draw", -1: "a loss"}  # by value


def value_of(solution: Solution | SearchSolution, start: State) -> str:
    """Return the value of a game's start as text: a result with the plies to it, or an expected return."""
    value = solution.value(start)
    if value.dtype.kind == "f":
        return f"an expected return of {value[0]:.6g}"
    plies = int(solution.distance(start)[0])
    return RESULTS[int(value[0])] + (f" in {counted(plies, 'ply', 'plies')}" if plies >= 0 else "")


def work(options: argparse.Namespace) -> None:
    env = make(options.id, **dict(options.rules))
    begin = time.perf_counter()
    with busy("solving"):
        start = env.init(1, options.seed)
        solution: Solution | SearchSolution
        if options.method == "enumerate":
            solution = solve(env, max_positions=options.max_positions)
        else:
            solution = solve(env, method="search", memory=options.memory)
        value = value_of(solution, start)
        best = np.flatnonzero(solution.best_actions(start)[0])
    seconds = time.perf_counter() - begin
    names = ", ".join(env.action_to_string(int(action), start) for action in best)
    print(f"{env!r}")
    print(f"value         {value} for the player to move")
    print(f"best actions  {names}")
    if isinstance(solution, Solution):
        print(f"positions     {solution.positions:,}, up to symmetry")
    else:
        print(f"positions     {solution.nodes:,} searched")
    print(f"seconds       {seconds:.2f}, compilation included")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python -m tensor_envs.solve", __doc__)
    parser.add_argument("id", metavar="ID", help="a registered game, or package.module:Name for a custom one")
    add_rules(parser)
    text = "all positions, or a search of those that matter; default: %(default)s"
    parser.add_argument("--method", choices=["enumerate", "search"], default="enumerate", help=text)
    text = "limit of the enumeration, of 40 bytes each; default: %(default)s"
    parser.add_argument("--max-positions", type=whole(1, MAX_POSITIONS), default=100_000_000, metavar="N", help=text)
    text = "bytes of the table of the search; default: %(default)s"
    parser.add_argument("--memory", type=whole(1, MAX_MEMORY), default=2**28, metavar="BYTES", help=text)
    text = "seed of the start, in games that begin by chance; default: 0"
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help=text)
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
