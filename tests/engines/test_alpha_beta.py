"""Othello's trained player against alpha-beta search, which is tested first."""

from __future__ import annotations

import random

import pytest

import tensor_envs as te
from tests.engines.alpha_beta import INFINITE, AlphaBeta, best_square, flipped, moves, search, squares_of, value
from tests.games.othello.reference import PASS, Reference
from tests.games.shared import shared_env


def sets_of(game: Reference) -> tuple[int, int]:
    """Return the discs of the player to move and the opponent's."""
    own, other = (
        sum(1 << 8 * row + column for row in range(8) for column in range(8) if game.board[row][column] == disc)
        for disc in ((1, -1) if game.current_player == 0 else (-1, 1))
    )
    return own, other


def positions(count: int) -> list[Reference]:
    """Return positions of random games of the reference."""
    draw = random.Random(5)
    found = list[Reference]()
    while len(found) < count:
        game = Reference((0, 0))
        for _ in range(draw.randrange(60)):
            if game.terminated:
                break
            game.apply(draw.choice(game.legal_actions()))
        if not game.terminated:
            found.append(game)
    return found


def minimax(own: int, other: int, depth: int) -> int:
    """Return the value of a position by a search of everything."""
    if depth == 0:
        return value(own, other)
    legal = moves(own, other)
    if not legal and not moves(other, own):
        return search(own, other, 1, -INFINITE, INFINITE)
    after = [(flipped(s, own, other), 1 << s) for s in squares_of(legal)] or [(0, 0)]
    return max(-minimax(other & ~turned, own | turned | disc, depth - 1) for turned, disc in after)


def test_its_moves_are_the_references() -> None:
    for game in positions(100):
        own, other = sets_of(game)
        assert sorted(squares_of(moves(own, other))) == [a for a in game.legal_actions() if a != PASS]
        for square in squares_of(moves(own, other)):
            turned = sum(1 << 8 * r + c for r, c in game.outflanked(game.current_player, divmod(square, 8)))
            assert flipped(square, own, other) == turned


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_it_cuts_off_changes_no_value(depth: int) -> None:
    for game in positions(12):
        own, other = sets_of(game)
        assert search(own, other, depth, -INFINITE, INFINITE) == minimax(own, other, depth)


def test_it_takes_the_corner_and_passes_where_it_must() -> None:
    corner = 1 << 1 | 1 << 2
    assert best_square(1 << 3, corner, 1) == 0
    assert best_square(1, 2 << 32, 3) == PASS


@pytest.mark.slow
def test_the_trained_player_beats_depth_four() -> None:
    """Prints the score of 256 simulations, and its interval of 95 %."""
    players: list[te.agents.Policy] = [te.agents.load("othello", 256), AlphaBeta(4)]
    result = te.evaluate(shared_env("othello"), players, games=200, opening=2, seed=1)
    print(result)
    assert result.scores[0] >= 0.6
