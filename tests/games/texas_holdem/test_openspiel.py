"""Comparison with OpenSpiel: its `universal_poker` plays the same games, and judges strategies alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")
GAME = "texas_holdem"
LIMIT: dict[str, Any] = {"limit": (2, 2, 4, 4), "max_raises": (3, 4, 4, 4)}
# of hands of one card; the last has no street before the board
SMALL: list[dict[str, Any]] = [
    {
        "hole_cards": 1, "streets": (0, 1), "limit": (2, 4), "max_raises": (2, 2), "ranks": 3, "suits": 2,
        "small_blind": 1, "big_blind": 2,
    },
    {"hole_cards": 1, "streets": (0, 1), "raises": (100,), "stacks": (9, 9), "ranks": 4, "suits": 1},
    {"hole_cards": 1, "streets": (2,), "raises": (100,), "stacks": (10, 10), "small_blind": 2, "ranks": 3, "suits": 2},
]  # fmt: skip


class Dealt:
    """OpenSpiel's state, whose board is dealt as soon as a street has ended."""

    def __init__(self, state: Any, deck: list[int]):
        self.state = state
        self.deck = iter(deck)
        self.deal()

    def deal(self) -> None:
        while self.state.is_chance_node():
            self.state.apply_action(next(self.deck))

    def apply_action(self, action: int) -> None:
        self.state.apply_action(action)
        self.deal()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)


def universal(env: te.Env) -> Any:
    """Return OpenSpiel's game with the rule fields of an environment."""
    rules = env.rules
    streets = range(len(rules.streets))
    parameters = {
        "betting": "limit" if rules.limit else "nolimit", "numPlayers": 2, "numRounds": len(streets),
        "blind": f"{rules.big_blind} {rules.small_blind}", "numSuits": rules.suits, "numRanks": rules.ranks,
        "firstPlayer": " ".join("1" if rules.streets[street] else "2" for street in streets),
        "numHoleCards": rules.hole_cards, "numBoardCards": " ".join(map(str, rules.streets)),
        "stack": " ".join(map(str, rules.stacks)),
        "bettingAbstraction": "fcpa",  # a raise of the pot, and all-in
    }  # fmt: skip
    if rules.limit:
        parameters["raiseSize"] = " ".join(map(str, rules.limit))
        del parameters["bettingAbstraction"]
    if rules.max_raises:
        parameters["maxRaises"] = " ".join(map(str, rules.max_raises))
    return pyspiel.load_game("universal_poker", parameters)


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> None:
    """Play random games in both engines; compare legal actions, players, ends and returns at every ply."""
    env = shared_env(GAME, **config)
    game, state = universal(env), env.init(batch, seed)
    decks = np.concatenate([state.hands.numpy().reshape(batch, -1), state.board.numpy()], axis=1).tolist()
    _, returns = play_beside(state, [Dealt(game.new_initial_state(), deck) for deck in decks])
    assert len(np.unique(returns[:, 0])) >= 8


CONFIGS: list[dict[str, Any]] = [
    {"raises": (100,)},
    LIMIT,
    {"raises": (100,), "stacks": (60, 60), "big_blind": 3, "small_blind": 1, "ranks": 6, "streets": (0, 3, 1)},
]


@pytest.mark.few("0")
@pytest.mark.parametrize("config", CONFIGS, ids="012")
def test_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=64, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", [*CONFIGS, SMALL[0] | {"ranks": 8, "suits": 3}], ids=str)
def test_thousands_of_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=3000, seed=2)


@pytest.mark.few("1")
@pytest.mark.parametrize("config", SMALL, ids="012")
def test_small_variants_are_as_exploitable(config: dict[str, Any]) -> None:
    env = te.make(GAME, **config)
    game, tree = universal(env), te.game_tree(env)
    found = te.exploitability(tree, lambda s: s.legal_action_mask.numpy() / s.legal_action_mask.numpy().sum(1)[:, None])
    assert found == pytest.approx(pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game)), abs=1e-9)
