"""Names of the actions of either player, in tables: `Env.legal_actions` reads a whole state for each position."""

import functools

import numpy as np

from tensor_envs.games.xiangqi import notation
from tests.games.shared import shared_env


@functools.cache
def names_of(player: int) -> list[str]:
    """Return the name of every action of a player, as in a position."""
    env = shared_env("xiangqi")
    fields = {"current_player": player}
    return [notation.move_to_string(env.rules, action, fields) for action in range(env.num_actions)]


def legal_names(now: dict[str, np.ndarray], row: int) -> dict[int, str]:
    """Return the names of the legal actions of a row, by the values of a state."""
    names = names_of(int(now["current_player"][row]))
    return {action: names[action] for action in np.flatnonzero(now["legal_action_mask"][row]).tolist()}
