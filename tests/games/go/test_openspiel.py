"""Comparison with OpenSpiel: its `go` plays the same games, up to the first position that is repeated."""

from typing import Any

import numpy as np
import pytest

from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, Any]] = [{}, {"size": 5, "komi": 0.5}, {"size": 7, "komi": 3.0}]


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> tuple[int, int, set[float]]:
    """Play random games in both engines; return plies compared, games with a repetition, and results of the others.

    At every ply legal actions, players to move, ends, returns and boards must agree. A game in which the other engine
    calls a repetition a draw is compared until then. Half of the games pass only when nothing else is legal.
    """
    env, size, komi = shared_env("go", **config), config.get("size", 9), config.get("komi", 7.5)
    game = pyspiel.load_game("go", {"board_size": size, "komi": komi})
    assert game.num_distinct_actions() == env.num_actions and game.max_game_length() == env.rules.max_plies
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    returns, repeated, plies, rng = (np.zeros((batch, 2)), np.zeros(batch, bool), 0, np.random.default_rng(seed))
    while True:
        now = state.numpy()
        returns += now["rewards"]
        black = (now["current_player"] == 0)[:, None, None]
        sets = np.stack([now["own"], now["other"]], axis=1)
        words = np.where(black, sets, sets[:, ::-1])
        stones = (words[..., None] >> np.arange(32, dtype=np.uint32) & 1).reshape(batch, 2, -1)[..., : size * size]
        mask, live = now["legal_action_mask"], list[int]()
        for row, other in enumerate(others):
            if repeated[row]:
                continue
            plies += 1
            if other.is_terminal() and not now["terminated"][row]:
                repeated[row] = True
                assert other.returns() == [0, 0] and other.history()[-1] != size * size
                continue
            assert now["terminated"][row] == other.is_terminal() and not now["truncated"][row]
            assert np.flatnonzero(mask[row]).tolist() == other.legal_actions(), row
            assert (returns[row] == other.returns()).all(), row
            planes = np.array(other.observation_tensor(0)).reshape(4, size * size)
            assert (planes[:2] == stones[row]).all(), row
            if not other.is_terminal():
                assert now["current_player"][row] == other.current_player()
                live.append(row)
        if not live:
            return plies, int(repeated.sum()), set(returns[~repeated, 0].tolist())
        actions = np.full(batch, size * size)
        for row in live:
            legal = np.flatnonzero(mask[row])
            actions[row] = rng.choice(legal[:-1] if row % 2 and len(legal) > 1 else legal)
            others[row].apply_action(int(actions[row]))
        state = env.step(state, actions)


@pytest.mark.few(1)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    plies, repeated, results = play_in_lockstep(config, batch=24, seed=1)
    assert plies > 900 and repeated < 20 and {1.0, -1.0} <= results


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, {"size": 13}, {"size": 19}], ids=str)
def test_many_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=1000 if config.get("size", 9) < 10 else 10, seed=2)
