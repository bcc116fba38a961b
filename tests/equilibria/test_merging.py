"""Merging by symmetries loses nothing: counts of information states, values and exploitability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.equilibria.merging import MergedForms
from tensor_envs.equilibria.tabular_policy import exploitability_of, plans_of
from tests.equilibria.hidden_dice import hidden_dice
from tests.games.shared import shared_env

# in Leduc poker, 5 hands a player with ranks alone take the place of 6 with suits, so 288 of 936 states; the others are
# ours
COUNTS = [
    ("kuhn_poker", {}, 12, 12),
    ("leduc_poker", {}, 936, 288),
    ("dark_hex", {"size": 2}, 134, 52),
    ("hidden_dice", {"players": 3}, None, None),
]


@pytest.mark.parametrize(("game", "config", "whole", "merged"), COUNTS)
def test_values_and_exploitability_are_those_of_the_whole_tree(game: str, config: Any, whole: Any, merged: Any) -> None:
    tree = te.game_tree(hidden_dice(**config) if game == "hidden_dice" else shared_env(game, **config))
    small = MergedForms(tree.forms)
    count = sum(len(form.starts) for form in small.forms)
    assert (len(tree), count) == (whole, merged) if whole else count <= len(tree)
    rng = np.random.default_rng(1)
    strategies = [form.strategy(rng.random(form.size) ** 3) for form in small.forms]
    policy = te.TabularPolicy(tree, small.strategies(strategies))
    assert np.allclose(policy.table.sum(1), 1) and (policy.table[~tree.legal_action_mask] == 0).all()
    plans = plans_of(small.forms, strategies)
    values = [form.payoffs(plans) @ plan for form, plan in zip(small.forms, plans, strict=True)]
    assert policy.values == pytest.approx(values, abs=1e-12)
    assert policy.exploitability == pytest.approx(exploitability_of(small.forms, plans), abs=1e-12)


def test_an_equilibrium_treats_suits_and_turned_boards_alike() -> None:
    """The curve of the merged tree ends with the exploitability of the whole one; both suits of a rank play alike."""
    leduc = te.equilibrium(te.game_tree(shared_env("leduc_poker")), "dcfr", until=0.01)
    assert (
        leduc.curve[-1][1] == pytest.approx(te.exploitability(leduc.tree, leduc), abs=1e-12)
        and leduc.exploitability <= 0.01
    )
    first = leduc.table[(leduc.tree.ply == 0)]
    assert len(first) == 6 and np.allclose(first[::2], first[1::2], atol=1e-12)
    hexes = te.equilibrium(te.game_tree(shared_env("dark_hex", size=2)), until=1e-3)
    assert hexes.curve[-1][1] == pytest.approx(hexes.exploitability, abs=1e-12)
    opening = hexes.table[hexes.tree.ply == 0]
    assert np.allclose(opening, opening[:, ::-1]) and hexes.exploitability <= 1e-3
