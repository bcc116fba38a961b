"""A game of two people who have a screen each, played by clicking."""

from __future__ import annotations

import shutil
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
