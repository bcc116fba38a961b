"""Measure the project's five own games and variants of their rules, and write the tables into the pages of this folder.

    python scripts/game_reports.py                # all five, a few minutes of CPU time
    python scripts/game_reports.py three_will shed

The text of a page, above its tables, is kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import tensor_envs as te
from tensor_envs._command import command_parser, run
from tensor_envs.lab.__main__ import values_of

FOLDER, MARK = Path(__file__).parent, "<!-- the tables: python scripts/game_reports.py -->\n"
NUM_GAMES = 64
# by game: players, whose search has at least as many simulations as there are legal actions; rule fields to vary
GAMES: dict[str, tuple[list[str | int], str]] = {
    "hyper_tic_tac_toe": (["uniform", 64, "perfect"], "misere gravity shape=(3,3),(4,4)"),
    "shed": (["uniform", 16, "perfect"], "cards=5,7,9,12"),
    "tensor_equilibrium": (["uniform", 16], "hack_bonus tweak_optional op_needs_effect load_tweaks=0,2"),
    "tensor_stars": (["uniform", 16], "win_check=piece star_rule=own,opposite score_stops_piece points_to_win=3"),
    "three_will": (["uniform", 16], "loan challenge supplementary fail_ends_turn to_win=2,4"),
}


def report_of(id: str) -> te.lab.Report:
    """Measure a game and its variants."""
    base, (players, fields) = te.make(id), GAMES[id]
    variants = te.lab.variants(base, dict(values_of(base, text) for text in fields.split()))
    return te.lab.measure(variants, players, NUM_GAMES)


def write(page: Path, report: te.lab.Report) -> None:
    """Replace the tables of a page. ValueError if it has no place for them."""
    text, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{page} must have the line {MARK.strip()!r}, below which the tables are written")
    page.write_text(f"{text}{MARK}\n{report.to_markdown()}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("game_reports.py", __doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"of {', '.join(GAMES)}; default: all of them")

    def work(options: argparse.Namespace) -> None:
        ids = options.games or list(GAMES)
        if unknown := sorted({*ids} - {*GAMES}):
            parser.error(f"GAME must be of {', '.join(GAMES)}, got {unknown[0]}")
        for id in ids:
            write(FOLDER / f"{id}.md", report_of(id))

    run(parser, work, arguments)
