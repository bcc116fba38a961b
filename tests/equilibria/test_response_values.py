"""Exploitability without a tree against that of the tree, for functions of the observation; bounds and bad input."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.equilibria import response_values
from tensor_envs.equilibria.exploitability import responses
from tensor_envs.solve import branches
from tests.equilibria import plain_tree
from tests.equilibria.hidden_dice import hidden_dice
from tests.games.phantom_tic_tac_toe.reference import Reference
from tests.games.shared import shared_env

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("kuhn_poker", {}),
    ("leduc_poker", {}),
    ("liars_dice", {"sides": 3}),
    ("dark_hex", {"size": 2}),
    ("dark_hex", {"size": 2, "abrupt": True}),
    ("hidden_dice", {"players": 2}),
    ("hidden_dice", {"players": 3, "sides": 2}),
]


def uniform(state: te.State) -> np.ndarray:
    mask = state.legal_action_mask.numpy()
    return np.asarray(mask / np.maximum(mask.sum(1, keepdims=True), 1))


def env_of(game: str, config: dict[str, Any]) -> te.Env:
    return hidden_dice(**config) if game == "hidden_dice" else shared_env(game, **config)


class OfObservation:
    """Random probabilities as a function of the observation, the ply and what is legal; some are 0."""

    def __init__(self, env: te.Env):
        rng = np.random.default_rng(5)
        self.weights = rng.normal(size=(np.prod(env.observation_shape), env.num_actions))
        self.states = 0

    def __call__(self, state: te.State) -> np.ndarray:
        self.states += state.batch
        seen = state.env.observe(state).numpy().reshape(state.batch, -1).astype(float)
        legal = state.legal_action_mask.numpy()
        likely = np.exp(2 * np.sin(seen @ self.weights + state.ply.numpy()[:, None]))
        likely[:, 0] *= np.where(legal.sum(1) > 1, likely[:, 0] > 1, 1)
        return np.asarray(likely * legal / (likely * legal).sum(1, keepdims=True))


@pytest.mark.few("kuhn_poker-{}", "dark_hex-{'size': 2, 'abrupt': True}")
@pytest.mark.parametrize(("game", "config"), GAMES, ids=str)
def test_it_is_that_of_the_tree(game: str, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare exploitability, values and every best response; small parts change nothing."""
    env = env_of(game, config)
    policy, tree = OfObservation(env), te.game_tree(env)
    expected = te.exploitability(tree, policy)
    assert te.exploitability(env, policy) == pytest.approx(expected, abs=1e-12) and expected > 0.05
    monkeypatch.setattr(response_values, "PAIRS", 7)
    monkeypatch.setattr(response_values, "PARENTS", 64)
    monkeypatch.setattr(branches, "EDGES", 100)
    found = responses(env, policy, 10**6)
    assert found.states < tree.nodes
    for player in range(env.num_players):
        best = te.best_response(tree, policy, player)
        assert found.best(player) == pytest.approx(best.values[player], abs=1e-12)
    table = te.TabularPolicy(tree, te.equilibrium(tree, iterations=1).strategies)
    assert te.exploitability(env, table) == te.exploitability(tree, table)


@pytest.mark.slow
def test_a_subgame() -> None:
    """Games of a State are all equally likely; some are equal, and some are over."""
    env = shared_env("leduc_poker")
    state = env.step(env.init(40, seed=2), [1] * 40)[[*range(40), 3, 3, 5]]
    policy = OfObservation(env)
    expected = te.exploitability(te.game_tree(state), policy)
    assert te.exploitability(state, policy) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_more_histories_than_a_tree_holds() -> None:
    """Uniform play in abrupt 3x3 dark Hex with four cells taken: the tree has 30 times as many nodes as states."""
    env = shared_env("dark_hex", size=3, abrupt=True)
    state = env.init(1)
    for cell in (4, 0, 8, 2):
        state = env.step(state, [cell])
    policy = OfObservation(env)
    tree = te.game_tree(state)
    found = responses(state, policy, 10**6)
    assert found.states * 30 < tree.nodes
    assert te.exploitability(state, policy) == pytest.approx(te.exploitability(tree, policy), abs=1e-12)


