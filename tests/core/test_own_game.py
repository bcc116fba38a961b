"""A game that a user brings: registered, conforming, and against a plain-Python version of itself."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.core import registry
from tensor_envs.testing import check_env
from tests.core import dice_race
from tests.games.chance import draw, game_key


@pytest.fixture
def env() -> Iterator[te.Env]:
    te.register(dice_race.GAME)
    yield te.make("dice_race")
    del registry._entries["dice_race"]


def test_registered_and_conforming(env: te.Env) -> None:
    assert "dice_race" in te.registered()
    assert env.spec.state_bytes == 3 * 4 + 2 * 4 + 3 + 1 + 3 * 2 + 8
    check_env(env)


def test_states_from_dictionaries(env: te.Env) -> None:
    """The chance of a game is that of its row; what a dictionary must say it must say."""
    first = env.init(3, seed=5)
    games = [env.state_to_dict(first, row) for row in (2, 0, 1)]
    state = env.state_from_dicts(games, seed=5)
    assert (state.key.numpy() == first.key.numpy()).all() and not state.episode.numpy().any()
    del games[1]["rested"], games[1]["current_player"]
    with pytest.raises(ValueError, match="game 1 is no state of 'dice_race': current_player, rested missing"):
        env.state_from_dicts(games)


def test_against_plain_python(env: te.Env) -> None:
    """Scores, signs and words of every width, over whole games with their restarts."""
    batch, seed = 65, 5
    vector = te.VectorEnv(env, batch, seed)
    games = [start(seed, row, 0) for row in range(batch)]
    finished = 0
    for _ in range(90):
        transition = vector.step_uniform()
        actions, rewards = transition.actions.numpy(), transition.rewards.numpy()
        cut, now = transition.truncated.numpy(), vector.state.numpy()
        for row, game in enumerate(games):
            expected = play(game, int(actions[row]))
            assert np.allclose(rewards[row], expected)
            if any(expected) or game["ply"] == 30:
                finished += 1
                assert cut[row] != any(expected)
                games[row] = game = start(seed, row, game["episode"] + 1)
            for name in ("score", "rested", "history", "current_player", "ply", "episode"):
                assert (now[name][row] == game[name]).all(), name
            assert now["change"][row].reshape(-1).tolist() == game["change"]
    assert finished > batch and vector.state.numpy()["change"].min() < 0


def start(seed: int, row: int, episode: int) -> dict[str, Any]:
    key = game_key(seed, row, episode)
    score = [draw(key, seat, 3) for seat in range(3)]
    return {
        "key": key, "score": score, "current_player": draw(key, 3, 3), "rested": False, "change": [0, 0, 0],
        "history": 0, "ply": 0, "episode": episode,
    }  # fmt: skip


def play(game: dict[str, Any], action: int) -> list[float]:
    die = 1 + draw(game["key"], 16 + game["ply"], 6)
    player, bet = game["current_player"], 1 if die % 2 == 0 else -1
    game["score"][player] += (die, 0, bet)[action]
    game["change"][player] = bet if action == 2 else 0
    game["rested"], game["history"] = action == 1, (game["history"] << 4 | die) % 2**64
    game["current_player"], game["ply"] = (player + 1) % 3, game["ply"] + 1
    return [(1.0 if seat == player else -0.5) * (game["score"][player] >= 12) for seat in range(3)]
