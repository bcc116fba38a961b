"""Reports of the laboratory and of the referee on a phone."""

from __future__ import annotations

import shutil

import pytest

import tensor_envs as te
from tensor_envs.referee import Settings, packaged, ratings, scores, tournament
from tensor_envs.referee.report import page
from tests.games.shared import shared_env

sync_api = pytest.importorskip("playwright.sync_api", reason="reports are laid out in a browser")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.extra("playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="reports are laid out in chromium, which is not here"),
]
WIDTH = 390


def test_reports_fit_a_phone() -> None:
    """Text has its size and the page no more than the screen's width; tables are scrolled by themselves."""
    env = shared_env("tic_tac_toe")
    players = [packaged("uniform", env), packaged("perfect", env)]
    records = list(tournament(env, players, games=2, seed=2, settings=Settings()))
    measured = te.lab.measure({"base": env, "other": te.make("tic_tac_toe", misere=True)}, ["uniform"], games=64)
    pages = [page(records, scores(records), ratings(records)), measured.to_html()]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        context = browser.new_context(viewport={"width": WIDTH, "height": 844}, is_mobile=True)
        shown = context.new_page()
        for text in pages:
            shown.set_content(text)
            shown.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
            # without a viewport the browser lays out 980 pixels and shrinks them
            assert shown.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [WIDTH, WIDTH]
        browser.close()
