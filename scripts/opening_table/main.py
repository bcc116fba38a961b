"""Search the positions that a perfect player meets in the first plies, for either seat.

The file holds the bounds of those positions that took the most work. A run that is interrupted goes on from its file,
and repeats only what took little work.

    python scripts/opening_table.py connect_four --plies 4
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path

import numpy as np

import tensor_envs as te

PART = 4  # positions that are searched together
SECONDS = 600  # between two saves
DEFAULT = "tensor_envs/games/{}/openings.safetensors"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("id", help="environment, with the default rule fields")
    parser.add_argument("--plies", type=int, default=4, help="positions of fewer plies are searched; default: 4")
    parser.add_argument("--memory", type=int, default=2**31, help="bytes of the search's table; default: 2^31")
    parser.add_argument("--max-bytes", type=int, default=2_000_000, help="size of the file; default: 2,000,000")
    parser.add_argument("--file", type=Path, help="default: openings.safetensors in the game's folder")
    options = parser.parse_args()
    path = options.file or Path(DEFAULT.format(options.id))
    if path.exists():
        solution = te.SearchSolution.load(path, options.memory)
    else:
        solution = te.solve(te.make(options.id), method="search", memory=options.memory)
    env, arguments = solution.env, (solution, path, options.max_bytes)
    threading.Thread(target=save_at_times, args=arguments, daemon=True).start()
    start = env.init(1)
    levels = [start, *[children(env, start, start.legal_action_mask.numpy())] * (options.plies > 1)]
    for ply in range(options.plies):
        state, best = levels[ply], np.zeros((levels[ply].batch, env.num_actions), bool)
        for begin in range(0, state.batch, PART):
            rows = np.arange(begin, min(begin + PART, state.batch), dtype=np.int32)
            best[rows] = solution.best_actions(state[rows])
            done = f"ply {ply}: {rows[-1] + 1} of {state.batch}, {solution.nodes:,} positions"
            print(f"{done}, {time.process_time():.0f} s of processor time", flush=True)
        replies = children(env, state, best)
        levels.append(children(env, replies, replies.legal_action_mask.numpy()))
    solution.save(path, options.max_bytes)


def save_at_times(solution: te.SearchSolution, path: Path, max_bytes: int) -> None:
    """Save a search again and again, while it runs: its table can be read at any time."""
    while True:
        time.sleep(SECONDS)
        solution.save(path, max_bytes)


def children(env: te.Env, state: te.State, actions: np.ndarray) -> te.State:
    """Return the different unfinished games after actions, bool [B, A]."""
    rows, chosen = np.nonzero(actions)
    after = env.step(state[rows.astype(np.int32)], chosen)
    live = np.flatnonzero(~after.numpy()["terminated"])
    first = {repr(env.state_to_dict(after, row)): row for row in live.tolist()}
    return after[np.array(list(first.values()), np.int32)]


if __name__ == "__main__":
    main()
