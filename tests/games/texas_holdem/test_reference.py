"""Texas hold'em: the tensor engine against the reference ply by ply, golden games, hands, deals, determinize."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.games.texas_holdem.rules import TexasHoldem
from tensor_envs.rules import int32
from tensor_envs.rules.chance import KeyedChance
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "texas_holdem"
LIMIT: dict[str, Any] = {"limit": (2, 2, 4, 4), "max_raises": (3, 4, 4, 4)}
SHORT: dict[str, Any] = {
    "stacks": (23, 60), "small_blind": 2, "big_blind": 5, "raises": (33, 75, 150), "streets": (0, 3, 1),
    "ranks": 6, "suits": 3,
}  # fmt: skip
OTHERS: list[dict[str, Any]] = [
    LIMIT | {"stacks": (17, 30)},
    {"stacks": (60, 23), "raises": (), "big_blind": 3},
    {"streets": (5,), "small_blind": 2, "ranks": 5, "suits": 4, "max_raises": (2,)},
    {"hole_cards": 1, "streets": (0, 1), "limit": (2, 4), "max_raises": (2, 2), "ranks": 3, "suits": 2},
    {"hole_cards": 1, "streets": (0,), "limit": (1,), "big_blind": 1, "max_raises": (1,), "ranks": 3, "suits": 1},
    {"stacks": (3000, 2000), "raises": (10, 60, 1000), "small_blind": 0},
]


@pytest.mark.slow
@pytest.mark.parametrize("config", [{}, SHORT], ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=128, seed=4, observe_every=1, **config)
    assert len(set(returns[:, 0])) > 6 and (returns.sum(1) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("config", [{}, LIMIT, SHORT, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=1000, seed=8, observe_every=2, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def test_deals_are_equally_likely() -> None:
    """Check the cards of each seat and the pairs of hands, of a deck of six, against the standard deviation."""
    config: dict[str, Any] = {"ranks": 3, "suits": 2, "hole_cards": 1, "streets": (0, 2), "raises": ()}
    state = shared_env(GAME, **config).init(48_000, seed=5)
    cards = np.concatenate([state.hands.numpy()[:, :, 0], state.board.numpy()], axis=1)
    assert (cards[:, 2] < cards[:, 3]).all() and (np.sort(cards)[:, 1:] > np.sort(cards)[:, :-1]).all()
    counts = np.unique(cards, axis=0, return_counts=True)[1]
    assert len(counts) == 6 * 5 * comb(4, 2) and abs(counts - 48_000 / 180).max() < 5 * (48_000 / 180) ** 0.5


@pytest.mark.few("1-0")
@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("street", (0, 1, 2))
def test_determinize_deals_what_is_not_seen_alone(player: int, street: int) -> None:
    """Check that visible cards stay and that all deals of the others are equally likely."""
    rules = TexasHoldem(ranks=4, suits=2, hole_cards=1, streets=(0, 2, 1))
    game = ScalarGame(rules, seed=3)
    for _ in range(2 * street):
        game.step(1)
    s = game.state
    own = int(s.hands[player][0].value)
    opened = [int(card.value) for card in s.board][: (0, 2, 3)[street]]
    left = set(range(8)) - {own, *opened}
    counts: dict[tuple[int, ...], int] = {}
    for key in range(1200):
        again = rules.determinize(s, int32(player), KeyedChance((3, key)))
        other = int(again.hands[1 - player][0].value)
        board = [int(card.value) for card in again.board]
        assert int(again.hands[player][0].value) == own and board[: len(opened)] == opened
        assert {other, *board[len(opened) :]} <= left and len({other, *board}) == 4 and board[0] < board[1]
        assert again.replace(hands=s.hands, board=s.board).asdict() == s.asdict()
        counts[other, *board] = counts.get((other, *board), 0) + 1
    expected = (7 * comb(6, 2) * 4, 5 * 4, 4)[street]
    mean = 1200 / expected
    assert len(counts) <= expected and all(abs(n - mean) < 5.5 * mean**0.5 for n in counts.values())
    assert street == 0 or len(counts) == expected


@pytest.mark.slow
def test_kuhn_poker_is_a_variant() -> None:
    """With three cards, no board and one bet, the equilibrium has the value of Kuhn's."""
    config: dict[str, Any] = {
        "hole_cards": 1, "streets": (0,), "limit": (1,), "small_blind": 1, "big_blind": 1, "max_raises": (1,),
        "ranks": 3, "suits": 1, "stacks": (2, 2),
    }  # fmt: skip
    tree = te.game_tree(te.make(GAME, **config))
    assert len(tree) == 12
    found = te.equilibrium(tree, "pcfr+", until=1e-4)
    assert found.values == pytest.approx([1 / 18, -1 / 18], abs=2e-4)
