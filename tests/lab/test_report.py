"""Reports, their forms, and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tinygrad.helpers import tqdm

import tensor_envs as te
from tensor_envs.lab import __main__ as command
from tensor_envs.lab import laboratory
from tests.games.shared import shared_env
from tests.lab.games import coin_race
from tests.scripts.here import run_here

TTT = shared_env("tic_tac_toe")
SCORE = ("uniform", "score of player 0")


@pytest.fixture(scope="module")
def report() -> te.lab.Report:
    return te.lab.measure({"base": coin_race(), "paint": coin_race(0, True), "bonus": coin_race(2)}, ["uniform", 4], 32)


@pytest.mark.slow
def test_dead_and_live_rules(report: te.lab.Report) -> None:
    """A field that changes nothing is dead, also among many comparisons; points at the start are not."""
    assert report.dead == ["paint"] and ("bonus", SCORE) in report.differences
    assert report.variants[1].numbers == report.base.numbers
    assert report.base.unused["uniform"] == {"never legal": ["1"], "legal, never taken": []}
    assert str(report).count("never legal: 1.") == 3, "for each player of the base and playouts, not again for variants"


@pytest.mark.slow
def test_actions_that_a_variant_loses() -> None:
    """Without loans nobody gets a Free card in Three Will."""
    envs = te.lab.variants(te.make("three_will", to_win=1, max_turns=70), {"loan": []})
    text = te.lab.measure(envs, ["uniform"], 32).to_markdown()
    assert "In 512 games by uniform with loan=False never legal: free card." in text


@pytest.mark.slow
def test_markdown_marks_differences(report: te.lab.Report) -> None:
    text = report.to_markdown()
    row = next(line for line in text.splitlines() if line.startswith("| score of player 0"))
    base, paint, bonus = row.split("|")[2:5]
    assert bonus.strip().endswith("*") and not base.strip().endswith("*") and base == paint
    assert "No measured number differs from the base with paint." in text and "never legal: 1." in text
    tables = re.findall(r"(?:^\|.*\n?)+", text, re.M)
    assert len(tables) == 4
    for table in tables:
        assert len({line.count("|") for line in table.strip().splitlines()}) == 1
    assert str(report) == text


@pytest.mark.parametrize("width", [60, 80, 400])
def test_text_fits_a_terminal(report: te.lab.Report, width: int) -> None:
    """Tables are cut between columns, and no cell is lost."""
    text = report.to_text(width)
    assert max(map(len, text.splitlines())) <= width
    row = next(line for line in report.to_markdown().splitlines() if line.startswith("| score of player 0"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    shown = [line for line in text.splitlines() if line.startswith("score of player 0")]
    assert all(cell in " ".join(shown) for cell in cells)


def test_html_and_picture(report: te.lab.Report) -> None:
    page, picture = report.to_html(), ElementTree.fromstring(report.picture())
    assert page.startswith("<!doctype html>") and page.count("class=differs") == len(report.differences)
    assert report._repr_html_().count("<table>") == page.count("<table>") == 4
    words = [element.text for element in picture.iter() if element.tag.endswith("text")]
    measured = {what for _, what in report.keys if "quantile" not in what}
    assert measured <= set(words) and words.count("bonus") == len(measured) and "search 4 against uniform" in words


def test_json(report: te.lab.Report) -> None:
    base, _, bonus = json.loads(report.to_json(), parse_constant=pytest.fail)
    score = next(n for n in bonus["numbers"] if (n["player"], n["measure"]) == SCORE)
    assert score["differs"] and score["value"] == report.variants[2].numbers[SCORE].value
    assert base["games"]["uniform"] == 16 * 32 and base["actions"]["uniform"]["1"]["chosen"] is None


@pytest.mark.slow
def test_progress_has_an_honest_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """All simulations of all decisions count; half of the way is between .3 and .7 of the total that is shown then."""
    shown = list[tuple[float, float]]()

    def update(bar: Any, done: int = 0, close: bool = False) -> None:
        bar.n += done
        shown.append((bar.n, bar.t))

    monkeypatch.setattr(tqdm, "update", update)
    boards = {name: {"shape": (3, 3), "k": 3, "misere": name == "misere"} for name in ("base", "misere")}
    envs = {name: shared_env("hyper_tic_tac_toe", **fields) for name, fields in boards.items()}
    report = te.lab.measure(envs, ["uniform", 2], 32, progress=True)
    own = sum(32 * 2 * variant.numbers["search 2", "plies"].value for variant in report.variants)
    done, total = shown[-1]
    assert done == total and own + 2 * 64 * 5 * 1.5 <= done <= own + 2 * 64 * 9 * 1.5  # contests of 5 to 9 plies
    middle = min(shown, key=lambda pair: abs(pair[0] - done / 2))
    assert 0.3 < middle[0] / middle[1] < 0.7 and all(one[0] <= one[1] for one in shown)


@pytest.mark.slow
def test_precision_adds_games() -> None:
    few, many = (te.lab.measure(TTT, ["uniform", 2], 32, precision).base for precision in (None, 0.05))
    playouts = {"playouts of search 2": 32 * 3 * 2}
    assert few.games == {"uniform": 512, "search 2": 32, "search 2 against uniform": 64} | playouts
    assert many.games["uniform"] == 512 and many.games["search 2"] > 32
    scores = [number for (_, what), number in many.numbers.items() if "score" in what or what in ("luck", "skill")]
    assert len(scores) == 5 and max(number.half_width for number in scores) <= 0.05


def test_variants() -> None:
    base = te.make("three_will", to_win=2)
    envs = te.lab.variants(base, {"loan": [], "to_win": [2, 3], "held_under_locked": ["held"]})
    assert list(envs) == ["three_will", "loan=False", "to_win=3", "held_under_locked=held"]
    assert envs["loan=False"].rules.to_win == 2 and envs["three_will"] is base
    rules: Any = envs["to_win=3"].rules
    assert rules.to_win == 3 and rules.loan
    with pytest.raises(TypeError, match="no rule field 'lone' to vary; its fields are chart, "):
        te.lab.variants(base, {"lone": []})
    with pytest.raises(ValueError, match=r"'to_win'\] must name values, since 2 is no bool"):
        te.lab.variants(base, {"to_win": []})
    with pytest.raises(TypeError, match=r"fields\['to_win'\] must be a list of values, got '23'"):
        te.lab.variants(base, {"to_win": "23"})


def test_variants_of_long_values_that_look_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    base = te.make("hyper_tic_tac_toe", shape=(3, 3), k=3)
    monkeypatch.setattr(laboratory, "shown", lambda value: f"{str(value)[:2]}...")
    assert list(te.lab.variants(base, {"shape": [(3, 4), (3, 5), (4, 4)]})) == [
        base.id, "shape=(3...", "shape=(3... (2)", "shape=(4...",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("tic_tac_toe",), TypeError, "env_or_variants must be an Env, or a dict"),
        (({},), ValueError, "env_or_variants must have one environment or more"),
        (({1: TTT},), TypeError, "a variant's name must be of type str"),
        (({"a": 1},), TypeError, r"env_or_variants\['a'\] must be of type Env"),
        ((TTT, "uniform"), TypeError, "players must be a list"),
        ((TTT, ["random"]), ValueError, "players must be 'uniform', 'trained', 'perfect' or simulations"),
        ((TTT, [0]), ValueError, r"players, in simulations, must be in 1\.\."),
        ((TTT, [2, 2]), ValueError, "none of them twice"),
        ((TTT, []), ValueError, "players must be one or more"),
        ((TTT, [2], 31), ValueError, "games must be in 32"),
        ((TTT, [2], 32, 0), ValueError, "precision must be in 0.001"),
        ((TTT, [2], 32, None, -1), ValueError, "seed must be in 0"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        te.lab.measure(*arguments)


def test_no_memory_fields() -> None:
    with pytest.raises(NotImplementedError, match="memory fields"):
        te.lab.measure(shared_env("hyper_tic_tac_toe", shape=(9, 9, 9), k=4))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_command_writes_a_report(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"report{suffix}"
    few = ["--games", "32", "--players", "uniform", "2"]
    command.main(["hyper_tic_tac_toe", "--rules", "shape=(3, 3)", "--vary", "misere", *few, "--out", str(file)])
    assert "2 variants" in capsys.readouterr().out and "misere=True" in file.read_text()


@pytest.mark.slow
def test_command_prints_and_takesvalues_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    few = ["--games", "32", "--players", "uniform"]
    command.main(["hyper_tic_tac_toe", *few, "--rules", "k=2", "--vary", "shape=(2, 2),(2, 3)"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:2] == ["hyper_tic_tac_toe", "base"] for line in lines)
    assert any("shape=(2, 3)" in line for line in lines)
    assert command.values_of(te.make("three_will"), "held_under_locked=held,released")[1] == ["held", "released"]
    assert command.values_of(te.make("hyper_tic_tac_toe"), "shape=(2, 2)")[1] == [(2, 2)]
    assert command.values_of(te.make("three_will"), "to_win=2")[1] == [2]


def test_command_refuses(tmp_path: Path) -> None:
    for arguments, message in (
        (["chess_960"], "unknown id 'chess_960'"),
        (["three_will", "--vary", "lone"], "no rule field 'lone'"),
        (
            ["three_will", "--vary", "to_win=2", "--vary", "to_win=3"],
            "--vary must have each field once, got to_win twice",
        ),
        (["three_will", "--vary", "to_win=2,2"], "fields['to_win'] must have each value once, got 2 twice"),
        (["three_will", "--vary", "loan", "loan"], "--vary: loan is given twice"),
        (["hyper_tic_tac_toe", "--vary", "shape=()"], "shape must have one or more entries, got ()"),
        (
            ["tic_tac_toe", "--players", "none"],
            "--players: must be uniform, trained, perfect or simulations, got 'none'",
        ),
        (["tic_tac_toe", "--out", str(tmp_path / "x.pdf")], "--out must end in .html, .md, .json"),
    ):
        code, _, errors = run_here(command.main, arguments)
        assert code == 2 and message in errors
