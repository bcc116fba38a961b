"""Random games side by side with OpenSpiel's, ply by ply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensor_envs as te

Choose = Callable[[te.State, np.ndarray], np.ndarray]  # of a state, and which games are over


def random_actions(state: te.State, ended: np.ndarray) -> np.ndarray:
    return te.agents.uniform(state).numpy()


def play_beside(
    state: te.State,
    others: Sequence[Any],
    choose: Choose = random_actions,
    look: Callable[[te.State], None] = lambda state: None,
    chance: Callable[[int], int] | None = None,
) -> tuple[te.State, np.ndarray]:
    """Play games to their ends in both engines -> the last state, and the returns [B, P].

    At every ply legal actions, players to move, ends and returns must agree. look: at every state, for more.
    chance: the outcome in a row, where OpenSpiel asks for one after an action.
    """
    returns = np.zeros((state.batch, state.env.num_players))
    while True:
        now = state.numpy()
        returns += now["rewards"]
        ended = np.array([other.is_terminal() for other in others])
        assert (now["terminated"] == ended).all() and not now["truncated"].any()
        look(state)
        for row, other in enumerate(others):
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == other.legal_actions(), row
            assert (returns[row] == other.returns()).all(), row
            assert ended[row] or now["current_player"][row] == other.current_player(), row
        if ended.all():
            return state, returns
        actions = choose(state, ended)
        for row in np.flatnonzero(~ended).tolist():
            others[row].apply_action(int(actions[row]))
            if chance is not None and others[row].is_chance_node():
                others[row].apply_action(chance(row))
        state = state.env.step(state, actions)


class OtherNumbers:
    """OpenSpiel's state with our numbers of actions: `legal_actions` and `apply_action` are those of a subclass."""

    def __init__(self, state: Any):
        self.state = state

    def legal_actions(self) -> list[int]:
        raise NotImplementedError

    def apply_action(self, action: int) -> None:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)
