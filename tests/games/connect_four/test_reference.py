"""Connect four: the tensor engine against the reference ply by ply, plain Python, golden games, published counts."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.connect_four.reference import STONES, WAYS, Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "connect_four"
BOARDS: list[dict[str, Any]] = [
    {},
    {"rows": 4, "columns": 4},
    {"rows": 5, "columns": 9, "k": 3},
    {"rows": 1, "columns": 32, "k": 2},  # a row is a word
    {"rows": 32, "columns": 1, "k": 3},
    {"rows": 9, "columns": 11, "k": 5},  # columns begin elsewhere in each of four words
]
LARGEST = {"rows": 32, "columns": 32, "k": 6}


@pytest.mark.few(3)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=24, seed=4, observe_every=5, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, LARGEST], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    batch = 40 if config == LARGEST else 2000
    play_in_lockstep(GAME, batch=batch, seed=8, **config)


def test_every_result_is_among_the_games_compared() -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, **BOARDS[1])[:, 0]
    assert set(returns) == {1.0, -1.0, 0.0}


def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def check(game: Reference, before: Reference | None) -> None:
    """What holds of every position that is reached from the empty board, and of the last ply."""
    stones = [stone for row in game.board for stone in row]
    assert stones.count(1) - stones.count(-1) == game.current_player  # C1
    for upper, lower in zip(game.board, game.board[1:], strict=False):
        assert all(below or not above for above, below in zip(upper, lower, strict=True))  # C3
    won = [game.has_line(player) for player in (0, 1)]
    assert not won[game.current_player] and game.terminated == (any(won) or 0 not in stones)
    assert game.rewards == [float(won[0] - won[1]), float(won[1] - won[0])]
    if before is not None:
        old = [stone for row in before.board for stone in row]
        changed = [(a, b) for a, b in zip(old, stones, strict=True) if a != b]
        assert changed == [(0, STONES[before.current_player])]


@pytest.mark.parametrize("config", BOARDS[:3], ids=str)
def test_the_reference_by_itself(config: dict[str, Any]) -> None:
    for row in range(10):
        key = game_key(9, row, 0)
        game, before, ply = Reference(key, **config), None, 0
        while True:
            check(game, before)
            if game.terminated:
                break
            before = Reference.from_dict(game.to_dict(), key, **config)
            game.apply(uniform_action(policy_key(9, row), ply, game.legal_actions()))
            ply += 1


def test_lines() -> None:
    """69 lines of four on 6x7: each, alone on the board, is one, and shifted off an edge none is there."""
    shape = {"rows": 6, "columns": 7}
    places = [
        [(row + t * down, column + t * right) for t in range(4)]
        for row, column, (down, right) in product(range(6), range(7), WAYS)
    ]
    inside = [line for line in places if all(r in range(6) and c in range(7) for r, c in line)]
    assert len(inside) == 69
    for line in inside:
        game = Reference(game_key(0, 0, 0), **shape)
        for row, column in line[1:]:
            game.board[row][column] = 1
        assert not game.has_line(0)
        game.board[line[0][0]][line[0][1]] = 1
        assert game.has_line(0) and not game.has_line(1)


# *** published counts ***


Ply = tuple[np.ndarray, np.ndarray, np.ndarray]


def positions(most: int, **config: int) -> list[Ply]:
    """For 0, 1, .. `most` plies: what the first player got in each position, which differ; for each legal action the
    position and the one after it, among those of the next ply."""
    found: list[Ply] = []
    state = shared_env(GAME, **config).init(1)
    while True:
        now = state.numpy()
        before, actions = np.nonzero(now["legal_action_mask"])
        if len(found) == most or not len(before):
            return [*found, (now["rewards"][:, 0], before[:0], before[:0])]
        state = state.env.step(state.env.take(state, before), actions)
        boards = np.concatenate([state.own.numpy(), state.other.numpy()], axis=1)
        _, first, after = np.unique(boards, axis=0, return_index=True, return_inverse=True)
        state = state.env.take(state, first)
        found.append((now["rewards"][:, 0], before, after.ravel()))


def counts(most: int, **config: int) -> list[int]:
    return [len(rewards) for rewards, _, _ in positions(most, **config)]


def test_positions_of_6x7() -> None:
    """OEIS A212693."""
    assert counts(6) == [1, 7, 49, 238, 1120, 4263, 16422]


@pytest.mark.slow
def test_more_positions_of_6x7() -> None:
    assert counts(8)[7:] == [54859, 184275]


def test_all_positions_of_4x4_and_its_value() -> None:
    """161,029, as J. Tromp counts; under best play, from the last ply back, the empty board is a draw."""
    plies = positions(16, rows=4, columns=4)
    assert sum(len(rewards) for rewards, _, _ in plies) == 161_029
    values = plies[-1][0]
    for ply in reversed(range(16)):
        rewards, before, after = plies[ply]
        best, none = (np.maximum, -2.0) if ply % 2 == 0 else (np.minimum, 2.0)
        found = np.full(len(rewards), none, np.float32)
        best.at(found, before, values[after])
        values = np.where(found == none, rewards, found)
    assert values.tolist() == [0.0]
