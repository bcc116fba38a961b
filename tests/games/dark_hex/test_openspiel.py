"""Comparison with OpenSpiel: its `dark_hex` plays the same games, in which policies are as exploitable."""

import numpy as np
import pytest

import tensor_envs as te
from tests.games.phantom import play_beside_openspiel
from tests.games.shared import shared_env

pytestmark = pytest.mark.extra("pyspiel")
VERSIONS = {False: "cdh", True: "adh"}


def spiel(size: int, abrupt: bool) -> str:
    return f"dark_hex(board_size={size},num_rows={size},num_cols={size},gameversion={VERSIONS[abrupt]})"


@pytest.mark.few("100-3-False", "100-3-True")
@pytest.mark.parametrize("abrupt", VERSIONS)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("batch", [100, 1500])
def test_random_games_agree(batch: int, size: int, abrupt: bool) -> None:
    returns = play_beside_openspiel(shared_env("dark_hex", size=size, abrupt=abrupt), spiel(size, abrupt), batch, 1)
    assert set(returns[:, 0].tolist()) == {1.0, -1.0}


@pytest.mark.parametrize("abrupt", VERSIONS)
@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (1, 4, 2, 3)], ids=str)
def test_exploitability(weights: tuple[int, ...], abrupt: bool) -> None:
    """Play legal actions in these ratios; the first is uniform."""
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability

    def chances(mask: np.ndarray) -> np.ndarray:
        likely = mask * np.array(weights)
        return np.asarray(likely / np.maximum(likely.sum(-1, keepdims=True), 1))

    game = pyspiel.load_game(spiel(2, abrupt).replace(")", ",obstype=reveal-numturns)"))
    theirs = policy.TabularPolicy(game)
    for row, state in enumerate(theirs.states):
        theirs.action_probability_array[row] = chances(np.isin(range(4), state.legal_actions()))
    expected = exploitability.exploitability(game, theirs)
    tree = te.game_tree(shared_env("dark_hex", size=2, abrupt=abrupt))
    found = te.exploitability(tree, lambda state: chances(state.legal_action_mask.numpy()))
    assert len(tree) == len(theirs.states) and expected > 0.4
    assert found == pytest.approx(expected, abs=1e-12)
