"""Safe re-solving of subgames against equilibria that are known, in Kuhn and Leduc poker; beliefs, files, bad input."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from known_results import equilibria
from tensor_envs.equilibria.continuations import continuations
from tests.equilibria.hidden_dice import hidden_dice
from tests.games.shared import shared_env

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
    assert by_values.tree.choices.sum() == 3 == len(by_values.tree) - 3
    assert by_values.values[0] == pytest.approx(sum(EXPECTED.values()) / 3, abs=1e-4)
    unsafe = te.equilibrium(te.game_tree(bets()), until=1e-5)
    assert calls(unsafe)[1] > 0.99
    # a function of a State answers for the games themselves
    tree = by_values.tree
    folds = te.exploitability(tree, lambda state: state.legal_action_mask.numpy() * [1.0, 0.0])
    assert folds > 0.1


def deals_of_kuhn() -> te.State:
    env = shared_env("kuhn_poker")
    return env.state_from_dicts([env.state_to_dict(env.init(1)) | {"cards": deal} for deal in DEALS])


def always(action: int, policy: te.TabularPolicy) -> Callable[[te.State], np.ndarray]:
    """Return a policy in which player 1 always plays an action."""

    def probabilities(state: te.State) -> np.ndarray:
        second = state.current_player.numpy()[:, None] == 1
        return np.where(second & state.legal_action_mask.numpy(), np.eye(2)[action], policy.probabilities(state))

    return probabilities


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [1, 3, 5, 8])
def test_a_depth_limit_in_kuhn_poker(iterations: int) -> None:
    """Solve the first action alone: with all that player 1 can do as choices, it concedes no more than before.

    A single continuation is no safe model: after 5 iterations the new action concedes more.
    """
    known = te.equilibrium(shared_env("kuhn_poker"), iterations=iterations, until=None)
    start, whole = deals_of_kuhn(), known.tree

    def conceded(leaf: Any) -> float:
        found = te.resolve(start, 0, known, depth=1, leaf=leaf, until=1e-6)
        turns = ~found.tree.choices
        assert (found.tree.player[turns] == 0).all() and found.tree.width == max(2, len(leaf))
        # player 1 knows its card and the action; at the start it is offered to end the games, by its card
        assert (found.tree.player[~turns] == 1).all() and found.tree.choices.sum() == 3 + 3 * 2
        table = known.table.copy()
        table[whole.find(found.tree.states[np.flatnonzero(turns)])] = found.table[turns, :2]
        policy = te.TabularPolicy(whole, whole.strategies(table))
        return float(te.best_response(whole, policy, 1).values[1])

    before = te.best_response(whole, known, 1).values[1]
    everything = [always(0, known), always(1, known)]
    assert conceded(everything) < before and conceded([*everything, known]) < before
    assert conceded([known]) > before + 0.03 or iterations != 5


def test_a_depth_limit_beyond_the_end() -> None:
    """Games that end before are not cut."""
    known = te.equilibrium(shared_env("kuhn_poker"), until=1e-4)
    by_limit = te.resolve(bets(), 1, known, depth=5, leaf=[known], iterations=50, until=None)
    assert by_limit.tree.cut is None
    assert (by_limit.table == te.resolve(bets(), 1, known, iterations=50, until=None).table).all()


@pytest.mark.slow
def test_values_of_leaves_are_those_of_their_subgames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the values of games after a public card with those of a tree of each game."""
    module, cut = import_module("tensor_envs.equilibria.resolve"), list[te.State]()

    def recording(leaf: Any, opponent: int, max_states: int) -> Callable[[te.State], np.ndarray]:
        values = continuations(leaf, opponent, max_states)

        def recorded(leaves: te.State) -> np.ndarray:
            cut.append(leaves)
            return values(leaves)

        return recorded

    monkeypatch.setattr(module, "continuations", recording)
    env = shared_env("leduc_poker")
    known = te.equilibrium(equilibria.tree("leduc_poker"), "dcfr", iterations=20)
    states = env.step(env.step(env.init(40, seed=3), [1] * 40), [1] * 40)
    found = te.resolve(states, 0, np.zeros(40), depth=1, leaf=[known, te.best_response(known.tree, known, 1)])
    assert found.tree.cut is not None
    values = found.tree.cut.values
    # each game is a leaf after each action, a call or a raise
    assert values.shape == (len(np.unique(states.numpy()["public"] * 36 + states.numpy()["cards"] @ [6, 1])) * 2, 2)
    (leaves,) = cut
    positions = [env.state_to_dict(leaves, leaf) for leaf in range(len(leaves))]
    for row in range(4):
        after = env.step(states[[row]], [1])
        alone = te.game_tree(after)
        policy = te.TabularPolicy(alone, alone.strategies(known.probabilities(alone.states)))
        (leaf,) = [leaf for leaf, position in enumerate(positions) if position == env.state_to_dict(after)]
        assert values[leaf, 0] == pytest.approx(policy.values[1], abs=1e-12)


