"""Comparison with OpenSpiel: its `chess` plays the same games, by the same numbers of actions.

Its white is player 1. A position after a pawn's move of two squares it takes for another than later ones, also if no
pawn could take it (C10), so that it may see a third repetition later.
"""

from collections import Counter

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = [pytest.mark.extra("pyspiel"), pytest.mark.slow]

# little is left, so that games end by mate, stalemate, repetition, quiet plies and lack of material
ENDGAMES = (
    "8/1P4k1/8/8/8/8/6K1/8 w - - 0 1",
    "7k/8/8/8/8/8/8/KQ6 w - - 60 90",
    "k7/8/1P6/1K6/8/8/8/8 b - - 3 70",
    "8/2p1p1p1/8/3P1P2/4k3/8/8/4K2R b K - 0 40",
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 80 40",
    "4k3/8/8/8/8/8/8/RNB1K3 w Q - 85 60",
)


def placed(fen: str) -> str:
    return " ".join(fen.split()[:3])


def play_in_lockstep(fens: list[str], seed: int) -> Counter[str]:
    """Play random games from some positions in both engines; return how they ended.

    At every ply legal actions, boards, castling rights, players to move, ends and returns must agree.
    """
    env, batch = shared_env("chess"), len(fens)
    game = pyspiel.load_game("chess")
    assert game.num_distinct_actions() == env.num_actions
    state = env.state_from_dicts([{"fen": fen} for fen in fens], seed)
    others = [game.new_initial_state(fen) for fen in fens]
    ends, live = Counter[str](), list(range(batch))
    for ply in range(10**6):
        now = state.numpy()
        for row in list(live):
            other, over = others[row], bool(now["terminated"][row])
            assert not now["truncated"][row]
            if over != other.is_terminal():
                assert over and now["repeats"][row] == 2
                ends["repeated but for a pawn's move"] += 1
                live.remove(row)
                continue
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == other.legal_actions(), row
            if ply % 64 == row % 64 or over:
                assert placed(env.state_to_dict(state, row)["fen"]) == placed(str(other)), row
            if over:
                assert now["rewards"][row].tolist() == other.returns()[::-1], row
                live.remove(row)
                quiet = now["quiet"][row] == 100
                drawn = "repetition" if now["repeats"][row] == 2 else "quiet" if quiet else "another draw"
                ends["mate" if now["rewards"][row].any() else drawn] += 1
            else:
                assert now["current_player"][row] == 1 - other.current_player()
        if not live:
            return ends
        actions = te.agents.uniform(state).numpy()
        for row in live:
            others[row].apply_action(int(actions[row]))
        state = env.step(state, actions)
    raise AssertionError("the games do not end")


def test_endgames_agree() -> None:
    ends = play_in_lockstep([*ENDGAMES * 40], seed=1)
    assert {"mate", "quiet", "another draw"} <= ends.keys() and ends["repeated but for a pawn's move"] < 3


def test_a_thousand_games_agree() -> None:
    start = str(pyspiel.load_game("chess").new_initial_state())
    ends = play_in_lockstep([start] * 1000, seed=2)
    assert {"mate", "repetition", "quiet", "another draw"} <= ends.keys()
    assert ends["repeated but for a pawn's move"] < 5
