"""Safe re-solving of subgames against equilibria that are known, in Kuhn and Leduc poker; beliefs, files, bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from known_results import equilibria
from tests.games.shared import shared_env
from tests.solve.hidden_dice import hidden_dice

DEALS = [[a, b] for a in range(3) for b in range(3) if a != b]
# of a first player with each card who bets in Kuhn poker, against the equilibrium: a jack folds, a queen calls one bet
# in three, a king calls
EXPECTED = {0: -1.0, 1: -1 / 2, 2: 7 / 6}


def bets() -> te.State:
    """Return Kuhn poker after a bet, of all deals."""
    env = shared_env("kuhn_poker")
    games = [env.state_to_dict(env.init(1)) | {"cards": deal} for deal in DEALS]
    return env.step(env.state_from_dicts(games), [1] * 6)


def calls(found: te.Equilibrium) -> list[float]:
    """Return the probability of player 1 to call with each card."""
    mine = found.tree.player == 1
    order = np.argsort(found.tree.states.cards.numpy()[mine, 1])
    return found.table[mine, 1][order].tolist()


def test_kuhn_poker() -> None:
    """The only equilibrium of player 1 comes out, by values of a policy or of games; the unsafe one always calls."""
    by_policy = te.resolve(bets(), 1, te.equilibrium(shared_env("kuhn_poker"), until=1e-5), until=1e-5)
    assert calls(by_policy) == pytest.approx([0, 1 / 3, 1], abs=0.01)
    by_values = te.resolve(bets(), 1, [EXPECTED[deal[0]] for deal in DEALS], until=1e-5)
    assert calls(by_values) == pytest.approx([0, 1 / 3, 1], abs=0.01)
    assert by_values.tree.offers.sum() == 3 == len(by_values.tree) - 3
    assert by_values.values[0] == pytest.approx(sum(EXPECTED.values()) / 3, abs=1e-4)
    unsafe = te.equilibrium(te.game_tree(bets()), until=1e-5)
    assert calls(unsafe)[1] > 0.99
    # a function of a State answers for the games themselves
    tree = by_values.tree
    folds = te.exploitability(tree, lambda state: state.legal_action_mask.numpy() * [1.0, 0.0])
    assert folds > 0.1


@pytest.mark.parametrize("iterations", [60, pytest.param(10, marks=pytest.mark.slow)])
def test_leduc_poker(iterations: int) -> None:
    """Safe solutions of the second round are less exploitable than the strategies before, good ones or bad ones."""
    first = te.equilibrium(equilibria.tree("leduc_poker"), "dcfr", iterations=iterations, until=None)
    safe, unsafe = (equilibria.resolved(first, safe, until=1e-3).exploitability for safe in (True, False))
    assert safe < first.exploitability
    assert iterations < 60 or safe < unsafe / 2


def test_weights_are_copies() -> None:
    """A game of weight two is one that stands twice; weights have any unit."""
    state = bets()

    def uniform(at: te.State) -> np.ndarray:
        return np.asarray(at.legal_action_mask.numpy() / 2)

    weighted = te.best_response(te.game_tree(state, weights=np.arange(6) * 7), uniform, 1)
    copied = te.best_response(te.game_tree(state[np.repeat(np.arange(6), np.arange(6))]), uniform, 1)
    assert weighted.values == pytest.approx(copied.values, abs=1e-12)
    assert not weighted.tree.is_like(te.game_tree(state)) and len(weighted.tree) == 3


def test_files(tmp_path: Path) -> None:
    found = te.resolve(bets(), 1, [EXPECTED[deal[0]] for deal in DEALS], weights=[1, 2, 3, 4, 5, 6], iterations=20)
    found.save(tmp_path / "file")
    again = te.Equilibrium.load(tmp_path / "file")
    assert (again.table == found.table).all() and again.tree.is_like(found.tree)
    assert again.exploitability == pytest.approx(found.exploitability)


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: te.resolve(3, 0, [0]), TypeError, "state must be of type State"),  # type: ignore[arg-type]
    (lambda: te.resolve(bets(), 2, [0] * 6), ValueError, r"player must be in 0\.\.1, got 2"),
    (lambda: te.resolve(bets(), 1, [0] * 5), ValueError, r"values must be finite numbers \(6,\), got int64 \(5,\)"),
    (lambda: te.resolve(bets(), 1, [np.nan] * 6), ValueError, "values must be finite numbers"),
    (lambda: te.resolve(bets(), 1, [0] * 6, weights=[-1] * 6), ValueError, "weights must be at least 0, and one of"),
    (lambda: te.game_tree(bets(), weights=[0] * 6), ValueError, "weights must be at least 0, and one of them more"),
    (lambda: te.game_tree(shared_env("kuhn_poker"), weights=[1]), ValueError, "weights must be None where start is an"),
    (
        lambda: te.resolve(hidden_dice(3).init(1), 0, [0]),
        ValueError,
        "state must be of a game for two players with zero sum",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
