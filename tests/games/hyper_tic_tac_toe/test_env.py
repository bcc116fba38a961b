"""Hyperdimensional tic-tac-toe: the tensor engine against the reference, golden games, counts, both win checks."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._engine.engine import Engine
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

SHAPES = [((3, 3), 3), ((4,), 2), ((5, 2), 2), ((3, 3, 3), 3), ((2, 1, 4, 3), 3), ((4, 4, 4), 4), ((6, 7), 4)]
LARGE = [((3, 3, 3, 3, 2, 2), 3), ((2,) * 7, 2), ((12, 13, 11), 4)]  # too many words and directions to unroll


def test_numbers_of_numpy() -> None:
    fields: dict[str, Any] = {"shape": (np.int64(4), 3), "k": np.int32(2), "max_plies": np.int64(5)}
    assert repr(te.make("hyper_tic_tac_toe", **fields)) == "<Env hyper_tic_tac_toe-v0 shape=(4, 3), k=2, max_plies=5>"


@pytest.mark.few("shape1", "shape3")
@pytest.mark.parametrize(("shape", "k"), SHAPES)
def test_random_games_agree_with_the_reference(shape: tuple[int, ...], k: int) -> None:
    play_in_lockstep("hyper_tic_tac_toe", batch=64, seed=4, observe_every=3, shape=shape, k=k)


@pytest.mark.few(1)
def test_misere_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep("hyper_tic_tac_toe", batch=64, seed=4, shape=(3, 3), k=3, misere=True)
    assert set(returns[:, 0]) == {1.0, -1.0, 0.0}


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "k"), [((4, 3, 3), 3), ((6, 7), 4), ((5,), 2), ((4, 4, 4), 4), ((3, 9, 9), 4)])
def test_games_with_gravity_agree_with_the_reference(shape: tuple[int, ...], k: int) -> None:
    play_in_lockstep("hyper_tic_tac_toe", batch=48, seed=6, observe_every=9, shape=shape, k=k, gravity=True)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "k"), LARGE)
def test_boards_in_memory_with_gravity_agree_with_the_reference(shape: tuple[int, ...], k: int) -> None:
    play_in_lockstep("hyper_tic_tac_toe", batch=5, seed=4, max_steps=60, shape=shape, k=k, gravity=True)


@pytest.mark.slow
def test_gravity_keeps_what_every_game_promises() -> None:
    te.testing.check_env(te.make("hyper_tic_tac_toe", shape=(3, 4, 3), k=3, gravity=True))


@pytest.mark.slow
def test_gravity_makes_connect_four() -> None:
    """Compare boards, legal columns, rewards and ends ply by ply."""
    env, falls = shared_env("connect_four"), shared_env("hyper_tic_tac_toe", shape=(6, 7), k=4, gravity=True)
    one, other, results = env.init(48, seed=2), falls.init(48, seed=2), set[float]()
    for _ in range(42):
        actions, mask = te.agents.uniform(one).numpy(), other.numpy()["legal_action_mask"].reshape(48, 6, 7)
        assert (mask.sum(1) == one.numpy()["legal_action_mask"]).all()
        cells = mask.argmax(1)[np.arange(48), actions] * 7 + actions
        one, other = env.step(one, actions), falls.step(other, cells.astype(np.int32))
        now, same = one.numpy(), other.numpy()
        for name in ("own", "other", "current_player", "rewards", "terminated", "ply"):
            assert (now[name] == same[name]).all(), name
        results |= set(now["rewards"][:, 0])
    assert now["terminated"].all() and {-1.0, 1.0} <= results


def test_marks_do_not_float() -> None:
    env = shared_env("hyper_tic_tac_toe", shape=(4, 3, 3), k=3, gravity=True)
    with pytest.raises(ValueError, match=r"game 0 is no state of .*board must have a mark or the floor below"):
        env.state_from_dicts([{"board": [1] + [0] * 35, "current_player": 1}])
    assert len(list(env.symmetries())) == 8
    with pytest.raises(TypeError, match="gravity must be of type bool"):
        te.make("hyper_tic_tac_toe", gravity=1)


@pytest.mark.few("shape1")
@pytest.mark.parametrize(("shape", "k"), LARGE)
def test_boards_in_memory_agree_with_the_reference(shape: tuple[int, ...], k: int) -> None:
    assert not HyperTicTacToe(shape, k).unrolled
    play_in_lockstep("hyper_tic_tac_toe", batch=5, seed=4, max_steps=60, observe_every=20, shape=shape, k=k)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "k"), [*SHAPES, ((15, 15), 5), *LARGE])
def test_thousands_of_games_agree_with_the_reference(shape: tuple[int, ...], k: int) -> None:
    batch = 3000 if np.prod(shape) < 70 else 100
    play_in_lockstep("hyper_tic_tac_toe", batch=batch, seed=8, shape=shape, k=k)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces("hyper_tic_tac_toe") == 16


@pytest.mark.few("shape3")
@pytest.mark.parametrize(("shape", "k"), [((3, 3), 3), ((4, 3, 3), 3), ((7, 6), 4), ((3,) * 4, 3)])
def test_the_convolution_and_the_lines_through_the_last_move_are_equal(
    shape: tuple[int, ...], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = []
    for unrolled in (True, False):
        monkeypatch.setattr(HyperTicTacToe, "unrolled", unrolled)
        monkeypatch.setattr("tensor_envs.envs.env.engine_of", Engine)  # which the other rules do not share
        vector = te.VectorEnv(te.make("hyper_tic_tac_toe", shape=shape, k=k), 96, seed=3)
        assert all(field.memory != unrolled for field in vector.env.spec.fields)
        steps = [(vector.step_uniform(), vector.state.numpy())[1] for _ in range(60)]
        played.append(steps)
        assert steps[-1]["episode"].any(), "no game has ended"
    for one, other in zip(*played, strict=True):
        for name in one:
            assert (one[name] == other[name]).all(), name


def test_positions_and_games_of_3x3() -> None:
    """Count 5,478 reachable positions, 958 of them ended, and 255,168 games."""
    found = te.perft(shared_env("tic_tac_toe"))
    assert sum(found.positions) == 5478
    assert sum(sum(row.ended_positions.values()) for row in found.plies) == 958
    assert found.games == {(1.0, -1.0): 131_184, (-1.0, 1.0): 77_904, (0.0, 0.0): 46_080}


@pytest.mark.slow
def test_statistics_of_random_play() -> None:
    """Check that player 0 wins .585, draws .127, mean length 7.63 (rules, known answers), within 4 standard errors."""
    batch = 20_000
    vector = te.VectorEnv(te.make("tic_tac_toe"), batch, seed=6, autoreset="disabled")
    for _ in range(9):
        vector.step_uniform()
    now = vector.state.numpy()
    assert now["terminated"].all()
    final = te.rollout(vector.env, "uniform", batch, 100, seed=6)
    episodes = final.episodes.numpy().sum()
    wins = final.wins.numpy().sum(0) / episodes
    error = 4 * np.sqrt(0.25 / episodes)
    assert abs(wins[0] - 0.585) < error + 5e-4 and abs(1 - wins.sum() - 0.127) < error + 5e-4
    assert abs(now["ply"].mean() - 7.63) < 4 * 1.5 / np.sqrt(batch) + 5e-3


@pytest.mark.slow
def test_a_million_cells() -> None:
    """Play three plies on 100 x 100 x 100."""
    env = te.make("hyper_tic_tac_toe", shape=(100, 100, 100), k=3)
    state = env.init(1, device="CPU")
    for cell in (0, 500_000, 1, 500_001, 2):
        state = env.step(state, [cell])
    now = state.numpy()
    assert now["terminated"][0] and now["rewards"][0].tolist() == [1.0, -1.0]


@pytest.mark.parametrize("shape, count", (((1, 1, 3), 2), ((1, 3, 3), 8), ((1, 1, 2, 1), 2), ((1, 1), 1)))
def test_symmetries_are_distinct(shape: tuple[int, ...], count: int) -> None:
    """Check that axes of one cell add no symmetries."""
    found = [symmetry.actions for symmetry in te.make("hyper_tic_tac_toe", shape=shape, k=1).symmetries()]
    assert len(found) == len(set(found)) == count
