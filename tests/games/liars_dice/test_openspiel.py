"""Comparison with OpenSpiel: its `liars_dice` for two plays the same games, of dice of equal numbers and sides."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside
from tests.games.shared import observe, shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")
GAMES: list[dict[str, Any]] = [{}, {"dice": 3, "sides": 4}, {"dice": 6, "sides": 8}]
VALUE = -0.027131782945736  # of the first player, by linear programming: OpenSpiel's sequence_form_lp_test.py


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> None:
    """Play random games in both engines; compare masks, players, ends, returns and observations at every ply."""
    env = shared_env("liars_dice", **config)
    game = pyspiel.load_game("liars_dice", {"numdice": env.rules.dice, "dice_sides": env.rules.sides})
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    for dice, other in zip(state.dice.numpy().reshape(batch, -1).tolist(), others, strict=True):
        for die in dice:
            assert other.is_chance_node()
            other.apply_action(die)

    def look(state: te.State) -> None:
        for player in (0, 1):
            theirs = np.array([other.information_state_tensor(player) for other in others])
            assert (observe(state, player) == theirs).all()

    _, returns = play_beside(state, others, look=look)
    assert set(returns[:, 0].tolist()) == {1.0, -1.0}


@pytest.mark.few(1)
@pytest.mark.parametrize("config", GAMES, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=100, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", GAMES, ids=str)
def test_thousands_of_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=3000, seed=2)


def test_several_dice_are_as_exploitable() -> None:
    game = pyspiel.load_game("liars_dice", {"numdice": 2, "dice_sides": 2})
    tree = te.game_tree(shared_env("liars_dice", dice=2, sides=2))
    found = te.exploitability(tree, lambda s: s.legal_action_mask.numpy() / s.legal_action_mask.numpy().sum(1)[:, None])
    assert found == pytest.approx(pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game)), abs=1e-12)


@pytest.mark.slow
def test_the_value_is_that_of_linear_programming() -> None:
    found = te.equilibrium(te.game_tree(shared_env("liars_dice")), "pcfr+", until=1e-4)
    assert found.values == pytest.approx([VALUE, -VALUE], abs=1e-4)
