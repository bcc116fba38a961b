"""Write the ratios to other libraries into the README, the catalogue and the page of speed, from one run.

    python scripts/benchmark.py --env peers --batch 4096 --mode step read --peers --seconds 0.2 --json run.json
    python scripts/benchmark/ratios.py run.json
    python scripts/pictures/draw.py

The first command needs the extra `peers` and takes a quarter of an hour, the second one writes the tables and
sentences, and the third one draws the charts of speed from them. Figures that the run lacks are left empty, and
reported.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmark.main import OBSERVING, PEERS
from benchmark.report import table
from tensor_envs._command import Failure, command_parser, run

ROOT = Path(__file__).resolve().parents[2]
BATCH = 4096
LIBRARIES = {"pgx": "Pgx", "open_spiel": "OpenSpiel", "envpool": "EnvPool"}
LIBRARY_GAMES = {peer: PEERS[peer][2] for peer in LIBRARIES}
GAMES = list(dict.fromkeys(game for games in LIBRARY_GAMES.values() for game in games))
FIRST = "tic_tac_toe"  # game of the README's sentence

Ratios = dict[str, dict[str, dict[str, float]]]  # by game and peer: ratio, lowest, highest


def ratios_of(figures: dict[str, Any]) -> Ratios:
    """Return the ratios of a run by game and peer: "read" against peers that observe, else "step"."""
    by_game: Ratios = {game: {} for game in GAMES}
    for row in figures["ratios"]:
        mode = "read" if row["peer"] in OBSERVING else "step"
        if row["batch"] == BATCH and row["mode"] == mode and row["env"] in by_game and row["peer"] in LIBRARIES:
            by_game[row["env"]][row["peer"]] = row
    return by_game


def missing(ratios: Ratios) -> list[str]:
    """Return what a run lacks: the games of each peer without a ratio."""
    games = [(game, peer) for peer, games in LIBRARY_GAMES.items() for game in games]
    return [f"{game} ({LIBRARIES[peer]})" for game, peer in games if peer not in ratios[game]]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def interval(row: dict[str, float]) -> str:
    return f"{number(row['ratio'])} ({number(row['lowest'])} to {number(row['highest'])})"


def origin(figures: dict[str, Any]) -> str:
    """Return where a run was made: date, commit, machine."""
    return f"{figures['date'][:10]}, commit {figures['commit']}, {figures['machine'].split(', Linux')[0]}"


def benchmark_table(figures: dict[str, Any], ratios: Ratios) -> str:
    """Return the benchmark page's table of one run, below its command."""
    rate = {
        (row["env"], row["mode"]): row["steps_per_second"] / 1e6
        for row in figures["results"]
        if row["system"] == "tensor_envs" and row["batch"] == BATCH and "error" not in row
    }
    heads = ["game", "bare, M steps/s", "read, M steps/s", *(f"times {name}" for name in LIBRARIES.values())]
    rows = [
        [game, *(number(rate[game, mode]) if (game, mode) in rate else "" for mode in ("step", "read"))]
        + [interval(ratios[game][peer]) if peer in ratios[game] else "" for peer in LIBRARIES]
        for game in GAMES
    ]
    versions = ", ".join(f"{LIBRARIES[name]} {figures['versions'].get(name, '-')}" for name in LIBRARIES)
    return f"`{figures['command']}` ({origin(figures)}; {versions}):\n\n{table(heads, rows)}"


def deviation(ratios: Ratios) -> str:
    """Return the largest deviation of a round's ratio from its median, in whole percent."""
    rows = [row for peers in ratios.values() for row in peers.values()]
    largest = max(max(row["highest"] - row["ratio"], row["ratio"] - row["lowest"]) / row["ratio"] for row in rows)
    return f"{100 * largest:.0f} %"


def between(text: str, name: str, new: str) -> str:
    """Replace what is between the comments `<!-- name -->` and `<!-- name end -->`.

    Raises:
        ValueError: If the text does not have the comments once.
    """
    begin, end = f"<!-- {name} -->", f"<!-- {name} end -->"
    replaced, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}{new}{end}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"a page must have {begin} and {end} once, and has them {count} times")
    return replaced


def with_cells(catalogue: str, ratios: Ratios) -> str:
    """Return the catalogue with the ratios in its table of games: columns "times Pgx" and "times OpenSpiel"."""

    def row(match: re.Match[str]) -> str:
        peers = ratios.get(match[2], {})
        cells = [number(peers[peer]["ratio"]) if peer in peers else "" for peer in ("pgx", "open_spiel")]
        return f"{match[1]} {cells[0]} | {cells[1]} |"

    return re.sub(r"^(\| \[`(\w+)`\]\(\S+\) \| \d+ \| \d+ \|)[^|]*\|[^|]*\|", row, catalogue, flags=re.MULTILINE)


def with_chart(readme: str, ratios: Ratios) -> str:
    """Return the README with the figures of its chart as the chart's alternative text."""
    figures = ", ".join(f"{game} {number(peers['pgx']['ratio'])}" for game, peers in ratios.items() if "pgx" in peers)
    text = f"Bars on a logarithmic axis, times the rate of Pgx: {figures}"
    return re.sub(r'(speed_pgx\.svg" alt=)"[^"]*"', lambda match: f'{match[1]}"{text}"', readme)


def write(root: Path, figures: dict[str, Any], ratios: Ratios) -> None:
    """Write the figures of a run into the pages of a checkout.

    Raises:
        ValueError: If the run lacks the ratio of the README's sentence.
    """
    readme = root / "README.md"
    catalogue = root / "scripts" / "documents" / "catalogue.md"
    page = root / "scripts" / "benchmark" / "README.md"
    if "pgx" not in ratios[FIRST]:
        raise ValueError(f"the run has no ratio to Pgx in {FIRST} at {BATCH:,} games, with observations read")
    first = ratios[FIRST]["pgx"]
    sentence = f"{number(first['ratio'])} times ({interval(first).partition('(')[2]}"
    rounds = f"each of its {figures['runs']} rounds is within {deviation(ratios)} of them"
    games = with_cells(catalogue.read_text(encoding="utf-8"), ratios)
    # every text is made before the first file changes
    texts = {
        readme: with_chart(between(readme.read_text(encoding="utf-8"), "ratio", sentence), ratios),
        catalogue: between(games, "run", f"({origin(figures)}; {rounds})"),
        page: between(page.read_text(encoding="utf-8"), "ratios", f"\n\n{benchmark_table(figures, ratios)}\n\n"),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


def work(options: argparse.Namespace) -> None:
    figures = json.loads(options.run.read_text(encoding="utf-8"))
    if not isinstance(figures, dict) or not {"ratios", "results", "commit"} <= figures.keys():
        raise ValueError(f"{str(options.run)!r} must be what scripts/benchmark.py writes with --json")
    ratios = ratios_of(figures)
    write(options.root, figures, ratios)
    print(f"wrote the ratios of a run ({origin(figures)})")
    if lacking := missing(ratios):
        raise Failure(f"the run has no ratio of {', '.join(lacking)}, whose cells are empty")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python scripts/benchmark/ratios.py", __doc__)
    parser.add_argument("run", type=Path, metavar="FILE", help="JSON of a run of scripts/benchmark.py")
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout with the pages (default: this one)")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
