"""AlphaZero: a network learns, in self-play, the policy and the value that a search finds.

`te.search.gumbel_muzero_policy` selects the actions of self-play, and its action weights are the policy's targets. In
the first part of a run `te.search.playout_policy`, which needs no network, may play instead. With `exact_ply`, value
targets from that ply on are exact, in games that `te.solve` can search.

Sources: D. Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play", Science 362, 2018; I. Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022; for
playout search at first: T. Anthony et al., "Thinking fast and slow with deep learning and tree search", NeurIPS 2017;
for exact targets: Leela Chess Zero, "TB Rescoring", blog.lczero.org, 16 September 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from tinygrad import Tensor

from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.evaluation.agents import greedy, gumbel, softmax
from tensor_envs.search.outputs import Evaluate
from tensor_envs.search.policies import gumbel_muzero_policy, playout_policy
from tensor_envs.search.tree import SearchOutput
from tensor_envs.train.config import AlphaZeroConfig
from tensor_envs.train.metrics_file import Metrics
from tensor_envs.train.parallel import num_learners
from tensor_envs.train.rating import Judges, rate
from tensor_envs.train.replay import ReplayBuffer, Samples
from tensor_envs.train.run import Trainer
from tensor_envs.train.self_play import self_play
from tensor_envs.train.trainable import OwnNetwork

if TYPE_CHECKING:
    from tensor_envs.train.overlap import Overlap

# kinds of random numbers
PLAY = 0
SAMPLE = 1
EXACT_MEMORY = 2**26  # bytes of the table of exact values of each actor


def exact_values(env: Env, device: str | None) -> Callable[[State], np.ndarray]:
    """Return a function from a state to exact values for the players to move. ValueError if no search finds them."""
    from tensor_envs.solve.enumeration import solve  # a game imports the package's public names, as in `exact_oracle`

    try:
        return solve(env.init(1, device=device), method="search", memory=EXACT_MEMORY).value
    except ValueError as error:
        raise ValueError(f"exact_ply must be 0 for {env!r}: {error}") from None


class AlphaZero(Trainer):
    """AlphaZero with Gumbel search.

    Examples:
        >>> trainer = te.train.AlphaZero(te.make("tic_tac_toe"), te.train.AlphaZeroConfig(num_envs=64))
        >>> trainer.run(seconds=60, folder="runs/tic_tac_toe")  # doctest: +SKIP
        >>> trainer.learning_rate()
        0.004
    """

    algorithm = "alphazero"
    adam_epsilon = 1e-8
    Config: ClassVar[type[AlphaZeroConfig]] = AlphaZeroConfig
    config: AlphaZeroConfig
    replay: ReplayBuffer

    def __init__(
        self,
        env: Env,
        config: AlphaZeroConfig | None = None,
        device: str | None = None,
        *,
        network: OwnNetwork = None,
        rank: int = 0,
    ):
        super().__init__(env, config, device, network=network, rank=rank)
        if env.num_players > 1 and not env.spec.zero_sum:
            raise ValueError(f"env must be of a game for one or with zero sum, got {env!r}: PPO learns other games")
        self.replay = ReplayBuffer(self.config.replay_steps, list(env.symmetries()))
        self.judges = Judges.of(env, self.config, device) if rank == 0 else Judges()
        self.probabilities = softmax(self.evaluate)
        self.exact_values = exact_values(env, device) if self.config.exact_ply > 0 else None
        self.player = self.trainable  # in self-play
        self.overlap: Overlap | None = None
        if self.config.overlap:
            if num_learners() > 1:
                raise ValueError("overlap must be False where torchrun has started several learners")
            from tensor_envs.train.overlap import Overlap  # its module imports PyTorch

            self.player = self._trainable(self.trainable.for_actors(), device)
            self.overlap = Overlap(self.trainable, self.player)

    def learning_rate(self) -> float:
        return self.config.learning_rate * max(0.1, 1 - self.progress)

    def rate(self) -> Metrics:
        """Rate the player with a search without noise, and the network without search ("network_score", ...)."""
        env = self.env
        config = self.config
        common = config, self.judges, self.device

        def weights(state: State) -> Tensor:
            """Return the search's probabilities of all actions."""
            return gumbel_muzero_policy(state, self.evaluate, config.num_simulations, gumbel_scale=0.0).action_weights

        # without proofs, as self-play searches
        searching = gumbel(self.evaluate, config.num_simulations, prove=False)
        alone = greedy(self.evaluate)
        ratings = rate(env, searching, weights, *common)
        return ratings | rate(env, alone, self.probabilities, *common, prefix="network_")

    def search(self, state: State, seed: int) -> SearchOutput:
        """Search with the network or, in the first part of a run, with random playouts."""
        if self.progress < self.config.playout_share:
            return playout_policy(state, self.config.playout_simulations, seed=seed)
        return gumbel_muzero_policy(state, self.player.evaluate, self.config.num_simulations, seed=seed)

    def _past_search(self, state: State, evaluate: Evaluate, seed: int) -> SearchOutput:
        """Search with the network of a past self."""
        return gumbel_muzero_policy(state, evaluate, self.config.num_simulations, seed=seed)

    def play_and_learn(self) -> Metrics:
        """Play a step and learn, with the setting `overlap` both at once, and return metrics by name."""
        if self.overlap is None:
            return super().play_and_learn()
        self.overlap.copy_weights()
        if not len(self.replay):  # the first step has to play before it can learn
            return super().play_and_learn()
        play = partial(self.play, self.steps)
        samples, losses = self.overlap.both(play, self._learn, self._sampled())
        self.replay.add(samples)
        return self._count(losses)

    def play(self, step: int) -> Samples:
        """Return the samples of `rollout_length` decisions in every game."""
        config = self.config
        random = self.random(PLAY, self.rank, step)
        league = self.league
        # Playout search has no network, so no past selves either; games that begin with it count for no member.
        if league is not None and self.progress < config.playout_share:
            league.returns[:] = np.nan
            league = None
        self.state, samples = self_play(
            self.state,
            self.search,
            config.rollout_length,
            random,
            explore_plies=config.explore_plies,
            search_value_weight=config.search_value_weight,
            exact_values=self.exact_values,
            exact_ply=config.exact_ply,
            league=league,
            past_search=self._past_search,
        )
        return samples

    def minibatches(self, data: Samples) -> Iterator[Samples]:
        """Add samples to the replay buffer and return minibatches of it."""
        self.replay.add(data)
        return self._sampled()

    def _sampled(self) -> Iterator[Samples]:
        """Yield the minibatches of a step from the replay buffer."""
        random = self.random(SAMPLE, self.steps)
        for _ in range(self.config.updates):
            yield self.replay.sample(self.config.minibatch, random)

    def loss(self, logs: Any, value: Any, *targets: Any) -> tuple[Any, Any]:
        """Return the cross-entropy of the policy and the mean squared error of the values."""
        policy, returns = targets
        error = value - returns / self.config.value_scale
        return -(policy * logs).sum(1).mean(), (error * error).mean()
