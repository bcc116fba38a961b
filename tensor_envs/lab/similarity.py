"""Similarity of games: distances between their profiles, which are measures of uniform play."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env
    from tensor_envs.lab.play import PlayedGames

FILE = Path(__file__).with_name("profiles.json")  # of registered games, see `scripts/game_reports.py --profiles`
GAMES = 256  # number of games for a profile
CLOSEST = 5  # number of similar games that reports list
Profile = Mapping[str, float]


def profile(env: Env, games: PlayedGames) -> dict[str, float]:
    """Return the profile of a game from games by the uniform policy, as README.md defines it."""
    spec = env.spec
    fair = 1 / env.num_players
    # In a game for one player, and in a cooperative one, no player wins against another.
    has_no_winner = fair == 1 or games.is_cooperative
    score = games.points.mean(0)
    decisions = games.plies.sum()
    widths = games.width_counts.sum(0)
    numbers = np.arange(1, env.num_actions + 1)
    values = {
        "players": math.log2(env.num_players),
        "chance": float(spec.chance),
        "hidden information": float(not spec.perfect_information),
        "advantage": 0.0 if has_no_winner else float(np.abs(score - fair).max()) / (1 - fair),
        "draws": 0.0 if has_no_winner else float(np.all(games.points < 1, 1).mean()),
        "truncated": float(games.truncated.mean()),
        "plies, log10": math.log10(games.plies.mean()),
        "spread of plies": float(games.plies.std() / games.plies.mean()),
        "turns per ply": float(games.turns.sum() / decisions),
        "legal actions, log10": math.log10(float(widths @ numbers) / decisions),
        "forced moves": float(widths[0] / decisions),
        "coverage": float(games.action_counts.any(1).mean()),
        "game tree, log10 of log10": math.log10(1 + float((games.width_counts @ np.log10(numbers)).mean())),
    }
    return {name: round(value, 4) for name, value in values.items()}


@functools.cache
def profiles() -> dict[str, dict[str, float]]:
    """Return the profiles of the registered games, by id."""
    stored: dict[str, dict[str, float]] = json.loads(FILE.read_text(encoding="utf-8"))
    return stored


def distance(a: Profile, b: Profile) -> float:
    """Return the root mean square difference of two profiles, in standard deviations of the registered games."""
    table = profiles().values()
    scales = {name: float(np.std([other[name] for other in table])) for name in a}
    return math.sqrt(np.mean([((a[name] - b[name]) / scale) ** 2 for name, scale in scales.items() if scale > 0]))


def closest(own: Profile, count: int, excluded: str = "") -> list[tuple[str, float]]:
    """Return the ids of the `count` games closest to a profile, except one, with their distances; closest first."""
    distances = [(id, distance(own, other)) for id, other in profiles().items() if id != excluded]
    return sorted(distances, key=lambda pair: pair[1])[:count]
