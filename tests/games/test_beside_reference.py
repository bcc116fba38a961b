"""Rules in plain Python beside the reference engine, of every game: no kernel has a part in it.

Kernels are compared with references in each game's `test_reference.py`. Those that take long to compile are slow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.conftest import start_reference, start_rules

FOLDERS = {path.parent.name for path in Path(__file__).parent.glob("*/reference.py")}
NAMES = [name for name in te.registered() if {name, f"game_{name}"} & FOLDERS]
SEED, PLIES, OBSERVE_EVERY = 3, 40, 9
# slow in plain Python
FEW_PLIES = {"chess": 20, "lines_of_action": 20, "quoridor": 20, "shogi": 12, "tensor_equilibrium": 30, "xiangqi": 10}
# what references have no default of
CONFIGS: dict[str, dict[str, Any]] = {"hyper_tic_tac_toe": {"shape": (3, 3), "k": 3}, "shed": {"cards": 6}}


def test_every_reference_is_compared() -> None:
    assert len(NAMES) == len(FOLDERS)


@pytest.mark.parametrize("name", NAMES)
def test_a_game_is_that_of_the_reference(name: str) -> None:
    """Play a uniform game, or its first plies, in both."""
    ours, theirs = (start(name, seed=SEED, **CONFIGS.get(name, {})) for start in (start_rules, start_reference))
    for ply in range(FEW_PLIES.get(name, PLIES)):
        assert ours.legal_actions() == theirs.legal_actions(), ply
        assert ours.current_player == theirs.current_player, ply
        if ply % OBSERVE_EVERY == 0:
            for player in range(ours.env.num_players):
                assert np.allclose(ours.observation(player), theirs.observation(player)), (ply, player)
        action = ours.plain.uniform_action()
        ours.apply(action)
        theirs.apply(action)
        assert np.allclose(ours.rewards, theirs.rewards), ply
        assert (ours.terminated, ours.truncated) == (theirs.terminated, theirs.truncated), ply
        written = ours.to_dict()  # which may tell the ply, too
        assert written | theirs.to_dict() == written, ply
        if ours.terminated or ours.truncated:
            break
    assert ply > 0
