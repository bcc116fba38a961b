"""Comparison with OpenSpiel: its `xiangqi` has the same moves, and ends a game of 500 plies as a draw.

Its squares are numbered from Black's side, row by row. It judges neither repetitions nor plies without a capture.
"""

from collections import Counter

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env
from tests.games.xiangqi.names import legal_names

pyspiel = pytest.importorskip("pyspiel")
pytestmark = [pytest.mark.extra("pyspiel"), pytest.mark.slow]
LAST = 500  # plies


def theirs(name: str) -> int:
    """Return OpenSpiel's number of a move: 90 * start + end."""
    start, end = (9 * (9 - int(point[1])) + "abcdefghi".index(point[0]) for point in (name[:2], name[2:]))
    return 90 * start + end


def play_beside(batch: int, seed: int) -> Counter[str]:
    """Play random games in both engines; return how they ended. At every ply moves, players and results must agree."""
    env = shared_env("xiangqi")
    game = pyspiel.load_game("xiangqi")
    state = env.init(batch, seed)
    others = [game.new_initial_state() for _ in range(batch)]
    ends, live = Counter[str](), set(range(batch))
    while live:
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        for row in sorted(live):
            other, over = others[row], bool(now["terminated"][row])
            stuck = other.is_terminal() and other.move_number() < LAST
            decided = bool(now["rewards"][row].any())
            if stuck:
                assert over and now["rewards"][row].tolist() == other.returns()
            if over or other.is_terminal():
                ends["stuck" if stuck else "perpetual check" if decided else "drawn" if over else "long"] += 1
                live.remove(row)
                continue
            legal = {action: theirs(name) for action, name in legal_names(now, row).items()}
            assert sorted(legal.values()) == other.legal_actions(), str(other)
            assert now["current_player"][row] == other.current_player()
            other.apply_action(legal[int(actions[row])])
        state = env.step(state, actions)
    return ends


def test_a_thousand_random_games_agree() -> None:
    ends = play_beside(batch=1000, seed=1)
    assert ends["stuck"] > 300 and ends["drawn"] > 100, ends


def test_observations_agree() -> None:
    """Their planes are the pieces of Red, then of Black, from general to soldier, rank 9 first."""
    env = shared_env("xiangqi")
    game = pyspiel.load_game("xiangqi")
    state, others = env.init(16, 2), [game.new_initial_state() for _ in range(16)]
    for _ in range(24):
        now, actions = state.numpy(), te.agents.uniform(state).numpy()
        for row, other in enumerate(others):
            other.apply_action(theirs(legal_names(now, row)[int(actions[row])]))
        state = env.step(state, actions)
    assert not state.numpy()["terminated"].any()
    ours = env.observe(state, 0).numpy()[:, :14, ::-1]
    order = [6, 1, 2, 3, 4, 5, 0]  # ours of their kinds
    for row, other in enumerate(others):
        planes = np.array(other.observation_tensor(0)).reshape(15, 10, 9)
        assert (planes[:7] == ours[row, :7][order]).all() and (planes[7:14] == ours[row, 7:][order]).all()
