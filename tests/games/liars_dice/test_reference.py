"""Liar's dice: the tensor engine against the reference ply by ply, golden games, the throw."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.games.liars_dice.rules import LiarsDice
from tensor_envs.rules import int32
from tensor_envs.rules.chance import KeyedChance
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "liars_dice"
GAMES: list[dict[str, Any]] = [{}, {"players": 3, "dice": 2, "sides": 5}]
OTHERS: list[dict[str, Any]] = [  # with 32, 64 and 288 bids
    {"dice": 4, "sides": 4}, {"players": 4, "dice": 2, "sides": 8}, {"players": 6, "dice": 6, "sides": 8},
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("config", GAMES, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=60, seed=4, observe_every=1, **config)
    assert set(returns[:, 0]) == {1 / (config.get("players", 2) - 1), -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", [*GAMES, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=800, seed=8, observe_every=3, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def test_throws_are_equally_likely() -> None:
    """Check that 2 dice of 3 sides show each pair of faces as often as it should, and independently of the others."""
    dice = shared_env(GAME, dice=2, sides=3).init(36_000, seed=5).dice.numpy()
    assert (dice[:, :, 0] <= dice[:, :, 1]).all()
    hands = dice @ [3, 1]
    counts = np.zeros((9, 9), int)
    np.add.at(counts, (hands[:, 0], hands[:, 1]), 1)
    chances = np.array([[1, 2, 2], [0, 1, 2], [0, 0, 1]]).ravel() / 9
    expected = 36_000 * np.outer(chances, chances)
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()


@pytest.mark.parametrize("player", [0, 1, 2])
def test_determinize_throws_the_dice_of_others_alone(player: int) -> None:
    rules = LiarsDice(players=3, dice=2, sides=3)
    game, hands = ScalarGame(rules, seed=3), set()
    game.step(4)
    for number in range(800):
        again = rules.determinize(game.state, int32(player), KeyedChance((3, number)))
        old, new = ([int(die.value) for own in s.dice for die in own] for s in (game.state, again))
        assert new[2 * player : 2 * player + 2] == old[2 * player : 2 * player + 2]
        assert all(0 <= new[k] <= new[k + 1] < 3 for k in (0, 2, 4))
        assert again.replace(dice=game.state.dice).asdict() == game.state.asdict()
        hands.add(tuple(new))
    assert len(hands) == 36


def test_several_dice_are_one_throw_in_a_tree() -> None:
    """Count information states of 2 dice of 2 sides: 3 hands, and the sets of 8 bids after which a player moves."""
    assert len(te.game_tree(shared_env(GAME, dice=2, sides=2))) == 3 * (2**8 - 1) + 3
