"""Kuhn poker: the tensor engine against the reference ply by ply, golden games, Kuhn's own figures."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.games.kuhn_poker.rules import KuhnPoker
from tensor_envs.rules import int32
from tensor_envs.rules.chance import KeyedChance
from tests.games.chance import draw
from tests.games.kuhn_poker.reference import Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "kuhn_poker"
DEALS = list(permutations(range(3), 2))


def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=200, seed=4, observe_every=1)
    assert set(returns[:, 0]) == {1.0, -1.0, 2.0, -2.0}


@pytest.mark.slow
def test_many_games_agree_with_the_reference() -> None:
    play_in_lockstep(GAME, batch=20_000, seed=8)


def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


def test_deals_are_equally_likely() -> None:
    """Check that each of six deals occurs 5,000 times in 30,000; the standard deviation is 65."""
    cards = shared_env(GAME).init(30_000, seed=5).cards.numpy()
    assert all(abs((cards == deal).all(1).sum() - 5000) < 5 * 65 for deal in DEALS)


def every_game() -> dict[tuple[int, int], dict[tuple[int, ...], float]]:
    """Return for every deal the kernel's rewards of player 0 by the histories of ended games."""
    state = shared_env(GAME).state_from_dicts([{"cards": list(deal), "history": []} for deal in DEALS])
    paths: list[tuple[Any, tuple[int, ...]]] = [(deal, ()) for deal in DEALS]
    found: dict[tuple[int, int], dict[tuple[int, ...], float]] = {deal: {} for deal in DEALS}
    while True:
        rows, actions = np.nonzero(state.numpy()["legal_action_mask"])
        if not len(rows):
            return found
        state = state.env.step(state.env.take(state, rows), actions)
        paths = [(paths[row][0], (*paths[row][1], int(a))) for row, a in zip(rows, actions, strict=True)]
        now = state.numpy()
        for row in np.flatnonzero(now["terminated"]):
            found[paths[row][0]][paths[row][1]] = float(now["rewards"][row, 0])


@pytest.mark.parametrize("alpha", (Fraction(0), Fraction(1, 5), Fraction(1, 3)), ids=str)
def test_the_value_is_minus_a_18th(alpha: Fraction) -> None:
    """Check Kuhn's equilibria: player 0 bets a jack with alpha and a king with 3 alpha, and calls with a queen with
    alpha + 1/3; player 1 bets a jack, and calls with a queen, with 1/3."""
    third, games = Fraction(1, 3), every_game()
    assert [len(ends) for ends in games.values()] == [5] * 6
    one, never = Fraction(1), Fraction(0)
    bets = {0: (alpha, never, 3 * alpha), 1: (third, never, one)}  # after nothing, after a pass
    calls = {0: (never, alpha + third, one), 1: (never, third, one)}
    value = Fraction(0)
    for cards, ends in games.items():
        for history, worth in ends.items():
            chance = Fraction(1, 6)
            for ply, action in enumerate(history):
                chances = calls if 1 in history[:ply] else bets
                likely = chances[ply % 2][cards[ply % 2]]
                chance *= likely if action else 1 - likely
            value += chance * Fraction(worth)
    assert value == Fraction(-1, 18)


def test_information_sets() -> None:
    """Check that the player to move has 12 different observations over all deals and histories."""
    seen = {
        tuple(Reference.from_dict({"cards": deal, "history": history}, (0, 0)).observation(len(history) % 2))
        for deal in DEALS
        for history in ([], [0], [1], [0, 1])
    }
    assert len(seen) == 12


@pytest.mark.parametrize("player", (0, 1))
def test_determinize_deals_the_other_card_alone(player: int) -> None:
    rules, dealt = KuhnPoker(), set()
    for row in range(30):
        game = ScalarGame(rules, seed=3, row=row)
        game.step(0)
        again = rules.determinize(game.state, int32(player), KeyedChance((3, row)))
        old, new = ([int(card.value) for card in s.cards] for s in (game.state, again))
        assert new[player] == old[player] and sorted(set(new)) == sorted(new) and set(new) <= {0, 1, 2}
        assert new[1 - player] == (old[player] + 1 + draw((3, row), 0, 2)) % 3
        assert again.replace(cards=game.state.cards).asdict() == game.state.asdict()
        dealt.add(tuple(new))
    assert dealt == set(DEALS)
