"""Comparison with OpenSpiel: its `hanabi` plays the same games and shows every seat the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside, random_actions
from tests.games.shared import observe, shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")
GAME = "hanabi"
LONG: dict[str, Any] = {"life_tokens": 31}  # games that last until the deck is empty
SMALL: dict[str, Any] = {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 2}
CONFIGS: list[dict[str, Any]] = [
    SMALL,
    {},
    {"players": 3} | LONG,
    {"players": 4} | LONG,
    {"players": 5, "information_tokens": 3},
    {"players": 5} | LONG,
    {"colors": 2, "ranks": 3, "hand_size": 3, "life_tokens": 2},
    {"colors": 1, "ranks": 2, "hand_size": 2} | LONG,
    {"colors": 3, "ranks": 1, "hand_size": 1, "information_tokens": 0, "life_tokens": 31},
    {"players": 3, "colors": 4, "ranks": 4, "hand_size": 2, "information_tokens": 1} | LONG,
]


def other_game(env: te.Env) -> Any:
    """Return OpenSpiel's game with the rule fields of an environment."""
    rules = env.rules
    names = {"max_information_tokens": "information_tokens", "max_life_tokens": "life_tokens"}
    same = ("players", "colors", "ranks", "hand_size")
    fields = {name: getattr(rules, names.get(name, name)) for name in (*same, *names)}
    return pyspiel.load_game(GAME, fields)


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> np.ndarray:
    """Play random games in both engines; compare all that `play_beside` does, and every seat's observation."""
    env = shared_env(GAME, **config)
    game = other_game(env)
    assert (game.num_distinct_actions(), game.observation_tensor_shape()) == (env.num_actions, [*env.observation_shape])
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    for hands, other in zip(state.hands.numpy().reshape(batch, -1).tolist(), others, strict=True):
        for card in hands:
            other.apply_action(card)
    drawn = list[int]()

    def choose(state: te.State, ended: np.ndarray) -> np.ndarray:
        """Note the cards that random actions draw: the last ones in the hands."""
        actions = random_actions(state, ended)
        after = env.step(state, actions).hands.numpy()
        drawn[:] = after[np.arange(batch), state.current_player.numpy(), -1].tolist()
        return actions

    def look(state: te.State) -> None:
        for player in range(env.num_players):
            theirs = np.array([other.observation_tensor(player) for other in others])
            assert (observe(state, player) == theirs).all(), player

    state, returns = play_beside(state, others, choose, look, chance=lambda row: drawn[row])
    assert (returns == returns[:, :1]).all()
    return returns[:, 0]


@pytest.mark.few(1)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=64, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_thousand_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=1000, seed=2)


def test_names_are_openspiels() -> None:
    env = shared_env(GAME, players=3)
    state = other_game(env).new_initial_state()
    for card in (0, 6, 12, 18, 24, *range(10)):  # player 0 sees every colour and every rank
        state.apply_action(card)
    names = {action: state.action_to_string(action).strip("()") for action in state.legal_actions()}
    assert {action: env.action_to_string(action) for action in names} == names
