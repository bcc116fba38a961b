"""Hanabi: the tensor engine against the reference ply by ply, golden games, draws, determinize."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.games.hanabi.rules import Hanabi, ways
from tensor_envs.rules import int32, uint64
from tensor_envs.rules.chance import KeyedChance
from tests.games.chance import game_key
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import reference, shared_env

GAME = "hanabi"
LONG: dict[str, Any] = {"life_tokens": 31}  # games that last until the deck is empty
SMALL: dict[str, Any] = {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 2}
OTHERS: list[dict[str, Any]] = [
    {"players": 3} | LONG,
    {"players": 4, "keep_score": True},
    {"players": 5} | LONG,
    {"colors": 1, "ranks": 2, "hand_size": 2} | LONG,
    {"colors": 4, "ranks": 1, "hand_size": 3, "information_tokens": 0} | LONG,
    {"colors": 5, "ranks": 2, "hand_size": 1, "information_tokens": 31, "life_tokens": 1},
]


@pytest.mark.parametrize("config", [SMALL], ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=3, **config)
    assert (returns == returns[:, :1]).all() and len(set(returns[:, 0])) > 2


@pytest.mark.slow
@pytest.mark.parametrize("config", [{}, LONG, SMALL, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=300, seed=8, observe_every=3, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def test_draws_are_equally_likely() -> None:
    """Check pairs of cards that are dealt from five copies, three of one card and two of the others, by their odds."""
    deal = shared_env(GAME, colors=1, ranks=3, hand_size=1).init(30_000, seed=5).hands.numpy().reshape(-1, 2)
    copies = (3, 2, 1)
    for first, n in enumerate(copies):
        for second, m in enumerate(copies):
            expected = 30_000 * n * (m - (first == second)) / (6 * 5)
            assert abs((deal == (first, second)).all(1).sum() - expected) <= 5 * expected**0.5


def test_ways_are_counted_without_repetitions() -> None:
    """Compare with all choices of members, for random sets of seven."""
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 3, 4, 5):
        for _ in range(4):
            sets = [[k for k in range(7) if rng.random() < 0.6] for _ in range(size)]
            words = [uint64(sum(1 << k for k in members)) for members in sets]
            assert ways(words).value == sum(len({*chosen}) == size for chosen in product(*sets))


def positions(config: dict[str, Any], seeds: int, plies: int) -> Iterator[tuple[ScalarGame, Any]]:
    """Yield unfinished random games after some plies, and the reference's games beside them."""
    for seed in range(seeds):
        plain = ScalarGame(Hanabi(**config), seed)
        other = reference(GAME)(game_key(seed, 0, 0), **config)
        for _ in range(plies):
            action = plain.uniform_action()
            plain.step(action)
            other.apply(action)
            if plain.over:
                break
        else:
            yield plain, other


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "plies", "samples"),
    [
        pytest.param({"colors": 2, "ranks": 3, "hand_size": 2}, 3, 400, id="early"),
        pytest.param({"colors": 2, "ranks": 3, "hand_size": 3} | LONG, 9, 3000, id="late"),
        pytest.param({"players": 3, "colors": 2, "ranks": 3, "hand_size": 3} | LONG, 9, 3000, id="last turns"),
        pytest.param({"colors": 1, "ranks": 5, "hand_size": 5}, 0, 600, id="whole deck"),
    ],
)
def test_determinize_draws_every_possible_hand_alike(config: dict[str, Any], plies: int, samples: int) -> None:
    """Compare the odds of hands with those of all deals that the reference enumerates."""
    rules = Hanabi(**config)
    met = 0
    for plain, other in positions(config, 4, plies):
        s = plain.state
        for player in range(rules.players):
            hands = Counter(other.possible_hands(player))
            drawn = Counter[Any]()
            for key in range(samples):
                again = rules.determinize(s, int32(player), KeyedChance((3, key)))
                hand = [int(card.value) for card in again.hands[player] if card.value < rules.cards]
                drawn[tuple(divmod(card, rules.ranks) for card in hand)] += 1
                seats = [seat for seat in range(rules.players) if seat != player]
                assert [again.hands[seat] for seat in seats] == [s.hands[seat] for seat in seats]
            assert drawn.keys() <= hands.keys()
            for hand, count in hands.items():
                expected = samples * count / hands.total()
                assert abs(drawn[hand] - expected) <= 5 * max(expected, 1) ** 0.5, hand
            met += len(hands) > 1
    assert met > 1
