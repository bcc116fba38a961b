"""Critical positions have actions that keep the exact value and others that lose it; mistakes there are counted."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensor_envs as te
from search_strength.main import EMPTY, critical_positions, print_mistakes


@pytest.mark.slow
def test_actions_of_critical_positions() -> None:
    env = te.make("connect_four")
    oracle = te.solve(env, method="search")
    state, best = critical_positions(env, oracle, seed=3)
    assert state.batch > 100 and (te.to_numpy(state.ply) >= 42 - EMPTY).all()
    value, mask = oracle.value(state), te.to_numpy(state.legal_action_mask)
    kept = np.zeros_like(mask)
    for action in range(env.num_actions):
        rows = np.flatnonzero(mask[:, action])
        after = env.step(state[rows], np.full(len(rows), action))
        over = te.to_numpy(after.terminated)
        # a game that ends pays the player who moved; else the opponent is to move
        mover = te.to_numpy(state.current_player)[rows]
        paid = te.to_numpy(after.rewards)[np.arange(len(rows)), mover]
        kept[rows, action] = np.where(over, paid, -oracle.value(after)) == value[rows]
    assert (kept == best).all()
    assert kept.any(1).all() and (mask & ~kept).any(1).all()


@pytest.mark.slow
def test_more_simulations_make_fewer_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    print_mistakes(200, [1, 1024])
    rows = re.findall(r"^\| ([\d,]+) \| (\d+) \| ([\d.]+)% \|$", capsys.readouterr().out, re.M)
    (_, few, _), (_, many, proven) = rows
    assert int(few) > 20 > 10 > int(many) and float(proven) > 60
