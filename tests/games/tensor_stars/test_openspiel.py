"""Subgames of hidden cards: OpenSpiel's algorithms on the last turn of a position, with its information states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs import registry
from tensor_envs.games.tensor_stars.rules import StarsRules

pytestmark = pytest.mark.extra("pyspiel")
SEEDS = [1, 5]  # the last turns of random games in which uniform play can be exploited
TURN = 2


@dataclass(frozen=True, repr=False)
class LastTurn(StarsRules):
    """The last turn of a random game, after which it is cut off.

    Attributes:
        of: seed of the random game.
    """

    of: int = 0

    @property
    def position(self) -> dict[str, Any]:
        """Fields of the first state."""
        env = te.make("tensor_stars", random_colours=False)
        state = env.init(64, self.of)
        while not len(rows := np.flatnonzero(self.is_here(values := state.numpy()))):
            state = env.step(state, te.agents.uniform(state))
        found = {field.name: values[field.name][rows[0]].tolist() for field in env.spec.fields}
        return found | {"hands": self.max_hands - 1}

    @staticmethod
    def is_here(values: dict[str, np.ndarray]) -> np.ndarray:
        """Return which games are at the start of the turn."""
        live = ~(values["terminated"] | values["truncated"])
        return np.asarray(live & (values["turn"] == TURN) & (values["placed"] == 0))

    def init(self, chance: Any) -> dict[str, Any]:
        return self.position


def uniform(state: te.State) -> np.ndarray:
    mask = state.legal_action_mask.numpy()
    return np.asarray(mask / mask.sum(1, keepdims=True))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_turn(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the exploitability of uniform play and of CFR+ round by round, and the information states."""
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms import cfr, exploitability

    import tensor_envs.adapters.open_spiel  # noqa: F401

    monkeypatch.setattr(registry, "_entries", {})  # the game is removed afterwards
    te.register(te.GameEntry("stars_last_turn", LastTurn))
    env = te.make("stars_last_turn", of=seed, random_colours=False)
    game = pyspiel.load_game(f"tensor_envs_stars_last_turn(of={seed},random_colours=False)")
    tree, theirs = te.game_tree(env), policy.TabularPolicy(game)
    assert len(tree) == len(theirs.states) > 20
    expected = exploitability.exploitability(game, theirs)
    assert te.exploitability(tree, uniform) == pytest.approx(expected, abs=1e-12) and expected > 0.1
    assert te.exploitability(env, uniform) == pytest.approx(expected, abs=1e-12)
    solver = cfr.CFRPlusSolver(game)
    found = te.equilibrium(tree, iterations=3, until=None)
    for _, value in found.curve:
        solver.evaluate_and_update_policy()
        average = exploitability.exploitability(game, solver.average_policy())
        assert value == pytest.approx(average, abs=1e-10)