@pytest.mark.slow
def test_networks_at_leaves() -> None:
    """A network's values, of the player to move or of both, are those of the only continuation."""
    known = te.equilibrium(shared_env("kuhn_poker"), until=1e-4)
    start = deals_of_kuhn()
    expected = te.resolve(start, 0, known, depth=1, leaf=[known], iterations=30, until=None)
    worth = continuations([known], 1, 100)

    def of_mover(state: te.State) -> tuple[Tensor, Tensor]:
        sign = np.where(state.current_player.numpy() == 1, 1, -1)
        return Tensor.zeros(state.batch, 2), Tensor(worth(state)[:, 0] * sign)

    def of_both(state: te.State) -> tuple[Any, Any]:
        return np.zeros((state.batch, 2)), worth(state) * [-1, 1]

    for network in (of_mover, of_both):
        found = te.resolve(start, 0, known, depth=1, leaf=network, iterations=30, until=None)
        assert np.allclose(found.table[:, :2], expected.table, atol=1e-6)


@pytest.mark.slow
def test_several_continuations_in_leduc_poker() -> None:
    """Every decision is solved anew: with a single continuation it is far more exploitable than with biased ones."""
    first = te.equilibrium(equilibria.tree("leduc_poker"), "dcfr", iterations=60, until=None)
    one, several = (equilibria.continually_resolved(first, 1, biased, 1e-4).exploitability for biased in (False, True))
    assert several < 1.3 * first.exploitability < one / 4
    assert equilibria.continually_resolved(first, None, False, 1e-4).exploitability < first.exploitability


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [60, 10])
def test_leduc_poker(iterations: int) -> None:
    """Safe solutions of the second round are less exploitable than the strategies before, good ones or bad ones."""
    first = te.equilibrium(equilibria.tree("leduc_poker"), "dcfr", iterations=iterations, until=None)
    safe, unsafe = (equilibria.resolved(first, safe, until=1e-3).exploitability for safe in (True, False))
    assert safe < first.exploitability
    assert iterations < 60 or safe < unsafe / 2


def test_weights_are_copies() -> None:
    """A game of weight two is one that stands twice; weights have any unit."""
    state = bets()
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
    known = te.equilibrium(shared_env("kuhn_poker"), iterations=30)
    leaf: list[Any] = [always(0, known), always(1, known), known]
    found = te.resolve(deals_of_kuhn(), 0, known, depth=1, leaf=leaf, iterations=20)
    found.save(tmp_path / "file")
    again = te.Equilibrium.load(tmp_path / "file")
    assert (again.table == found.table).all() and again.tree.is_like(found.tree)
    assert (te.Equilibrium.load(tmp_path / "file", found.tree).table == found.table).all()
    other = te.resolve(deals_of_kuhn(), 0, known, depth=2, leaf=leaf, iterations=20)
    assert not other.tree.is_like(found.tree)


def limited(**arguments: Any) -> te.Equilibrium:
    return te.resolve(bets(), 1, [0] * 6, **arguments)


def uniform(state: te.State) -> np.ndarray:
    return np.asarray(state.legal_action_mask.numpy() / 2)


