"""Chinese checkers: the tensor engine against the reference ply by ply, golden games, dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.chance import game_key
from tests.games.chinese_checkers.players import forward_actions
from tests.games.lockstep import compare_observations, play_in_lockstep, replay_traces
from tests.games.shared import reference, shared_env

GAME = "chinese_checkers"
CONFIGS: list[dict[str, Any]] = [{"max_turns": 30}, *({"players": n, "max_turns": 150} for n in (2, 3, 4, 6))]


def play_forward(batch: int, seed: int, care: float, **config: Any) -> np.ndarray:
    """Play games of players who run for their goals in both engines; compare all at every ply -> the returns."""
    env = shared_env(GAME, **config)
    engine = reference(GAME)
    state = env.init(64 if batch < 64 else batch, seed)
    games = [engine(game_key(seed, row, 0), **config) for row in range(batch)]
    returns = np.zeros((batch, env.num_players))
    rng = np.random.default_rng(seed)
    ply = 0
    while True:
        now = state.numpy()
        live = [row for row in range(batch) if not games[row].terminated]
        for row in range(batch):
            legal = np.flatnonzero(now["legal_action_mask"][row]).tolist()
            assert legal == games[row].legal_actions(), f"row {row}, ply {ply}: legal actions"
            assert now["terminated"][row] == games[row].terminated, f"row {row}, ply {ply}"
            assert not live or now["current_player"][row] == games[row].current_player or row not in live
        if ply % 20 == 0:
            compare_observations(state, games, f"ply {ply}")
        if ply % 5 == 0 or not live:
            written = [env.state_to_dict(state, row) for row in range(batch)]
            assert all(one | game.to_dict() == one for one, game in zip(written, games, strict=True)), f"ply {ply}"
        if ply % 50 == 0 or not live:
            again = env.state_from_dicts(written)
            assert all((again.numpy()[name] == now[name][:batch]).all() for name in ("pieces", "visited", "terminated"))
        if not live:
            return returns
        actions = forward_actions(state, rng, care)
        state = env.step(state, actions)
        rewards = state.rewards.numpy()
        for row in live:
            games[row].apply(int(actions[row]))
            assert np.allclose(rewards[row], games[row].rewards), f"row {row}, ply {ply}: rewards"
            returns[row] += rewards[row]
        ply += 1


def test_games_agree_with_the_reference() -> None:
    assert play_forward(batch=4, seed=4, care=1, max_turns=300).any()


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=1000 if config["max_turns"] < 100 else 30, seed=5, observe_every=37, **config)


@pytest.mark.slow
@pytest.mark.parametrize("care", (0.9, 1))
@pytest.mark.parametrize(("players", "batch"), ((2, 120), (3, 60), (4, 40), (6, 20)))
def test_many_games_agree_with_the_reference(players: int, batch: int, care: float) -> None:
    returns = play_forward(batch, seed=8, care=care, players=players, max_turns=300 * players)
    assert returns.any(1).mean() > 0.8


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


@pytest.mark.slow
def test_perft() -> None:
    assert te.perft(shared_env(GAME), 5).sequences[1:] == [14, 196, 4144, 72608, 1436192]
    assert te.perft(shared_env(GAME), 5, symmetry=True).sequences[5] == 1436192
