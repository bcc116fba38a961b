"""Self-play and learning at once, with a network of PyTorch.

In every step a thread learns from the samples of earlier steps while the caller plays with a copy of the weights before
it. Both meet at the end of the step. So results do not depend on timing, and a checkpoint has nothing in flight.

tinygrad and the kernels of games stay in the caller's thread; the learner's thread uses NumPy and PyTorch alone. On a
card it has a stream of its own, so that kernels of both can run together. No call waits for the whole card.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import Any, TypeVar

import torch

from tensor_envs._runtime.launch import without_collecting
from tensor_envs.train.trainable import TrainableNetwork

Played = TypeVar("Played")
Learned = TypeVar("Learned")


class Overlap:
    """Network that learns and its copy that plays, both of PyTorch."""

    def __init__(self, learner: TrainableNetwork, player: TrainableNetwork):
        """Take two networks of the same form."""
        self.learner = learner.network
        self.player = player.network
        place = next(self.learner.parameters()).device
        self.stream = torch.cuda.Stream(place) if place.type == "cuda" else None  # the thread's stream

    def copy_weights(self) -> None:
        """Copy the weights of the network that learns to the one that plays."""
        self.player.load_state_dict(self.learner.state_dict())

    def both(
        self, play: Callable[[], Played], learn: Callable[[Iterable[Any]], Learned], minibatches: Iterable[Any]
    ) -> tuple[Played, Learned]:
        """Play in this thread and learn in another one, and return the results of both.

        An error of either is raised here. One of `play`, or Ctrl-C, ends the thread after its present minibatch.
        """
        ended = threading.Event()
        rest = takewhile(lambda _: not ended.is_set(), minibatches)
        if self.stream is not None:  # the weights are copied before the thread changes them
            self.stream.wait_stream(torch.cuda.current_stream(self.stream.device))
        # A collection of garbage in the thread would delete objects of tinygrad there.
        with without_collecting(), ThreadPoolExecutor(1, "learner") as executor:
            try:
                learning = executor.submit(self._on_stream, learn, rest)
                return play(), learning.result()
            finally:
                ended.set()

    def _on_stream(self, learn: Callable[[Iterable[Any]], Learned], minibatches: Iterable[Any]) -> Learned:
        """Learn on the thread's stream, and wait for that stream alone."""
        if self.stream is None:
            return learn(minibatches)
        with torch.cuda.stream(self.stream):
            try:
                return learn(minibatches)
            finally:
                self.stream.synchronize()
