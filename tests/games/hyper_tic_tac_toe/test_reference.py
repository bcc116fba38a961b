"""Hyperdimensional tic-tac-toe: the reference engine in whole games, and what is known of the game."""

from functools import cache
from itertools import combinations
from math import comb, prod
from statistics import fmean

import pytest

from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.hyper_tic_tac_toe.reference import MARKS, Reference, directions, lines

KEY = game_key(0, 0, 0)
Shape = tuple[int, ...]
Board = tuple[int, ...]


def child(game: Reference, action: int) -> Reference:
    copy = Reference.from_dict(game.to_dict(), KEY, shape=game.shape, k=game.k)
    copy.apply(action)
    return copy


def play_random_games(shape: Shape, k: int, rows: int) -> None:
    for row in range(rows):
        game, before = Reference(game_key(9, row, 0), shape=shape, k=k), None
        game.check(None)
        for decision in range(prod(shape)):
            before = Reference.from_dict(game.to_dict(), KEY, shape=shape, k=k)
            game.apply(uniform_action(policy_key(9, row), decision, game.legal_actions()))
            game.check(before)
            again = Reference.from_dict(game.to_dict(), KEY, shape=shape, k=k)
            assert (again.terminated, again.legal_actions()) == (game.terminated, game.legal_actions())
            if game.terminated:
                break
        assert game.terminated  # G6: at the latest when the board is full


BOARDS = (((3, 3), 3), ((3, 3, 3), 3), ((7,), 3), ((4, 4), 4), ((6, 5), 4), ((4, 2, 5, 3), 3), ((2, 3), 1))


@pytest.mark.few(5)
@pytest.mark.parametrize("shape, k", BOARDS)
def test_random_games(shape: Shape, k: int) -> None:
    play_random_games(shape, k, rows=10)


@pytest.mark.slow
@pytest.mark.parametrize("shape, k", (*BOARDS, ((4, 4, 4), 4), ((3, 3, 3, 3), 3), ((15, 15), 5)))
def test_many_random_games(shape: Shape, k: int) -> None:
    play_random_games(shape, k, rows=40)


