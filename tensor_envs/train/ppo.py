"""Proximal policy optimisation (PPO): a network plays every player against itself.

Illegal actions have probability 0, and finished games are reset in the same step. With a network of tinygrad `te.jit`
captures a whole rollout with its advantages. The algorithm is that of J. Schulman et al.,
"Proximal Policy Optimization Algorithms", arXiv:1707.06347, section 5; `te.advantages` assigns credit among players.

With the setting `kl` it is magnetic mirror descent with a uniform magnet (S. Sokota et al., "A Unified Approach to
Reinforcement Learning, Quantal Response Equilibria, and Two-Player Zero-Sum Games", arXiv:2206.05825, section 4): the
entropy draws the policy to the magnet, and the reverse divergence keeps it near the policy of the rollout.

`response` trains against a fixed policy instead.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from tinygrad import Tensor

from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._runtime.jitted import jit
from tensor_envs._validate import function, instance
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import sample_action
from tensor_envs.envs.state import State
from tensor_envs.evaluation.agents import Policy, greedy, softmax
from tensor_envs.evaluation.matches import actions_of
from tensor_envs.train.advantages import AnyArray, advantages
from tensor_envs.train.config import PPOConfig
from tensor_envs.train.metrics_file import Metrics
from tensor_envs.train.network import network_inputs
from tensor_envs.train.rating import Judges, rate
from tensor_envs.train.run import Trainer
from tensor_envs.train.trainable import OwnNetwork, operations_of

RESPONSE_RANK = 2**16  # number of an actor whose games no evaluation plays
Decision = tuple[Tensor, ...]
Outcome = tuple[Tensor, ...]
Minibatches = list[list[Any]]  # parts of each minibatch: Tensors, or arrays from another process


def ppo_loss(
    logs: AnyArray,
    chosen: AnyArray,
    value: AnyArray,
    old_chosen: AnyArray,
    old_value: AnyArray,
    advantage: AnyArray,
    valid: AnyArray,
    *,
    clip: float,
    entropy: float,
    kl: float,
) -> tuple[AnyArray, AnyArray]:
    """Compute the loss of J. Schulman et al., arXiv:1707.06347, equation 9, over decisions with valid advantages.

    Args:
        logs: log-probabilities of all actions by the current network, [..., A].
        chosen: log-probabilities of the actions taken, by the current network, [...].
        value: values by the current network, [...].
        old_chosen: `chosen` by the network of the rollout, [...].
        old_value: `value` by the network of the rollout, [...].
        advantage: advantages of the actions taken, [...].
        valid: 1 where the advantage is valid, else 0, [...].
        clip: the largest change of a probability ratio from 1 that has a gradient.
        entropy: the weight of the policy's entropy.
        kl: the weight of the divergence of the current policy from that of the rollout, KL(current || rollout),
            estimated from the actions taken.

    Returns:
        The loss of the policy, entropy and divergence included, and that of the value. Their sum is to be minimised.
    """
    library = operations_of(logs)
    count = library.clip(valid.sum(), 1, None)
    # advantages of mean 0 and standard deviation 1
    mean = (advantage * valid).sum() / count
    centred = advantage - mean
    normalised = centred / (library.sqrt((centred * centred * valid).sum() / count) + 1e-8)
    ratio = library.exp(chosen - old_chosen)
    surrogate = library.minimum(normalised * ratio, normalised * library.clip(ratio, 1 - clip, 1 + clip))
    # on average over the rollout's actions, ratio * log(ratio) is the divergence, and ratio - 1 is 0
    divergence = ratio * (chosen - old_chosen) - (ratio - 1)
    bonus = entropy * -(library.exp(logs) * logs).sum(-1) - kl * divergence
    error = value - (old_value + advantage)
    return (-(surrogate + bonus) * valid).sum() / count, (0.25 * error * error * valid).sum() / count


class PPO(Trainer):
    """PPO in self-play.

    Examples:
        >>> trainer = te.train.PPO(te.make("tic_tac_toe"), te.train.PPOConfig(num_envs=64))
        >>> trainer.run(seconds=60, folder="runs/tic_tac_toe")  # doctest: +SKIP
        >>> trainer.learning_rate()
        0.005
    """

    algorithm = "ppo"
    adam_epsilon = 1e-5
    Config: ClassVar[type[PPOConfig]] = PPOConfig
    config: PPOConfig

    def __init__(
        self,
        env: Env,
        config: PPOConfig | None = None,
        device: str | None = None,
        *,
        network: OwnNetwork = None,
        rank: int = 0,
    ):
        super().__init__(env, config, device, network=network, rank=rank)
        self.inputs = jit(functools.partial(network_inputs, env))
        self.decide = jit(self._decide)
        self.credit = jit(self._credit)
        self.rollout = jit(self._rollout) if self.trainable.is_capturable else self._rollout
        self.judges = Judges.of(env, self.config, device) if rank == 0 else Judges()
        self.probabilities = softmax(self.evaluate)

    def learning_rate(self) -> float:
        return self.config.learning_rate * (1 - self.progress)

    def rate(self) -> Metrics:
        """Rate the network alone, by its most probable actions; its exploitability is that of its probabilities."""
        player = greedy(self.evaluate), self.probabilities
        return rate(self.env, *player, self.config, self.judges, self.device)

    def play(self, step: int) -> Minibatches:
        """Return the minibatches of a rollout. Rollouts draw by the games' keys and need no generator of the step."""
        if self.league is None:
            self.state, (minibatches, _) = self.rollout(self.state)
            return minibatches
        episode = to_numpy(self.state.episode, copy=True)
        self.state, (minibatches, record) = self.rollout(self.state)
        for rewards, ended in zip(*map(to_numpy, record), strict=True):
            self.league.record(episode, rewards * self.config.value_scale, ended)
            episode += ended
        return minibatches

    def minibatches(self, data: Minibatches) -> Iterator[Sequence[Any]]:
        """Yield the minibatches of a rollout in every epoch."""
        for _ in range(self.config.epochs):
            yield from data

    def loss(self, logs: Any, value: Any, *targets: Any) -> tuple[Any, Any]:
        """Return the losses of `ppo_loss`."""
        chosen, *rest = targets
        config = self.config
        weights = {"clip": config.clip, "entropy": config.entropy, "kl": config.kl}
        return ppo_loss(logs, (logs * chosen).sum(1), value, *rest, **weights)

    def _rollout(self, state: State) -> tuple[State, tuple[Minibatches, list[Tensor]]]:
        """Play a rollout, and return the next state and what `_credit` returns."""
        decisions = []
        outcomes = []
        for _ in range(self.config.rollout_length):
            observation, mask = self.inputs(state)
            logs, value = self.trainable(observation, mask)
            past = [] if self.league is None else self.league.logs(state)
            state, decision, outcome = self.decide(state, observation, mask, logs, value, past)
            decisions.append(decision)
            outcomes.append(outcome)
        _, next_value = self.trainable(*self.inputs(state))
        return state, self.credit(state, next_value, decisions, outcomes)

    def _decide(
        self, state: State, observation: Tensor, mask: Tensor, logs: Tensor, value: Tensor, past: list[Tensor]
    ) -> tuple[State, Decision, Outcome]:
        """Play a decision by the network's log-probabilities, or by those of a past self where it decides.

        Returns:
            The next state; observations, masks, one-hot actions, their log-probabilities and the values; the arguments
            `outcomes` of `te.advantages`.
        """
        env = self.env
        logs = logs.contiguous()
        value = value.contiguous()
        played = logs if self.league is None else self.league.mixed(state, logs, past)
        action = sample_action(played, mask, state.action_key, state.ply).contiguous()
        chosen = action.one_hot(env.num_actions).float().contiguous()
        player = self._learners(state).contiguous()
        after = env.step(state, action)
        rewards = after.rewards / self.config.value_scale
        outcome = rewards, player, value, after.terminated.float(), after.truncated.float()
        return env.reset(after), (observation, mask, chosen, (logs * chosen).sum(1), value), outcome

    def _learners(self, state: State) -> Tensor:
        """Return the players who decide and learn, one-hot [B, P].

        A past self acts by its own probabilities, and its return is no value of the learner's play. So `te.advantages`
        gets no decision there: rewards until the learner's next decision count as those of chance do.
        """
        player = state.current_player.one_hot(self.env.num_players).float()
        return player if self.league is None else player * self.league.learners(state)

    def _credit(
        self, state: State, next_value: Tensor, decisions: list[Decision], outcomes: list[Outcome]
    ) -> tuple[Minibatches, list[Tensor]]:
        """Return the minibatches of a rollout, which ended in `state`.

        A minibatch is a list of arrays [n, ...]: the parts of decisions and of advantages, then 1 for valid advantages.
        With a league rewards [T, B, P] and ends of games, bool [T, B], follow.
        """
        config = self.config
        next_player = self._learners(state)
        credit = advantages(outcomes, next_player, next_value, config.gamma, config.gae_lambda)
        # from one array for each step to one for each part, [B, T, ...]
        parts = [Tensor.stack(*part, dim=1) for part in (*zip(*decisions, strict=True), *credit)]
        # games are independent, so consecutive rows make unbiased minibatches
        size = config.num_envs // config.minibatches
        rows = [slice(begin, begin + size) for begin in range(0, config.num_envs, size)]
        minibatches = [[part[group].flatten(0, 1).contiguous() for part in parts] for group in rows]
        if self.league is None:
            return minibatches, []
        rewards, _, _, terminated, truncated = (Tensor.stack(*part) for part in zip(*outcomes, strict=True))
        return minibatches, [rewards.contiguous(), (terminated + truncated > 0).contiguous()]


