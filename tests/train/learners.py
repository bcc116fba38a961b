"""Program that torchrun starts in several processes: each saves what it has learned from, and the network's state."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tensor_envs as te
from tensor_envs.train import parallel
from tensor_envs.train.modules import Dense
from tests.train.sizes import ALPHAZERO

SETTINGS = {**ALPHAZERO, "updates": 1, "minibatch": 16}


def train(folder: Path, steps: int, rank: int, device: str) -> None:
    """Train until the given step in the folder `run`, and save arrays in a file by rank and steps."""
    env = te.make("tic_tac_toe")
    torch.manual_seed(rank)  # weights of its own, until the learners are joined
    config = te.train.AlphaZeroConfig(**SETTINGS)
    trainer = te.train.AlphaZero(env, config, device, network=Dense(env, hidden=8), rank=rank)
    learned = list[Any]()
    choose = trainer.minibatches

    def minibatches(data: Any) -> Iterator[Any]:
        for minibatch in choose(data):
            learned.append((trainer.weights(), minibatch))
            yield minibatch

    trainer.minibatches = minibatches  # type: ignore[assignment, method-assign]
    trainer.run(steps=steps, folder=folder / "run")
    weights, minibatch = learned[0]
    arrays = {"counters": np.array([trainer.steps, trainer.positions]), "learned": np.array(len(learned))}
    arrays |= {f"before.{name}": array for name, array in weights.items()}
    arrays |= {f"part.{k}": part for k, part in enumerate(minibatch)}
    saved: dict[str, Any] = {**arrays, **trainer.trainable.checkpoint()}
    np.savez(folder / f"{rank}_{steps}.npz", **saved)


def main(folder: Path, *ends: int) -> None:
    """Train until each of some steps, every time by a new trainer, which goes on with what is in the folder."""
    rank, device = parallel.connect("CPU")
    for steps in ends:
        train(folder, steps, rank, device)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
