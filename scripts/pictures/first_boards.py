"""Measure how soon the first board of each game of a built page is there, on a connection of 9 Mbit/s.

    python -m tensor_envs.web build site
    python scripts/first_boards.py site

Seconds are counted from the page's load, without a cache, and depend on what else the machine does. The kilobytes
before the board are those of a server that does not compress; those of a whole game are compressed: the page, the game,
its players and its rules. It needs playwright and chromium.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
from collections.abc import Sequence
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from pictures.sheets import Quiet
from tensor_envs._command import command_parser, run
from tensor_envs._validate import need

BYTES_PER_SECOND = 9e6 / 8
LATENCY = 20  # milliseconds of a request
# what was received until now, and the time since the page's load
RECEIVED = """() => {
  const [{ loadEventEnd }] = performance.getEntriesByType("navigation"), all = performance.getEntriesByType("resource");
  return [(performance.now() - loadEventEnd) / 1000, all.length, all.reduce((sum, one) => sum + one.transferSize, 0)];
}"""


class FirstBoard(NamedTuple):
    """Seconds from a page's load until a game's board is there, and the requests and bytes until then."""

    seconds: float
    requests: int
    received: int


def first_board(page: Any, address: str) -> FirstBoard:
    """Open a table by its address on a slow connection, and measure."""
    connection = page.context.new_cdp_session(page)
    speed = {"downloadThroughput": BYTES_PER_SECOND, "uploadThroughput": BYTES_PER_SECOND}
    connection.send("Network.enable")
    connection.send("Network.setCacheDisabled", {"cacheDisabled": True})
    connection.send("Network.emulateNetworkConditions", {"offline": False, "latency": LATENCY, **speed})
    page.goto("about:blank")
    page.goto(address, wait_until="load")
    page.wait_for_selector("body[data-pictured]")
    measured = FirstBoard(*page.evaluate(RECEIVED))
    connection.detach()
    return measured


def transfer(site: Path, file: str) -> int:
    """Return the compressed bytes of the page with a game, its players and its rules."""
    pictures = ".svg"  # of the first screen, which has those of all games
    game = [path for path in site.glob(f"{file}.*") if path.suffix != pictures]
    return sum(len(gzip.compress(path.read_bytes())) for path in [*game, *site.glob("*.*")])


def work(options: argparse.Namespace) -> None:
    """Serve the page on this machine, and print a row for each game."""
    sync_api = need("playwright.sync_api", "a measurement", "dev,all")
    games = json.loads((options.site / "games.json").read_text())["games"]
    handler = partial(Quiet, directory=str(options.site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_api.sync_playwright() as playwright:
        Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        print("| game | seconds | requests | kB before the board | kB of a whole game |\n|---|---|---|---|---|")
        for game in games:
            page = browser.new_page()
            found = first_board(page, f"http://127.0.0.1:{server.server_port}/#{game['game']}")
            whole = transfer(options.site, game["file"]) // 1000
            print(
                f"| {game['game']} | {found.seconds:.2f} | {found.requests} | {found.received // 1000} | {whole} |",
                flush=True,
            )
            page.close()
        server.shutdown()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/first_boards.py", __doc__)
    parser.add_argument("site", type=Path, help="folder that `python -m tensor_envs.web build` has written")
    run(parser, work, arguments)
