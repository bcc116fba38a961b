"""A server of scripts/play.py, and pages of a browser that look at it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.play.clicking import CHROMIUM, MILLISECONDS, OPTIONS, TURN
from tests.scripts.here import SCRIPTS, complaints


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Serve a play page in another process that shows all warnings, and yield its address."""
    command = [sys.executable, "-W", "always", str(SCRIPTS / "play.py"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        assert line.startswith("open http://127.0.0.1:"), line
        yield line.split()[1]
    finally:
        process.terminate()
        errors = complaints(process.communicate(timeout=20)[1])
    assert errors == "", errors


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the page is clicked with playwright")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    """Open a page in its first game; errors of the browser and requests to other hosts fail the test.

    The 409 of a late move and the 400 of wrong rules do not count: the page shows them.
    """
    page, wrong = browser.new_page(viewport={"width": 1300, "height": 900}), []

    def report(text: str) -> None:
        if not re.search("status of 40[09]", text):
            wrong.append(text)

    def check_address(address: str) -> None:
        if not address.startswith(url):
            wrong.append(address)

    page.set_default_timeout(MILLISECONDS)
    page.on("console", lambda message: report(message.text))
    page.on("pageerror", lambda error: report(str(error)))
    page.on("request", lambda request: check_address(request.url))
    page.goto(f"{url}#tic_tac_toe")
    page.wait_for_selector(TURN)
    yield page
    page.close()
    assert wrong == [], wrong
