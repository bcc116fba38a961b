"""AlphaZero learns, and loses no line of tic-tac-toe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.envs import registry
from tensor_envs.evaluation import agents
from tensor_envs.train.replay import Samples
from tests.games import dice_race
from tests.games.shared import shared_env
from tests.train.sizes import alphazero, ppo


def lost_lines(env: te.Env, policy: Any, player: int) -> int:
    """Count the games that a policy loses over all replies of the other player."""
    state, lost = env.init(1), 0
    while True:
        now = state.numpy()
        over = now["terminated"] | now["truncated"]
        lost += int((now["rewards"][over, player] < 0).sum())
        if over.all():
            return lost
        state = state[~over]
        now = state.numpy()
        if now["current_player"][0] == player:
            state = env.step(state, policy(state))
        else:
            rows, actions = np.nonzero(now["legal_action_mask"])
            state = env.step(env.take(state, rows), actions)


class Shared(dice_race.DiceRace):
    """Third-party game, declared to be no zero-sum game."""

    @property
    def spec(self) -> te.Spec:
        return replace(super().spec, zero_sum=False)


def test_a_game_that_is_not_zero_sum(tmp_path: Path) -> None:
    """Its values for several players are not one number, so the network's tell a search too little."""
    te.register(replace(dice_race.GAME, id="shared", rules=f"{__name__}:Shared"))
    try:
        env = te.make("shared")
        with pytest.raises(ValueError, match="env must be of a game for one or with zero sum, got <Env shared-v3"):
            alphazero(env)
        ppo(env).save(tmp_path)
        weights = tmp_path / "weights.safetensors"
        with pytest.raises(
            ValueError, match=r"num_simulations must be 0 for <Env shared-v3.*which is no zero-sum game"
        ):
            agents.load(weights, 2)
        assert agents.load(weights, 0)(env.init(3)).shape == (3,)
    finally:
        del registry._entries["shared"]


@pytest.mark.slow
def test_lines_are_counted() -> None:
    env = shared_env("tic_tac_toe")
    assert lost_lines(env, agents.perfect(), 0) == lost_lines(env, agents.perfect(), 1) == 0
    assert lost_lines(env, lambda s: s.legal_action_mask.numpy().argmax(1), 1) > 10


@pytest.mark.slow
@pytest.mark.parametrize("tower", [0, 1], ids=["flat", "tower"])
def test_learning_lowers_the_loss(tower: int) -> None:
    """Learn from positions with one mark, whose place is the action and determines the value."""
    settings = {"blocks": tower, "channels": 4, "hidden": 16, "minibatch": 64, "replay_steps": 1, "updates": 100}
    trainer = alphazero(shared_env("tic_tac_toe"), **settings, learning_rate=0.01)
    seen, values = np.eye(18, dtype=np.uint8)[:9], np.linspace(0, 0.5, 9, dtype=np.float32)
    mask, weights = np.ones((9, 9), bool), np.eye(9, dtype=np.float32)

    def loss() -> float:
        logits, found = trainer.network(Tensor(seen).float(), Tensor(mask))
        return float(np.square(found.numpy() - values).mean() - (weights * logits.numpy()).sum(1).mean())

    before = loss()
    metrics = trainer.update(Samples(seen, mask, weights, values))
    assert loss() < before / 2
    assert 0 < metrics["policy_loss"] + metrics["value_loss"] < before  # their means over the updates


@pytest.mark.slow
def test_regret_of_shed_falls() -> None:
    config = te.train.AlphaZeroConfig(regret=True, rating_games=256, hidden=32, learning_rate=0.002)
    trainer = te.train.AlphaZero(te.make("shed", cards=5), config)
    before = trainer.rate()
    for _ in range(6):
        trainer.step()
    after = trainer.rate()
    assert 0 <= after["network_regret"] < before["network_regret"] and after["regret"] < before["regret"] + 0.02


@pytest.mark.slow
def test_no_lost_line_of_tic_tac_toe_after_30_seconds(tmp_path: Path) -> None:
    env = shared_env("tic_tac_toe")
    config = te.train.AlphaZeroConfig(hidden=64, num_simulations=16, minibatch=512, updates=32, learning_rate=0.006)
    te.train.AlphaZero(env, config).run(seconds=30, folder=tmp_path)
    for player in range(2):
        assert lost_lines(env, agents.load(tmp_path / "weights.safetensors", 32), player) == 0
