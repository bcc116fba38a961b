"""Hex: the tensor engine against the reference ply by ply, golden games, small boards played out."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.games.hex.reference import STONES, Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "hex"
BOARDS: list[dict[str, Any]] = [{}, {"size": 8}, {"size": 7, "swap": False}]  # of 8: edges in bit 31
OTHERS: list[dict[str, Any]] = [{"size": size} for size in (1, 2, 4, 6, 13, 19)]


@pytest.mark.few("{}")
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=6, seed=4, observe_every=20, **config)
    assert set(returns[:, 0]) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=40 if config.get("size", 11) > 11 else 600, seed=8, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def test_a_swap_moves_the_stone() -> None:
    """Check that a swap moves the stone to the mirror image of its cell, with its own group."""
    env = shared_env(GAME, size=2)
    swapped = env.step(env.step(env.init(2), [1, 0]), [4, 4])
    assert (swapped.own.numpy() == 0).all() and swapped.other.numpy().ravel().tolist() == [0b100, 0b1]
    assert swapped.groups.numpy()[..., 0].tolist() == [[0b100, 0b100, 0], [0b1, 0, 0]]


def full_boards(size: int) -> int:
    """Return the full boards that player 0 has won; assert that each has exactly one winner."""
    won = 0
    for filled in range(2 ** (size * size)):
        board = [STONES[filled >> cell & 1] for cell in range(size * size)]
        game = Reference.from_dict({"board": board, "current_player": 0}, (0, 0), size=size)
        assert game.connected(0) != game.connected(1)
        won += game.connected(0)
    return won


def test_one_player_always_connects() -> None:
    assert (full_boards(2), full_boards(3)) == (8, 256)


def test_the_kernel_sees_the_winner_of_every_full_board() -> None:
    """Check the last stone of every full board of 3x3: it wins unless there was a winner before."""
    env, boards, cells, expected = shared_env(GAME, size=3, swap=False), [], [], []
    for filled in range(512):
        board = [STONES[filled >> cell & 1] for cell in range(9)]
        for cell in range(9):
            before = [0 if c == cell else stone for c, stone in enumerate(board)]
            position = {"board": before, "current_player": STONES.index(board[cell])}
            if not Reference.from_dict(position, (0, 0), size=3).terminated:
                boards.append(position)
                cells.append(cell)
                game = Reference.from_dict(position | {"board": board}, (0, 0), size=3)
                expected.append([float(STONES[not game.connected(0)]), float(STONES[game.connected(0)])])
    after = env.step(env.state_from_dicts(boards), cells)
    assert len(boards) > 900 and after.terminated.numpy().all()
    assert after.rewards.numpy().tolist() == expected


def winning_openings(size: int) -> list[int]:
    """Return the first cells after which player 0 wins without a swap, by searching all positions."""

    @cache
    def wins(board: tuple[int, ...], player: int) -> bool:
        """Return whether the player to move wins."""
        for cell, stone in enumerate(board):
            if stone == 0:
                after = (*board[:cell], STONES[player], *board[cell + 1 :])
                position = {"board": after, "current_player": 1 - player}
                game = Reference.from_dict(position, (0, 0), size=size, swap=False)
                if game.connected(player) or not wins(after, 1 - player):
                    return True
        return False

    cells = size * size
    return [c for c in range(cells) if not wins(tuple(int(c == i) for i in range(cells)), 1)]


def test_winning_openings() -> None:
    assert winning_openings(2) == [1, 2]
    assert winning_openings(3) == [2, 3, 4, 5, 6]


def test_numbers_of_groups() -> None:
    """Check that group numbers read from a board equal those of the played game."""
    env = shared_env(GAME, size=5)
    state = env.init(8, 3)
    for _ in range(14):
        mask = state.numpy()["legal_action_mask"]
        state = env.step(state, [int(np.flatnonzero(row)[-1 - row.sum() // 3]) if row.any() else 0 for row in mask])
        again = env.state_from_dicts([env.state_to_dict(state, i) for i in range(8)])
        assert (again.groups.numpy() == state.groups.numpy()).all()
