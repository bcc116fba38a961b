"""AlphaZero: it learns, saves, goes on, and loses no line of tic-tac-toe."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs import policies
from tests.games.shared import shared_env
from tests.scripts import here  # noqa: F401 (what the scripts share)
from train import alphazero, network


def lost_lines(env: te.Env, policy: Any, player: int) -> int:
    """Games that a policy loses, over every reply of the other player."""
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


@pytest.mark.slow
def test_lines_are_counted() -> None:
    env = shared_env("tic_tac_toe")
    assert lost_lines(env, policies.perfect(), 0) == lost_lines(env, policies.perfect(), 1) == 0
    assert lost_lines(env, lambda s: s.legal_action_mask.numpy().argmax(1), 1) > 10


def test_it_trains_saves_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights, curve = tmp_path / "weights.safetensors", tmp_path / "curve.json"
    small = ["--batch", "32", "--steps", "4", "--simulations", "4", "--hidden", "16", "--updates", "2"]
    small += ["--minibatch", "64", "--seconds", "0.5", "--rival", "4", "--games", "16", "--ratings", "1"]
    assert alphazero.main([*small, "--save", str(weights), "--json", str(curve)]) == 0
    told = json.loads(curve.read_text())
    assert told["env"] == "tic_tac_toe" and told["positions"] % 128 == 0 and len(told["curve"]) >= 2
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(told["curve"])
    again = tmp_path / "again.safetensors"
    assert alphazero.main([*small, "--resume", str(weights), "--save", str(again)]) == 0
    assert again.stat().st_size == weights.stat().st_size and again.read_bytes() != weights.read_bytes()
    assert alphazero.main([*small, "--resume", str(curve)]) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["kuhn_poker", "2048"])
def test_values_are_for_every_player(name: str) -> None:
    """Of what a round of self-play has seen: returns of the mover, weights of legal actions alone."""
    env = shared_env(name)
    options = argparse.Namespace(
        batch=8, steps=5, simulations=4, rate=1e-3, keep=2, seed=0, device=None, explore=2
    )
    learner = alphazero.Learner(env, network.Network(env, 8), options)
    assert learner.play() == 40
    seen, mask, weights, values = learner.memory[0]
    assert seen.shape == (40, int(np.prod(env.observation_shape))) and values.shape == (40,)
    assert np.allclose(weights.sum(1), 1, atol=1e-4) and not weights[~mask].any()
    assert values.std() > 0


@pytest.mark.slow
def test_no_lost_line_of_tic_tac_toe_after_45_seconds(tmp_path: Path) -> None:
    weights = tmp_path / "weights.safetensors"
    options = (
        "--seconds 45 --explore 8 --hidden 64 --simulations 16 --minibatch 512 --updates 32 --rate 0.004"
    )
    assert alphazero.main([*options.split(), "--save", str(weights)]) == 0
    env = shared_env("tic_tac_toe")
    learned = network.load(env, str(weights))

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        return learned(*network.look(env, state))

    for player in range(2):
        assert lost_lines(env, policies.gumbel(evaluate, 32), player) == 0
