"""Connect four: the tensor engine against the reference ply by ply, plain Python, golden games, published counts."""

from itertools import product
from typing import Any

import pytest

import tensor_envs as te
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


@pytest.mark.few("{}")
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=24, seed=4, observe_every=5, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, LARGEST], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    batch = 40 if config == LARGEST else 2000
    play_in_lockstep(GAME, batch=batch, seed=8, **config)


@pytest.mark.slow
def test_every_result_is_among_the_games_compared() -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, **BOARDS[1])[:, 0]
    assert set(returns) == {1.0, -1.0, 0.0}


def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def check(game: Reference, before: Reference | None) -> None:
    """Check properties of every reachable position, and of the last ply."""
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
    """Check all 69 lines of four on 6x7: each alone is a line, and none remains when it is shifted off an edge."""
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


def test_positions_of_6x7() -> None:
    """Check the counts of OEIS A212693."""
    assert te.perft(shared_env(GAME), 6).positions == [1, 7, 49, 238, 1120, 4263, 16422]


@pytest.mark.slow
def test_more_positions_of_6x7() -> None:
    assert te.perft(shared_env(GAME), 8).positions[7:] == [54859, 184275]


def test_all_positions_of_4x4() -> None:
    """Check J. Tromp's count of 161,029."""
    assert sum(te.perft(shared_env(GAME, rows=4, columns=4)).positions) == 161_029
