"""scripts/text_player.py: functions from text to text play whole games by their prompts."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import tensor_envs as te
from tests.games.shared import shared_env
from tests.scripts.here import run_here
from text_player import main as script

HERE = "tests.scripts.test_text_player"
TTT = shared_env("tic_tac_toe")


def legal(text: str) -> list[str]:
    return re.findall(r"Legal moves: (.*)", text)[-1].split("; ")


def first(text: str) -> str:
    return f"Whatever.\nMove: {legal(text)[0]}"


def reader(text: str) -> str:
    """Read the board of 3x3 tic-tac-toe and play perfectly."""
    rows = re.findall(r"^\d  ([.XO])  ([.XO])  ([.XO])$", text.partition("You are player")[2], re.M)
    board = [{"X": 1, "O": -1, ".": 0}["".join(cell)] for row in rows for cell in row]
    player = int(re.findall(r"You are player (\d)", text)[-1])
    state = TTT.state_from_dicts([{"board": board, "current_player": player}])
    best = int(te.agents.solution_of(TTT).best_actions(state)[0].argmax())
    return f"I take **{TTT.action_to_string(best)}**."


def resigning(text: str) -> str:
    return "I resign."


def learning(text: str) -> str:
    """Answer wrongly until the prompt contains an error."""
    return legal(text)[-1] if "cannot be played: answer must name a move" in text else "(9,9)"


def wordless(text: str) -> None:
    return None


def run(*arguments: object) -> tuple[int, str, str]:
    return run_here(script.main, arguments)


@pytest.mark.slow
def test_a_reader_of_boards_never_loses() -> None:
    code, out, errors = run("--player", f"{HERE}:reader", "--games", 12, "--against", "uniform")
    assert (code, errors) == (0, "") and out.count("\n") == 13
    won, lost = (int(re.findall(rf"(\d+) {word}", out)[-1]) for word in ("won", "lost"))
    assert won > 6 and lost == 0 and "12 won" not in "game 12"
    code, out, _ = run("--player", f"{HERE}:reader", "--games", 4, "--against", "perfect")
    assert code == 0 and out.endswith("0 won, 4 drawn, 0 lost, 0 unfinished; mean return +0.000\n")


def test_answers_that_are_none_lose(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    code, out, errors = run("--player", f"{HERE}:resigning", "--games", 2, "--tries", 4, "--save", path)
    assert (code, errors) == (0, "") and "0 won, 0 drawn, 2 lost" in out
    assert out.count("return -1; 4 answers, 4 of them not understood") == 2
    games = [json.loads(line) for line in path.read_text().splitlines()]
    assert [game["seat"] for game in games] == [0, 1] and len(games[0]["talk"]) == 4
    assert games[0]["talk"][1][0].endswith("2,1); ...\n") and games[0]["talk"][1][1] == "I resign."
    code, out, _ = run("--player", f"{HERE}:learning", "--games", 1, "--tries", 2)
    assert code == 0 and "lost, return -1; 2 answers" not in out
    assert re.search(r"(\d+) answers, (\d+) of them", out)


@pytest.mark.few("tests.types.program:Nim")
@pytest.mark.parametrize(
    ("env", "rules"), [("three_will", ["to_win=1"]), ("tests.types.program:Nim", ["heap=9"]), ("tensor_stars", [])]
)
def test_games_with_secrets_and_of_ones_own(env: str, rules: list[str]) -> None:
    against = ("--against", "search", "--limit", 3) if rules else ("--limit", 12)
    code, out, errors = run("--env", env, "--rules", *rules, "--player", f"{HERE}:first", *against)
    assert (code, errors) == (0, "") and re.match(rf"{env} on \w+ against ", out.splitlines()[-1])


def test_a_program_and_the_keyboard() -> None:
    line = f"{sys.executable} -c \"import re, sys; print(re.findall('move: (.*)', sys.stdin.read())[-1])\""
    code, out, errors = run("--command", line, "--games", 1)
    assert (code, errors) == (0, "") and "0 of them not understood" in out
    code, out, errors = run_here(script.main, ["--games", "1"], "nonsense\n(1,1)\n")
    assert code == 2 and errors == "text_player.py: error: there was no more input\n"
    assert out.startswith("# Hyperdimensional tic-tac-toe") and out.count("You are to move.") == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "nobody"], "--against must be uniform, search, perfect, a .safetensors file or package"),
        (["--against", "gone.safetensors"], "no file 'gone.safetensors'"),
        (["--against", "perfect", "--env", "kuhn_poker"], "needs an oracle: start must be"),
        (
            ["--player", "nowhere:answer"],
            "argument --player: must be package.module:function, got 'nowhere:answer': No module",
        ),
        (["--player", f"{HERE}:HERE"], "argument --player: must name a function, and"),
        (["--player", f"{HERE}:wordless"], "the player must answer with a str, got NoneType"),
        (["--command", "false"], "--command 'false' ended with exit code 1"),
        (["--env", "nowhere:Game", "--command", "true"], "there is no module 'nowhere'"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    code, _, errors = run(*arguments)
    assert code == 2 and message in errors and errors.count("\n") == 1
