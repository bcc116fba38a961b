"""Comparison with OpenSpiel: its `checkers` plays the same games, but counts men's steps as quiet plies, too.

It draws after 40 plies without a capture: games are compared up to such an end. Its player 0 has the lower side, so
that the board is turned by 180 degrees.
"""

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

SIGNS = {".": 0, "o": 1, "8": 2, "+": -1, "*": -2}


def theirs(action: int) -> int:
    """Return the number of an action in OpenSpiel: row, column, direction, kind."""
    jump, rest = divmod(action, 128)
    way, square = divmod(rest, 32)
    row, column = square // 4, square % 4 * 2 + (square // 4 + 1) % 2
    return (((7 - row) * 8 + 7 - column) * 4 + (way + 2) % 4) * 2 + jump


def play_in_lockstep(batch: int, seed: int) -> tuple[int, int]:
    """Play random games in both engines; return the numbers of decided games and of multiple jumps.

    At every ply boards, legal actions, players to move, ends and returns must agree.
    """
    env, game = shared_env("checkers"), pyspiel.load_game("checkers")
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    captured, live, decided, again = np.zeros(batch, int), set(range(batch)), 0, 0
    numbers = np.array([theirs(action) for action in range(env.num_actions)])
    ply = 0
    while live:
        now, ply = state.numpy(), ply + 1
        actions = te.agents.uniform(state).numpy()
        for row in sorted(live):
            other, legal = others[row], np.flatnonzero(now["legal_action_mask"][row])
            if ply - captured[row] > 40:
                assert other.is_terminal() and other.returns() == [0, 0]
                live.remove(row)
                continue
            assert sorted(numbers[legal].tolist()) == other.legal_actions(), row
            assert bool(now["terminated"][row]) == other.is_terminal(), row
            squares = [sign for line in str(other).splitlines()[:8] for sign in line[1:]]
            board = env.state_to_dict(state, row)["board"] if row < 9 else None
            assert board is None or board == [
                SIGNS[squares[63 - 8 * (k // 4) - k % 4 * 2 - (k // 4 + 1) % 2]] for k in range(32)
            ]
            if other.is_terminal():
                assert now["rewards"][row].tolist() == other.returns()
                live.remove(row)
                decided += 1
                continue
            assert now["current_player"][row] == other.current_player(), row
            again += bool(now["jumper"][row])
            captured[row] = ply if actions[row] >= 128 else captured[row]
            other.apply_action(int(numbers[actions[row]]))
        state = env.step(state, actions)
    return decided, again


def test_random_games_agree() -> None:
    decided, again = play_in_lockstep(batch=48, seed=1)
    assert decided > 20 and again > 20


@pytest.mark.slow
def test_a_thousand_random_games_agree() -> None:
    decided, again = play_in_lockstep(batch=1000, seed=2)
    assert decided > 500 and again > 500
