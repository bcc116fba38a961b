"""Comparison with OpenSpiel: its `quoridor` for two players plays the same games on boards of all sizes.

Its moves are numbered by their steps, so that names are compared. A win by the last possible ply is a draw there.
"""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, Any]] = [{}, {"size": 5, "walls": 6}]


def theirs(size: int) -> list[str]:
    """Return OpenSpiel's names of our actions: rows count from the top, walls are named by their upper left squares."""
    squares = [f"{'abcdefghi'[column]}{row + 1}" for row in range(size) for column in range(size)]
    inner = [squares[size * row + column] for row in range(size - 1) for column in range(size - 1)]
    return squares + [name + "h" for name in inner] + [name + "v" for name in inner]


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the first player's rewards.

    At every ply legal actions, players to move, ends and returns must agree.
    """
    env = shared_env("quoridor", **config)
    game = pyspiel.load_game("quoridor", {"board_size": env.rules.size, "wall_count": env.rules.walls})
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    names, results = theirs(env.rules.size), set[float]()
    live = set(range(batch))
    while live:
        now, actions = state.numpy(), te.agents.uniform(state).numpy()
        for row in sorted(live):
            other = others[row]
            named = {other.action_to_string(action): action for action in other.legal_actions()}
            legal = np.flatnonzero(now["legal_action_mask"][row])
            assert {names[action] for action in legal} == named.keys(), row
            assert bool(now["terminated"][row]) == other.is_terminal(), row
            if other.is_terminal():
                last = now["ply"][row] == game.max_game_length()
                assert now["rewards"][row].tolist() == other.returns() or last, row
                results.add(float(now["rewards"][row][0]))
                live.remove(row)
                continue
            assert now["current_player"][row] == other.current_player(), row
            other.apply_action(named[names[actions[row]]])
        state = env.step(state, actions)
    return results


@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    assert {1.0, -1.0} <= play_in_lockstep(config, batch=24, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, {"walls": 20}, {"size": 8}, {"size": 7, "walls": 0}], ids=str)
def test_a_thousand_random_games_agree(config: dict[str, Any]) -> None:
    assert {1.0, -1.0} <= play_in_lockstep(config, batch=1000, seed=2)
