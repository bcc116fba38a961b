"""A player of Chinese checkers that runs for its goal: uniform play never gets there."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs.games.chinese_checkers.star import BITS
from tests.games.chinese_checkers.reference import NUMBER, PLACES, POINTS, WAYS, further, points

CELLS, NUM_WAYS, END_TURN = len(PLACES), len(WAYS), 726
NONE = CELLS  # beyond an edge


# cells one and two steps away, [cell, direction]
BESIDE, BEYOND = (
    np.array([[NUMBER.get(further(place, way, steps), NONE) for way in WAYS] for place in PLACES]) for steps in (1, 2)
)


def progress(point: int) -> np.ndarray:
    """Return how near each cell is to the middle of the goal, with more for cells of the goal; 0 beyond the edges."""
    goal = points((point + 3) % 6)
    row, column = (sum(axis) / len(goal) for axis in zip(*goal, strict=True))

    def near(place: tuple[int, int]) -> float:
        down, right = abs(place[0] - row), abs(place[1] - column)
        return 3 * (place in goal) - max(down, (down + right) / 2)

    return np.array([*map(near, PLACES), 0])


PROGRESS = np.array([progress(point) for point in range(6)])


def occupied_cells(pieces: np.ndarray) -> np.ndarray:
    """Return which cells have a piece, and that there is none beyond the edges, [B, 122]."""
    words = np.bitwise_or.reduce(pieces, axis=1)
    bits = np.array(BITS)
    cells = words[:, bits // 32] >> (bits % 32).astype(np.uint32) & np.uint32(1)
    return np.pad(cells > 0, ((0, 0), (0, 1)))


def forward_actions(state: te.State, rng: np.random.Generator, care: float) -> np.ndarray:
    """Return an action for each game: the one with most progress, more or less, with a probability, else any."""
    now: dict[str, Any] = state.numpy()
    mask = now["legal_action_mask"]
    rows = np.arange(len(mask))
    ends = np.where(occupied_cells(now["pieces"])[:, BESIDE], BEYOND, BESIDE).reshape(len(mask), -1)
    seats = np.array(POINTS[state.env.num_players])[np.maximum(now["current_player"], 0)]
    gain = PROGRESS[seats[:, None], ends] - PROGRESS[seats][:, np.repeat(np.arange(CELLS), NUM_WAYS)]
    score = np.pad(gain, ((0, 0), (0, 1))) + 1.2 * rng.random(mask.shape)
    score[:, END_TURN] /= 4
    best = np.where(mask, score, -np.inf).argmax(1)
    noise = np.where(mask, rng.random(mask.shape), -1).argmax(1)
    return np.where(rng.random(len(rows)) < care, best, noise).astype(np.int32)
