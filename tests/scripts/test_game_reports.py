"""Reports of the own games: their pages, and how the tables get into them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensor_envs as te
from game_reports.main import FOLDER, GAMES, MARK, main, variants_of, write
from tensor_envs.lab.report import MAX_COLUMNS, MAX_RANKED
from tests.scripts.here import run_here


def test_pages_have_a_text_and_the_tables_of_all_variants() -> None:
    """A page has three sentences above its tables; a column stands for each variant that the command measures."""
    assert {path.stem for path in FOLDER.glob("*.md")} == set(GAMES)
    for id in GAMES:
        text, mark, tables = (FOLDER / f"{id}.md").read_text().partition(MARK)
        names = list(variants_of(id))
        ranked, numbers, *_ = tables.strip().split("\n\n")
        assert mark and text.startswith("# ") and text.count(". ") + text.count(".\n") >= 3
        rows = [row.split(" | ")[0].removeprefix("| ").removesuffix(" (front)") for row in ranked.splitlines()[2:]]
        columns = numbers.splitlines()[0].strip("| ").split(" | ")
        assert {*rows} <= {"base", *names[1:]} and 1 < len(rows) <= MAX_RANKED + 1 and "base" in rows
        assert columns[:2] == [id, "base"] and len(columns) == 1 + min(len(names), MAX_COLUMNS)
        assert [name for name in names if name in columns[1:]] == columns[2:]
        assert len(tables) < 20_000


def test_tables_replace_those_below_the_mark(tmp_path: Path) -> None:
    report, page = te.lab.measure(te.make("tic_tac_toe"), ["uniform"], 32), tmp_path / "page.md"
    page.write_text(f"# A game\n\nText.\n\n{MARK}\nold tables\n")
    write(page, report)
    assert page.read_text() == f"# A game\n\nText.\n\n{MARK}\n{report.to_markdown()}\n"
    page.write_text("# A game\n")
    with pytest.raises(ValueError, match="must have the line"):
        write(page, report)


def test_only_own_games() -> None:
    code, _, errors = run_here(main, ["chess"])
    assert code == 2 and "GAME must be of hyper_tic_tac_toe, shed," in errors