@dataclass(frozen=True)
class Phantom:
    """One history of phantom tic-tac-toe in plain Python, from games after which 6 cells are marked.

    Attributes:
        game: the game.
        ply: number of attempts since the start.
        seen: what each player knows: the plies and results of its attempts.
    """

    game: Reference
    ply: int = 0
    seen: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())

    @property
    def over(self) -> bool:
        return self.game.terminated

    @property
    def mover(self) -> int:
        return self.game.current_player

    @property
    def legal(self) -> list[int]:
        return self.game.legal_actions()

    @property
    def information(self) -> Any:
        return self.mover, self.ply, self.seen[self.mover], tuple(self.legal)

    @property
    def returns(self) -> list[int]:
        winner = self.game.winner()
        return [0, 0] if winner is None else [1 - 2 * winner, 2 * winner - 1]

    def after(self, action: int) -> Iterator[tuple[Fraction, Phantom]]:
        game, seen = deepcopy(self.game), list(self.seen)
        marked = divmod(action, 3) not in game.marks
        game.apply(action)
        seen[self.mover] += ((self.ply, action, marked),)
        yield Fraction(1), Phantom(game, self.ply + 1, (seen[0], seen[1]))


@pytest.mark.slow
@pytest.mark.parametrize("abrupt", [False, True])
def test_phantom_tic_tac_toe_is_that_of_plain_python(abrupt: bool) -> None:
    """Compare best responses to uniform play from three positions which the players cannot tell apart."""
    boards = [[1, 1, -1, -1, 0, 1, 0, -1, 0], [1, 1, -1, 0, -1, 1, 0, -1, 0], [1, 1, -1, 0, 0, 1, -1, -1, 0]]
    starts = [{"board": board, "found": [1, 1, 1, 0, 0, 0, 0, 1, 0], "current_player": 0} for board in boards]
    plain = [Phantom(Reference.from_dict(start, (0, 0), abrupt=abrupt)) for start in starts]
    roots: plain_tree.Roots = [(Fraction(1, len(plain)), history) for history in plain]
    env, policy = shared_env("phantom_tic_tac_toe", abrupt=abrupt), plain_tree.uniform(roots)
    state = env.state_from_dicts(starts)
    found, tree = responses(state, uniform, 10**6), te.game_tree(state)
    assert tree.nodes == sum(1 for _ in plain_tree.histories(roots)) > 500 and len(tree) == len(policy)
    for player in (0, 1):
        expected = plain_tree.best_response(roots, policy, player)[0]
        assert found.best(player) == pytest.approx(expected, abs=1e-12)
        assert te.best_response(tree, uniform, player).values[player] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_published_values_of_dark_hex() -> None:
    """Best responses to uniform play in classical 3x3 dark Hex, from exp-a-spiel's README, in single precision."""
    found = responses(shared_env("dark_hex", size=3), uniform, 10**6)
    value = found.values[0]
    assert value == pytest.approx(84 / 126 * 2 - 1, abs=1e-12) and value == pytest.approx(0.333684, abs=1e-3)
    assert found.best(0) == pytest.approx(0.666318 + 0.333684, abs=1e-5)
    assert found.best(1) == pytest.approx(1.166488 - 0.333684, abs=1e-5)


def test_bad_input() -> None:
    env = shared_env("leduc_poker")
    with pytest.raises(
        ValueError, match="max_nodes must be at least 360 to hold the states of <Env leduc_poker-v0> to"
    ):
        te.exploitability(env, OfObservation(env), max_nodes=200)
    with pytest.raises(ValueError, match="with a sum of 1, got"):
        te.exploitability(env, lambda state: np.ones((state.batch, 3)))
    with pytest.raises(TypeError, match="policy must be a function"):
        te.exploitability(env, 3)  # type: ignore[arg-type]
