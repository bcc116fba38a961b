"""A table outlives a lost connection and a server that is started again; what cannot go on says why."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest

from tensor_envs.play import server

sync_api = pytest.importorskip("playwright.sync_api", reason="the page is clicked with playwright")
Image = pytest.importorskip("PIL.Image", reason="its pixels are read with Pillow")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.extra("playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="the page is clicked in chromium, which is not here"),
]
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu"]
MILLISECONDS = 60_000  # a first move may wait for its kernels to compile


@pytest.fixture(scope="module")
def served() -> Iterator[server.Server]:
    with server.Server(0) as served:
        Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


@pytest.fixture(scope="module")
def page(served: server.Server) -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.set_default_timeout(MILLISECONDS)
        yield page
        browser.close()


def begin(page: Any, served: server.Server, game: str, seats: tuple[str, ...] = ("person", "person")) -> None:
    page.goto("about:blank")
    page.goto(f"{served.url}#tic_tac_toe")
    page.wait_for_selector("body[data-state=ready]")
    page.select_option("#game", game)  # which begins one
    page.wait_for_selector("body:is([data-state=ready], [data-state=covered])")
    for seat, kind in enumerate(seats):
        page.select_option(f"#seats select[data-player='{seat}']", kind)
    page.evaluate("document.body.dataset.state = 'busy'")
    page.click("text=New game")
    page.wait_for_selector("body[data-state=ready][data-pictured='0']")


def click(page: Any) -> None:
    """Click the first action."""
    page.locator("#actions button").first.click()


def moves(page: Any) -> list[str]:
    return [text.split()[-1] for text in page.locator("#moves li").all_inner_texts()]


def restart(served: server.Server) -> None:
    """Lose all tables, as a server does that is started again."""
    served.worker.submit(served.tables.open.clear).result()


def test_a_game_goes_on_after_a_lost_connection(page: Any, served: server.Server) -> None:
    begin(page, served, "tic_tac_toe")
    page.context.set_offline(True)
    click(page)
    page.wait_for_selector("#lost:not([hidden])")
    page.click("#again")  # in vain
    page.wait_for_timeout(200)
    assert page.locator("#error").is_hidden() and page.get_attribute("body", "data-state") == "busy"
    page.context.set_offline(False)
    page.wait_for_selector("body[data-state=ready][data-ply='1']")
    assert page.locator("#lost").is_hidden() and moves(page) == ["(0,0)"]
    page.evaluate("document.body.dataset.state = 'busy'")
    page.click("text=New game")
    page.wait_for_selector("body[data-state=ready][data-ply='0']")


def test_a_failure_is_not_kept(page: Any, served: server.Server) -> None:
    page.goto("about:blank")
    page.goto(served.url)
    answers = page.evaluate(
        """async () => {
          const { memoize } = await import("./net.js"), made = new Map();
          let calls = 0;
          const make = async () => { calls += 1; if (calls === 1) throw new Error("no"); return calls; };
          const first = await memoize(made, "x", make).catch(() => "failed");
          return [first, await memoize(made, "x", make), await memoize(made, "x", make)];
        }"""
    )
    assert answers == ["failed", 2, 2]


def test_a_game_goes_on_after_a_restart(page: Any, served: server.Server) -> None:
    """The page has the moves, and so has its address."""
    begin(page, served, "tic_tac_toe")
    click(page)
    page.wait_for_selector("body[data-state=ready][data-ply='1']")
    restart(served)
    click(page)
    page.wait_for_selector("body[data-state=ready][data-ply='2']")
    assert moves(page) == ["(0,1)", "(0,0)"] and page.locator("#error").is_hidden()
    restart(served)
    page.reload()
    page.wait_for_selector("body[data-state=ready][data-ply='2']")
    assert moves(page) == ["(0,1)", "(0,0)"]
    restart(served)
    page.click("#back")  # an earlier position
    page.wait_for_selector("body[data-pictured='1']")
    assert page.locator("#error").is_hidden()


def test_a_game_with_secrets_says_that_it_is_lost(page: Any, served: server.Server) -> None:
    begin(page, served, "kuhn_poker", ("person", "uniform"))
    assert "moves" not in page.evaluate("location.hash")
    restart(served)
    click(page)
    page.wait_for_selector("#error:not([hidden])")
    assert page.inner_text("#error").startswith("The server was started again.")
    page.click("text=New game")
    page.wait_for_selector("body[data-state=ready][data-ply='0']")
    assert page.locator("#error").is_hidden()


def contrast(page: Any, part: Any) -> float:
    """Return how much the brightness varies inside of a part of the picture."""
    box = part.bounding_box()
    inner = {name: box[name] + 0.25 * box[side] for name, side in (("x", "width"), ("y", "height"))}
    clip = {**inner, "width": 0.5 * box["width"], "height": 0.5 * box["height"]}
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L"), float)
    return float(np.quantile(pixels, 0.98) - np.quantile(pixels, 0.02))


@pytest.mark.parametrize("game", ["chess", "kalah", "three_will"])
def test_what_is_pointed_at_stays_visible(page: Any, served: server.Server, game: str) -> None:
    begin(page, served, game)
    parts = [part for part in page.locator("#picture path.start").all()]
    page.mouse.move(0, 0)
    before = {k: contrast(page, part) for k, part in enumerate(parts[:12])}
    best = max(before, key=lambda k: before[k])
    assert before[best] > 60
    parts[best].hover()
    assert contrast(page, parts[best]) > 0.7 * before[best]
    page.mouse.move(0, 0)
    parts[best].focus()
    page.keyboard.press("Shift")  # now the focus is shown
    assert contrast(page, parts[best]) > 0.7 * before[best]
