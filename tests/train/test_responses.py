"""Responses to a fixed policy: only the learners' decisions count, and what is learned exploits the policy."""

from __future__ import annotations

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.train.ppo import _Response
from tests.games.shared import shared_env
from tests.train.sizes import PPO

CONFIG = te.train.PPOConfig(**PPO)


def last(state: te.State) -> np.ndarray:
    """Return the last legal action of each game."""
    mask = state.legal_action_mask.numpy()
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(1)


@pytest.mark.slow
def test_only_decisions_of_the_learners_count() -> None:
    env = shared_env("kuhn_poker")
    trainer = _Response(env, last, CONFIG, None)
    state = trainer.state
    minibatches = trainer.play(0)
    joined = [np.concatenate(column).reshape(8, 4, -1) for column in zip(*minibatches, strict=True)]
    _, masks, chosen, _, values, advantages, valid = joined
    paid = np.zeros((8, 2))
    for t in range(4):
        now = state.numpy()
        learns = now["current_player"] == np.arange(8) % 2
        actions = chosen[:, t].argmax(1)
        assert (now["legal_action_mask"] == masks[:, t]).all()
        assert (actions[~learns] == last(state)[~learns]).all() and not valid[~learns, t].any()
        state = env.step(state, actions)
        paid += state.rewards.numpy()
        over = state.terminated.numpy() & learns
        # the last decision of a game is worth the game's reward
        won = state.rewards.numpy()[np.arange(8), np.arange(8) % 2]
        assert np.allclose((values + advantages)[over, t, 0], won[over], atol=1e-5) and valid[over, t].all()
        state = env.reset(state)
    assert valid.any() and 0 < valid.mean() < 1 and paid.any()


@pytest.mark.slow
def test_a_trained_response_exploits_uniform_play() -> None:
    env = shared_env("leduc_poker")
    trained = te.train.response(env, te.agents.uniform, steps=60, config=te.train.PPOConfig(num_envs=128))
    responses = [te.agents.uniform, trained]
    bound = te.exploitability_bound(env, te.agents.uniform, responses, games=4096)
    exact = te.exploitability(
        env, lambda state: state.legal_action_mask.numpy() / state.legal_action_mask.numpy().sum(1)[:, None]
    )
    assert bound.responses == (1, 1) and 0.7 * exact < bound.value < exact + 2 * bound.interval


def test_wrong_arguments() -> None:
    env = shared_env("kuhn_poker")
    for arguments, message in (
        ((3, te.agents.uniform, 1), "env must be of type Env"),
        ((env, 3, 1), "policy must be a function"),
        ((env, te.agents.uniform, 1, None, 3), "config must be of type PPOConfig"),
    ):
        with pytest.raises(TypeError, match=message):
            te.train.response(*arguments)  # type: ignore[arg-type]
