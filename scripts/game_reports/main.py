"""Measure the project's five own games and variants of their rules, and write the tables into the pages of this folder.

    python scripts/game_reports.py                # all five
    python scripts/game_reports.py three_will shed
    python scripts/game_reports.py --profiles     # of all games, by which the laboratory says which are similar

The text of a page, above its tables, is kept. Variants are a sweep over the switches of the rules, and values of some
other fields.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import tensor_envs as te
from tensor_envs._command import command_parser, run
from tensor_envs.lab.__main__ import values_of
from tensor_envs.lab.play import play_uniform
from tensor_envs.lab.similarity import FILE, profile
from tensor_envs.lab.similarity import GAMES as GAMES_OF_PROFILE

FOLDER, MARK = Path(__file__).parent, "<!-- the tables: python scripts/game_reports.py -->\n"
NUM_GAMES = 64
PRECISION = 0.05  # of scores, luck and skill of the base; its variants have the games above only
# by game: players, whose search has at least as many simulations as there are legal actions; how many switches a
# variant changes at most, and which (none: all); other rule fields to vary
GAMES: dict[str, tuple[list[str | int], int, str, str]] = {
    "hyper_tic_tac_toe": (["uniform", 64, "perfect"], 2, "", "shape=(3,3),(4,4)"),
    "shed": (["uniform", 16, "perfect"], 1, "", "cards=5,7,9,12"),
    "tensor_equilibrium": (["uniform", 16], 1, "", "load_tweaks=0,2"),
    "tensor_stars": (["uniform", 16], 2, "", "win_check=piece star_rule=own,opposite points_to_win=3"),
    "three_will": (["uniform", 16], 1, "", "to_win=2,4"),
}


def report_of(id: str) -> te.lab.Report:
    """Measure a game with intervals of a precision, and its variants without."""
    (base, env), *others = variants_of(id).items()
    reports = (
        te.lab.measure({base: env}, GAMES[id][0], NUM_GAMES, PRECISION),
        te.lab.measure(dict(others), GAMES[id][0], NUM_GAMES),
    )
    return te.lab.Report(tuple(variant for report in reports for variant in report.variants))


def variants_of(id: str) -> dict[str, te.Env]:
    """Return a game and its variants: those of the sweep, then those of other fields."""
    base, (_, together, *texts) = te.make(id), GAMES[id]
    switches, others = (dict(values_of(base, text) for text in fields.split()) for fields in texts)
    return te.lab.variants(base, switches or None, together) | te.lab.variants(base, others)


def write_profiles() -> None:
    """Write the profiles of all games that rollouts support."""
    envs = [te.make(id) for id in te.registered()]
    profiles = {
        env.id: profile(env, play_uniform(env, GAMES_OF_PROFILE, 0)) for env in envs if not env.engine.game.has_memory
    }
    FILE.write_text(json.dumps(profiles, indent=1) + "\n", encoding="utf-8")


def write(page: Path, report: te.lab.Report) -> None:
    """Replace the tables of a page. ValueError if it has no place for them."""
    text, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{page} must have the line {MARK.strip()!r}, below which the tables are written")
    page.write_text(f"{text}{MARK}\n{report.to_markdown()}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/game_reports.py", __doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"of {', '.join(GAMES)}; default: all of them")

    parser.add_argument("--profiles", action="store_true", help="write the profiles of all games, and no report")

    def work(options: argparse.Namespace) -> None:
        if options.profiles:
            write_profiles()
            return
        ids = options.games or list(GAMES)
        if unknown := sorted({*ids} - {*GAMES}):
            parser.error(f"GAME must be of {', '.join(GAMES)}, got {unknown[0]}")
        for id in ids:
            write(FOLDER / f"{id}.md", report_of(id))

    run(parser, work, arguments)
