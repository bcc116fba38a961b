"""Engines of others as players: protocols by a scripted engine, failures, and real engines where they are installed."""

from __future__ import annotations

import gc
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.evaluation.engines import EngineError
from tensor_envs.evaluation.engines.open_spiel import GAMES
from tensor_envs.games.backgammon.turns import Side, ends_of, turn_to_actions
from tensor_envs.train.__main__ import main
from tests.engines import scripted
from tests.games.shared import shared_env
from tests.scripts.here import run_here

OPENINGS = 32  # games of backgammon at once, whose kernels are compiled for every size
SCRIPT = shlex.join([sys.executable, "-S", scripted.__file__])


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Function that returns the lines that scripted engines have read."""
    path = tmp_path / "log"
    monkeypatch.setenv("SCRIPTED_LOG", str(path))
    return lambda: path.read_text().splitlines()


@pytest.fixture
def gnubg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Function that installs a scripted `gnubg`, perhaps with a fault."""

    def install(fault: str = "") -> None:
        program = tmp_path / "gnubg"
        program.write_text(f"#!/bin/sh\nexec {SCRIPT} gnubg {fault}\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return install


def named(*names: str) -> te.agents.Policy:
    """Return a policy of chess or go that plays its moves by name, one after the other."""

    def policy(state: te.State) -> list[int]:
        name = names[state.ply.numpy().max() // 2]
        return [state.env.string_to_action(name, state, i) for i in range(state.batch)]

    return policy


def runs(pid: int) -> bool:
    """Return whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(pid: int) -> bool:
    """Return whether a process has ended, or ends within seconds."""
    for _ in range(100):
        if not runs(pid):
            return True
        time.sleep(0.05)
    return False


def test_uci_gets_the_whole_game(log: Callable[[], list[str]]) -> None:
    env = shared_env("chess")
    with te.agents.engine(f"uci:{SCRIPT} uci:skill=3,depth=2,nodes=70") as engine:
        result = te.evaluate(env, [named("f2f3", "g2g4"), engine], games=2, seats="fixed")
    assert result.wins.tolist() == [0, 2] and result.plies.tolist() == [4, 4]
    lines = log()
    assert lines[:2] == ["uci", "setoption name Skill Level value 3"]
    asked = ["ucinewgame", "position startpos moves f2f3 e7e5 g2g4", "go depth 2 nodes 70"]
    assert lines[-3:] == asked and lines.count("position startpos moves f2f3") == 2


def test_games_that_are_not_followed_are_refused() -> None:
    env = shared_env("chess")
    state = env.init(2)
    with te.agents.engine(f"uci:{SCRIPT} uci:depth=1") as engine:
        first = np.array([env.string_to_action(name, state) for name in ("f2f3", "e2e4")])
        second = env.step(state, first)
        with pytest.raises(ValueError, match=r"knows 0 of 1 plies in row 0: call its method watch before each step"):
            engine(second)
        engine.watch(state, first)
        assert [env.action_to_string(int(a), second, i) for i, a in enumerate(engine(second))] == ["e7e5", "c7c5"]
        assert engine(second, np.array([True, False]))[1] == 0  # in this row nothing is wanted
        with pytest.raises(ValueError, match=r"plays chess, got a state of <Env tic_tac_toe"):
            engine(te.make("tic_tac_toe").init(1))


def test_gtp_in_both_seats(log: Callable[[], list[str]]) -> None:
    env = te.make("go", komi=0.5)
    with te.agents.engine(f"gtp:{SCRIPT} gtp:seconds=2") as engine:
        result = te.evaluate(env, [named("C3", "pass"), engine], games=2, seats="fixed")
        assert result.plies.tolist() == [4, 4] and result.wins.tolist() == [0, 2]
        lines = log()
        start = ["boardsize 9", "clear_board", "komi 0.5", "time_settings 0 2 1"]
        assert lines[:6] == [*start, "play b C3", "genmove w"]
        assert lines[-5:] == [start[-1], "play b C3", "play w D3", "play b pass", "genmove w"]
        te.evaluate(env, [engine, named("pass", "pass")], games=2, seats="fixed", opening=1, limit=5)
        assert log()[-1] == "genmove b"


def test_an_engine_may_resign() -> None:
    with te.agents.engine(f"gtp:{SCRIPT} gtp resign") as engine:
        result = te.evaluate(te.make("go"), [named("C3"), engine], games=2, seats="fixed")
    assert result.wins.tolist() == [2, 0] and result.plies.tolist() == [1, 1]


def test_gnubg_plays_whole_turns(gnubg: Callable[[str], None], log: Callable[[], list[str]]) -> None:
    """Opening turns of a scripted engine stand on the board, for either player."""
    gnubg("")
    env = shared_env("backgammon")
    state = env.init(OPENINGS, seed=3)
    first = state
    with te.agents.engine("gnubg:plies=2") as engine:
        for _ in range(2):
            actions = engine(state)
            engine.watch(state, actions)
            state = env.step(state, actions)
    assert np.unique(first.current_player.numpy()).tolist() == [0, 1]
    for row in range(OPENINGS):
        before = env.state_to_dict(first, row)
        dice = sorted(before["dice"], reverse=True)
        own, other = before["men"][:: 1 - 2 * before["current_player"]]
        side = Side(tuple(own), tuple(other))
        for action in turn_to_actions(side, dice, scripted.TURNS[f"{dice[0]} {dice[1]}"]):
            side = side.moved(*ends_of(action))
        men = [[*side.own], [*side.other]][:: 1 - 2 * before["current_player"]]
        assert env.state_to_dict(state, row)["men"] == men
    lines = log()
    assert lines.count("hint 1") == OPENINGS and "set evaluation chequerplay evaluation plies 2" in lines
    start = "set board simple 0 -2 0 0 0 0 5 0 3 0 0 0 -5 5 0 0 0 -3 0 -5 0 0 0 0 2 0"
    assert lines.count(start) == OPENINGS  # the first position of GNU Backgammon's manual


def test_gnubg_asks_for_whole_openings(gnubg: Callable[[str], None]) -> None:
    gnubg("")
    with (
        te.agents.engine("gnubg") as engine,
        pytest.raises(EngineError, match=r"'gnubg' plays no legal move in row \d+ after .*it plays whole turns"),
    ):
        te.evaluate(shared_env("backgammon"), [engine, engine], games=OPENINGS, opening=1)


@pytest.mark.few("gtp", "die", "illegal")  # one wait for a deadline, which all protocols share
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("hang", r"has not answered within 1 s; it wrote: .*child \d+"),
        ("die", r"has ended; it wrote: .*out of luck"),
        ("illegal", r"plays no legal move in row 0 .*"),
    ],
)
@pytest.mark.parametrize("protocol", ["uci", "gtp", "gnubg"])
def test_a_failure_names_the_engine_and_ends_it(
    protocol: str, fault: str, message: str, gnubg: Callable[[str], None]
) -> None:
    gnubg(fault)
    game = {"uci": "chess", "gtp": "go", "gnubg": "backgammon"}[protocol]
    program = protocol if protocol == "gnubg" else f"{protocol}:{SCRIPT} {protocol} {fault}"
    engine = te.agents.engine(f"{program}:deadline={1 if fault == 'hang' else 60}")
    pid = engine.engine.process.pid  # type: ignore[attr-defined]
    assert runs(pid)
    with pytest.raises(EngineError, match=message) as error:
        te.evaluate(shared_env(game), [engine, te.agents.uniform], games=2)
    assert f"the engine '{program}" in str(error.value) and ended(pid)
    if fault == "hang":
        child = str(error.value).rpartition("child ")[2].split()[0]
        assert ended(int(child))
    with pytest.raises(EngineError, match="has ended"):
        engine(shared_env(game).init(2))


def test_an_engine_that_refuses_a_command() -> None:
    with (
        te.agents.engine(f"gtp:{SCRIPT} gtp refuse") as engine,
        pytest.raises(EngineError, match=r"refuses .*'komi 7.5'"),
    ):
        engine(te.make("go").init(1))


def test_a_process_that_leaves_the_group_does_not_hold_the_player_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensor_envs.evaluation.engines.process.END_SECONDS", 0.1)
    engine = te.agents.engine(f"uci:{SCRIPT} uci leave")
    with pytest.raises(EngineError, match="no legal move"):
        engine(shared_env("chess").init(1))
    assert ended(engine.engine.process.pid)  # type: ignore[attr-defined]


def test_an_engine_ends_with_its_player() -> None:
    engine = te.agents.engine(f"uci:{SCRIPT} uci")
    pid = engine.engine.process.pid  # type: ignore[attr-defined]
    assert runs(pid)
    del engine
    gc.collect()
    assert ended(pid)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "stokfish",
            "an engine must be stockfish, gnugo, gnubg, open_spiel:mcts:SIMULATIONS, uci:COMMAND or gtp:COMMAND",
        ),
        ("stockfish:mcts", "an engine must be stockfish"),
        ("open_spiel:mcts", "an engine must be stockfish"),
        ("open_spiel:mcts:0", r"simulations of the engine 'open_spiel:mcts:0' must be in 1\.\."),
        ("gtp:x:deadline=0", r"deadline of the engine 'gtp:x:deadline=0' must be a number in 0.001\.\.86400, got '0'"),
        (f"uci:{SCRIPT} uci:skill=21", r"skill of the engine .* must be an int in 0\.\.20, got '21'"),
        (f"uci:{SCRIPT} uci:skil=1", r"has no option 'skil'; it has deadline, depth, nodes, seconds, skill"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.agents.engine(name)


def test_what_is_not_installed_is_said() -> None:
    with pytest.raises(
        FileNotFoundError, match="the engine 'uci:nothing' is not installed, there is no program 'nothing'"
    ):
        te.agents.engine("uci:nothing")


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(te.agents, "playout_search", lambda *_, **__: te.agents.uniform)  # compiles nothing
    name = f"gtp:{SCRIPT} gtp resign"
    arguments = ["rate", "go", "--engine", name, "--games=4", "--simulations", "--rivals", "1"]
    code, out, errors = run_here(main, arguments)
    assert (code, errors) == (0, "")
    score = "score 1.000, 95 % interval 0.510 to 1.000; mean return +1.000 +- 0.000"
    assert out.splitlines()[1] == f"playout search of 1 against {name}: 4 won, 0 drawn, 0 lost; {score}"
    monkeypatch.setenv("PATH", "")
    for arguments, message in (
        (["yahtzee", "--engine", name], "--engine needs a game for two, <Env yahtzee-v0> has 1 players"),
        (["tic_tac_toe", "--simulations"], "--simulations or --rivals must have a number, got none"),
        (
            ["tic_tac_toe", "--engine", f"uci:{SCRIPT} uci"],
            f"the engine 'uci:{SCRIPT} uci' plays chess, got a state of",
        ),
        (["go", "--engine", "gtp:nothing"], "the engine 'gtp:nothing' is not installed"),
    ):
        code, _, errors = run_here(main, ["rate", *arguments, *["--rivals"] * ("--simulations" in arguments)])
        assert code == 2 and message in errors and errors.count("\n") == 1, errors


# *** real engines ***


@pytest.mark.extra("stockfish")
def test_stockfish() -> None:
    with te.agents.engine("stockfish:skill=20,depth=4,hash=1") as engine:
        result = te.evaluate(shared_env("chess"), [te.agents.uniform, engine], games=2, opening=2, seed=1)
    assert result.wins.tolist() == [0, 2]


@pytest.mark.extra("gnugo")
def test_gnu_go() -> None:
    with te.agents.engine("gnugo:level=1") as engine:
        result = te.evaluate(te.make("go", size=5, komi=0.5), [te.agents.uniform, engine], games=2, seed=1)
    assert result.wins.tolist() == [0, 2]


@pytest.mark.extra("gnubg")
def test_gnu_backgammon() -> None:
    with te.agents.engine("gnubg") as engine:
        result = te.evaluate(shared_env("backgammon"), [te.agents.uniform, engine], games=2, opening=2, seed=1)
    assert result.wins.tolist() == [0, 2] and result.plies.min() > 20


@pytest.mark.extra("pyspiel")
def test_openspiel_finds_the_only_move() -> None:
    env = te.make("tic_tac_toe")
    state = env.init(2)
    engine = te.agents.engine("open_spiel:mcts:500:exploration=1")
    for action in ([0, 8], [4, 4]):
        if action[0]:
            engine.watch(state, action)
            state = env.step(state, action)
            continue
        engine.watch(state, action)
        state = env.step(state, action)
        assert engine(state).tolist() == [4, 4]


@pytest.mark.extra("pyspiel")
@pytest.mark.few("tic_tac_toe", "kalah", "breakthrough")
@pytest.mark.parametrize("name", GAMES)
def test_openspiel_plays_by_the_same_rules(name: str) -> None:
    """Its actions are legal here in whole games, and ours there: other rules raise an error."""
    with te.agents.engine("open_spiel:mcts:2") as engine:
        result = te.evaluate(shared_env(name), [te.agents.uniform, engine], games=2, seed=1)
    assert result.unfinished == 0 and (result.returns.sum(1) == 0).all()


@pytest.mark.extra("pyspiel")
def test_openspiels_rules_are_checked() -> None:
    with (
        te.agents.engine("open_spiel:mcts:2") as engine,
        pytest.raises(EngineError, match=r"plays breakthrough by other rules than <Env breakthrough-v0 rows=6, "),
    ):
        engine(te.make("breakthrough", rows=6, columns=5).init(1))
