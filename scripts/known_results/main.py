"""Compute published counts and values of games, and compare.

    python scripts/known_results.py                    # results that take seconds, two minutes in all
    python scripts/known_results.py --all              # all results: 12 GiB of memory, and more than an hour
    python scripts/known_results.py --only othello     # results with these words in their names
    python scripts/known_results.py --all --write scripts/known_results/README.md

Each line is a name, the computed result, its source, and seconds of CPU time. A result that differs is an error.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from known_results.results import RESULTS, KnownResult
from tensor_envs._command import Failure, busy, command_parser, new_file, run

SHOWN = 60  # characters of a result in a line


def text(value: Any, width: int | None = None) -> str:
    """Format a result, with commas between thousands."""
    if isinstance(value, list):
        line = " ".join(text(x) for x in value)
    else:
        line = f"{value:,}" if isinstance(value, int) else str(value)
    return line if width is None or len(line) <= width else f"{line[: width - 3]}..."


def chosen(options: argparse.Namespace) -> list[KnownResult]:
    """Return the results that the options select. Raise ValueError if there are none."""
    named = [entry for entry in RESULTS if options.only.lower() in entry.what.lower()]
    if not named:
        raise ValueError(f"--only must be part of a name, got {options.only!r}; there are {names()}")
    selected = [entry for entry in named if options.all or not entry.slow]
    if not selected:
        raise ValueError(f"--only {options.only!r} names what takes long: add --all")
    return selected


def names() -> str:
    return "; ".join(entry.what for entry in RESULTS)


def work(options: argparse.Namespace) -> None:
    if options.write is not None and (options.only or not options.all):
        raise ValueError("--write makes the page of all results: it needs --all, without --only")
    rows, wrong = [], 0
    for entry in chosen(options):
        start = time.process_time()
        with busy(entry.what):
            ours = entry.find()
        seconds = time.process_time() - start
        same = ours == entry.published
        wrong += not same and bool(entry.source)
        said = "differs from" if not same else "as in"
        against = f"{said} {entry.source}" if entry.source else "ours"
        print(f"{entry.what}: {text(ours, SHOWN)}; {against}; {seconds:.1f} s", flush=True)
        rows.append((entry, ours, seconds))
    if options.write is not None:
        options.write.write_text(page(rows), encoding="utf-8")
    if wrong:
        raise Failure(f"{wrong} of {len(rows)} results differ from what is published")


def page(rows: Sequence[tuple[KnownResult, Any, float]]) -> str:
    """Return the results as a page in Markdown."""
    lines = [
        "# Known results",
        "",
        "Published counts and values of whole games, computed again by",
        f"`python scripts/known_results.py --all`, which wrote this page on {time.strftime('%Y-%m-%d')}."
        " Seconds are CPU time.",
        "A sequence ends with its game and is not counted after it; a position counts once per ply.",
        "Boards of connect four are width x height. Exploitability is what a best response gains on average.",
        "",
        "| what | ours | published | source | seconds |",
        "|---|---|---|---|---|",
    ]
    for entry, ours, seconds in rows:
        published = "" if not entry.source else "the same" if ours == entry.published else text(entry.published)
        lines.append(f"| {entry.what} | {text(ours)} | {published} | {entry.source or 'ours'} | {seconds:.1f} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/known_results.py", __doc__)
    parser.add_argument("--all", action="store_true", help="also results that take long")
    parser.add_argument("--only", default="", metavar="WORDS", help="results with these words in their names")
    parser.add_argument("--write", type=new_file, metavar="FILE", help="a page in Markdown, with all numbers")
    run(parser, work, arguments)
