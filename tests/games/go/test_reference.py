"""Go: the tensor engine against the reference ply by ply, golden games, counts of legal positions."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.go.reference import Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "go"
SUPERKO = {"size": 3, "komi": 0.5, "superko": 18}  # as long as a game
BOARDS: list[dict[str, Any]] = [
    {"size": 5, "komi": 0.5},
    SUPERKO,
    {"size": 4, "superko": 6},
    {"size": 4, "komi": 2},
    {"size": 6, "max_plies": 40, "superko": 2},
]
OTHERS: list[dict[str, Any]] = [{"size": 1}, {"size": 2}, {"size": 8}, {}, {"size": 13}]


@pytest.mark.few(2)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=6, seed=4, observe_every=8, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=2 if config.get("size", 9) > 8 else 40, seed=8, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), ((1, 1), (2, 57), (3, 12675)))
def test_legal_positions(size: int, count: int) -> None:
    """Check the published counts, and that the fields read from a board are the reference's."""
    env, positions = shared_env(GAME, size=size), []
    for board in product((0, 1, -1), repeat=size * size):
        position = {"board": list(board), "current_player": 0, "passed": False}
        try:
            game = Reference.from_dict(position, (0, 0), size=size)
        except ValueError:
            if size < 3:
                with pytest.raises(ValueError, match="is no state of 'go': every group must have a liberty"):
                    env.state_from_dicts([position])
            continue
        positions.append((position, game.legal_actions()))
    assert len(positions) == count
    rows = slice(None, None, 7)
    mask = env.state_from_dicts([position for position, _ in positions[rows]]).legal_action_mask.numpy()
    for legal, (_, expected) in zip(mask, positions[rows], strict=True):
        assert np.flatnonzero(legal).tolist() == expected


@pytest.mark.slow
def test_no_board_comes_again() -> None:
    """Check that a superko as long as the game prevents repetition and closes more points than the simple ko (G5)."""
    superko, simple = shared_env(GAME, **SUPERKO), shared_env(GAME, size=3, komi=0.5)
    state, ko, closed = superko.init(96, seed=5), simple.init(96, seed=5), 0
    boards: list[list[list[int]]] = [[superko.state_to_dict(state, row)["board"]] for row in range(96)]
    for _ in range(18):
        mask, known = state.legal_action_mask.numpy(), ko.legal_action_mask.numpy()
        live = ~state.terminated.numpy()
        assert (known | ~mask)[live].all()
        closed += int((known & ~mask)[live].sum())
        actions = te.agents.uniform(state).numpy()
        state, ko = superko.step(state, actions), simple.step(ko, actions)
        for row in np.flatnonzero(live & (actions < 9)):
            board = superko.state_to_dict(state, int(row))["board"]
            assert board not in boards[row]
            boards[row].append(board)
    assert closed >= 3


def test_groups_and_their_liberties() -> None:
    """Check that the fields of played games equal those read from their boards, also after captures."""
    env, rng = shared_env(GAME, size=5, komi=0.5), np.random.default_rng(2)
    state, taken = env.init(12), 0
    for _ in range(45):
        mask, before = state.numpy()["legal_action_mask"], state.numpy()
        actions = [int(rng.choice(np.flatnonzero(row[:-1]))) if row[:-1].any() else 25 for row in mask]
        state = env.step(state, actions)
        now = state.numpy()
        again = env.state_from_dicts([env.state_to_dict(state, i) for i in range(12)]).numpy()
        for name in ("own", "other", "atari", "groups", "ko"):
            assert (again[name] == now[name]).all(), name
        taken += int(np.bitwise_count(now["own"]).sum() < np.bitwise_count(before["other"]).sum())
    assert taken > 5
