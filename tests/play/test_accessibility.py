"""The play page has no violations of axe-core's rules: the first page, a table of every game; light, dark, a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tensor_envs.web.variants import variant
from tests.play.clicking import GAMES, IN_CHROMIUM, PERSON, open_table
from tests.web.shown import AXE, violations

pytestmark = [*IN_CHROMIUM, pytest.mark.skipif(AXE is None, reason="TENSOR_ENVS_AXE names no axe-core")]
UNFOLD = "document.getElementById('listed').open = true"  # the buttons, which a phone folds away
# tables of squares in several layers and in columns, of hexagons, points, tiles, cards and networks
PAGES = ("cube", "connect_four", "havannah", "go", "2048", "shed_7", "texas_holdem", "hanabi", "tensor_equilibrium_2")
FEW = 2  # actions before a table is looked at, fewer in a game that they would end


@pytest.fixture(scope="module", params=[("light", 1280), ("dark", 1280), ("dark", 390)], ids=["light", "dark", "phone"])
def page(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """Open a page of a width and a scheme of colours."""
    scheme, width = request.param
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    yield page
    page.close()


def test_the_first_page_and_the_rules(page: Any, url: str) -> None:
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector("body[data-state=home]")
    assert violations(page) == []
    page.click("#cards a")
    page.wait_for_selector("body[data-state=ready][data-pictured]")
    assert violations(page) == []
    page.click("#rules")
    page.wait_for_selector("#book[open] h2")
    assert violations(page) == []


def test_a_violation_is_found(page: Any, url: str) -> None:
    page.goto("about:blank")
    page.goto(f"{url}#tic_tac_toe")
    page.wait_for_selector("body[data-state=ready][data-pictured]")
    page.evaluate("document.getElementById('status').style.color = getComputedStyle(document.body).backgroundColor")
    page.evaluate("document.querySelector('#new button').textContent = ''")
    assert [text.partition(":")[0] for text in violations(page)] == ["button-name", "color-contrast"]


@pytest.mark.few("tic_tac_toe", "kuhn_poker", "chess", "three_will")
@pytest.mark.parametrize("game", [pytest.param(x, marks=[pytest.mark.page] * (x in PAGES)) for x in GAMES])
def test_a_table_of_every_game(page: Any, url: str, game: str) -> None:
    env = variant(game)[1]
    state, actions = env.init(1, 0), list[int]()
    for _ in range(FEW):
        actions.append(int(np.flatnonzero(state.numpy()["legal_action_mask"][0])[0]))
        if env.step(state, actions[-1:]).terminated.item():
            actions.pop()
            break
        state = env.step(state, actions[-1:])
    open_table(page, url, game=game, seats=[PERSON] * env.num_players, actions=actions)
    assert violations(page) == []


def test_a_curtain(page: Any, url: str) -> None:
    open_table(page, url, game="kuhn_poker")
    page.evaluate(UNFOLD)
    page.locator("#actions button").first.click()
    page.wait_for_selector("body[data-state=covered]")
    assert violations(page) == []


def test_a_game_that_is_over_and_a_choice(page: Any, url: str) -> None:
    open_table(page, url, game="tic_tac_toe", actions=[0, 3, 1, 4])
    page.evaluate(UNFOLD)
    page.click("#hint")
    page.wait_for_selector("#picture path.best")
    assert violations(page) == []
    page.click("#actions button[data-action='2']")
    page.wait_for_selector("body[data-state=over][data-pictured='5']")
    page.click("#back")
    page.wait_for_selector("body[data-pictured='4']")
    assert violations(page) == []
