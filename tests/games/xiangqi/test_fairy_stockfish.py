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
FOLLOWED = 40  # games of which every ply is looked at for repetitions


def theirs(name: str) -> str:
    """Return Fairy-Stockfish's name of a move."""
    return re.sub(r"\d", lambda rank: str(int(rank.group()) + 1), name)


def test_a_thousand_games_agree() -> None:
    """Play whole games: legal moves and positions agree at every ply, and so do ends but for draws by X10."""
    env = shared_env(GAME)
    state = env.init(1000, 7)
    now_at = [START] * state.batch
    # the position after the last capture, and the moves since
    since = [(START, list[str]()) for _ in range(state.batch)]
    ends, live = Counter[str](), set(range(state.batch))
    while live:
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        for row in sorted(live):
            legal = {action: theirs(name) for action, name in legal_names(now, row).items()}
            possible = engine.legal_moves(GAME, now_at[row], [])
            if now["terminated"][row]:
                ends[end_of(now, row, possible, *since[row])] += 1
                live.remove(row)
                continue
            assert sorted(legal.values()) == sorted(possible), now_at[row]
            # Reading the moves since the last capture takes long.
            if row < FOLLOWED and len(since[row][1]) < LONG:
                assert not engine.is_optional_game_end(GAME, *since[row])[0], since[row]
            move = legal[int(actions[row])]
            captures = engine.is_capture(GAME, now_at[row], [], move)
            now_at[row] = engine.get_fen(GAME, now_at[row], [move])
            since[row] = (now_at[row], []) if captures else (since[row][0], [*since[row][1], move])
        state = env.step(state, actions)
    assert ends["no move"] > 300 and ends["repetition"] > 5 and ends["quiet"] > 50, ends


def end_of(now: dict[str, np.ndarray], row: int, possible: list[str], fen: str, moves: list[str]) -> str:
    """Return how a game has ended, which Fairy-Stockfish must confirm."""
    score = now["rewards"][row][int(now["current_player"][row])]
    if not possible:
        assert score == -1
        return "no move"
    if len(moves) >= LONG:
        assert score == 0
        return "quiet"
    repeated, value = engine.is_optional_game_end(GAME, fen, moves)
    assert repeated, (fen, moves)
    if score == 0 and value != 0:
        return "chase"
    assert score == np.sign(value), (fen, moves)
    return "perpetual check" if score else "repetition"


def test_repetitions_agree() -> None:
    """Play endgames by the reference, in which moves are often taken back or give check."""
    rng = np.random.default_rng(8)
    ends = Counter[float]()
    for row in range(300):
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
    assert ends[0.0] > 50 and ends[1.0] > 2 and ends[-1.0] > 2, ends
