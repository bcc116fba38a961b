"""Comparison with OpenSpiel: its `tic_tac_toe`, `mnk` and `gomoku` (of any number of dimensions) play the same games.

OpenSpiel's `gomoku` counts k and more in a row as a line, as here (G3). Its option `anti` is `misere` (G10). Its
option `wrap` joins opposite sides of the board, which no board here does (G2): such games differ where a line crosses a
side, and a test says exactly when.
"""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

Shape = tuple[int, ...]
CROSSES, NOUGHTS = 2, 1  # planes of an observation in `tic_tac_toe` and `mnk`; `gomoku` has black and white


def mnk(rows: int, columns: int, k: int) -> tuple[str, Shape, int]:
    return f"mnk(m={columns},n={rows},k={k})", (rows, columns), k


def gomoku(size: int, dims: int, k: int) -> tuple[str, Shape, int]:
    return f"gomoku(size={size},dims={dims},connect={k})", (size,) * dims, k


SMALL = [
    ("tic_tac_toe", (3, 3), 3),
    mnk(3, 3, 3),
    mnk(5, 4, 3),
    mnk(4, 6, 4),
    mnk(2, 7, 5),
    mnk(1, 6, 2),
    mnk(3, 2, 1),
    gomoku(3, 2, 3),
    gomoku(8, 1, 3),
    gomoku(4, 3, 4),
    gomoku(5, 3, 3),
    gomoku(3, 4, 3),
]
LARGE = [
    mnk(15, 15, 5),
    gomoku(15, 2, 5),
    gomoku(3, 5, 3),
    gomoku(2, 7, 2),
    gomoku(9, 3, 4),  # of the kind that is checked along the lines through the last move
]


def names(games: list[Any]) -> list[str]:
    return [name for name, _, _ in games]


def play_in_lockstep(name: str, shape: Shape, k: int, rows: int, seed: int, misere: bool = False) -> int:
    """Play random games in both engines; return the number of draws.

    At every ply legal actions, players to move, ends and the returns must agree; at the end, the boards.
    """
    env = te.make("hyper_tic_tac_toe", shape=shape, k=k, misere=misere)
    game = pyspiel.load_game(name)
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(rows, seed), [game.new_initial_state() for _ in range(rows)]
    returns = np.zeros((rows, 2))
    for ply in range(env.num_actions + 1):
        now = state.numpy()
        returns += now["rewards"]
        ended = np.array([other.is_terminal() for other in others])
        assert (now["terminated"] == ended).all() and not now["truncated"].any(), f"{name}, ply {ply}"
        for row, other in enumerate(others):
            where = f"{name}, row {row}, ply {ply}"
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == other.legal_actions(), where
            assert (returns[row] == other.returns()).all(), where
            assert ended[row] or now["current_player"][row] == other.current_player() == ply % 2, where
        if ended.all():
            break
        actions = te.agents.uniform(state).numpy()
        for row in np.flatnonzero(~ended).tolist():
            others[row].apply_action(int(actions[row]))
        state = env.step(state, actions)
    planes = np.array([other.observation_tensor(0) for other in others]).reshape(rows, 3, *shape)
    first, second = (0, 1) if name.startswith("gomoku") else (CROSSES, NOUGHTS)
    assert (env.observe(state, 0).numpy() == planes[:, [first, second]]).all(), f"{name}: boards"
    return int((returns == 0).all(1).sum())


@pytest.mark.parametrize(("name", "shape", "k"), SMALL, ids=names(SMALL))
def test_random_games_agree(name: str, shape: Shape, k: int) -> None:
    play_in_lockstep(name, shape, k, rows=24, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape", "k"), SMALL + LARGE, ids=names(SMALL + LARGE))
def test_thousands_of_random_games_agree(name: str, shape: Shape, k: int) -> None:
    play_in_lockstep(name, shape, k, rows=3000 if np.prod(shape) < 100 else 150, seed=2)


@pytest.mark.parametrize(("name", "shape", "k"), [mnk(4, 6, 4), gomoku(3, 3, 3), gomoku(2, 4, 2)])
def test_actions_have_the_same_places(name: str, shape: Shape, k: int) -> None:
    env, game = te.make("hyper_tic_tac_toe", shape=shape, k=k), pyspiel.load_game(name)
    for action in range(env.num_actions):
        theirs = game.action_to_string(0, action)  # "x(0,1)" or "0,0,1"
        assert env.action_to_string(action) == "(" + theirs.split("(")[-1].rstrip(")") + ")"


def test_draws_are_among_the_games_compared() -> None:
    assert play_in_lockstep(*SMALL[0], rows=60, seed=3) > 2
    assert play_in_lockstep(*mnk(4, 6, 4), rows=60, seed=3) > 2


def test_anti_gomoku_is_misere() -> None:
    for name, shape, k in (gomoku(3, 2, 3), gomoku(4, 3, 3)):
        play_in_lockstep(name.replace(")", ",anti=true)"), shape, k, rows=24, seed=4, misere=True)


def test_more_than_k_in_a_row_win_in_both() -> None:
    """Check that black wins by joining two threes to six."""
    env, game = te.make("gomoku"), pyspiel.load_game("gomoku")
    state, other = env.init(1), game.new_initial_state()
    for cell in (0, 30, 1, 32, 2, 34, 4, 36, 5, 38, 3):
        assert not other.is_terminal() and not state.terminated.item()
        other.apply_action(cell)
        state = env.step(state, [cell])
    assert other.is_terminal() and other.returns() == state.rewards.numpy()[0].tolist() == [1.0, -1.0]


@pytest.mark.parametrize(("size", "dims", "k"), [(4, 2, 3), (5, 2, 4), (3, 3, 3)])
def test_a_wrapped_board_differs_where_a_line_crosses_a_side(size: int, dims: int, k: int) -> None:
    """Check that OpenSpiel's option `wrap` differs exactly where a line crosses a side."""
    name, shape, _ = gomoku(size, dims, k)
    env, game = te.make("hyper_tic_tac_toe", shape=shape, k=k), pyspiel.load_game(name[:-1] + ",wrap=true)")
    rows = 40
    state, others = env.init(rows, 5), [game.new_initial_state() for _ in range(rows)]
    going, crossing = np.ones(rows, bool), 0
    for _ in range(env.num_actions):
        actions = te.agents.uniform(state).numpy()
        state = env.step(state, actions)
        now, planes = state.numpy(), env.observe(state, 0).numpy().astype(np.int8)
        boards = planes[:, 0] - planes[:, 1]
        repeated = np.pad(boards, [(0, 0)] + [(0, k - 1)] * dims, mode="wrap")
        winners = te.ops.winner(repeated, k=k, rank=dims).numpy()
        for row in np.flatnonzero(going):
            others[row].apply_action(int(actions[row]))
            assert others[row].returns()[0] == winners[row]
            crossing += bool(winners[row] and not now["terminated"][row])
            assert winners[row] or others[row].is_terminal() == now["terminated"][row]
            going[row] = not others[row].is_terminal()
    assert not going.any() and crossing > 5
