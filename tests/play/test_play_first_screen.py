"""The first screen of games, and what is around a game: its title, its end, earlier positions by keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tensor_envs.web.variants import VARIANTS
from tests.play.clicking import IN_CHROMIUM
from tests.play.client import ask
from tests.web.shown import until

pytestmark = IN_CHROMIUM
READY = "body[data-state=ready]"
WON = "game=tic_tac_toe&seats=person.person&seed=0&moves=0.3.1.4"  # X wins by (0,2)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Open a page of a browser that remembers nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    page.set_default_timeout(60_000)
    yield page
    context.close()
    assert complaints == []


def test_every_game_has_a_picture_and_one_press_starts_it(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("body[data-state=home]")
    cards = page.locator("#cards a")
    assert cards.count() == len(VARIANTS)
    assert not page.locator("#begin, #table, #continue").locator("visible=true").count()
    until(page, "document.querySelector('#cards img').naturalWidth > 0")
    page.click("#cards a:has-text('Kalah')")
    page.wait_for_selector(f"{READY}[data-pictured='0']")
    assert page.input_value("#game") == "kalah" and page.locator("#home").is_hidden()
    page.click("h1 a")
    page.wait_for_selector("body[data-state=home]")


@pytest.mark.few("kalah")
@pytest.mark.parametrize("game", VARIANTS)
def test_a_games_picture(url: str, game: str) -> None:
    answer = ask(url, "GET", f"/pictures/{game}")
    assert answer.status == 200 and answer.headers.get_content_type() == "image/svg+xml"
    assert answer.content.startswith(b"<svg ")


def test_a_game_is_continued(page: Any, url: str) -> None:
    """The first screen links the last game until it is over."""
    page.goto(f"{url}#{WON}")
    page.wait_for_selector(f"{READY}[data-ply='4']")
    page.click("h1 a")
    page.click("#continue a:text-is('Continue your game: Tic-tac-toe, 3x3')")
    page.wait_for_selector(f"{READY}[data-ply='4']")
    page.click("#actions button[data-action='2']")
    page.wait_for_selector("body[data-state=over]")
    page.click("h1 a")
    page.wait_for_selector("body[data-state=home]")
    assert page.locator("#continue").is_hidden()


def test_the_end_offers_a_rematch(page: Any, url: str) -> None:
    """The result is in the middle of the picture, without a seed, which means nothing there."""
    page.goto(f"{url}#{WON.replace('person.person', 'person.uniform')}.2")
    page.wait_for_selector("body[data-state=over][data-pictured='5']")
    assert page.inner_text("#over b") == "X wins: 3 in a row." == page.inner_text("#status")
    picture, result = (page.locator(part).bounding_box() for part in ("#picture", "#over"))
    for side, size in (("x", "width"), ("y", "height")):
        assert abs(picture[side] + picture[size] / 2 - result[side] - result[size] / 2) < 2
    page.click("#close")
    assert page.locator("#over").is_hidden()
    page.click("#back")
    page.click("#now")
    page.click("#swap")
    page.wait_for_selector(f"{READY}[data-ply='1']")
    seats = page.locator("#seats select").evaluate_all("all => all.map(({ value }) => value)")
    assert seats == ["uniform", "person"] and page.locator("#over").is_hidden()


def test_the_seed_of_a_game_of_chance_is_shown(page: Any, url: str) -> None:
    page.goto(f"{url}#game=kuhn_poker&seats=person.person&seed=3&moves=0.0")
    page.wait_for_selector("body[data-state=over]")
    assert page.inner_text("#status small") == "The seed was 3."
    page.click("#rematch")
    page.wait_for_selector("body[data-state=covered]")


def test_the_title_says_whose_turn_it_is(page: Any, url: str) -> None:
    page.goto(f"{url}#{WON}")
    page.wait_for_selector(f"{READY}[data-ply='4']")
    assert page.title() == "X to move – Tic-tac-toe, 3x3"
    page.click("#actions button[data-action='2']")
    page.wait_for_selector("body[data-state=over][data-pictured='5']")
    assert page.title() == "X wins: 3 in a row. – Tic-tac-toe, 3x3"
    icon = page.get_attribute("link[rel=icon]", "href")
    assert page.request.get(f"{url}{icon}").headers["content-type"].startswith("image/svg+xml")


def test_arrows_walk_through_the_moves(page: Any, url: str) -> None:
    page.goto(f"{url}#{WON}")
    page.wait_for_selector(f"{READY}[data-pictured='4']")
    for key, at in (("ArrowLeft", 3), ("ArrowLeft", 2), ("ArrowRight", 3), ("ArrowRight", 4)):
        page.keyboard.press(key)
        page.wait_for_selector(f"body[data-pictured='{at}']")
    page.focus("#seed")
    page.keyboard.press("ArrowLeft")  # moves the cursor there
    assert page.inner_text("#status") == "X to move"