def response(
    env: Env,
    policy: Policy,
    steps: int | None = None,
    seconds: float | None = None,
    config: PPOConfig | None = None,
    device: str | None = None,
) -> Policy:
    """Train a response to a fixed policy by PPO, as every player, for `te.exploitability_bound`.

    Args:
        env: the environment.
        policy: the policy of all other players. It is called for every ply of the training, with `num_envs` games.
        steps, seconds: the budget, as in `Trainer.run`.
        config: settings of the training; its `ratings` and `league_share` do not count.
        device: as in `Env.init`.

    Returns:
        The network's most probable actions, as a policy.

    Raises:
        ValueError, TypeError: an argument out of range or of another type, or a policy that returns no actions.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> trained = te.train.response(env, te.agents.uniform, seconds=20)  # doctest: +SKIP
        >>> te.exploitability_bound(env, te.agents.uniform, [trained])  # doctest: +SKIP
        <ExploitabilityBound 0.464 +- 0.050, by player: 0.464 (response 0), 0.464 (response 0)>
    """
    instance("env", env, Env)
    trainer = _Response(env, function("policy", policy), config, device)
    trainer.run(steps, seconds)
    return greedy(trainer.evaluate)


class _Response(PPO):
    """PPO in games in which one player learns, each row's own, and a fixed policy plays the others."""

    def __init__(self, env: Env, policy: Policy, config: PPOConfig | None, device: str | None):
        config = PPOConfig() if config is None else config
        instance("config", config, PPOConfig)
        super().__init__(env, replace(config, ratings=0, league_share=0.0), device, rank=RESPONSE_RANK)
        self.policy = policy
        self.learner = np.arange(self.config.num_envs) % env.num_players
        self.act = jit(self._act) if self.trainable.is_capturable else self._act

    def play(self, step: int) -> Minibatches:
        """Return the minibatches of a rollout, in which only decisions of the learners are valid."""
        env = self.env
        config = self.config
        state = self.state
        players = np.eye(env.num_players, dtype=np.float32)
        decisions = []
        outcomes = []
        # Every game takes one step per turn of the loop, whether the learner or the fixed policy decides.
        for _ in range(config.rollout_length):
            before = state.numpy()
            observation, mask, logs, value, action = (to_numpy(part) for part in self.act(state))
            learns = before["current_player"] == self.learner
            actions = np.where(learns, action, actions_of(self.policy, state, ~learns))
            chosen = np.eye(env.num_actions, dtype=np.float32)[actions]
            # `advantages` gets no decision where the fixed policy plays
            player = players[np.maximum(before["current_player"], 0)] * learns[:, None]
            decisions.append((observation, mask, chosen, (logs * chosen).sum(1), value))
            state = env.step(state, actions)
            after = state.numpy()
            ended = (after[name].astype(np.float32) for name in ("terminated", "truncated"))
            outcomes.append((after["rewards"] / np.float32(config.value_scale), player, value, *ended))
            state = env.reset(state)
        self.state = state
        # The value of the state after the last step completes unfinished games.
        last = state.numpy()["current_player"]
        next_player = players[last] * (last == self.learner)[:, None]
        next_value = to_numpy(self.act(state)[3])
        credit = advantages(outcomes, next_player, next_value, config.gamma, config.gae_lambda)
        parts = [np.stack(part, axis=1) for part in (*zip(*decisions, strict=True), *credit)]
        rows = np.split(np.arange(config.num_envs), config.minibatches)
        return [[np.ascontiguousarray(part[group].reshape(-1, *part.shape[2:])) for part in parts] for group in rows]

    def _act(self, state: State) -> Decision:
        """Return observations, masks, log-probabilities, values and sampled actions of the network."""
        observation, mask = self.inputs(state)
        logs, value = self.trainable(observation, mask)
        return observation, mask, logs, value, sample_action(logs, mask, state.action_key, state.ply)
