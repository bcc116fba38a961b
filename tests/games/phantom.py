"""Tests that phantom tic-tac-toe and dark hex share: worked cases, OpenSpiel's games beside theirs, and samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.rules import int32
from tensor_envs.rules.chance import KeyedChance
from tests.games.openspiel import play_beside
from tests.games.shared import observe


def position(board: str, found: str = "", player: int = 0) -> dict[str, Any]:
    """Return a dictionary; `found` lists cells."""
    stones = [{"X": 1, "O": -1, ".": 0}[sign] for sign in board.replace(" ", "")]
    cells = [int(str(cell) in found.split()) for cell in range(len(stones))]
    return {"board": stones, "found": cells, "current_player": player}


def play(game: Any, *actions: int) -> Any:
    for action in actions:
        game.apply(action)
    return game


def play_beside_openspiel(env: te.Env, name: str, batch: int, seed: int) -> np.ndarray:
    """Play random games in both engines -> the returns; what both players see of the board is compared, too."""
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game(name)
    assert game.num_distinct_actions() == env.num_actions
    others = [game.new_initial_state() for _ in range(batch)]

    def look(state: te.State) -> None:
        for player in (0, 1):
            planes = observe(state, player).reshape(batch, 3, -1)
            for row, other in enumerate(others):
                signs = [sign for sign in other.observation_string(player) if sign in ".xo"]
                assert planes[row, 0].tolist() == [sign == "xo"[player] for sign in signs]
                assert planes[row, 1].tolist() == [sign == "ox"[player] for sign in signs]

    state, returns = play_beside(env.init(batch, seed), others, look=look)
    found = state.found.numpy()
    assert (found != 0).mean() > 0.5
    return returns


def sampled(env: te.Env, game: dict[str, Any], player: int, count: int = 400) -> dict[tuple[Any, ...], int]:
    """Return how often `determinize` returns which board and found stones; what the player knows must stay."""
    plain, found = te.debug(env, game=game), dict[tuple[Any, ...], int]()
    view, notation = plain.observe(player).tolist(), env.entry.load("notation")
    for number in range(count):
        other = env.rules.determinize(plain.state, int32(player), KeyedChance((3, number)))
        again = te.debug(env, game=game)
        again.state = other
        assert again.observe(player).tolist() == view
        written = notation.to_dict(env.rules, again.fields() | {"current_player": int(other.current_player.value)})
        assert written["current_player"] == game["current_player"]
        state = tuple(written["board"]), tuple(written["found"])
        found[state] = found.get(state, 0) + 1
    return found


def histories(env: te.Env, plies: int) -> list[int]:
    """Return the number of sequences of actions by their length."""
    state, counts = env.init(1), list[int]()
    for _ in range(plies):
        rows, actions = np.nonzero(state.numpy()["legal_action_mask"])
        state = env.step(env.take(state, rows), actions)
        counts.append(len(rows))
    return counts
