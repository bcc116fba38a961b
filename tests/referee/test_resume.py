"""Tournaments that an error or a signal has ended continue from their file, which they never lose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.referee import Participant, Settings, tournament
from tensor_envs.referee import __main__ as command
from tensor_envs.referee.saved import SavedGames
from tests.referee.players import TTT, first, legal
from tests.scripts.here import run_here

HERE = "tests.referee.test_resume"
BASE = ("tic_tac_toe", "--player", f"{HERE}:paid", "--player", "uniform", "--opening", 0, "--retries", 0)

asked = list[str]()
failing_after = 10**9


def paid(text: str) -> str:
    """Answer the first legal move until the money is spent."""
    if len(asked) >= failing_after:
        raise ConnectionError("429: no money")
    asked.append(text)
    return f"move: {legal(text)[0]}"


@pytest.fixture(autouse=True)
def money(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    asked.clear()
    monkeypatch.setattr(f"{HERE}.failing_after", 10**9)
    yield


def run(*arguments: object) -> tuple[int, str, str]:
    return run_here(command.main, arguments)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def answers(path: Path) -> int:
    """Return the number of answers of the paid player in a file."""
    games = [te.Record.from_json(line) for line in lines(path)]
    return sum(len(noted.get("answers", ())) for game in games for noted in game.notes["moves"])


def test_the_same_command_plays_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    code, out, errors = run(*BASE, "--games", 4, "--save", path)
    before, count = path.read_bytes(), len(asked)
    assert (code, errors) == (0, "") and count == answers(path) > 8
    code, again, errors = run(*BASE, "--games", 4, "--save", path)
    assert (code, errors) == (0, "") and path.read_bytes() == before and len(asked) == count
    assert again.replace(f", from {path}", "") == out and again.count(f", from {path}") == 4
    code, out, errors = run(*BASE, "--games", 6, "--player", "playout:8", "--save", path)  # more games, one more player
    assert (code, errors) == (0, "") and path.read_bytes().startswith(before) and len(lines(path)) == 18
    assert len(asked) == answers(path) and out.count(f", from {path}") == 4 and "\nplayout:8: " in out


def test_an_error_leaves_scores_and_report_and_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, page = tmp_path / "games.jsonl", tmp_path / "page.html"
    monkeypatch.setattr(f"{HERE}.failing_after", 9)
    code, out, errors = run(*BASE, "--games", 4, "--save", path, "--report", page)
    finished = len(lines(path))
    assert code == 2 and errors.endswith(f"error: the player '{HERE}:paid' does not answer: 429: no money\n")
    assert 0 < finished < 4 and errors.count("\n") == 1 and page.read_text().count("<details>") == finished
    assert f"\n{HERE}:paid: " in out and "player" in out
    kept = path.read_bytes()
    monkeypatch.setattr(f"{HERE}.failing_after", 10**9)
    code, out, errors = run(*BASE, "--games", 4, "--save", path, "--report", page)
    assert (code, errors) == (0, "") and path.read_bytes().startswith(kept) and len(lines(path)) == 4
    assert page.read_text().count("<details>") == 4 and out.count(f", from {path}") == finished


def test_any_error_of_a_function_leaves_scores_and_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that no command expects keeps its traceback, after the report."""
    page = tmp_path / "page.html"
    monkeypatch.setattr(f"{HERE}.failing_after", 9)
    monkeypatch.setattr(f"{HERE}.ConnectionError", KeyError, raising=False)
    with pytest.raises(KeyError, match="no money"):
        run(*BASE, "--games", 4, "--report", page)
    assert page.read_text().count("<details>") > 0


def test_without_a_finished_game_there_is_the_error_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.jsonl"
    monkeypatch.setattr(f"{HERE}.failing_after", 0)
    code, out, errors = run(*BASE, "--save", path)
    assert (code, out) == (2, "") and errors.count("\n") == 1 and path.read_bytes() == b""


@pytest.mark.few(1)
@pytest.mark.parametrize("kept", [1, 30, 60, -1])
@pytest.mark.parametrize("complete", [0, 2])
def test_a_line_that_is_cut_off_is_played_again(kept: int, complete: int, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    assert run(*BASE, "--games", 4, "--save", path)[0] == 0
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:complete]) + whole[complete][:kept])
    code, out, _ = run(*BASE, "--games", 4, "--save", path)
    assert code == 0 and len(lines(path)) == 4 and path.read_bytes().startswith(b"".join(whole[:complete]))
    last_was_whole = kept == -1  # but for the end of the line
    assert out.count(f", from {path}") == complete + last_was_whole
    assert [json.loads(line)["actions"] for line in lines(path)] == [json.loads(line)["actions"] for line in whole]


