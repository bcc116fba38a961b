"""Searches of any size run the same programs."""

from __future__ import annotations

from typing import Any

import pytest

import tensor_envs as te
from tensor_envs._engine import engine
from tensor_envs._runtime import programs
from tests.games.shared import shared_env
from tests.search.test_tree_search import network, played

NUMBERS = (8, 20, 33)  # of simulations


@pytest.mark.slow
def test_programs_do_not_depend_on_the_size_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect the sources of all kernels; each environment records its kernels anew, in an engine of its own."""
    printed, sources = programs.printed, dict[str, set[str]]()

    def record(name: str, *arguments: Any) -> Any:
        result = printed(name, *arguments)
        sources.setdefault(name, set()).add(result[2])
        return result

    monkeypatch.setattr(programs, "printed", record)
    monkeypatch.setattr(engine, "_shared_engine", engine.Engine)  # else an earlier test may have recorded them
    evaluate = network(shared_env("tic_tac_toe"))
    for number in NUMBERS:
        env = te.make("tic_tac_toe")
        state = played(env, 70, 1)
        options: Any = {"max_num_considered_actions": 1 + number // 8}
        te.search.gumbel_muzero_policy(state, evaluate, number, **options)
        for search in (te.search.playout_policy, lambda *a, **b: te.search.muzero_policy(a[0], evaluate, *a[1:], **b)):
            found = search(state, number, keep_tree=True)
            tree = te.search.subtree(found.search_tree, found.action)
            search(env.step(state, found.action), number, tree=tree)
            search(state, number)
    kernels = {name.rpartition("TicTacToe_")[2]: len(texts) for name, texts in sources.items()}
    assert kernels["search"] == 1
    # one for each method with a network
    assert [kernels[name] for name in ("init_root", "expand_and_select", "finalize")] == [2, 2, 2]
