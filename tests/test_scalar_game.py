"""One game in plain Python: it equals a row of a batch at every ply, and its rules can print and break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games import dice_race
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")
RACE = dice_race.shared()
LARGE = te.make("hyper_tic_tac_toe", shape=(24, 24), k=2)  # boards in memory fields


def check(game: te.ScalarGame, state: te.State, row: int) -> None:
    now, env = state.numpy(), state.env
    for name, value in game.fields().items():
        np.testing.assert_array_equal(np.ravel(now[name][row]), np.ravel(value), err_msg=name)
    assert (game.terminated, game.truncated) == (now["terminated"][row], now["truncated"][row])
    np.testing.assert_array_equal(game.rewards, now["rewards"][row])
    assert game.legal_actions() == np.flatnonzero(now["legal_action_mask"][row]).tolist()
    if not game.over:
        assert game.uniform_action() == te.agents.uniform(state).numpy()[row]
        for player in (None, 1):
            seen = env.observe(state, player).numpy()[row]
            plain = game.observe(player)
            assert plain.shape == seen.shape and plain.dtype == seen.dtype
            np.testing.assert_array_equal(plain, seen)


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("env", [TTT, RACE, LARGE], ids=["tic_tac_toe", "dice_race", "in memory"])
def test_a_row_of_a_batch(env: te.Env) -> None:
    """A debugged game equals its row over an end, an illegal action and a reset."""
    batch, seed, rows = 5, 2**40 + 3, (0, 3)
    state, games = env.init(batch, seed), {row: te.debug(env, seed, row) for row in rows}
    ends = reported = 0
    for ply in range(40):
        for row, game in games.items():
            check(game, state, row)
        if ply == 30:
            state = env.reset(state, np.ones(batch, bool))
            for game in games.values():
                game.reset()
            continue
        actions = te.agents.uniform(state).numpy()
        if ply == 33:
            actions[3] = -1
        elif ply == 35:  # of a terminated game
            actions[3] = env.num_actions
        events = env.events(state, actions)
        state = env.step(state, actions)
        for row, game in games.items():
            game.step(int(actions[row]))
            ends += game.over
            assert game.events == {name: count.numpy()[row] for name, count in events.items()}
            reported += any(game.events.values())
            assert ply not in (33, 35) or row != 3 or not any(game.events.values())
    assert ends > 5 and bool(reported) == (env is RACE) and games[3].over and int(games[0].state.episode.value) == 1
    later = te.debug(env, seed, 3, episode=1)
    assert later.state.episode.value == 1 and later.state.ply.value == 0


@pytest.mark.parametrize("env", [TTT, RACE, LARGE], ids=["tic_tac_toe", "dice_race", "in memory"])
def test_a_game_goes_on_from_a_position(env: te.Env) -> None:
    state = env.init(5, 3)
    for _ in range(3):
        state = env.step(state, te.agents.uniform(state))
    position = env.state_to_dict(state, 4)
    state, game = env.state_from_dicts([position] * 5, seed=8), te.debug(env, 8, 2, game=position)
    for _ in range(4):
        check(game, state, 2)
        game.step(game.uniform_action())
        state = env.step(state, te.agents.uniform(state))
    check(game, state, 2)
    assert int(te.debug(env, episode=7, game=position).state.episode.value) == 7


def test_the_mask_is_computed_once_a_ply() -> None:
    """Repeated reads and `step` share one computation of the mask."""
    game, num_computed = te.debug(TTT, seed=4), 0

    class Counting:
        def __getattr__(self, name: str) -> Any:
            nonlocal num_computed
            num_computed += name == "legal_action_mask"
            return getattr(TTT.rules, name)

    game.game.rules = Counting()  # type: ignore[assignment]
    for ply in range(4):
        game.step(game.uniform_action())
        assert len(game.legal_actions()) == 8 - ply
        assert num_computed == ply + 2


def test_a_whole_game() -> None:
    game = te.debug(TTT, seed=4)
    while not game.over:
        game.step(game.uniform_action())
    assert game.legal_actions() == [] and game.uniform_action() == 0
    before = game.fields()
    game.step(4)
    assert game.fields() == before and game.rewards == [0.0, 0.0], "a game that is over stays as it is"


def test_rules_can_print_and_stop() -> None:
    """Values are plain numbers in a debugged game."""
    seen: list[Any] = []

    @dataclass(frozen=True)
    class Watched(dice_race.DiceRace):
        def step(self, s: te.GameState, action: Any, chance: Any) -> te.Outcome:
            if action.is_plain:
                seen.append((s.ply.value, [x.value for x in s.score], int(action.value)))
                if len(seen) == 3:
                    raise RuntimeError("a breakpoint")
            return super().step(s, action, chance)

    env = te.Env(te.GameEntry("watched", Watched), Watched(), "watched")
    game = te.debug(env, 5)
    game.step(0)
    game.step(0)
    with pytest.raises(RuntimeError, match="a breakpoint"):
        game.step(0)
    assert [ply for ply, *_ in seen] == [0, 1, 2] and sum(seen[2][1]) > sum(seen[0][1])
    assert env.step(env.init(2, 5), [0, 0]).score.numpy()[0].tolist() == seen[1][1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"env": "tic_tac_toe"}, TypeError, "env must be of type Env, got 'tic_tac_toe'"),
        ({"seed": -1}, ValueError, "seed must be in 0"),
        ({"seed": 1.5}, TypeError, "seed must be an int"),
        ({"row": 2**32}, ValueError, r"row must be in 0\.\.4294967295"),
        ({"episode": -1}, ValueError, "episode must be in 0"),
        ({"game": {"board": [3] * 9}}, ValueError, "game 0 is no state of 'tic_tac_toe': "),
    ],
)
def test_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        te.debug(**{"env": TTT, **arguments})
