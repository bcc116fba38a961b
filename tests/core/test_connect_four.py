"""Connect four in the language of rules against a board of lists, in plain Python and in a kernel."""

import numpy as np

import tensor_envs as te
from tests.core.connect_four import COLUMNS, ROWS, ConnectFour

WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))
Board = list[list[int]]  # rows from the top: 0 and 1 are players, -1 is empty


def drop(board: Board, column: int, player: int) -> None:
    row = max(r for r in range(ROWS) if board[r][column] < 0)
    board[row][column] = player


def has_four(board: Board, player: int) -> bool:
    cells = {(r, c) for r in range(ROWS) for c in range(COLUMNS) if board[r][c] == player}
    return any(all((r + t * y, c + t * x) in cells for t in range(4)) for r, c in cells for y, x in WAYS)


def compare(game: te.PlainGame, board: Board, ply: int) -> None:
    full = [board[0][column] >= 0 for column in range(COLUMNS)]
    won = [has_four(board, player) for player in (0, 1)]
    assert game.terminated == (any(won) or all(full)) and not game.truncated
    assert game.rewards == [float(won[0] - won[1]), float(won[1] - won[0])]
    assert game.legal_actions() == [c for c in range(COLUMNS) if not (full[c] or game.terminated)]
    for player in (0, 1):
        planes = [np.array(board) == who for who in (player, 1 - player)]
        assert (game.observe(player) == planes).all()
    assert (game.observe() == game.observe(ply % 2)).all()


def test_random_games_are_those_of_a_board() -> None:
    ends = {1.0: 0, -1.0: 0, 0.0: 0}
    for row in range(60):
        game = te.PlainGame(ConnectFour(), seed=1, row=row)
        board, ply = [[-1] * COLUMNS for _ in range(ROWS)], 0
        compare(game, board, ply)
        while not game.over:
            column = game.uniform_action()
            drop(board, column, ply % 2)
            game.step(column)
            ply += 1
            compare(game, board, ply)
        ends[game.rewards[0]] += 1
    assert ends[1.0] > 10 and ends[-1.0] > 10


def test_a_full_board_is_a_draw() -> None:
    game, board = te.PlainGame(ConnectFour()), [[-1] * COLUMNS for _ in range(ROWS)]
    order = [int(column) for column in "152420614622012112641436064560333303504555"]
    for ply, column in enumerate(order):
        assert not game.over, ply
        drop(board, column, ply % 2)
        game.step(column)
        compare(game, board, ply + 1)
    assert game.terminated and game.rewards == [0.0, 0.0]
