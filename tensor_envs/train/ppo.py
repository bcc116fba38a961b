"""Proximal policy optimisation (PPO): a network plays every player against itself.

Illegal actions have probability 0, and finished games are reset in the same step. `te.jit` captures two functions: a
whole rollout with its advantages, and an update from a minibatch. The algorithm is that of J. Schulman et al.,
"Proximal Policy Optimization Algorithms", arXiv:1707.06347, section 5; `te.advantages` assigns credit among players.

With the setting `kl` it is magnetic mirror descent with a uniform magnet (S. Sokota et al., "A Unified Approach to
Reinforcement Learning, Quantal Response Equilibria, and Two-Player Zero-Sum Games", arXiv:2206.05825, section 4): the
entropy draws the policy to the magnet, and the reverse divergence keeps it near the policy of the rollout.

`response` trains against a fixed policy instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from tinygrad import Context, Tensor, nn

from tensor_envs._runtime.buffers import upload
from tensor_envs._runtime.context import LOCK
from tensor_envs._validate import function, instance
from tensor_envs.agents import Policy, greedy, softmax
from tensor_envs.env import Env
from tensor_envs.evaluation.matches import actions_of
from tensor_envs.interop import to_numpy
from tensor_envs.jitted import jit
from tensor_envs.sampling import sample_action
from tensor_envs.state import State
from tensor_envs.train.advantages import advantages
from tensor_envs.train.config import PPOConfig
from tensor_envs.train.network import look
from tensor_envs.train.rating import Judges, rate
from tensor_envs.train.run import Metrics, Trainer

RESPONSE_RANK = 2**16  # number of an actor whose games no evaluation plays
Array = Any  # a torch.Tensor or a tinygrad Tensor: `ppo_loss` uses operations of both


def ppo_loss(
    logs: Array,
    chosen: Array,
    value: Array,
    old_chosen: Array,
    old_value: Array,
    advantage: Array,
    valid: Array,
    *,
    clip: float,
    entropy: float,
    kl: float,
) -> tuple[Array, Array]:
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
    count = valid.sum().clamp(1)
    mean = (advantage * valid).sum() / count
    off = advantage - mean
    error = value - (old_value + advantage)
    scaled = off / (((off * off * valid).sum() / count).sqrt() + 1e-8)
    ratio = (chosen - old_chosen).exp()
    gain = (scaled * ratio).minimum(scaled * ratio.clamp(1 - clip, 1 + clip))
    # on average over the rollout's actions, ratio * log(ratio) is the divergence, and ratio - 1 is 0
    bonus = entropy * -(logs.exp() * logs).sum(-1) - kl * (ratio * (chosen - old_chosen) - (ratio - 1))
    return (-(gain + bonus) * valid).sum() / count, (0.25 * error * error * valid).sum() / count


class PPO(Trainer):
    """PPO in pure tinygrad.

    Examples:
        >>> trainer = te.train.PPO(te.make("tic_tac_toe"), te.train.PPOConfig(num_envs=64))
        >>> trainer.run(seconds=60, folder="runs/tic_tac_toe")  # doctest: +SKIP
        >>> trainer.learning_rate()
        0.005
    """

    algorithm = "ppo"
    Config: ClassVar[type[PPOConfig]] = PPOConfig
    config: PPOConfig

    def __init__(self, env: Env, config: PPOConfig | None = None, device: str | None = None, *, rank: int = 0):
        super().__init__(env, config, device, rank=rank)
        self.optimizer = nn.optim.Adam(nn.state.get_parameters(self.network), lr=self.config.learning_rate, eps=1e-5)
        self.rollout, self.fit = jit(self._rollout), jit(self._fit)
        self.judges = Judges.of(env, self.config, device) if rank == 0 else Judges()
        self.probabilities = softmax(self.evaluate)

    def learning_rate(self) -> float:
        return self.config.learning_rate * (1 - self.progress)

    def rate(self) -> Metrics:
        """Rate the network alone, by its most probable actions; its exploitability is that of its probabilities."""
        player = greedy(self.evaluate), self.probabilities
        return rate(self.env, *player, self.config, self.judges, self.device)

    def play(self, step: int) -> list[list[Tensor]]:
        """Return the minibatches of a rollout. Rollouts draw by the games' keys and need no generator of the step."""
        with LOCK, Context(TRAINING=1):  # type: ignore[no-untyped-call]
            self.state, minibatches = self.rollout(self.state)
        return minibatches

    def learn(self, data: list[list[Any]]) -> Metrics:
        """Learn from minibatches of Tensors or arrays."""
        on_device = [
            [part if isinstance(part, Tensor) else upload(part, self.device).reshape(part.shape) for part in minibatch]
            for minibatch in data
        ]
        with LOCK, Context(TRAINING=1):  # type: ignore[no-untyped-call]
            losses = [self.fit(*minibatch) for _ in range(self.config.epochs) for minibatch in on_device]
        policy, value = np.mean([to_numpy(loss) for loss in losses], 0).tolist()
        return {"policy_loss": policy, "value_loss": value}

    def _rollout(self, state: State) -> tuple[State, list[list[Tensor]]]:
        """Play a rollout.

        Returns:
            The next state, and the minibatches. A minibatch is [n, ...] each of observations, masks, one-hot actions,
            their log-probabilities, values, advantages, and 1 where the advantage is valid.
        """
        env = self.env
        config = self.config
        decisions = []
        outcomes = []
        for _ in range(config.rollout_length):
            observation, mask = look(env, state)
            logs, value = (t.contiguous() for t in self.network(observation, mask))
            action = sample_action(logs, mask, state.action_key, state.ply).contiguous()
            chosen = action.one_hot(env.num_actions).float().contiguous()
            player = state.current_player.one_hot(env.num_players).float().contiguous()
            decisions.append((observation, mask, chosen, (logs * chosen).sum(1), value))
            after = env.step(state, action)
            outcomes.append(
                (after.rewards / config.value_scale, player, value, after.terminated.float(), after.truncated.float())
            )
            state = env.reset(after)
        next_player = state.current_player.one_hot(env.num_players).float()
        next_value = self.network(*look(env, state))[1]
        credit = advantages(outcomes, next_player, next_value, config.gamma, config.gae_lambda)
        parts = [Tensor.stack(*part, dim=1) for part in (*zip(*decisions, strict=True), *credit)]
        # games are independent, so consecutive rows make unbiased minibatches
        size = config.num_envs // config.minibatches
        rows = [slice(begin, begin + size) for begin in range(0, config.num_envs, size)]
        return state, [[part[group].flatten(0, 1).contiguous() for part in parts] for group in rows]

    def _fit(self, observation: Tensor, mask: Tensor, chosen: Tensor, *rest: Tensor) -> Tensor:
        """Take an optimiser step and return the losses of policy and value, [2]."""
        logs, value = self.network(observation, mask)
        taken = (logs * chosen).sum(1)
        config = self.config
        weights = {"clip": config.clip, "entropy": config.entropy, "kl": config.kl}
        losses = Tensor.stack(*ppo_loss(logs, taken, value, *rest, **weights))
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()
        return losses


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
        config: settings of the training; its `ratings` do not count.
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
    """PPO in games in which one player learns and a fixed policy plays the others. Every row has its own learner."""

    def __init__(self, env: Env, policy: Policy, config: PPOConfig | None, device: str | None):
        config = PPOConfig() if config is None else config
        instance("config", config, PPOConfig)
        super().__init__(env, replace(config, ratings=0), device, rank=RESPONSE_RANK)
        self.policy = policy
        self.learner = np.arange(self.config.num_envs) % env.num_players
        self.look = jit(self._look)

    def play(self, step: int) -> list[list[Any]]:
        """Return the minibatches of a rollout, in which only decisions of the learners are valid."""
        env = self.env
        config = self.config
        state = self.state
        players = np.eye(env.num_players, dtype=np.float32)
        decisions = []
        outcomes = []
        for _ in range(config.rollout_length):
            before = state.numpy()
            observation, mask, logs, value, action = (to_numpy(part) for part in self.look(state))
            learns = before["current_player"] == self.learner
            actions = np.where(learns, action, actions_of(self.policy, state, ~learns))
            chosen = np.eye(env.num_actions, dtype=np.float32)[actions]
            # to `advantages` nobody decides where the fixed policy plays
            player = players[np.maximum(before["current_player"], 0)] * learns[:, None]
            decisions.append((observation, mask, chosen, (logs * chosen).sum(1), value))
            state = env.step(state, actions)
            after = state.numpy()
            ended = (after[name].astype(np.float32) for name in ("terminated", "truncated"))
            outcomes.append((after["rewards"] / np.float32(config.value_scale), player, value, *ended))
            state = env.reset(state)
        self.state = state
        last = state.numpy()["current_player"]
        next_player = players[last] * (last == self.learner)[:, None]
        next_value = to_numpy(self.look(state)[3])
        credit = advantages(outcomes, next_player, next_value, config.gamma, config.gae_lambda)
        parts = [np.stack(part, axis=1) for part in (*zip(*decisions, strict=True), *credit)]
        rows = np.split(np.arange(config.num_envs), config.minibatches)
        return [[np.ascontiguousarray(part[group].reshape(-1, *part.shape[2:])) for part in parts] for group in rows]

    def _look(self, state: State) -> tuple[Any, ...]:
        """Return observations, masks, log-probabilities, values and sampled actions of the network."""
        observation, mask = look(self.env, state)
        logs, value = self.network(observation, mask)
        action: Tensor = sample_action(logs, mask, state.action_key, state.ply)
        return observation, mask, logs, value, action
