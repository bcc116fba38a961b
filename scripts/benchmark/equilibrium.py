"""Measure iterations of CFR+ per second, and of OpenSpiel's C++ in the same run.

    python scripts/benchmark.py --equilibrium
    python scripts/benchmark.py --equilibrium --peers --game leduc_poker liars_dice=5 liars_dice=7 --runs 5

"liars_dice=5" is liar's dice with one die of five sides for each player. Both solvers take turns in one process on one
core. Times are processor times; the ratio is the median of the rounds' ratios, with the lowest and the highest one.
Exploitabilities after equally many iterations are compared before any number is printed. "tree" is the time of
`te.game_tree`, kernels included; "to .001" that of `te.equilibrium` with `until=1e-3`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import tensor_envs as te
from tensor_envs._command import Failure, busy, command_parser, device_of, real, run, whole
from tensor_envs._validate import need
from tensor_envs.equilibria.cfr import Solver

GAMES = ("kuhn_poker", "leduc_poker", "liars_dice=5", "liars_dice=6", "liars_dice=7")
COMPARED = 3  # iterations before the exploitabilities are compared
TOLERANCE = 1e-9


def env_of(name: str) -> te.Env:
    """Return an environment. ValueError for another name."""
    game, _, sides = name.partition("=")
    return te.make("liars_dice", sides=whole(2, 8)(sides)) if game == "liars_dice" else te.make(name)


def their_solver(name: str) -> Any:
    """Return OpenSpiel's solver of a game, and the game."""
    import pyspiel

    game, _, sides = name.partition("=")
    loaded = pyspiel.load_game(game, {"dice_sides": int(sides)} if sides else {})
    return pyspiel.CFRPlusSolver(loaded), loaded


def rate(step: Callable[[], object], least: float) -> float:
    """Return the calls per second of processor time, over at least `least` seconds."""
    count, begin = 0, time.process_time()
    while count == 0 or time.process_time() - begin < least:
        step()
        count += 1
    return count / (time.process_time() - begin)


def measured(name: str, env: te.Env, options: argparse.Namespace) -> list[str]:
    begin = time.process_time()
    tree = te.game_tree(env)
    made = time.process_time() - begin
    begin = time.process_time()
    equilibrium = te.equilibrium(tree, until=1e-3)
    solved = time.process_time() - begin
    ours, count = Solver(tree), 0

    def step() -> None:
        nonlocal count
        count += 1
        ours.iterate(count)

    if not options.peers:
        rates = [(rate(step, options.seconds), 0.0) for _ in range(options.runs)]
    else:
        import pyspiel

        theirs, game = their_solver(name)
        for _ in range(COMPARED):
            step()
            theirs.evaluate_and_update_policy()
        mine, other = ours.exploitability(), pyspiel.exploitability(game, theirs.average_policy())
        if abs(mine - other) > TOLERANCE:
            raise Failure(f"{name}: the exploitability after {COMPARED} iterations is {mine}, OpenSpiel has {other}")
        rates = [
            (rate(step, options.seconds), rate(theirs.evaluate_and_update_policy, options.seconds))
            for _ in range(options.runs)
        ]
    row = [name, f"{tree.nodes:,}", f"{len(tree):,}", f"{made:.2f} s", f"{solved:.2f} s ({equilibrium.iterations:,})"]
    row += [digits(median(a for a, _ in rates))]
    if options.peers:
        ratios = sorted(a / b for a, b in rates)
        low, middle, high = map(digits, (ratios[0], median(ratios), ratios[-1]))
        row += [digits(median(b for _, b in rates)), f"{middle}x ({low}..{high})"]
    return row


def digits(value: float) -> str:
    """Format a rate or a ratio by three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def work(options: argparse.Namespace) -> None:
    if options.peers:
        need("pyspiel", "--peers", "peers")
    envs = {name: env_of(name) for name in options.game}
    print(f"trees are made on {device_of()}\n")
    columns = "| game | histories | information states | tree | to .001 (iterations) | iterations/s |"
    print(columns + " OpenSpiel's C++ | ratio |" * options.peers)
    print("|---" * (columns.count("|") - 1 + 2 * options.peers) + "|")
    for name, env in envs.items():
        with busy(name):
            row = measured(name, env, options)
        print("| " + " | ".join(row) + " |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/benchmark.py", __doc__)
    parser.add_argument("--equilibrium", action="store_true", required=True, help="equilibria, not steps")
    parser.add_argument("--game", nargs="+", default=list(GAMES), help=f"default: {' '.join(GAMES)}")
    parser.add_argument("--runs", type=whole(1, 2**20), default=5, help="rounds; default: %(default)s")
    parser.add_argument("--seconds", type=real(0, 3600, False), default=0.3, help="minimum duration of a run (0.3)")
    parser.add_argument("--peers", action="store_true", help="also measure OpenSpiel; needs the extra 'peers'")
    run(parser, work, arguments)
