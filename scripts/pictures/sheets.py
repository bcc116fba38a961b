"""Photograph the table of every game of a built page: a PNG for each of two sizes and two schemes of colours.

    python -m tensor_envs.web build site
    python scripts/contact_sheets.py site sheets

It needs Pillow (extra `draw`), playwright and chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

from tensor_envs._command import busy, command_parser, run
from tensor_envs._validate import need

SIZES = {(1280, 900): (420, 6), (390, 844): (200, 12)}  # of a screen: width of its picture, pictures in a row


class Quiet(SimpleHTTPRequestHandler):
    """Handler of the page's files that prints no requests."""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing."""


def sheet(browser: Any, image: Any, url: str, games: Sequence[str], size: tuple[int, int], scheme: str) -> Any:
    """Return a picture of the tables of all games, side by side."""
    width, most = SIZES[size]
    columns = min(most, len(games))
    height = width * size[1] // size[0]
    found = image.new("RGB", (columns * width, -(-len(games) // columns) * height))
    for k, game in enumerate(games):
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        page.goto(f"{url}#{game}")
        page.wait_for_selector("body[data-pictured]")
        shot = image.open(BytesIO(page.screenshot())).resize((width, height), image.Resampling.LANCZOS)
        found.paste(shot, (k % columns * width, k // columns * height))
        page.close()
    return found


def work(options: argparse.Namespace) -> None:
    """Serve the page on this machine, and write a sheet for each size and scheme."""
    image = need("PIL.Image", "a contact sheet", "draw")
    sync_api = need("playwright.sync_api", "a contact sheet", "dev,all")
    games = [game["game"] for game in json.loads((options.site / "games.json").read_text())["games"]]
    options.out.mkdir(exist_ok=True)
    handler = partial(Quiet, directory=str(options.site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_api.sync_playwright() as playwright:
        Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for size in SIZES:
            for scheme in ("light", "dark"):
                with busy("photographing"):
                    found = sheet(browser, image, f"http://127.0.0.1:{server.server_port}/", games, size, scheme)
                path = options.out / f"{size[0]}_{scheme}.png"
                found.save(path)
                print(path, flush=True)
        server.shutdown()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/contact_sheets.py", __doc__)
    parser.add_argument("site", type=Path, help="folder that `python -m tensor_envs.web build` has written")
    parser.add_argument("out", type=Path, help="folder of the sheets")
    run(parser, work, arguments)