def altered(values: dict[str, Any], **notes: Any) -> str:
    return json.dumps({**values, "notes": {**values["notes"], **notes}})


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", 9], "must be one of the schedule, got seed 0 with tests.referee.test_resume:paid, uniform"),
        (["--opening", 1], "must have the settings {'history': True, 'legal': True, 'tries': 3, 'opening': 1,"),
        (["--tries", 1], "must have the settings "),
        (["--no-legal"], "must have the settings "),
        (["--disguise", "renamed"], "must have the disguise ['renamed'], got []"),
        (["--rules", "misere=True"], "must have the game "),
        (["--games", 2], "played[2] must be one of the schedule"),
    ],
)
def test_another_tournament_is_refused(arguments: list[object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    assert run(*BASE, "--games", 4, "--save", path)[0] == 0
    before, count = path.read_bytes(), len(asked)
    command_line = [*BASE, "--games", 4, *arguments]
    code, out, errors = run(*command_line, "--save", path)
    assert (code, out, len(asked)) == (2, "", count) and path.read_bytes() == before and errors.count("\n") == 1
    assert f"{str(path)!r} cannot be continued: played[" in errors and message in errors
    assert errors.endswith("name another file, or start again with --no-resume, which replaces it\n")


@pytest.mark.slow
def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    assert run(*BASE, "--save", path)[0] == 0
    one, other = lines(path)
    values = json.loads(one)
    names = ["(9,9)", *values["names"][1:]]
    damages = {
        "line 1 has no record": "an older file",
        "line 2 has no record": f"{one}\n{{}}\n{other}",
        "must be in the list once": f"{one}\n{one}\n",
        "cannot be replayed: game takes another course": json.dumps({**values, "names": names}),
        "must have notes of its players, and of each of its moves": altered(values, regret=[]),
        "must have the settings ": altered(values, settings=None),
        "must have the disguise ": altered(values, disguise=0),
        "must have the start ": json.dumps({**values, "row": 1}),
    }
    for message, text in damages.items():
        path.write_text(text)
        code, _, errors = run(*BASE, "--save", path)
        assert code == 2 and message in errors and errors.count("\n") == 1 and path.read_text() == text
    path.write_bytes(b"\xff\n")
    code, _, errors = run(*BASE, "--save", path)
    assert code == 2 and "line 1 has no record" in errors and path.read_bytes() == b"\xff\n"
    code, _, errors = run(*BASE, "--save", path, "--no-resume")
    assert (code, errors, len(lines(path))) == (0, "", 2)


def test_starting_again_keeps_the_file_until_a_game_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.jsonl"
    assert run(*BASE, "--save", path)[0] == 0
    before = path.read_bytes()
    monkeypatch.setattr(f"{HERE}.failing_after", len(asked))
    assert run(*BASE, "--save", path, "--no-resume")[0] == 2 and path.read_bytes() == before


def test_one_tournament_at_a_time_writes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    saved = SavedGames(path, resume=True)
    code, _, errors = run(*BASE, "--save", path)
    assert code == 2 and "is written by another tournament in progress" in errors and asked == []
    saved.close()
    assert run(*BASE, "--save", path)[0] == 0


def test_estimates_of_other_searches_are_not_mixed() -> None:
    players = [Participant("first", ask=first), Participant("last", ask=lambda text: legal(text)[-1])]
    judges = [te.PlayoutOracle(8), te.PlayoutOracle(16)]
    games = list(tournament(TTT, players, settings=Settings(opening=0), oracle=judges[0]))
    again = list(tournament(TTT, players, settings=Settings(opening=0), oracle=judges[0], played=games[:1]))
    assert again[0] is games[0] and again[1].actions == games[1].actions
    with pytest.raises(ValueError, match=r"played\[0\] must have the oracle '<PlayoutOracle of 16 "):
        tournament(TTT, players, settings=Settings(opening=0), oracle=judges[1], played=games)
    with pytest.raises(TypeError, match=r"played\[0\] must be of type Record, got 'a'"):
        tournament(TTT, players, played=["a"])  # type: ignore[list-item]


def test_a_full_disk_ends_with_scores(tmp_path: Path) -> None:
    code, out, errors = run(*BASE, "--save", "/dev/full")
    assert code == 2 and "No space left on device: '/dev/full'" in errors and "\nuniform: " in out
