"""Photograph the table of every game of a built page: a PNG for each of two sizes and two schemes of colours.

python -m tensor_envs.web build site
python scripts/contact_sheets.py site sheets           # needs Pillow, playwright and chromium
"""

import json
import shutil
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread

from PIL import Image
from playwright.sync_api import sync_playwright

SIZES = {(1280, 900): (420, 6), (390, 844): (200, 12)}  # of a screen: width of its picture, pictures in a row

if __name__ == "__main__":
    site, out = map(Path, sys.argv[1:])
    games = [game["game"] for game in json.loads((site / "games.json").read_text())["games"]]
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    out.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for (wide, high), (width, columns) in SIZES.items():
            height = width * high // wide
            for scheme in ("light", "dark"):
                sheet = Image.new("RGB", (columns * width, -(-len(games) // columns) * height))
                for k, game in enumerate(games):
                    page = browser.new_page(viewport={"width": wide, "height": high}, color_scheme=scheme)
                    page.goto(f"http://127.0.0.1:{server.server_port}/#{game}")
                    page.wait_for_selector("body[data-pictured]")
                    shot = Image.open(BytesIO(page.screenshot())).resize((width, height), Image.Resampling.LANCZOS)
                    sheet.paste(shot, (k % columns * width, k // columns * height))
                    page.close()
                sheet.save(out / f"{wide}_{scheme}.png")
