"""Film whole games at the table of a built page: a person's clicks against the computer, as GIF.

    python -m tensor_envs.web build site --env three_will tensor_stars tensor_equilibrium_2
    python scripts/films.py site scripts/pictures

A ring shows where the person clicks. The moves are those of the page's hints, or the first ones where there is no hint.
It needs Pillow (extra `draw`), playwright and chromium.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from functools import partial
from http.server import ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

from pictures.sheets import Quiet
from tensor_envs._command import busy, command_parser, run
from tensor_envs._validate import need

SEEDS = {"three_will": 7, "tensor_stars": 1, "tensor_equilibrium_2": 3}  # of games that end soon
STEPS = {"tensor_equilibrium_2": 2}  # every so many frames are kept of a long game, all of others
OPPONENT = "playout:16"
WIDTH, COLOURS = 420, 32  # of a film: pixels, and half the colours of its palette
PAUSE, HOLD = 500, 4000  # milliseconds of a frame, and of the last one
RING = 9  # pixels of the ring around a click
TURN = "body:is([data-state=ready], [data-state=covered], [data-state=over])"
# the part of the picture for an action: its end if a piece is chosen, else its start; else its button
PART = """action => document.querySelector(`#choice:not([hidden]) button[data-action='${action}']`)
  ?? document.querySelector(`#picture path.target[data-targets~='${action}']`)
  ?? document.querySelector(`#picture path.legal[data-actions~='${action}']:not([data-targets~='${action}'])`)
  ?? document.querySelector(`#actions button[data-action='${action}']`)"""


class Film:
    """Frames of a game at the table of a page."""

    def __init__(self, page: Any, image: Any, draw: Any) -> None:
        self.page = page
        self.image = image
        self.draw = draw
        self.frames: list[Any] = []

    def shoot(self, part: Any = None) -> None:
        """Add the picture of the position, with a ring around the part that is clicked next."""
        board = self.page.locator("#picture svg")
        box = board.bounding_box()
        frame = self.image.open(BytesIO(board.screenshot())).convert("RGB")
        scale = WIDTH / frame.width
        frame = frame.resize((WIDTH, round(scale * frame.height)), self.image.Resampling.LANCZOS)
        place = part.bounding_box() if part else None
        if place:
            x = scale * (place["x"] + place["width"] / 2 - box["x"])
            y = scale * (place["y"] + place["height"] / 2 - box["y"])
            self.draw.Draw(frame).ellipse((x - RING, y - RING, x + RING, y + RING), outline="#e03131", width=3)
        self.frames.append(frame)

    def turn(self) -> bool:
        """Play a person's turn by clicks, and return whether the game goes on."""
        page = self.page
        page.wait_for_selector(TURN)
        if page.get_attribute("body", "data-state") == "covered":
            page.click("#curtain button")
        ply = page.get_attribute("body", "data-ply")
        page.wait_for_selector(f"body[data-pictured='{ply}']")
        if page.get_attribute("body", "data-state") == "over":
            page.click("#close")
            self.shoot()
            return False
        button = page.locator("#actions button").first
        if page.locator("#hint").is_visible():
            page.click("#hint")
            page.wait_for_selector("#actions button.best")
            button = page.locator("#actions button.best").first
        action = button.get_attribute("data-action")
        while page.get_attribute("body", "data-ply") == ply and page.get_attribute("body", "data-state") == "ready":
            part = page.evaluate_handle(PART, action).as_element()
            self.shoot(part)
            part.dispatch_event("click")
            page.wait_for_timeout(50)
        return True

    def thin(self, step: int) -> None:
        """Keep one of so many frames, and the last one."""
        self.frames = self.frames[:-1:step] + self.frames[-1:]

    def save(self, path: Path) -> None:
        """Write the frames as a GIF with one palette."""
        strip = self.image.new("RGB", (WIDTH, 3 * self.frames[0].height))
        for k, frame in enumerate((self.frames[0], self.frames[len(self.frames) // 2], self.frames[-1])):
            strip.paste(frame, (0, k * frame.height))
        # the most frequent colours are those of flat fills; the others keep what is rare, such as pieces and the ring
        counted = sorted(strip.getcolors(strip.width * strip.height), reverse=True)[:COLOURS]
        rare = strip.quantize(COLOURS, self.image.Quantize.MAXCOVERAGE).getpalette()[: 3 * COLOURS]
        palette = self.image.new("P", (1, 1))
        palette.putpalette([part for _, colour in counted for part in colour] + rare)
        frames = [frame.quantize(palette=palette, dither=self.image.Dither.NONE) for frame in self.frames]
        pauses = [PAUSE] * (len(frames) - 1) + [HOLD]
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=pauses, loop=0, optimize=True)


def work(options: argparse.Namespace) -> None:
    """Serve the page on this machine, and film a game of each id."""
    image = need("PIL.Image", "a film", "draw")
    draw = need("PIL.ImageDraw", "a film", "draw")
    sync_api = need("playwright.sync_api", "a film", "dev,all")
    handler = partial(Quiet, directory=str(options.site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_api.sync_playwright() as playwright:
        Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for game, seed in SEEDS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            seats = f"person.{OPPONENT}"
            page.goto(f"http://127.0.0.1:{server.server_port}/#game={game}&seats={seats}&seed={seed}&moves=")
            film = Film(page, image, draw)
            with busy(f"playing {game}"):
                while film.turn():
                    pass
            film.thin(STEPS.get(game, 1))
            path = options.out / f"{game.removesuffix('_2')}.gif"
            film.save(path)
            print(f"{path}: {len(film.frames)} frames, {path.stat().st_size:,} bytes", flush=True)
            page.close()
        server.shutdown()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/films.py", __doc__)
    parser.add_argument("site", type=Path, help="folder that `python -m tensor_envs.web build` has written")
    parser.add_argument("out", type=Path, help="folder of the films")
    run(parser, work, arguments)
