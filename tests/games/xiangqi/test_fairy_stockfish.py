"""Comparison with Fairy-Stockfish: its `xiangqi` has the same moves, positions, repetitions and perpetual checks.

Its ranks are numbered from 1. It also draws after 100 plies without a capture, and judges perpetual chases (X10, X12).
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env
from tests.games.xiangqi.names import legal_names
from tests.games.xiangqi.reference import START, Reference
from tests.games.xiangqi.test_reference import ENDGAMES, is_wanted, moves_of

engine: Any = pytest.importorskip("pyffish")
pytestmark = [pytest.mark.extra("pyffish"), pytest.mark.slow]
GAME = "xiangqi"
LONG = 100  # plies without a capture after which it draws


def theirs(name: str) -> str:
    """Return Fairy-Stockfish's name of a move."""
    return re.sub(r"\d", lambda rank: str(int(rank.group()) + 1), name)


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_games_agree(seed: int) -> None:
    """Compare the legal moves at every ply of random games, repetitions, and how the games end.

    A call of Fairy-Stockfish takes milliseconds, so it is asked about repetition where a position recurs. After `LONG`
    quiet plies its draw hides repetitions.
    """
    env = shared_env(GAME)
    batch = 100
    state = env.init(batch, seed)
    games = [Line(START) for _ in range(batch)]
    ends: Counter[str] = Counter()
    live = [*range(batch)]
    while live:
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        for row in live:
            legal = {action: theirs(name) for action, name in legal_names(now, row).items()}
            assert sorted(legal.values()) == sorted(games[row].legal_moves()), games[row]
            games[row].play(legal[int(actions[row])])
        state = env.step(state, actions)
        after = state.numpy()
        for row in live:
            game = games[row]
            over = bool(after["terminated"][row])
            quiet = int(after["quiet"][row])
            assert quiet == len(game.moves), game
            score = after["rewards"][row][after["current_player"][row]]
            if over and not game.legal_moves():
                assert score == -1, game
                ends["no move"] += 1
            elif over and quiet >= LONG:
                assert score == 0 or game.recurs(), game
                ends["quiet" if quiet == env.rules.quiet_plies else "repetition, not compared"] += 1
            elif over or (game.recurs() and quiet < LONG):
                repeated, value = engine.is_optional_game_end(GAME, game.fen, game.moves)
                assert repeated == over, game
                if over:
                    # A perpetual chase is a draw here (X12).
                    assert score in (0, np.sign(value)), game
                    ends["repetition" if score == np.sign(value) else "chase"] += 1
        live = [row for row in live if not after["terminated"][row]]
    assert ends.total() == batch and ends["no move"] > 30 and ends["quiet"] > 0, ends
    assert ends["chase"] < 5, ends


class Line:
    """Game of Fairy-Stockfish: the position after the last capture and the moves since then."""

    def __init__(self, fen: str):
        self.fen, self.moves = fen, list[str]()
        rows = [re.sub(r"\d", lambda gap: " " * int(gap.group()), row) for row in fen.split()[0].split("/")]
        self.board = {f"{'abcdefghi'[x]}{10 - y}": piece for y, row in enumerate(rows) for x, piece in enumerate(row)}
        self.boards = [dict(self.board)]

    def __repr__(self) -> str:
        return f"{self.fen} {self.moves}"

    def legal_moves(self) -> list[str]:
        moves: list[str] = engine.legal_moves(GAME, self.fen, self.moves)
        return moves

    def play(self, move: str) -> None:
        start, end = re.findall(r"[a-i]\d+", move)
        captures = self.board[end] != " "
        self.board[end], self.board[start] = self.board[start], " "
        self.moves.append(move)
        self.boards.append(dict(self.board))
        if captures:
            self.fen = engine.get_fen(GAME, self.fen, self.moves)
            self.moves, self.boards = [], [dict(self.board)]

    def recurs(self) -> bool:
        """Return whether the pieces have stood so before."""
        return self.boards[-1] in self.boards[-3::-2]


def test_repetitions_agree() -> None:
    """Play endgames by the reference, in which moves are often taken back or give check."""
    rng = np.random.default_rng(8)
    ends = Counter[float]()
    for row in range(120):
        fen = ENDGAMES[row % len(ENDGAMES)]
        game = Reference.from_dict({"fen": fen}, (0, 0))
        while not game.terminated and game.quiet < LONG - 1:
            moves = moves_of(game)
            wanted = [action for action, move in moves.items() if is_wanted(game, move)]
            game.apply(int(rng.choice(wanted if wanted and rng.random() < 0.8 else sorted(moves))))
            fen = fen if game.quiet else game.to_dict()["fen"]
            repeated, value = engine.is_optional_game_end(GAME, fen, [theirs(move) for move in game.moves])
            assert repeated == (game.terminated and bool(game.legal_moves())), (fen, game.moves)
            if repeated:
                score = game.rewards[game.current_player]
                assert score == np.sign(value), (fen, game.moves)
                ends[score] += 1
    assert ends[0.0] > 50 and ends[1.0] > 0 and ends[-1.0] > 0, ends
