"""Critical positions have actions that keep the exact value and others that lose it; mistakes there are counted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from search_strength.main import EMPTY, critical_positions, main, old_search, print_mistakes
from tests.search.reference import search_of


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


@pytest.mark.slow
def test_a_table_has_a_row_for_each_number_of_simulations(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--env", "tic_tac_toe", "--simulations", "4", "8", "--games", "2", "4"])
    head, _, *rows = (line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines())
    assert head[-1] == "against version 0.2" and [row[:3] for row in rows] == [
        ["tic_tac_toe", "4", "2"],
        ["tic_tac_toe", "8", "4"],
    ]
    assert all(re.fullmatch(r"[01]\.\d{3} \+- \d\.\d{3}", score) for row in rows for score in row[3:])
    with pytest.raises(SystemExit):
        main(["--env", "tic_tac_toe", "--simulations", "4", "--games", "2", "4"])


def test_the_rule_of_version_0_2() -> None:
    """Where all actions stay legal, it is the present rule without history, with a larger weight."""
    env = te.make("connect_four")
    plies = [3, 3, 2, 4, 1, 3]
    state = env.init(1, seed=1)
    for action in plies:
        state = env.step(state, [action])
    options: dict[str, Any] = {"exploration": 1.4 * env.num_actions, "prove": False, "history_weight": 0.0}
    counts = search_of(env, 1, 0, plies, 64, 1, **options).root.counts
    assert old_search(64, seed=1)(state).tolist() == [int(np.argmax(counts))]
