"""Xiangqi: the tensor engine against the reference ply by ply, golden games, published counts."""

from collections import Counter

import numpy as np
import pytest

import tensor_envs as te
from tests.games.chance import game_key
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env
from tests.games.xiangqi.reference import START, Reference

GAME = "xiangqi"
# of the start and of two more positions, as published (RULES.md)
COUNTS = {
    START: (44, 1920, 79666, 3290240),
    "1rbaka2R/5r3/6n2/2p1p1p2/4P1bP1/PpC3Bc1/1nPR2P2/2N2AN2/1c2K1p2/2BAC4 w - - 0 1": (49, 2265, 100326, 4485547),
    "4kcP1N/8n/3rb4/9/9/9/9/3p1A3/4K4/5CB2 w - - 0 1": (13, 272, 3707, 92741),
}
# little is left: checks, pins, positions that occur again
ENDGAMES = (
    "3k5/2R6/9/9/9/9/9/9/6r2/4K1N2 w - - 0 1",
    "3ak4/4a4/9/9/4c4/4C4/9/4B4/4A4/3AK4 w - - 0 1",
    "4k4/9/4n4/9/4R4/9/9/4C4/4A4/4K4 w - - 0 1",
    "3k1r3/4P4/9/9/9/5c3/9/4p4/9/3RK4 b - - 0 1",
    "2bak4/4a4/4b1N2/9/9/9/6n2/4B4/4A4/2BAK4 w - - 0 1",
    "5k3/9/9/9/c7R/9/9/9/4A4/r2K1A3 w - - 0 1",
)


@pytest.mark.slow
@pytest.mark.parametrize("fen", COUNTS)
def test_perft(fen: str) -> None:
    found = te.perft(shared_env(GAME).state_from_dicts([fen]), 4).sequences[1:]
    assert tuple(found) == COUNTS[fen]


@pytest.mark.slow
@pytest.mark.parametrize("quiet_plies", (1, 2, 12, 65, 127))
def test_short_games_agree_with_the_reference(quiet_plies: int) -> None:
    play_in_lockstep(GAME, batch=16, seed=4, observe_every=5, quiet_plies=quiet_plies)


@pytest.mark.slow
def test_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=5, observe_every=16)
    assert set(returns[:, 0]) == {1, 0, -1}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def play_with_repetitions(batch: int, seed: int) -> Counter[str]:
    """Play endgames in which moves are often taken back or give check, beside the reference; return how they ended."""
    env, rng = shared_env(GAME), np.random.default_rng(seed)
    fens = [ENDGAMES[row % len(ENDGAMES)] for row in range(batch)]
    games = [Reference.from_dict({"fen": fen}, game_key(0, 0, 0)) for fen in fens]
    state, ends = env.state_from_dicts(fens), Counter[str]()
    live = set(range(batch))
    while live:
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        for row in sorted(live):
            game = games[row]
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == game.legal_actions(), game.to_dict()
            wanted = [action for action, move in moves_of(game).items() if is_wanted(game, move)]
            if wanted and rng.random() < 0.8:
                actions[row] = rng.choice(wanted)
        state = env.step(state, actions)
        after = state.numpy()
        for row in sorted(live):
            game = games[row]
            game.apply(int(actions[row]))
            assert after["terminated"][row] == game.terminated, game.to_dict()
            assert after["rewards"][row].tolist() == game.rewards, game.to_dict()
            if game.terminated:
                written = env.state_to_dict(state, row)
                assert written | game.to_dict() == written
                live.remove(row)
                decided = "decided" if any(game.rewards) else "drawn"
                ends[f"{decided}, {'moves' if game.legal_moves() else 'no move'}"] += 1
    return ends


def moves_of(game: Reference) -> dict[int, tuple[str, str]]:
    return {game.action(move): move for move in game.legal_moves()}


def is_wanted(game: Reference, move: tuple[str, str]) -> bool:
    """Return whether a move takes back the player's last one, or gives check."""
    back = game.moves[-2][2:] + game.moves[-2][:2] if len(game.moves) > 1 else ""
    return "".join(move) == back or game.exposed(game.after(move), 1 - game.current_player)


@pytest.mark.slow
def test_repetitions_agree_with_the_reference() -> None:
    ends = play_with_repetitions(batch=240, seed=6)
    assert ends["decided, moves"] >= 10 and ends["drawn, moves"] >= 10 and ends["decided, no move"] >= 10, ends
