"""Replay buffer of the positions of the last steps, sampled under symmetries of the game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tensor_envs.rules.spec import Symmetry


class Samples(NamedTuple):
    """Positions of self-play with the targets of a network, on the host.

    Attributes:
        observation: flat observations [n, ...] of the players to move, of the game's dtype.
        mask: legal actions, bool [n, A].
        policy: target of the policy, float32 [n, A].
        value: target of the value, float32 [n].
    """

    observation: np.ndarray
    mask: np.ndarray
    policy: np.ndarray
    value: np.ndarray


class ReplayBuffer:
    """Ring of the samples of the last steps, in memory of the host."""

    def __init__(self, steps: int, symmetries: Sequence[Symmetry]):
        """Make an empty buffer.

        Args:
            steps: number of steps that it holds at most.
            symmetries: symmetries of the game, the identity first.
        """
        self.steps = steps
        self.added = 0
        self.observations, self.actions = (
            np.array([getattr(s, name) for s in symmetries], np.int64) for name in ("observation", "actions")
        )
        self.parts: Samples | None = None  # arrays [steps, n, ...]

    def add(self, samples: Samples) -> None:
        """Add the samples of a step, in place of the oldest once the buffer is full. All steps have equal shapes."""
        if self.parts is None:
            self.parts = Samples(*(np.zeros((self.steps, *part.shape), part.dtype) for part in samples))
        for ring, part in zip(self.parts, samples, strict=True):
            ring[self.added % self.steps] = part
        self.added += 1

    def __len__(self) -> int:
        """Return the number of positions."""
        return 0 if self.parts is None else min(self.added, self.steps) * self.parts.value.shape[1]

    def sample(self, count: int, random: np.random.Generator) -> Samples:
        """Sample positions with replacement, each under a random symmetry of the game."""
        assert self.parts is not None
        row = random.integers(len(self), size=count)
        turn = random.integers(len(self.actions), size=count)
        turned = [np.flatnonzero(turn == k) for k in range(1, len(self.actions))]

        def gather(part: np.ndarray, columns: np.ndarray) -> np.ndarray:
            """Gather whole rows, then apply each symmetry to its rows: gathering single entries is slower."""
            chosen = part.reshape(-1, part.shape[-1]).take(row, axis=0)  # faster than an index
            for rows, order in zip(turned, columns[1:], strict=True):
                chosen[rows] = chosen.take(rows, axis=0).take(order, axis=1)
            return chosen

        observation, mask, policy, value = self.parts
        return Samples(
            gather(observation, self.observations),
            gather(mask, self.actions),
            gather(policy, self.actions),
            value.reshape(-1).take(row),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the samples for a file: arrays [steps so far, n, ...] by name."""
        if self.parts is None:
            return {}
        return {name: part[: self.added] for name, part in self.parts._asdict().items()}

    def restore(self, arrays: Mapping[str, np.ndarray], added: int) -> None:
        """Replace the contents by those that `arrays` returned after `added` steps."""
        self.parts = None
        self.added = 0
        for i in range(min(added, self.steps)):
            self.add(Samples(*(arrays[name][i] for name in Samples._fields)))
        self.added = added
