"""2048: the tensor engine against the reference ply by ply, golden games, counts of first boards."""

from itertools import product

import numpy as np
import pytest

from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.game_2048.reference import Reference, slid_left
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "2048"


def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=3, seed=4, observe_every=25)
    assert returns.min() > 0


@pytest.mark.slow
def test_many_games_agree_with_the_reference() -> None:
    play_in_lockstep(GAME, batch=600, seed=8)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


@pytest.mark.slow
def test_every_row_slides_as_in_the_reference() -> None:
    """Check all rows of the tiles 0, 2, .. 64, four on a board, in all directions."""
    env = shared_env(GAME)
    lines = [list(line) for line in product([0, 2, 4, 8, 16, 32, 64], repeat=4)]
    rng = np.random.default_rng(1)
    rows = [lines[i] for _ in range(2) for i in rng.permutation(len(lines))]
    games = [[tile for row in rows[at : at + 4] for tile in row] for at in range(0, len(rows) - 3, 4)]
    state = env.state_from_dicts([{"board": board} for board in games])
    mask, compared = state.numpy()["legal_action_mask"], 0
    for action in range(4):
        after = env.step(state, np.full(len(games), action)).numpy()
        for row, board in enumerate(games):
            game = Reference.from_dict({"board": board}, (0, 0))
            assert mask[row, action] == (action in game.legal_actions())
            if not mask[row, action]:
                continue
            expected, pay = game.slid(action)
            cells = np.array(expected).ravel()
            tiles = np.where(after["board"][row].ravel(), 2 ** after["board"][row].ravel(), 0)
            new = np.flatnonzero(tiles != cells)
            assert len(new) == 1 and cells[new[0]] == 0 and tiles[new[0]] in (2, 4)
            assert after["rewards"][row, 0] == pay
            compared += 1
    assert compared > 4000


@pytest.mark.slow
def test_first_boards() -> None:
    """Check that there are 480 first boards with the right probabilities; one of two 2s has .81 / 120."""
    boards = shared_env(GAME).init(150_000, seed=5).board.numpy().reshape(-1, 16)
    found, counts = np.unique(boards, axis=0, return_counts=True)
    assert len(found) == 480
    for fours, likely in enumerate((0.81, 0.09, 0.01)):
        expected = 150_000 * likely / 120
        assert abs(counts[(found == 2).sum(1) == fours] - expected).max() < 5 * expected**0.5


def test_the_reference_by_itself() -> None:
    """Check that a slide keeps the sum of the tiles, that a new tile adds to it, and that merged tiles are paid."""
    for row in range(4):
        game, ply = Reference(game_key(9, row, 0)), 0
        while not game.terminated:
            before = sum(game.to_dict()["board"])
            game.apply(uniform_action(policy_key(9, row), ply, game.legal_actions()))
            assert sum(game.to_dict()["board"]) - before in (2, 4) and game.rewards[0] % 4 == 0
            ply += 1
        assert ply > 20
    assert slid_left([2, 2, 4, 8]) == ([4, 4, 8, 0], 4)
