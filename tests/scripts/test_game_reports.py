"""Reports of the own games: their pages, and how the tables get into them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensor_envs as te
from game_reports.main import FOLDER, GAMES, MARK, main, write
from tensor_envs.lab.__main__ import values_of
from tests.scripts.here import run_here


def test_pages_have_a_text_and_the_tables_of_all_variants() -> None:
    """A page has three sentences above its tables; a column stands for each variant that the command measures."""
    assert {path.stem for path in FOLDER.glob("*.md")} == set(GAMES)
    for id, (_, fields) in GAMES.items():
        text, mark, tables = (FOLDER / f"{id}.md").read_text().partition(MARK)
        base = te.make(id)
        names = list(te.lab.variants(base, dict(values_of(base, field) for field in fields.split())))
        assert mark and text.startswith("# ") and text.count(". ") + text.count(".\n") >= 3
        assert tables.strip().splitlines()[0] == f"| {' | '.join([id, 'base', *names[1:]])} |"
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
