"""One large batch of random games, of which this process plays its share: under torchrun, Slurm, or by hand.

    torchrun --nproc-per-node 2 scripts/shard_rollout.py --batch 65536 --save parts
    RANK=0 WORLD_SIZE=2 python scripts/shard_rollout.py --batch 65536 --save parts    # as torchrun sets them
    python scripts/shard_rollout.py --env my_games:Nim --batch 4096                   # all of it

The processes need nothing from each other: a game is a pure function of the seed, its row and its episode, so what all
of them play is what one process plays, bit for bit. `--save` leaves a file of arrays with the share's rows in a folder;
in the order of their names they are the whole. Under Slurm, RANK is SLURM_PROCID and WORLD_SIZE is SLURM_NTASKS. Of
several processes on a machine each takes the device of its LOCAL_RANK and its part of the cores.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tinygrad import Device

import tensor_envs as te
from ray_rollout import Results, table
from tensor_envs._command import MAX_COUNT, add_game, busy, command_parser, device_of, game_of, run, whole


def place() -> str:
    """The device of this process among those of its machine, as torchrun counts them; the cores are divided."""
    local, processes = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    te.set_num_threads(max(1, te.num_threads() // processes))
    return device_of(f"{Device.DEFAULT}:{local}" if local else None)


def work(options: argparse.Namespace) -> None:
    share, env, device = te.shard(options.batch), game_of(options), place()
    if options.save is not None:
        options.save.mkdir(exist_ok=True)
    with busy("compiling"):
        state = env.init(share.batch, options.seed, device, share.first_row)
        te.rollout_from(state, "uniform", 1).wins.numpy()
    start = time.perf_counter()
    with busy("playing"):
        result = te.rollout_from(state, "uniform", options.steps)
        columns = {name: getattr(result, name).numpy() for name in ("returns", "wins", "episodes")}
    results = Results(**columns, seconds=time.perf_counter() - start, nodes=1)
    if options.save is not None:
        np.savez(options.save / f"from_row_{share.first_row:010}.npz", **columns)
    print(
        f"rows {share.first_row:,} to {share.first_row + share.batch - 1:,} of {options.batch:,} on {device}"
    )
    print(table(env, results, options.steps), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("shard_rollout.py", __doc__)
    add_game(parser)
    parser.add_argument("--batch", type=whole(1, MAX_COUNT), default=65536, help="of all processes together")
    parser.add_argument("--steps", type=whole(1, MAX_COUNT), default=1000)
    parser.add_argument("--seed", type=whole(0, 2**64 - 1), default=0)
    parser.add_argument("--save", type=Path, metavar="DIR", help="a folder for the results of every row")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
