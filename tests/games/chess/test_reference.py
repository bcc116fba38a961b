"""Chess: the tensor engine against the reference ply by ply, golden games, published counts."""

import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "chess"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
# of the start and Kiwipete as published (RULES.md), of the others, one with the colours changed, as OpenSpiel counts
COUNTS = {
    START: (20, 400, 8902, 197281, 4865609),
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": (48, 2039, 97862),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (14, 191, 2812, 43238),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": (6, 264, 9467),
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1": (6, 264, 9467),
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (44, 1486, 62379),
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": (46, 2079, 89890),
}


def perft(fen: str, depth: int) -> list[int]:
    found: list[int] = te.perft(shared_env(GAME).state_from_dicts([{"fen": fen}]), depth).sequences[1:]
    return found


@pytest.mark.parametrize("quiet_plies", (5, 11, 12))
def test_histories_of_an_odd_number_of_words_are_traced(quiet_plies: int) -> None:
    """The moves of two words are taken back at a time, also where the last word has no second one."""
    env = te.make(GAME, quiet_plies=quiet_plies)
    assert te.inspect(env, "step", form="tape")


@pytest.mark.slow
@pytest.mark.parametrize("quiet_plies", (1, 2, 8, 12))
def test_short_games_agree_with_the_reference(quiet_plies: int) -> None:
    play_in_lockstep(GAME, batch=24, seed=4, observe_every=5, quiet_plies=quiet_plies)


@pytest.mark.slow
def test_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=5, observe_every=16)
    assert set(returns[:, 0]) == {1, 0, -1}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


@pytest.mark.slow
@pytest.mark.parametrize("fen", COUNTS)
def test_perft(fen: str) -> None:
    counts = COUNTS[fen]
    assert perft(fen, len(counts)) == list(counts)