def test_misuse() -> None:
    game = Reference(KEY, shape=(3, 3), k=3)
    game.apply(4)
    for action in (4, -1, 9):
        with pytest.raises(ValueError, match=r"is illegal, allowed: .0, 1, 2, 3, 5"):
            game.apply(action)
    over = Reference.from_dict({"board": [1, 1, 1, -1, -1, 0, 0, 0, 0], "current_player": 1}, KEY, shape=(3, 3), k=3)
    with pytest.raises(ValueError, match="action 5 is illegal"):
        over.apply(5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Reference(KEY, shape=(3, 3), k=3, size=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("dimensions", range(1, 6))
def test_g1_directions(dimensions: int) -> None:
    steps = directions(dimensions)
    opposites = {tuple(-s for s in step) for step in steps}
    assert len(opposites | set(steps)) == 2 * len(steps) == 3**dimensions - 1
    for rank in range(1, dimensions + 1):
        assert sum(sum(map(abs, step)) == rank for step in steps) == comb(dimensions, rank) * 2 ** (rank - 1)


@pytest.mark.parametrize("shape, k", (*BOARDS, ((4, 4, 4), 4), ((3, 3, 3, 3), 3), ((15, 15), 5), ((2, 5), 4)))
def test_g2_number_of_lines(shape: Shape, k: int) -> None:
    found = lines(shape, k)
    assert len(found) == sum(
        prod(max(0, side - k + 1) if s else side for side, s in zip(shape, step, strict=True))
        for step in directions(len(shape))
    )
    if k > 1:
        assert len({frozenset(line) for line in found}) == len(found)


@pytest.mark.parametrize("side, dimensions, count", ((3, 2, 8), (3, 3, 49), (3, 4, 272), (4, 3, 76)))
def test_g2_totals(side: int, dimensions: int, count: int) -> None:
    assert len(lines((side,) * dimensions, side)) == count == ((side + 2) ** dimensions - side**dimensions) // 2


@pytest.mark.parametrize("dimensions", (1, 2, 3))
def test_g2_lines_are_the_triples_with_a_midpoint(dimensions: int) -> None:
    """Check that on sides of 3 a line is three cells of which one is the average of the other two."""

    def place(cell: int) -> list[int]:
        return [cell // 3**axis % 3 for axis in range(dimensions)]

    triples = {
        frozenset((a, b, c))
        for a, c in combinations(range(3**dimensions), 2)
        for b in range(3**dimensions)
        if all(x + z == 2 * y for x, y, z in zip(place(a), place(b), place(c), strict=True))
    }
    assert triples == {frozenset(line) for line in lines((3,) * dimensions, 3)}


@pytest.mark.slow
def test_three_by_three_searched_to_the_end() -> None:
    """Check the numbers of positions and games, optimal play, and uniform random play by exhaustive search."""
    after: dict[Board, list[Board]] = {}
    value: dict[Board, int] = {}  # under perfect play: 1, 0 or -1 for the first player
    games: dict[Board, list[int]] = {}  # that go on from here: won by the first, won by the second, drawn
    chances: dict[Board, list[float]] = {}  # the same under random play, and the plies still to come

    found = [Reference(KEY, shape=(3, 3), k=3)]
    while found:
        game = found.pop()
        if tuple(game.board) not in after:
            children = [child(game, action) for action in game.legal_actions()]
            after[tuple(game.board)] = [tuple(c.board) for c in children]
            found += children
            if game.terminated:
                won = [game.has_line(0), game.has_line(1)]
                value[tuple(game.board)] = won[0] - won[1]
                games[tuple(game.board)] = [*won, not any(won)]
                chances[tuple(game.board)] = [*won, not any(won), 0]
    assert len(after) == 5_478 and len(value) == 958

    for board in sorted(after.keys() - value.keys(), key=lambda board: board.count(0)):  # the fullest first
        best = max if board.count(1) == board.count(-1) else min
        value[board] = best(value[b] for b in after[board])
        games[board] = [sum(kind) for kind in zip(*(games[b] for b in after[board]), strict=True)]
        mean = [fmean(kind) for kind in zip(*(chances[b] for b in after[board]), strict=True)]
        chances[board] = [*mean[:3], mean[3] + 1]
    start = (0,) * 9
    assert games[start] == [131_184, 77_904, 46_080] and sum(games[start]) == 255_168
    assert value[start] == 0
    assert chances[start][:3] == pytest.approx([0.585, 0.288, 0.127], abs=5e-4)
    assert chances[start][3] == pytest.approx(7.63, abs=5e-3)


def first_player_wins(shape: Shape, k: int, plies: int) -> bool:
    """Return whether player 0 can force a line within `plies`, by search from the middle of the board outwards."""

    @cache
    def forced(board: Board, plies: int) -> bool:
        player = 0 if board.count(1) == board.count(-1) else 1
        game = Reference.from_dict({"board": board, "current_player": player}, KEY, shape=shape, k=k)
        if game.terminated or plies == 0:
            return game.has_line(0)
        if all(any(board[cell] == MARKS[1] for cell in line) for line in lines(shape, k)):
            return False  # every line is blocked
        order = sorted(game.legal_actions(), key=lambda c: abs(2 * c - len(board) + 1))
        children = [child(game, action) for action in order]
        children.sort(key=lambda c: not c.terminated)  # stable: immediate wins first
        return (any, all)[player](forced(tuple(c.board), plies - 1) for c in children)

    return forced((0,) * prod(shape), plies)


@pytest.mark.parametrize(
    "shape, k, plies, won",
    (
        ((3, 3), 3, 9, False),
        ((4, 3), 3, 12, True),
        pytest.param((3, 3, 3), 3, 7, True, marks=pytest.mark.slow),
        pytest.param((4, 4), 4, 16, False, marks=pytest.mark.slow),
    ),
)
def test_first_player_wins(shape: Shape, k: int, plies: int, won: bool) -> None:
    """Check where player 0 can force a line; elsewhere the game is a draw, since player 1 can force none."""
    assert first_player_wins(shape, k, plies) == won


def test_no_draw_on_the_cube() -> None:
    """Check that no two-colouring of the 27 cells is free of lines."""
    ends: dict[int, list[list[int]]] = {cell: [] for cell in range(27)}
    for line in lines((3, 3, 3), 3):
        ends[max(line)].append(line)

    def colour(board: list[int]) -> bool:
        """Return whether the remaining cells can be marked without a line."""
        cell = len(board)
        if cell == 27:
            return True
        for mark in MARKS:
            marked = [*board, mark]
            if not any(all(marked[c] == mark for c in line) for line in ends[cell]) and colour(marked):
                return True
        return False

    assert not colour([])
