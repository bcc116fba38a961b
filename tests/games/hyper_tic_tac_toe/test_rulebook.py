"""Hyperdimensional tic-tac-toe: the rules as worked cases, played on every engine of the game."""

import re
from collections.abc import Callable, Sequence
from itertools import permutations, product
from math import prod
from typing import Any

import pytest

from tests.games.chance import policy_key, uniform_action

GAME = "hyper_tic_tac_toe"
Start = Callable[..., Any]
Place = tuple[int, ...]


def cell(shape: Sequence[int], place: Place) -> int:
    """Number of a cell in C order."""
    index = 0
    for side, coordinate in zip(shape, place, strict=True):
        index = index * side + coordinate
    return index


def position(shape: Sequence[int], player: int, own: Sequence[Place], other: Sequence[Place] = ()) -> dict[str, Any]:
    """Return a position with `player` to move, who holds the cells `own`; the numbers of marks need not balance."""
    board = [0] * prod(shape)
    for places, mark in ((own, (1, -1)[player]), (other, (-1, 1)[player])):
        for place in places:
            board[cell(shape, place)] = mark
    return {"board": board, "current_player": player}


def drawn(picture: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text: X and O are the marks of the first and the second player."""
    return {"board": [{"X": 1, "O": -1, ".": 0}[c] for c in "".join(picture.split())], "current_player": player}


def wins(
    start: Start,
    shape: Sequence[int],
    k: int,
    player: int,
    own: Sequence[Place],
    last: Place,
    other: Sequence[Place] = (),
) -> bool:
    """Return whether `player`, holding `own`, wins by playing `last`; the rest of the state must fit the answer."""
    game = start(GAME, position(shape, player, own, other), shape=shape, k=k)
    assert not game.terminated
    game.apply(cell(shape, last))
    won = bool(game.terminated)
    assert game.rewards == pytest.approx([0, 0] if not won else [1, -1] if player == 0 else [-1, 1])
    assert (game.legal_actions() == []) == won
    assert game.current_player == 1 - player and not game.truncated
    return won


# shape, k, the cells of one line in order
LINES = {
    "F2-one-dimension": ((7,), 3, [(4,), (5,), (6,)]),
    "F5-rank-1-row": ((3, 3), 3, [(1, 0), (1, 1), (1, 2)]),
    "F5-rank-1-column": ((3, 3), 3, [(0, 2), (1, 2), (2, 2)]),
    "F5-rank-1-in-3d": ((3, 3, 3), 3, [(0, 2, 1), (1, 2, 1), (2, 2, 1)]),
    "F5-rank-2-diagonal": ((3, 3), 3, [(0, 0), (1, 1), (2, 2)]),
    "F5-rank-2-anti-diagonal": ((3, 3), 3, [(0, 2), (1, 1), (2, 0)]),
    "F5-rank-2-in-an-outer-layer": ((3, 3, 3), 3, [(0, 2, 2), (1, 2, 1), (2, 2, 0)]),
    "G1-rank-3-diagonal": ((3, 3, 3), 3, [(0, 0, 0), (1, 1, 1), (2, 2, 2)]),
    "G1-rank-3-flip-1": ((3, 3, 3), 3, [(2, 0, 0), (1, 1, 1), (0, 2, 2)]),
    "G1-rank-3-flip-2": ((3, 3, 3), 3, [(0, 2, 0), (1, 1, 1), (2, 0, 2)]),
    "G1-rank-3-flip-3": ((3, 3, 3), 3, [(0, 0, 2), (1, 1, 1), (2, 2, 0)]),
    "F1-rank-1-non-equal-sides": ((4, 2, 5, 3), 3, [(3, 1, 2, 1), (3, 1, 3, 1), (3, 1, 4, 1)]),
    "F1-rank-2-non-equal-sides": ((4, 2, 5, 3), 3, [(3, 1, 0, 2), (2, 1, 0, 1), (1, 1, 0, 0)]),
    "F1-rank-3-non-equal-sides": ((4, 2, 5, 3), 3, [(1, 0, 4, 0), (2, 0, 3, 1), (3, 0, 2, 2)]),
    "F2-k-below-the-sides": ((6, 5), 4, [(2, 4), (3, 3), (4, 2), (5, 1)]),
    "F2-k-below-the-sides-inside": ((6, 5), 4, [(1, 3), (2, 3), (3, 3), (4, 3)]),
    "F2-k-above-one-side": ((2, 5), 4, [(1, 1), (1, 2), (1, 3), (1, 4)]),
    "F2-k-above-two-sides": ((3, 2, 2), 3, [(0, 1, 0), (1, 1, 0), (2, 1, 0)]),
    "F2-k-2": ((2, 2), 2, [(0, 1), (1, 0)]),
}


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("shape, k, line", LINES.values(), ids=LINES)
def test_line_wins_by_whichever_cell_comes_last(
    start: Start, shape: Place, k: int, line: list[Place], player: int
) -> None:
    for last in line:
        rest = [place for place in line if place != last]
        assert wins(start, shape, k, player, rest, last)
        # F4: a foreign mark breaks the line
        assert not wins(start, shape, k, player, rest[1:], last, other=rest[:1])


@pytest.mark.parametrize("dimensions, count", ((2, 4), (3, 13), (4, 40)))
def test_g1_all_directions_through_the_centre_win(start: Start, dimensions: int, count: int) -> None:
    """Rank r has C(N, r) * 2^(r-1) directions: 9 + 4 of ranks up to 3 in the cube, 32 + 8 up to rank 4."""
    centre = (1,) * dimensions
    firsts = [first for first in product(range(3), repeat=dimensions) if first < centre]
    assert len(firsts) == count
    for index, first in enumerate(firsts):
        last = tuple(2 - coordinate for coordinate in first)
        assert wins(start, (3,) * dimensions, 3, index % 2, [first, centre], last)


# shape, k, own cells, the last of which is played
NO_LINES = {
    "F2-one-too-few": ((5, 5), 3, [(2, 1), (2, 2)]),
    "G2-padding-does-not-count": ((5, 5), 3, [(0, 4), (0, 3)]),
    "G2-gap": ((5, 5), 3, [(2, 0), (2, 1), (2, 3), (2, 4)]),
    "G2-every-second-cell": ((5, 5), 3, [(0, 0), (4, 4), (2, 2)]),
    "G2-not-straight": ((5, 5), 3, [(0, 0), (1, 1), (1, 2)]),
    "G2-knight-steps": ((5, 5), 3, [(0, 0), (1, 2), (2, 4)]),
    "G2-row-end-runs-into-next-row": ((3, 3), 3, [(0, 2), (1, 0), (1, 1)]),
    "G2-row-wraps": ((5, 5), 3, [(1, 4), (1, 1), (1, 0)]),
    "G2-column-wraps": ((5, 5), 3, [(4, 2), (1, 2), (0, 2)]),
    "G2-diagonal-wraps": ((5, 5), 3, [(0, 3), (1, 4), (2, 0)]),
    "G2-anti-diagonal-wraps": ((3, 3), 3, [(0, 0), (1, 2), (2, 1)]),
    "G2-layer-end-runs-into-next-layer": ((3, 3, 3), 3, [(0, 1, 0), (0, 2, 0), (1, 0, 0)]),
    "G2-space-diagonal-wraps": ((3, 3, 3), 3, [(0, 0, 1), (1, 1, 2), (2, 2, 0)]),
    "G2-space-diagonal-bent": ((3, 3, 3), 3, [(0, 0, 0), (1, 1, 1), (2, 2, 1)]),
    "G2-axis-shorter-than-k-wraps": ((4, 2, 5, 3), 3, [(0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0)]),
    "G2-no-rank-4-line-fits": ((4, 2, 5, 3), 3, [(1, 0, 2, 0), (2, 1, 3, 1), (3, 0, 4, 2)]),
}


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("shape, k, places", NO_LINES.values(), ids=NO_LINES)
def test_no_line(start: Start, shape: Place, k: int, places: list[Place], player: int) -> None:
    assert not wins(start, shape, k, player, places[:-1], places[-1])


def test_f4_board_of_the_seed(start: Start) -> None:
    """Check three in a row down the left edge, at one placement of one kernel."""
    board = "XXO.. X.... XX... ....."
    assert start(GAME, drawn(board), shape=(4, 5), k=3).terminated
    assert not start(GAME, drawn(board), shape=(4, 5), k=4).terminated


# shape, k, own cells, the last move: it makes a row longer than k, or several lines at once
G3 = {
    "five-in-a-row-of-three": ((7,), 3, [(1,), (2,), (4,), (5,)], (3,)),
    "five-on-a-diagonal-of-three": ((5, 5), 3, [(0, 4), (1, 3), (3, 1), (4, 0)], (2, 2)),
    "corner-row-and-column": ((3, 3), 3, [(0, 1), (0, 2), (1, 0), (2, 0)], (0, 0)),
    "row-and-column-beyond-k": ((5, 5), 3, [(2, 0), (2, 1), (2, 3), (2, 4), (0, 2), (1, 2), (3, 2), (4, 2)], (2, 2)),
    "three-axes-of-a-cube": (
        (3, 3, 3),
        3,
        [(0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2)],
        (1, 1, 1),
    ),
}


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("shape, k, own, last", G3.values(), ids=G3)
def test_g3_longer_rows_and_several_lines(
    start: Start, shape: Place, k: int, own: list[Place], last: Place, player: int
) -> None:
    assert wins(start, shape, k, player, own, last)


@pytest.mark.parametrize(
    ("shape", "k", "fault"),
    [
        ((), 1, r"shape must have one or more entries, got \(\)"),
        ((3, 0), 3, r"shape\[1\] must be in .*, got 0"),
        ((3, -3), 3, r"shape\[1\] must be in .*, got -3"),
        ((3, 3), 0, "k must be in .*, got 0"),
        ((3, 3), -1, "k must be in .*, got -1"),
        ((3, 3), 4, r"no line of k=4 fits on shape \(3, 3\): k is at most 3"),
        ((2, 2, 2), 3, r"no line of k=3 fits on shape \(2, 2, 2\): k is at most 2"),
    ],
)
def test_g4_impossible_board(start: Start, shape: Place, k: int, fault: str) -> None:
    """The reference names both arguments, the environment the one that is wrong."""
    named = re.escape(f"need sides >= 1 and 1 <= k <= the longest side, got shape={shape}, k={k}")
    with pytest.raises(ValueError, match=f"^({named}|{fault})"):
        start(GAME, shape=shape, k=k)


@pytest.mark.parametrize("shape, k", (((1,), 1), ((1, 1), 1), ((2, 3), 1)))
def test_g4_k_1_is_won_by_the_first_mark(start: Start, shape: Place, k: int) -> None:
    game = start(GAME, shape=shape, k=k)
    game.apply(prod(shape) - 1)
    assert game.terminated and game.rewards == pytest.approx([1, -1])


@pytest.mark.parametrize("shape, k", (((7,), 3), ((3, 3), 3), ((4, 2, 5, 3), 3)))
def test_f3_g5_g8_the_start_and_the_first_marks(start: Start, shape: Place, k: int) -> None:
    game = start(GAME, shape=shape, k=k)
    cells = list(range(prod(shape)))
    assert game.legal_actions() == cells and not game.terminated and not game.truncated
    assert game.current_player == 0 and game.to_dict() == {"board": [0] * len(cells), "current_player": 0}
    last = len(cells) - 1
    game.apply(last)
    assert game.to_dict() == {"board": [0] * last + [1], "current_player": 1}
    assert game.legal_actions() == cells[:-1]
    game.apply(2)
    assert game.to_dict() == {"board": [0, 0, -1] + [0] * (last - 3) + [1], "current_player": 0}
    assert game.legal_actions() == [c for c in cells if c not in (2, last)]
    assert game.rewards == pytest.approx([0, 0]) and game.current_player == 0


def test_g5_cells_in_c_order(start: Start) -> None:
    """Check that consecutive actions run along the last axis: 1, 2, 3 is a row of a 3x4 board, 1, 5, 9 a column."""
    for own, last in (([1, 2], 3), ([1, 5], 9)):
        board = [int(c in own) for c in range(12)]
        game = start(GAME, {"board": board, "current_player": 0}, shape=(3, 4), k=3)
        game.apply(last)
        assert game.terminated


def test_g6_full_board_is_a_draw(start: Start) -> None:
    game = start(GAME, shape=(3, 3), k=3)
    for move in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        assert not game.terminated
        game.apply(move)
    assert game.to_dict() == drawn("XOX XOO OXX", player=1)
    assert game.terminated and not game.truncated
    assert game.rewards == pytest.approx([0, 0]) and game.legal_actions() == []


def test_g6_line_on_the_last_free_cell_wins(start: Start) -> None:
    game = start(GAME, drawn("XOX OXO OX."), shape=(3, 3), k=3)
    game.apply(8)
    assert game.terminated and game.rewards == pytest.approx([1, -1])


@pytest.mark.parametrize(
    "picture, player, over",
    (
        ("XXX OO. ...", 1, True),
        ("OOO XX. X..", 0, True),
        ("XOX XOO OXX", 1, True),
        ("XX. OO. ...", 0, False),
        ("XOX XOO OX.", 0, False),
    ),
)
def test_g8_the_end_is_read_off_the_board(start: Start, picture: str, player: int, over: bool) -> None:
    state = drawn(picture, player)
    game = start(GAME, state, shape=(3, 3), k=3)
    assert bool(game.terminated) == over and not game.truncated
    assert game.legal_actions() == ([] if over else [c for c, mark in enumerate(state["board"]) if mark == 0])
    assert game.to_dict() == state and game.current_player == player


def test_g7_observation(start: Start) -> None:
    game = start(GAME, drawn("XO. ..X"), shape=(2, 3), k=3)
    first, second = [[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]
    assert game.observation(0) == [first, second]
    assert game.observation(1) == [second, first]


def test_g7_observation_has_the_shape_of_the_board(start: Start) -> None:
    shape = (4, 2, 5, 3)
    game = start(GAME, position(shape, 1, own=[(3, 1, 4, 0)], other=[(1, 0, 2, 2)]), shape=shape, k=3)
    own, other = game.observation(1)
    for place in product(*map(range, shape)):
        a, b, c, d = place
        assert own[a][b][c][d] == (place == (3, 1, 4, 0))
        assert other[a][b][c][d] == (place == (1, 0, 2, 2))


@pytest.mark.parametrize("shape, count", (((3, 3), 8), ((3, 3, 3), 48), ((3, 4, 3), 16)))
def test_symmetries_map_games_to_games(start: Start, shape: Place, count: int) -> None:
    cells = list(product(*map(range, shape)))
    maps = [
        [
            cell(
                shape, tuple(shape[a] - 1 - place[a] if flip else place[a] for a, flip in zip(axes, flips, strict=True))
            )
            for place in cells
        ]
        for axes in permutations(range(len(shape)))
        if tuple(shape[a] for a in axes) == shape
        for flips in product((False, True), repeat=len(shape))
    ]
    assert len({tuple(image) for image in maps}) == count
    game = start(GAME, shape=shape, k=3)
    plies: list[tuple[int, list[int], list[float]]] = []
    while not game.terminated:
        action = uniform_action(policy_key(5, 0), len(plies), game.legal_actions())
        game.apply(action)
        plies.append((action, game.legal_actions(), list(game.rewards)))
    for image in maps:
        game = start(GAME, shape=shape, k=3)
        for action, legal, rewards in plies:
            assert not game.terminated
            game.apply(image[action])
            assert game.legal_actions() == sorted(image[c] for c in legal)
            assert game.rewards == pytest.approx(rewards)
        assert game.terminated


def test_g10_a_line_loses_if_misere(start: Start) -> None:
    for misere in (False, True):
        game = start(GAME, drawn("XX. OO. ..."), shape=(3, 3), k=3, misere=misere)
        game.apply(2)
        assert game.terminated and game.rewards == pytest.approx([-1, 1] if misere else [1, -1])


def test_g11_marks_fall_along_the_first_axis(start: Start) -> None:
    game = start(GAME, drawn("... .X. OXO"), shape=(3, 3), k=3, gravity=True)
    assert game.legal_actions() == [1, 3, 5]
    game.apply(1)
    assert game.terminated and game.rewards == pytest.approx([1, -1])
    game = start(GAME, shape=(2, 2, 2), k=2, gravity=True)
    assert game.legal_actions() == [4, 5, 6, 7]
    game.apply(6)
    assert game.legal_actions() == [2, 4, 5, 7]
