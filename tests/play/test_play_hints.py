"""tensor_envs.play: hints, by searches and by exact values."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs.registry import env_metadata
from tensor_envs.play import exact, opponents
from tensor_envs.web.variants import is_searchable
from tests.play.client import GAME, act, ask, create


def final_hint(url: str, known: str) -> dict[str, Any]:
    """Ask for a hint until none is being computed, and see that an entry is known."""
    while (hint := ask(url, "GET", urlsplit(url).path).json)["waiting"]:
        time.sleep(0.1)
    assert hint[known]
    found: dict[str, Any] = hint
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        # three of player 0's discs stand in column 3, and the fourth wins
        ([3, 0, 3, 0, 3, 1], {"actions": [3], "value": 1, "distance": 1}),
        # player 0 wins at either end of three discs in a row, so that all answers lose as soon
        ([2, 2, 3, 3, 4], {"actions": [0, 1, 2, 3, 4, 5, 6], "value": -1, "distance": 2}),
    ],
)
def test_an_exact_hint(url: str, columns: list[int], answer: dict[str, Any]) -> None:
    table = ask(url, "POST", "/api/tables", {**GAME, "game": "connect_four", "actions": columns}).json
    hint = final_hint(f"{url}api/tables/{table['table']}/hint/{len(columns)}", "distance")
    assert hint == {**answer, "exact": True, "waiting": False, "compiling": False}


def test_a_hint_does_not_wait_for_what_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint of a search is final in the end, although an exact value may still come."""
    solver = exact.PositionSolver()
    monkeypatch.setattr(exact, "PATIENCE", 0.1)
    monkeypatch.setattr(solver, "_send", lambda question: None)
    state = te.make("connect_four").init(1)
    assert solver.ask(state) == (None, True)
    time.sleep(0.1)
    assert solver.ask(state) == (None, False)


@pytest.mark.slow
def test_hints(url: str) -> None:
    """Hints are for a person who is to move: the search's at once, and the exact ones of a game that is solved."""
    won = ask(url, "POST", "/api/tables", {**GAME, "game": "shed_5", "actions": []}).json
    shed = final_hint(f"{url}api/tables/{won['table']}/hint/0", "exact")
    solution = te.agents.solution_of(te.make("shed", cards=5))
    state = solution.env.init(1, 0)
    best = np.flatnonzero(solution.best_actions(state)[0]).tolist()
    assert shed == {
        "actions": best,
        "value": solution.value(state)[0],
        "exact": True,
        "distance": None,
        "waiting": False,
        "compiling": False,
    }
    kalah = create(url, "kalah")
    path = f"/api/tables/{kalah['table']}/hint"
    while not (hint := ask(url, "GET", f"{path}/0").json)["actions"]:
        time.sleep(0.1)
    assert len(hint["actions"]) == 1 and -1 < hint["value"] < 1 and not hint["exact"]
    assert ask(url, "GET", f"{path}/3").status == 409
    race = create(url, "2048", ["person"])
    assert final_hint(f"{url}api/tables/{race['table']}/hint/0", "actions")
    computers = create(url, seats=["uniform", "person"])
    assert ask(url, "GET", f"/api/tables/{computers['table']}/hint/0").status == 409
    assert ask(url, "GET", "/api/tables/none/hint/0").status == 410


@pytest.mark.slow
def test_exact_values_are_those_of_the_whole_game() -> None:
    """In tic-tac-toe every value, distance and best action by search is that of the solved game."""
    env = te.make("tic_tac_toe")
    solution, search = te.agents.solution_of(env), exact.solution_of(json.dumps(env_metadata(env)))
    state = env.init(1)
    for action in (0, 1, 4, 8, 3):
        found = exact.exact(search, state)
        distance = int(solution.distance(state)[0])
        assert found is not None and found.value == solution.value(state)[0]
        assert (found.distance or -1) == distance
        keeps = solution.best_actions(state)[0]
        after = [int(solution.distance(env.step(state, [a]))[0]) for a in found.best]
        assert keeps[found.best].all() and (not found.value or {1 + plies for plies in after} == {distance})
        state = env.step(state, [action])


def test_the_compilation_of_a_kernel_is_no_part_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search has its whole time, however long the compiler took before its first node."""
    monkeypatch.setattr(exact, "SECONDS", 0.5)
    solution = SimpleNamespace(nodes=0)
    with exact.bounded(solution):
        time.sleep(0.7)
        solution.nodes = 1
        time.sleep(0.1 + exact.TICK)
    with pytest.raises(TimeoutError), exact.bounded(solution):
        time.sleep(5)


def test_a_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A position that takes long has no exact value, and the wait for it ends, also for a process that has died."""
    monkeypatch.setattr(exact, "SECONDS", 0.01)
    env = te.make("connect_four", rows=7)  # the game with six rows comes with its openings
    search = exact.solution_of(json.dumps(env_metadata(env)))
    assert exact.exact(search, env.init(1)) is None and search.nodes > 0
    solver = exact.PositionSolver()
    monkeypatch.setattr(exact, "PATIENCE", 0.0)
    assert solver.ask(env.init(1)) == (None, False)
    monkeypatch.setattr(exact, "PATIENCE", 60.0)
    assert solver._process is not None
    solver._process.kill()
    solver._process.wait()
    assert solver.ask(env.init(1)) == (None, False) and solver._process is None
    assert is_searchable(env) and not any(is_searchable(te.make(id)) for id in ("kuhn_poker", "2048", "backgammon"))


@pytest.mark.slow
def test_a_game_is_solved_once_and_aside(url: str) -> None:
    """The table answers `waiting` until the game is solved, and other tables continue."""
    first, second = (create(url, "shed_14", ["perfect", "person"], seed) for seed in (1, 2))
    path = f"/api/tables/{first['table']}/advance"
    after = ask(url, "POST", path, {"ply": 0}).json
    assert after["waiting"] and after["ply"] == 0, "it takes longer than this"
    other = create(url)
    assert act(url, other, 4).json["ply"] == 1
    while ask(url, "GET", f"/api/tables/{first['table']}").json["ply"] == 0:
        after = ask(url, "POST", path, {"ply": 0}).json
        assert after["waiting"] == (after["ply"] == 0)
        time.sleep(0.2)
    assert ask(url, "POST", f"/api/tables/{second['table']}/advance", {"ply": 0}).json["ply"] == 1


@pytest.mark.slow
def test_a_solve_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    env = te.make("shed", cards=3)
    solver = opponents.OracleSolver()
    monkeypatch.setattr(opponents, "SOLVE", "import nothing")
    solver.start(env)
    solver.start(te.make("shed", cards=3))
    assert len(solver._processes) == 1
    solver._processes[env.rules].wait()
    with pytest.raises(RuntimeError, match=r"solving <Env shed-v0 cards=3.*> has failed, with exit code 1"):
        solver.oracle(env, "CPU")
    monkeypatch.undo()
    assert solver.oracle(env, "CPU") is None
    solver._processes[env.rules].wait()
    assert solver.oracle(env, "CPU") is solver.oracle(env, "CPU") is not None
    solver.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_tables_behind(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tensor_envs.play", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # ignored in the background
    )
    assert process.stdout is not None
    create(process.stdout.readline().split()[1], "shed_14", ["perfect", "person"])
    folder = next(tmp_path.glob("tensor_envs-????????"))
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == 128 + number and not folder.exists()
