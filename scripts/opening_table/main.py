"""Search the positions that a perfect player meets in the first plies, for either seat, and save the costliest.

    python scripts/opening_table.py connect_four --plies 4
    python scripts/opening_table.py connect_four --plies 6 --file openings.safetensors

The file holds the bounds of those positions that took the most work. A run that was interrupted goes on from its file,
and repeats only what took little work. In the folder of the game, as `openings.safetensors`, it comes with the package:
every search of the game starts with it.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import tensor_envs as te
from tensor_envs._command import command_parser, new_file, run, whole
from tensor_envs.solve.alpha_beta import HEAD

PART = 4  # positions that are searched together
SECONDS = 600  # between two saves


def work(options: argparse.Namespace) -> None:
    """Search ply by ply, and save at times and at the end."""
    path = options.file or Path(f"openings-{options.id}.safetensors")
    if path.exists():
        solution = te.SearchSolution.load(path, options.memory)
        if not solution.env.plays_like(te.make(options.id)):
            raise ValueError(f"{str(path)!r} is of {solution.env!r}, not of {options.id!r}")
    else:
        solution = te.solve(te.make(options.id), method="search", memory=options.memory)
    env, arguments = solution.env, (solution, path, options.max_bytes)
    threading.Thread(target=save_at_times, args=arguments, daemon=True).start()
    start = env.init(1)
    levels = [start, *[children(env, start, start.legal_action_mask.numpy())] * (options.plies > 1)]
    for ply in range(options.plies):
        if (state := levels[ply]) is None:
            levels.append(None)
            continue
        best = np.zeros((state.batch, env.num_actions), bool)
        for begin in range(0, state.batch, PART):
            rows = np.arange(begin, min(begin + PART, state.batch), dtype=np.int32)
            best[rows] = solution.some_best_actions(state[rows])
            done = f"ply {ply}: {rows[-1] + 1} of {state.batch}, {solution.nodes:,} positions"
            print(f"{done}, {time.process_time():.0f} s of processor time", flush=True)
        replies = children(env, state, best)
        levels.append(replies and children(env, replies, replies.legal_action_mask.numpy()))
    solution.save(path, options.max_bytes)


def save_at_times(solution: te.SearchSolution, path: Path, max_bytes: int) -> None:
    """Save a search again and again, while it runs: its table can be read at any time."""
    while True:
        time.sleep(SECONDS)
        solution.save(path, max_bytes)


def children(env: te.Env, state: te.State, actions: np.ndarray) -> te.State | None:
    """Return the different unfinished games after actions, bool [B, A], or None if there are none."""
    rows, chosen = np.nonzero(actions)
    after = env.step(state[rows.astype(np.int32)], chosen)
    live = np.flatnonzero(~after.numpy()["terminated"])
    first = {repr(env.state_to_dict(after, row)): row for row in live.tolist()}
    return after[np.array(list(first.values()), np.int32)] if first else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("opening_table.py", __doc__)
    parser.add_argument("id", help="environment, with the default rule fields")
    size = whole(1, 2**34)
    parser.add_argument("--plies", type=whole(1, 1000), default=4, help="search positions of fewer plies; default: 4")
    parser.add_argument("--memory", type=size, default=2**31, help="bytes of the search's table; default: 2^31")
    parser.add_argument("--max-bytes", type=whole(HEAD, 2**34), default=2_000_000, help="file size; default: 2,000,000")
    parser.add_argument("--file", type=new_file, help="default: openings-ID.safetensors in the current folder")
    run(parser, work, arguments)