def one_value(state: te.State) -> tuple[Tensor, Tensor]:
    return Tensor.zeros(1), Tensor.zeros(1)


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: te.resolve(3, 0, [0]), TypeError, "state must be of type State"),  # type: ignore[arg-type]
    (lambda: te.resolve(bets(), 2, [0] * 6), ValueError, r"player must be in 0\.\.1, got 2"),
    (lambda: te.resolve(bets(), 1, [0] * 5), ValueError, r"values must be finite numbers \(6,\), got int64 \(5,\)"),
    (lambda: te.resolve(bets(), 1, [np.nan] * 6), ValueError, "values must be finite numbers"),
    (lambda: te.resolve(bets(), 1, [0] * 6, weights=[-1] * 6), ValueError, "weights must be at least 0, and one of"),
    (lambda: te.game_tree(bets(), weights=[0] * 6), ValueError, "weights must be at least 0, and one of them more"),
    (lambda: te.game_tree(shared_env("kuhn_poker"), weights=[1]), ValueError, "weights must be None where start is an"),
    (lambda: te.resolve(deals_of_kuhn(), 1, None), TypeError, "values must be numbers or a policy, got None"),  # type: ignore[arg-type]
    (lambda: limited(depth=1), ValueError, "depth and leaf must be given together, got depth 1 and leaf None"),
    (lambda: limited(leaf=one_value), ValueError, "depth and leaf must be given together, got depth None and leaf"),
    (lambda: limited(depth=0, leaf=one_value), ValueError, r"depth must be in 1\.\.2147483647, got 0"),
    (lambda: limited(depth=1, leaf=3), TypeError, "leaf must be a sequence of policies or a function, got 3"),
    (lambda: limited(depth=1, leaf=[]), ValueError, "leaf must be one policy or more, got none"),
    (lambda: limited(depth=1, leaf=[3]), TypeError, r"leaf\[0\] must be a function"),
    (
        lambda: te.resolve(deals_of_kuhn(), 1, [0] * 6, depth=1, leaf=one_value),
        ValueError,
        r"leaf must return values \(12,\) or \(12, 2\), got \(1,\)",
    ),
    (
        lambda: te.resolve(deals_of_kuhn(), 1, [0] * 6, depth=1, leaf=lambda state: 3),  # type: ignore[arg-type,return-value]
        TypeError,
        "leaf must return two arrays, logits and values, got 3",
    ),
    (
        lambda: te.resolve(bets(), 1, lambda state: np.zeros((1, 2))),
        ValueError,
        r"values must give probabilities \(3, 2\), got float64 \(1, 2\)",
    ),
    (
        lambda: te.resolve(bets(), 1, lambda state: np.ones((state.batch, 2))),
        ValueError,
        "the probabilities of values must be those of legal actions, with a sum of 1",
    ),
    (
        lambda: te.resolve(bets(), 1, te.equilibrium(hidden_dice(2), iterations=1)),
        ValueError,
        "values: the state belongs to <Env kuhn_poker-v0>, not to",
    ),
    (
        lambda: te.resolve(deals_of_kuhn(), 1, te.equilibrium(te.game_tree(bets()), iterations=1)),
        ValueError,
        "values: state must have games that show their information state, row 0 is not in the tree",
    ),
    (
        lambda: te.resolve(deals_of_kuhn(), 1, [0] * 6, depth=1, leaf=[uniform, lambda state: 3]),
        ValueError,
        r"leaf\[1\] must give probabilities \(6, 2\), got int64 \(\)",
    ),
    (
        lambda: te.resolve(
            deals_of_kuhn(), 1, [0] * 6, depth=1, leaf=lambda state: (Tensor.zeros(1), np.full(state.batch, np.nan))
        ),
        ValueError,
        r"leaf must return finite values, got float64 \[nan",
    ),
    (
        lambda: te.resolve(deals_of_kuhn(), 1, [0] * 6, depth=1, leaf=lambda state: (Tensor.zeros(1), ["x"] * 12)),  # type: ignore[arg-type,return-value]
        ValueError,
        r"leaf must return finite values, got <U1 \['x'",
    ),
    (
        lambda: te.resolve(te.concat([bets(), deals_of_kuhn()]), 1, [0] * 12),
        ValueError,
        "state must be games of one ply, got plies 0 to 1",
    ),
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
