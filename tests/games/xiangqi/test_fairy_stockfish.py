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
PLIES = 80  # of each random game


def theirs(name: str) -> str:
    """Return Fairy-Stockfish's name of a move."""
    return re.sub(r"\d", lambda rank: str(int(rank.group()) + 1), name)


def test_random_games_agree() -> None:
    """Compare legal moves and positions at every ply of the beginnings of 64 games."""
    env = shared_env(GAME)
    state = env.init(64, 7)
    fens = [START] * state.batch
    compared = 0
    for _ in range(PLIES):
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        for row in np.flatnonzero(~now["terminated"]).tolist():
            legal = {action: theirs(name) for action, name in legal_names(now, row).items()}
            assert sorted(legal.values()) == sorted(engine.legal_moves(GAME, fens[row], [])), fens[row]
            fens[row] = engine.get_fen(GAME, fens[row], [legal[int(actions[row])]])
            compared += 1
        state = env.step(state, actions)
    assert compared > 63 * PLIES // 2


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
