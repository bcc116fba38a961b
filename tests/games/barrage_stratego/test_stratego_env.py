"""Comparison with JBLanier's `stratego_env`: it plays the same games and shows both players the same.

It is not on PyPI: `git clone https://github.com/JBLanier/stratego_env`, with the clone on PYTHONPATH, and `pip install
numba gym h5py`. It begins with given set-ups and draws after a number of moves, not of quiet moves (B11).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside
from tests.games.shared import observe, shared_env

procedural: Any = pytest.importorskip("stratego_env.game.stratego_procedural_env")
pytestmark = pytest.mark.extra("stratego_env")
GAME = "barrage_stratego"
LAKES = [(row, column) for row in (4, 5) for column in (2, 3, 6, 7)]
TYPES = (11, 12, 1, 2, 3, 9, 10)  # its numbers of our kinds
UNKNOWN = 13
OWN_MOVED = 7  # plane
CONFIGS: list[dict[str, Any]] = [
    {},
    {"quiet_plies": 255},
    {"bombs": 3, "scouts": 1, "miners": 2, "quiet_plies": 100},
    {"bombs": 0, "spies": 0, "scouts": 3, "generals": 3, "marshals": 0, "quiet_plies": 40},
]
ENGINE = procedural.StrategoProceduralEnv(10, 10)


def numbers_of(player: int) -> dict[int, int]:
    """Return its number of each of our moves of a player."""
    numbers = dict[int, int]()
    for plane in range(18):
        for square in range(100):
            row, column = divmod(square, 10)
            up, right = (plane + 1, 0) if plane < 9 else (0, plane - 8)
            ends = (row, column, (row + up) % 10, (column + right) % 10)
            turned = [9 - end if player else end for end in ends]
            numbers[40 + 100 * plane + square] = int(ENGINE.get_action_1d_index_from_positions(*turned))
    return numbers


NUMBERS = [numbers_of(player) for player in (0, 1)]
OURS = [{number: action for action, number in numbers.items()} for numbers in NUMBERS]


class Judge:
    """Its game after the set-up, with the draw of B11."""

    def __init__(self, rules: Any, squares: Any) -> None:
        lakes = np.zeros((10, 10), np.int64)
        lakes[tuple(zip(*LAKES, strict=True))] = 1
        maps = [np.zeros((10, 10), np.int64) for _ in range(2)]
        for army, places in zip(maps, squares, strict=True):
            army.flat[places] = [TYPES[kind] for kind in rules.kinds]
        self.state = ENGINE.create_initial_state(lakes, *maps, max_turns=10**6)
        self.player, self.quiet, self.quiet_plies = 0, 0, rules.quiet_plies
        self.bars = 0  # positions in which a piece may not go back

    def count(self) -> int:
        return int((self.state[:2] > 0).sum())

    def result(self) -> float:
        """Return 1 or -1 if player 0 has won or lost, 0 otherwise."""
        return float(round(ENGINE.get_game_ended(self.state, 1)))

    def is_terminal(self) -> bool:
        return self.result() != 0 or self.quiet >= self.quiet_plies

    def returns(self) -> list[float]:
        return [self.result(), -self.result()]

    def current_player(self) -> int:
        return self.player

    def legal_actions(self) -> list[int]:
        if self.is_terminal():
            return []
        mask = ENGINE.get_valid_moves_as_1d_mask(self.state, 1 - 2 * self.player)
        self.bars += (self.state[6 + self.player] == -3).any()
        return sorted(OURS[self.player][number] for number in np.flatnonzero(mask).tolist())

    def apply_action(self, action: int) -> None:
        before = self.count()
        number = NUMBERS[self.player][action]
        *start, end_row, end_column = ENGINE.get_action_positions_from_1d_index(number)
        is_same = self.state[6 + self.player, *start] < 0
        self.state, _ = ENGINE.get_next_state(self.state, 1 - 2 * self.player, number)
        # It takes another piece on the square that the last one has left for a return (B8).
        arrived = self.state[6 + self.player, end_row : end_row + 1, end_column]
        arrived[:] = arrived if is_same else np.maximum(arrived, -1)
        self.quiet = self.quiet + 1 if self.count() == before else 0
        self.player = 1 - self.player


def seen(judge: Judge, player: int, rules: Any) -> np.ndarray:
    """Return its observation as our planes but the last ones, which are the digits of `quiet`."""
    theirs = ENGINE.get_partially_observable_observation_extended_channels(judge.state, 1 - 2 * player)
    layers = np.moveaxis(theirs, 2, 0).astype(int)
    kinds = np.array(TYPES) - 1
    own, own_known, other = layers[:12], layers[12:25], layers[25:38]
    captured = layers[53:65].sum((1, 2))
    still = layers[65:67]
    unknown = other[UNKNOWN - 1]
    counts = [rules.kinds.count(kind) for kind in range(7)]
    planes = [
        *own[kinds],
        own_known[UNKNOWN - 1] & (1 - still[0]),  # it takes a known piece that was attacked for one that has moved
        own.any(0) & (own_known[UNKNOWN - 1] == 0),
        *other[kinds],
        unknown & still[1],
        unknown & (1 - still[1]),
        *(np.full((10, 10), captured[TYPES[kind] - 1] > k) for kind in range(7) for k in range(counts[kind])),
    ]
    for moves in layers[39:41]:
        times = -moves.min()
        planes += [moves == 1, moves < 0, np.full((10, 10), times & 1), np.full((10, 10), times >> 1)]
    return np.array(planes)


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int, look_every: int) -> tuple[list[float], int]:
    """Play games after random set-ups in both engines; return the returns of player 0 and how often B8 mattered."""
    env = shared_env(GAME, **config)
    state = env.init(batch, seed)
    for _ in range(2 * len(env.rules.kinds)):
        state = env.step(state, te.agents.uniform(state))
    others = [Judge(env.rules, squares) for squares in state.squares.numpy()]
    plies = [0]

    def look(state: te.State) -> None:
        plies[0] += 1
        if plies[0] % look_every:
            return
        for player in (0, 1):
            ours = observe(state, player).astype(int)
            ours[:, OWN_MOVED] &= 1 - ours[:, OWN_MOVED + 1]  # those that the opponent does not know
            for row, other in enumerate(others):
                theirs = seen(other, player, env.rules)
                differs = np.argwhere((ours[row, : len(theirs)] != theirs).any((1, 2)))[:, 0].tolist()
                assert not differs, (row, player, differs)

    _, returns = play_beside(state, others, look=look)  # type: ignore[arg-type] # games with the same methods
    return returns[:, 0].tolist(), sum(other.bars for other in others)


@pytest.mark.few(1)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_games_agree(config: dict[str, Any]) -> None:
    returns, _ = play_in_lockstep(config, batch=12, seed=1, look_every=5)
    assert len({*returns}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_thousand_games_agree(config: dict[str, Any]) -> None:
    returns, bars = play_in_lockstep(config, batch=400, seed=2, look_every=40)
    assert {1.0, -1.0} < {*returns} and bars
