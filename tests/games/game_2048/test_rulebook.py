"""2048: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "2048"
UP, RIGHT, DOWN, LEFT = range(4)
Start = Callable[..., Any]
Rows = list[list[int]]


def placed(*rows: list[int]) -> dict[str, Any]:
    """Return a board by its rows from the top; missing rows are empty."""
    return {"board": [tile for row in [*rows, *[[0] * 4] * (4 - len(rows))] for tile in row]}


def slid(game: Any, action: int) -> tuple[list[int], list[int]]:
    """Return the board after a slide without its new tile, and that tile."""
    game.apply(action)
    return game.to_dict()["board"], game.rewards


def without_new(board: list[int], expected: list[int]) -> list[int]:
    """Return the board without the new tile, which lies where the expected board is empty."""
    new = [cell for cell in range(16) if board[cell] != expected[cell]]
    assert len(new) == 1 and expected[new[0]] == 0 and board[new[0]] in (2, 4)
    return [0 if cell == new[0] else tile for cell, tile in enumerate(board)]


def test_t1_the_start(start: Start) -> None:
    for seed in range(20):
        game = start(GAME, seed=seed)
        tiles = [tile for tile in game.to_dict()["board"] if tile]
        assert len(tiles) == 2 and set(tiles) <= {2, 4}
        assert game.legal_actions() and not game.terminated and not game.truncated and game.current_player == 0


# a row, the row after a slide to the left, and what that pays
SLIDES: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {
    (0, 0, 0, 2): ((2, 0, 0, 0), 0),
    (0, 2, 0, 4): ((2, 4, 0, 0), 0),
    (2, 0, 0, 2): ((4, 0, 0, 0), 4),
    (2, 2, 2, 0): ((4, 2, 0, 0), 4),
    (2, 2, 2, 2): ((4, 4, 0, 0), 8),
    (2, 2, 4, 0): ((4, 4, 0, 0), 4),
    (4, 2, 2, 0): ((4, 4, 0, 0), 4),
    (0, 8, 4, 4): ((8, 8, 0, 0), 8),
    (2, 4, 4, 2): ((2, 8, 2, 0), 8),
    (2, 2, 4, 4): ((4, 8, 0, 0), 12),
    (2, 4, 8, 8): ((2, 4, 16, 0), 16),
    (8, 0, 8, 4): ((16, 4, 0, 0), 16),
    (4, 4, 0, 8): ((8, 8, 0, 0), 8),
    (65536, 65536, 2, 0): ((131072, 2, 0, 0), 131072),
    (1024, 0, 1024, 4): ((2048, 4, 0, 0), 2048),
}


def turned(rows: Rows, action: int) -> Rows:
    """Return the board rotated so that this slide corresponds to a slide of the argument to the left."""
    rows = [row[::-1] for row in rows] if action in (RIGHT, DOWN) else rows
    return [list(column) for column in zip(*rows, strict=True)] if action in (UP, DOWN) else rows


@pytest.mark.parametrize("action", (LEFT, RIGHT, UP, DOWN))
@pytest.mark.parametrize("row", SLIDES, ids=str)
def test_t2_t3_t4_slides(start: Start, row: tuple[int, ...], action: int) -> None:
    """Check slides of the second line beside a last line that is full and cannot move."""
    fixed = [2, 4, 8, 16]
    after, pays = SLIDES[row]
    game = start(GAME, placed(*turned([[0] * 4, list(row), [0] * 4, fixed], action)))
    assert action in game.legal_actions()
    board, rewards = slid(game, action)
    expected = placed(*turned([[0] * 4, list(after), [0] * 4, fixed], action))["board"]
    assert rewards == [pays] and without_new(board, expected) == expected and not game.terminated


def test_t2_a_slide_that_does_nothing_is_illegal(start: Start) -> None:
    game = start(GAME, placed([2, 4, 2, 0]))
    assert game.legal_actions() == [RIGHT, DOWN]
    with pytest.raises(ValueError, match="action 3 is illegal"):
        game.apply(LEFT)
    assert start(GAME, placed([2, 4, 2, 4])).legal_actions() == [DOWN]
    assert start(GAME, placed([2, 4, 2, 4], [2, 8, 16, 8])).legal_actions() == [UP, DOWN]


def test_t2_to_merge_with_a_tile_just_merged_is_legal(start: Start) -> None:
    """Check the slide that OpenSpiel omits."""
    rows = [2, 2, 4, 16], [8, 16, 8, 32], [2, 8, 2, 8], [16, 2, 16, 64]
    game = start(GAME, placed(*rows))
    assert game.legal_actions() == [RIGHT, LEFT]
    game.apply(LEFT)
    assert game.to_dict()["board"][:3] == [4, 4, 16] and LEFT in game.legal_actions()
    board, rewards = slid(game, LEFT)
    assert board[0] == 8 and rewards == [8]


@pytest.mark.slow
def test_t5_new_tiles() -> None:
    """Check that every empty cell can get the tile, in nine of ten cases a 2."""
    env = te.make(GAME)
    state = env.state_from_dicts([placed([2, 4, 8, 16], [0, 2, 2, 0], [4, 8, 16, 32], [0, 64, 0, 0])] * 4000)
    board = env.step(state, [LEFT] * 4000).board.numpy().reshape(-1, 16)
    empty = [5, 6, 7, 13, 14, 15]
    new = board[:, empty]
    assert ((new > 0).sum(1) == 1).all() and board[:, 4].tolist() == [2] * 4000
    share = (new > 0).mean(0)
    assert abs(share - 1 / 6).max() < 0.03 and abs((new == 2).sum() / 4000 - 0.1) < 0.025


def test_t6_observation(start: Start) -> None:
    game = start(GAME, placed([2, 0, 131072, 2048]))
    seen = game.observation(0)
    assert [cell.index(1) for cell in seen[0]] == [1, 0, 17, 11] and len(seen[0][0]) == 18
    assert all(sum(cell) == 1 for row in seen for cell in row) and seen[3] == [[1] + [0] * 17] * 4


@pytest.mark.parametrize("last", (2, 4))
def test_t8_the_end_is_read_off_the_board(start: Start, last: int) -> None:
    rows = [2, 4, 2, 4], [4, 2, 4, 2], [2, 4, 2, 4], [4, 8, 4, last]
    game = start(GAME, placed(*rows))
    assert game.terminated == (last == 2) and not game.truncated
    assert game.legal_actions() == ([] if last == 2 else [UP, RIGHT, DOWN, LEFT])


def test_t8_the_game_goes_on_after_2048(start: Start) -> None:
    game = start(GAME, placed([1024, 1024, 4, 8]))
    game.apply(LEFT)
    assert game.rewards == [2048] and not game.terminated and not game.truncated


def test_t8_a_slide_may_be_the_last(start: Start) -> None:
    """Check an end that does not depend on the new tile, which lies between an 8 and a 64."""
    game = start(GAME, placed([1024, 1024, 4, 8], [8, 16, 32, 64], [16, 32, 64, 128], [32, 64, 128, 256]))
    game.apply(LEFT)
    assert game.rewards == [2048] and game.terminated and not game.truncated and game.legal_actions() == []


@pytest.mark.parametrize(
    "board", ([0] * 15, [3] + [0] * 15, [262144] + [0] * 15, [131072, 131072] + [0] * 14, [-2] * 16), ids=str
)
def test_t7_impossible_boards(board: list[int]) -> None:
    with pytest.raises(ValueError, match="is no state of '2048': board"):
        te.make(GAME).state_from_dicts([{"board": board}])


def test_t2_names() -> None:
    assert [te.make(GAME).action_to_string(action) for action in range(4)] == ["up", "right", "down", "left"]
