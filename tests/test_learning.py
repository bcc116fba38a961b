"""Advantages of several players, compared with a plain-Python reference."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, nn

import tensor_envs as te
from tests.games.shared import shared_env

Steps = list[tuple[np.ndarray, ...]]


def reference(
    steps: Steps, next_player: Any, next_value: Any, gamma: float, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """Compute each decision's advantage by a walk to its player's next decision or to the end.

    A step is rewards [B, P], player [B, P], value [B], terminated [B], truncated [B].
    """
    length, (batch, players) = len(steps), steps[0][0].shape
    credits, complete = np.zeros((length, batch)), np.zeros((length, batch))

    def decides(t: int, row: int, player: int) -> bool:
        return bool((next_player if t == length else steps[t][1])[row, player])

    def credit(start: int, row: int, player: int) -> float:
        """Return one decision's advantage, or 0 if the steps end before it is complete."""
        paid, own = 0.0, float(steps[start][2][row])
        for t in range(start, length):
            rewards, _, _, terminated, truncated = steps[t]
            if t > start and decides(t, row, player):
                complete[start, row] = 1
                return paid + gamma * float(steps[t][2][row]) - own + gamma * lam * credit(t, row, player)
            paid += float(rewards[row, player])
            if terminated[row]:
                complete[start, row] = 1
                return paid - own
            if truncated[row]:
                return 0.0
        if not decides(length, row, player):
            return 0.0
        complete[start, row] = 1
        return paid + gamma * float(next_value[row]) - own

    for t in range(length):
        for row in range(batch):
            for player in range(players):
                if decides(t, row, player):
                    credits[t, row] = credit(t, row, player)
    return credits, complete


def random_steps(players: int, length: int = 14, batch: int = 40) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return random steps with changing, equal or missing players, rewards at any time and both kinds of ends."""
    rng = np.random.default_rng(players)
    kinds = np.eye(players + 1, players)  # the last row is no player
    chance = np.array([0.9 / players] * players + [0.1])
    steps = []
    for _ in range(length):
        fate = rng.random(batch)
        player = kinds[rng.choice(players + 1, batch, p=chance)]
        steps.append(
            (
                rng.normal(size=(batch, players)),
                player,
                rng.normal(size=batch),
                fate < 0.15,
                (fate > 0.14) & (fate < 0.2),
            )
        )
    return steps, kinds[rng.integers(players + 1, size=batch)], rng.normal(size=batch)


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_advantages(players: int) -> None:
    """Arrays agree with the reference. The tests of `te.train.PPO` and `ppo_torch.py` cover tensors."""
    steps, player, value = random_steps(players)
    actual = te.advantages(steps, player, value, 0.9, 0.7)
    expected = reference(steps, player, value, 0.9, 0.7)
    for ours, theirs in zip(actual, expected, strict=True):
        assert np.allclose(ours, theirs)
    assert 0.3 < expected[1].mean() < 1 and np.abs(expected[0]).max() > 1


def test_two_players_in_turns() -> None:
    """Each player has one chain: decisions 0 and 2 of player 0, decision 1 of player 1, at lambda = 0."""
    rewards = [np.array([[0.0, 0.0]]), np.array([[0.0, 0.0]]), np.array([[-1.0, 1.0]])]
    players, values = ([np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])], [np.array([v]) for v in (0.2, -0.3, 0.5, 0.1)])
    over = [np.array([float(t == 2)]) for t in range(3)]
    steps = [(rewards[t], players[t % 2], values[t], over[t], over[t] * 0) for t in range(3)]
    advantages, complete = te.advantages(steps, players[1], values[3], 1.0, 0.0)
    assert np.allclose(np.concatenate(advantages), [0.5 - 0.2, 1 + 0.3, -1 - 0.5]) and np.concatenate(complete).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_numbers_of_numpy_change_no_dtype(kind: type[np.floating[Any]]) -> None:
    for convert in (np.float32, lambda values: Tensor(values.astype(np.float32))):
        one, zero = convert(np.ones((2, 1))), convert(np.zeros(2))
        steps = [(one, one, zero, zero, zero)]
        advantages, _ = te.advantages(steps, one, zero, kind(0.5), kind(0.5))  # type: ignore[arg-type]
        assert advantages[0].dtype == one.dtype


def test_wrong_arguments() -> None:
    one, zero, rewards = np.ones((2, 1)), np.zeros(2), np.zeros((2, 1))
    with pytest.raises(ValueError, match=r"^outcomes\[1\] must have parts of shapes .* got \(2, 1\), \(2,\)"):
        te.advantages([(rewards, one, zero, zero, zero), (rewards, zero, zero, zero, zero)], one, zero, 1.0, 1.0)
    with pytest.raises(ValueError, match="outcomes must be one or more, got none"):
        te.advantages([], one, zero, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"next_value must be an array \[2\]"):
        te.advantages([(rewards, one, zero, zero, zero)], one, zero[:1], 1.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "tensor_stars"])  # observed as bools and as floats
def test_a_jit_that_learns(name: str) -> None:
    """Values from games are constants to a gradient, even as floats: only parameters have gradients."""
    env = shared_env(name)
    layer = nn.Linear(prod(env.observation_shape), env.num_actions)
    optimizer = nn.optim.SGD(nn.state.get_parameters(layer), lr=0.5)

    @te.jit
    def learn(state: te.State) -> Tensor:
        logits = te.masked_logits(layer(env.observe(state).flatten(1).float()), state.legal_action_mask)
        paid = te.playout(state, 2)[:, 0] + te.rollout_from(state, "uniform", 4).returns[:, 0]
        loss = -((paid + state.rewards[:, 0] + 9) * logits.log_softmax()[:, 0]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    state = env.init(64, seed=1)
    with Context(TRAINING=1):  # type: ignore[no-untyped-call]
        losses = [learn(state).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.9 * losses[0]
