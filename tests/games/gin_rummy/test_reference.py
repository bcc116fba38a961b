"""Gin rummy: the tensor engine against the reference ply by ply, golden games, arrangements, determinize."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest

from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.games.gin_rummy.melds import CARDS, can_reach
from tensor_envs.games.gin_rummy.rules import GinRummy
from tensor_envs.rules import int32, uint64
from tensor_envs.rules.chance import KeyedChance
from tests.games.chance import game_key
from tests.games.gin_rummy.players import careful_actions
from tests.games.gin_rummy.reference import MELDS, deadwood, number
from tests.games.lockstep import compare_observations, replay_traces
from tests.games.shared import reference, shared_env

GAME = "gin_rummy"
CONFIGS: list[dict[str, Any]] = [
    {},
    {"oklahoma": True, "gin_bonus": 7},
    {"knock_card": 2, "undercut_bonus": 0},
    {"knock_card": 0},
]


def play_in_lockstep(batch: int, seed: int, care: float, **config: Any) -> np.ndarray:
    """Play games of careful players in both engines; compare all at every ply -> the returns of player 0."""
    env = shared_env(GAME, **config)
    engine = reference(GAME)
    state = env.init(64 if batch < 64 else batch, seed)
    games = [engine(game_key(seed, row, 0), **config) for row in range(batch)]
    returns = np.zeros(batch)
    rng = np.random.default_rng(seed)
    for ply in range(400):
        now = state.numpy()
        live = [row for row in range(batch) if not games[row].terminated]
        for row in range(batch):
            legal = np.flatnonzero(now["legal_action_mask"][row]).tolist()
            assert legal == games[row].legal_actions(), f"row {row}, ply {ply}: legal actions"
            assert now["terminated"][row] == games[row].terminated, f"row {row}, ply {ply}"
            assert now["current_player"][row] == games[row].current_player, f"row {row}, ply {ply}"
        if ply % 5 == 0:
            compare_observations(state, games, f"ply {ply}")
        for row in live if ply % 5 == 0 else live[:1]:
            written = env.state_to_dict(state, row)
            assert written | games[row].to_dict() == written, f"row {row}, ply {ply}: state"
        if not live:
            return returns
        actions = careful_actions(state, rng, care)
        state = env.step(state, actions)
        rewards = state.rewards.numpy()
        for row in live:
            games[row].apply(int(actions[row]))
            assert rewards[row].tolist() == games[row].rewards, f"row {row}, ply {ply}: rewards"
            returns[row] += rewards[row, 0]
    raise AssertionError("games must end")


def test_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(batch=24, seed=4, care=0.95)
    assert len(set(returns)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("care", (0, 0.9, 1))
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any], care: float) -> None:
    play_in_lockstep(300, 8, care, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME, batch=448) == 6


def rich_hands(count: int) -> list[set[int]]:
    """Return random hands of ten or eleven cards with many melds, sets of four among them."""
    rng = np.random.default_rng(3)
    hands = list[set[int]]()
    while len(hands) < count:
        size = int(rng.integers(10, 12))
        hand = set[int]()
        while len(hand) < size:
            more = {number(card) for card in MELDS[rng.integers(len(MELDS))]} if rng.random() < 0.9 else set()
            hand |= more or {int(rng.integers(CARDS))}
        if len(hand) == size:
            hands.append(hand)
    return hands


@pytest.mark.parametrize("count", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_least_deadwood_is_that_of_the_reference(count: int) -> None:
    """Compare hands with and without a discard, at the limit that is just met and at the one below."""
    for hand in rich_hands(count):
        cards = frozenset(divmod(card, 13) for card in hand)
        word = uint64(sum(1 << card for card in hand))
        best = {False: deadwood(cards), True: min(deadwood(cards - {card}) for card in cards)}
        for discards, least in best.items():
            found = [can_reach(word, int32(limit), discards).value for limit in (least, least - 1)]
            assert found == [True, False], (sorted(hand), discards)


@pytest.mark.few(1)
@pytest.mark.parametrize("player", (0, 1))
def test_determinize_draws_every_possible_hand_alike(player: int) -> None:
    """Count hands late in a game, when the reference can list them; the opponent's known cards stay."""
    samples = 400
    rules = GinRummy()
    game = ScalarGame(rules, seed=5)
    other = reference(GAME)(game_key(5, 0, 0))
    while other.phase != "draw" or len(other.stock) > 4 or len(other.known[1 - player]) < 7:
        if other.terminated:
            pytest.fail("the game must come to a late position")
        action = late_action(other)
        game.step(action)
        other.apply(action)
    hands = [frozenset(map(number, hand)) for hand in islice(other.possible_hands(1 - player), 1000)]
    drawn = Counter[Any]()
    for key in range(samples):
        again = rules.determinize(game.state, int32(player), KeyedChance((3, key)))
        cards, stock = int(again.hands[1 - player].value), int(again.stock.value)
        drawn[frozenset(card for card in range(CARDS) if cards >> card & 1)] += 1
        assert again.hands[player].value == game.state.hands[player].value and cards & stock == 0
        assert cards | stock == game.state.hands[1 - player].value | game.state.stock.value
        kept = again.replace(hands=game.state.hands, stock=game.state.stock).asdict()
        assert kept == game.state.asdict()
    expected = samples / len(hands)
    assert drawn.keys() <= {*hands} and len(hands) > 10
    assert all(abs(drawn[hand] - expected) <= 5 * expected**0.5 for hand in hands)


def late_action(game: Any) -> int:
    """Return an action that makes cards known: take upcards now and then, discard unknown cards, never knock."""
    legal = game.legal_actions()
    if game.phase == "discard":
        unknown = sorted(map(number, game.hands[game.current_player] - game.known[game.current_player]))
        return unknown[game.ply % len(unknown)] if unknown else legal[game.ply % 11]
    if game.phase in ("draw", "first upcard"):
        return legal[game.ply // 2 % 3 > 0] if len(game.known[game.current_player]) < 8 else legal[-1]
    return legal[0]
