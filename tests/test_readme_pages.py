"""The README as a page: wide and on a phone, light and dark, its pictures are shown and nothing scrolls sideways."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

markdown = pytest.importorskip("markdown", reason="the page is made by Python-Markdown")
sync_api = pytest.importorskip("playwright.sync_api", reason="the page is shown with playwright")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.extra("playwright", "markdown"),
    pytest.mark.skipif(CHROMIUM is None, reason="the page is shown in chromium, which is not here"),
]
ROOT = Path(__file__).parents[1]
# widths, sizes and colours of a README on GitHub; lines of code scroll in their own boxes
STYLE = """
body { max-width: 838px; margin: auto; padding: 16px; box-sizing: border-box;
  font: 16px/1.5 sans-serif; color: #1f2328; background: #ffffff; }
pre { overflow-x: auto; padding: 16px; background: #f6f8fa; font-size: 13.6px; }
img { max-width: 100%; } table { display: block; overflow-x: auto; } a { color: #0969da; }
@media (prefers-color-scheme: dark) {
  body { color: #f0f6fc; background: #0d1117; } pre { background: #151b23; } a { color: #4493f8; } }
"""
WIDTHS = {"wide": 1280, "phone": 390}
PICTURES = """[...document.images].map((i) => ({
  file: i.currentSrc.split("/").pop(), loaded: i.complete && i.naturalWidth > 0,
  left: i.getBoundingClientRect().left, right: i.getBoundingClientRect().right,
  height: i.getBoundingClientRect().height }))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", WIDTHS)
def test_the_readme_is_shown(browser: Any, size: str, scheme: str, tmp_path: Path) -> None:
    body = markdown.markdown((ROOT / "README.md").read_text(), extensions=["fenced_code", "tables", "sane_lists"])
    html = tmp_path / "README.html"
    html.write_text(f'<base href="{ROOT.as_uri()}/"><meta charset="utf-8"><style>{STYLE}</style>{body}')
    page = browser.new_page(viewport={"width": WIDTHS[size], "height": 900}, color_scheme=scheme)
    page.goto(html.as_uri())
    page.wait_for_function("[...document.images].every((image) => image.complete)")
    shown = page.screenshot(path=tmp_path / f"README-{size}-{scheme}.png", full_page=True)
    pictures = page.evaluate(PICTURES)
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    page.close()
    assert len(shown) > 10_000 and overflow <= 0
    chart = "speed_pgx_dark.svg" if scheme == "dark" else "speed_pgx.svg"
    assert [picture["file"] for picture in pictures] == ["strip.svg", "cube.png", chart]
    for picture in pictures:
        assert picture["loaded"] and picture["height"] > 30, picture
        assert picture["left"] >= 0 and picture["right"] <= WIDTHS[size], picture
    image = pytest.importorskip("PIL.Image")
    with image.open(tmp_path / f"README-{size}-{scheme}.png") as picture:
        pixels = np.asarray(picture.convert("L"))
    # the page, and with it the chart, has one ground
    assert (np.median(pixels) < 60) == (scheme == "dark")
