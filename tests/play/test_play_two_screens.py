"""Games of two people, played by clicking: a screen each, and what comes after a game."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Thread

import pytest

from tensor_envs.play import server

sync_api = pytest.importorskip("playwright.sync_api", reason="the page is clicked with playwright")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.extra("playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="the page is clicked in chromium, which is not here"),
]
MILLISECONDS = 60_000  # a first move may wait for its kernels to compile


def test_a_link_leads_to_the_other_seat() -> None:
    """The host copies the link, both see each other's moves, and neither can move for the other."""
    with server.Server(0, host=server.EVERYWHERE) as served, sync_api.sync_playwright() as playwright:
        Thread(target=served.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        host, guest = (browser.new_page() for _ in range(2))
        for page in (host, guest):
            page.set_default_timeout(MILLISECONDS)
        host.goto(f"{served.url}#tic_tac_toe")
        host.wait_for_selector("body[data-state=ready]")
        host.select_option("#seats select[data-player='1']", "person")
        host.click("text=New game")
        host.wait_for_selector("#invites button")
        host.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        host.click("#invites button")
        host.wait_for_function("window.copied")
        guest.goto(host.evaluate("window.copied"))
        guest.wait_for_selector("body[data-state=computer]")
        assert guest.locator("#actions button").count() == 0 and "O (you)" in guest.inner_text("#players")
        assert "X (you)" in host.inner_text("#players") and host.is_disabled("#undo")
        host.click("#actions button[data-action='4']")
        guest.wait_for_selector("body[data-state=ready][data-ply='1']")
        host.wait_for_selector("body[data-state=computer][data-ply='1']")
        guest.click("#actions button[data-action='0']")
        host.wait_for_selector("body[data-state=ready][data-ply='2']")
        assert host.locator("#moves li").count() == guest.locator("#moves li").count() == 2
        browser.close()
        served.shutdown()


def test_after_a_game(tmp_path: Path) -> None:
    """The graph and the worst move are shown, the game goes on from an earlier position, and a file is read again."""
    with server.Server(0) as served, sync_api.sync_playwright() as playwright:
        Thread(target=served.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"{served.url}#game=tic_tac_toe&seats=person.person&moves=0.1.4.2.8")
        page.wait_for_selector("body[data-state=over]")
        with page.expect_download() as download:
            page.click("#files button")
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        page.click("#review")
        page.wait_for_selector("#graph polyline")
        points = page.get_attribute("#graph polyline", "points").split()
        assert len(points) == 6 and points[-1] == "600,0", "X has won"
        assert "better was" in page.inner_text("#graph li")
        page.click("#graph li button")
        page.click("#branch")
        page.wait_for_selector("body[data-state=ready]")
        assert page.locator("#moves li").count() < 5 and page.is_hidden("#review") and not page.inner_text("#graph")
        page.set_input_files("#open", file)
        page.wait_for_selector("body[data-state=over]")
        assert page.locator("#moves li").count() == 5
        browser.close()
        served.shutdown()
