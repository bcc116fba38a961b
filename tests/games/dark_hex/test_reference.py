"""Dark Hex: the tensor engine against the reference ply by ply, golden games, the published value of uniform play."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.dark_hex.rules import DarkHex
from tensor_envs.rules import int32, uint32
from tests.games.dark_hex.reference import STONES, Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.phantom import sampled
from tests.games.shared import shared_env

GAME = "dark_hex"
BOARDS: list[dict[str, Any]] = [{}, {"abrupt": True}, {"size": 5}]
OTHERS: list[dict[str, Any]] = [{"size": 1}, {"size": 2}, {"size": 4, "abrupt": True}, {"size": 5, "abrupt": True}]
UNIFORM = {False: 1 / 3, True: 0.2669257054669512}  # values for player 0, by all states of OpenSpiel's game


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=3, **config)
    assert set(returns[:, 0]) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=1500, seed=8, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 9


@pytest.mark.slow
@pytest.mark.parametrize(("abrupt", "expected"), UNIFORM.items())
def test_the_value_of_uniform_play(abrupt: bool, expected: float) -> None:
    """Follow all states of 3x3 with their probabilities, those that are equal as one."""
    env, value, states = shared_env(GAME, abrupt=abrupt), 0.0, 0
    weights: np.ndarray
    state, weights = env.init(1), np.ones(1)
    while state.batch:
        mask = state.numpy()["legal_action_mask"]
        rows, actions = np.nonzero(mask)
        state = env.step(env.take(state, rows), actions)
        weights = np.asarray((weights / mask.sum(1))[rows])
        now = state.numpy()
        value += float(weights @ now["rewards"][:, 0])
        names = ("own", "other", "found", "current_player")
        table = np.stack([now[name] for name in names], 1)[going := np.flatnonzero(~now["terminated"])]
        if not len(going):
            break
        _, first, same = np.unique(table, axis=0, return_index=True, return_inverse=True)
        state = env.take(state, going[first])
        weights = np.asarray(np.bincount(same.ravel(), weights[going]))
        states += len(first)
    assert value == pytest.approx(expected, abs=1e-9) and states == (333_650 if abrupt else 283_858)


@pytest.mark.few("3")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_every_set_of_stones(size: int) -> None:
    """Check the rules' chains, which they follow for a fixed number of steps (D4)."""
    rules = DarkHex(size=size)
    for stones in range(2**rules.cells):
        board = [stones >> cell & 1 for cell in range(rules.cells)]
        for player in (0, 1):
            state = {"board": [STONES[player] * stone for stone in board], "found": [0] * rules.cells}
            game = Reference.from_dict(state | {"current_player": 0}, (0, 0), size=size)
            assert rules.has_won(uint32(stones), int32(player)).value == game.connected(player)


def turns(board: Sequence[int], found: Sequence[int], stone: int) -> int:
    """Return the number of stones that the owner of a stone has placed or found."""
    return sum(one == stone or (one == -stone and mark) for one, mark in zip(board, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("abrupt", [False, True])
def test_determinize_returns_states_that_go_on(abrupt: bool) -> None:
    """Blue has found one of three red stones, and red none; three stones of blue may connect."""
    board, found = [0, 1, -1, 1, 1, -1, -1, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0, 0]
    game = {"board": board, "found": found, "current_player": 0}
    env, theirs = shared_env(GAME, abrupt=abrupt), {0: -1, 1: 1}
    for player in (0, 1):
        states = sampled(env, game, player, 200)
        assert len(states) > 2
        for stones, marks in states:
            again = Reference.from_dict({**game, "board": stones, "found": marks}, (0, 0), abrupt=abrupt)
            assert not again.terminated
            assert turns(stones, marks, theirs[player]) == turns(board, found, theirs[player])
            assert abrupt or stones.count(theirs[player]) == 3
    assert te.make(GAME).engine.game.determinizes
