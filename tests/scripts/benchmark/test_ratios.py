"""scripts/benchmark/ratios.py: a run's ratios in the pages."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmark import ratios as script
from pictures.draw import speeds
from tests.scripts.here import SCRIPTS, run_here

ROOT = SCRIPTS.parent
PAGES = [ROOT / "README.md", SCRIPTS / "documents" / "catalogue.md", SCRIPTS / "benchmark" / "README.md"]
CATALOGUE = "scripts/documents/catalogue.md"


def a_run() -> dict[str, Any]:
    """Return figures of a run in which every ratio differs."""
    games = [(peer, game) for peer, games in script.LIBRARY_GAMES.items() for game in games]
    found = []
    for k, (peer, game) in enumerate(games, 1):
        for mode, times in (("step", 20 * k), ("read", 10 * k)):
            row = {"env": game, "batch": 4096, "device": "CPU", "mode": mode, "peer": peer}
            found.append(row | {"ratio": times, "lowest": 0.9 * times, "highest": 1.05 * times})
    rates = [
        {"system": "tensor_envs", "env": game, "batch": 4096, "mode": mode, "steps_per_second": 5e6}
        for game in script.GAMES
        for mode in ("step", "read")
    ]
    versions = dict.fromkeys(script.LIBRARIES, "1.0")
    return {
        "ratios": found, "results": rates, "versions": versions, "runs": 5, "commit": "abc1234",
        "date": "2026-11-25 16:33 UTC", "command": "python scripts/benchmark.py", "machine": "A chip, 2 cores, Linux-6",
    }  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for page in PAGES:
        copied = tmp_path / "root" / page.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, copied)
    return tmp_path / "root"


def cells(readme: str) -> dict[str, tuple[str, str]]:
    rows = re.findall(r"^\| \[`(\w+)`\]\(\S+\) \| \d+ \| \d+ \| (.*?) \| (.*?) \|", readme, re.MULTILINE)
    return {game: (pgx.strip(), spiel.strip()) for game, pgx, spiel in rows}


def test_a_run_is_written_to_the_pages(checkout: Path) -> None:
    figures = a_run()
    (checkout / "run.json").write_text(json.dumps(figures))
    code, out, errors = run_here(script.main, [checkout / "run.json", "--root", checkout])
    assert (code, errors) == (0, "") and "(2026-11-25, commit abc1234, A chip, 2 cores)" in out
    readme = (checkout / "README.md").read_text()
    assert "10 times (9.0 to 10)" in readme
    assert "tic_tac_toe 10, connect_four 20, " in readme
    catalogue = (checkout / CATALOGUE).read_text()
    assert "(2026-11-25, commit abc1234, A chip, 2 cores; each of its 5 rounds is within 10 % of them)" in catalogue
    found = cells(catalogue)
    # Pgx, whose steps observe, beside steps that do; OpenSpiel beside bare ones
    assert found["tic_tac_toe"] == ("10", "260") and found["connect_four"] == ("20", "280")
    assert found["qubic"] == ("", "") and found["lines_of_action"][0] == ""
    drawn = speeds((checkout / "scripts" / "benchmark" / "README.md").read_text())
    assert ("tic_tac_toe", "Pgx", (10, 9, 10)) in drawn and ("tic_tac_toe", "OpenSpiel", (260, 234, 273)) in drawn
    assert len(drawn) == sum(map(len, script.LIBRARY_GAMES.values()))
    # a second run takes the place of the first
    figures["ratios"] = [row | {"ratio": 3 * row["ratio"], "highest": 4 * row["ratio"]} for row in figures["ratios"]]
    script.write(checkout, figures, script.ratios_of(figures))
    again = (checkout / CATALOGUE).read_text()
    assert cells(again)["tic_tac_toe"] == ("30", "780") and len(again.splitlines()) == len(catalogue.splitlines())
    assert "tic_tac_toe 30, connect_four 60, " in (checkout / "README.md").read_text()


def test_the_readmes_ratios_are_the_pages() -> None:
    """Both are of one run, whichever wrote them last."""
    readme, catalogue, page = (path.read_text() for path in PAGES)
    medians = {(game, library): script.number(ratio) for game, library, (ratio, _, _) in speeds(page)}
    (figures,) = re.findall(r'speed_pgx.svg" alt="[^"]*: (.*)"', readme)
    assert figures == ", ".join(f"{game} {ratio}" for (game, library), ratio in medians.items() if library == "Pgx")
    assert len(cells(catalogue)) >= 20
    for game, found in cells(catalogue).items():
        assert found == (medians.get((game, "Pgx"), ""), medians.get((game, "OpenSpiel"), "")), game
    table = page.partition("<!-- ratios -->")[2]
    assert re.findall(r"^\| (\w+) \|", table.partition("<!-- ratios end -->")[0], re.MULTILINE)[1:] == script.GAMES
    (origin,) = re.findall(r"<!-- run -->\((.*?); each of its", catalogue)
    assert origin in page


def test_what_a_run_lacks_is_reported_and_empty(checkout: Path) -> None:
    figures = a_run()
    figures["ratios"] = [row for row in figures["ratios"] if (row["env"], row["peer"]) != ("hex", "open_spiel")]
    figures["results"] = [row for row in figures["results"] if row["env"] != "oware"]
    (checkout / "run.json").write_text(json.dumps(figures))
    code, out, errors = run_here(script.main, [checkout / "run.json", "--root", checkout])
    assert code == 1 and "no ratio of hex (OpenSpiel), whose cells are empty" in errors and "wrote" in out
    assert cells((checkout / CATALOGUE).read_text())["hex"] == ("40", "")
    assert "| oware |  |  |  |" in (checkout / "scripts" / "benchmark" / "README.md").read_text()
    figures["ratios"] = []
    (checkout / "run.json").write_text(json.dumps(figures))
    code, out, errors = run_here(script.main, [checkout / "run.json", "--root", checkout])
    assert (code, out) == (2, "") and "no ratio to Pgx in tic_tac_toe" in errors


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("[]")
    code, out, errors = run_here(script.main, [tmp_path / "run.json"])
    assert (code, out) == (2, "") and "must be what scripts/benchmark.py writes with --json" in errors
    with pytest.raises(ValueError, match="once, and has them 0 times"):
        script.between("nothing", "ratio", "1")
