"""The page of tensor_envs.play in a real browser: whole games of every game are clicked through."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.web.variants import VARIANTS

sync_api = pytest.importorskip("playwright.sync_api", reason="the page is clicked with playwright")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.extra("playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="the page is clicked in chromium, which is not here"),
]

OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PERSON, RANDOM, PERFECT = "person", "uniform", "perfect"
TURN = "body[data-state=ready], body[data-state=over]"
MILLISECONDS = 60_000  # a first move may wait for its kernels to compile

# Clicks random legal areas or buttons until the game is over. The seed makes the clicks reproducible.
CLICKER = """async (seed) => {
  const state = () => document.body.dataset.state;
  const settled = () => new Promise((done) => {
    const look = () => { if (["ready", "over", "covered", "error"].includes(state())) { watch.disconnect(); done(); } };
    const watch = new MutationObserver(look);
    watch.observe(document.body, { attributes: true });
    look();
  });
  const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };
  const clicks = { areas: 0, buttons: 0, choices: 0, curtains: 0 };
  for (;;) {
    await settled();
    if (state() === "over") return clicks;
    if (state() === "error") throw new Error(document.getElementById("error").textContent);
    let kind = "buttons", from = [...document.querySelectorAll("#actions button")];
    const areas = [...document.querySelectorAll("#picture path.legal")];
    if (state() === "covered") {
      if (areas.length || from.length) throw new Error("something can be clicked behind the curtain");
      [kind, from] = ["curtains", [document.querySelector("#curtain button")]];
    } else if (!document.getElementById("all").hidden) kind = "choices";
    else if (areas.length && random(4)) [kind, from] = ["areas", areas];
    if (!from.length) throw new Error("nothing can be clicked");
    clicks[kind] += 1;
    from[random(from.length)].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }
}"""

GAMES: dict[str, list[str]] = {  # every id once, with its players
    "tic_tac_toe": [PERSON, PERFECT],
    "cube": [PERSON, PERSON],
    "qubic": [PERSON, RANDOM],
    "gomoku": [PERSON, RANDOM],
    "connect_four": [PERSON, RANDOM],
    "othello": [PERSON, RANDOM],
    "kuhn_poker": [PERSON, RANDOM],
    "leduc_poker": [PERSON, RANDOM],
    "2048": [PERSON],
    "backgammon": [PERSON, RANDOM],
    "chess": [PERSON, RANDOM],
    "hex": [PERSON, RANDOM],
    "go": [PERSON, RANDOM],
    "shed_7": [PERSON, PERFECT],
    "tensor_stars": [PERSON, PERSON],
    "tensor_equilibrium_2": [PERSON, PERSON],
    "three_will": [RANDOM, PERSON],
}
OTHER_GAMES: dict[str, list[str]] = {
    "hypercube": [RANDOM, PERSON],
    "shed_5": [PERSON, RANDOM],
    "shed_10": [PERSON, RANDOM],
    "shed_14": [PERSON, PERFECT],
    "tensor_stars_own": [RANDOM, PERSON],
    "tensor_stars_3": [PERSON, PERSON],
    "tensor_equilibrium_3": [RANDOM, PERSON, PERSON],
    "tensor_equilibrium_4": [PERSON, RANDOM, PERSON, RANDOM],
    "three_will_open": [PERSON, PERSON],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    """Open a page in its first game; errors of the browser and requests to other hosts fail the test.

    The 409 of a late move and the 400 of wrong rules do not count: the page shows them.
    """
    page, complaints = browser.new_page(viewport={"width": 1300, "height": 900}), []

    def report(text: str) -> None:
        if not re.search("status of 40[09]", text):
            complaints.append(text)

    def check_address(address: str) -> None:
        if not address.startswith(url):
            complaints.append(address)

    page.set_default_timeout(MILLISECONDS)
    page.on("console", lambda message: report(message.text))
    page.on("pageerror", lambda error: report(str(error)))
    page.on("request", lambda request: check_address(request.url))
    page.goto(url)
    page.wait_for_selector(TURN)
    page.select_option("#thinks", "0")
    yield page
    page.close()
    assert complaints == [], complaints


def begin(page: Any, game: str, seats: list[str], seed: int = 1) -> None:
    page.select_option("#game", game)
    for seat, kind in enumerate(seats):
        page.select_option(f"#seats select[data-player='{seat}']", kind)
    page.fill("#seed", str(seed))
    page.evaluate("document.body.dataset.state = 'busy'")
    page.click("text=New game")


def ply(page: Any) -> int:
    return int(page.get_attribute("body", "data-ply"))


def test_every_game_is_clicked() -> None:
    assert GAMES.keys() | OTHER_GAMES.keys() == VARIANTS.keys()
    assert {VARIANTS[game].id for game in GAMES} == set(te.registered())


@pytest.mark.few("tic_tac_toe", "shed_7", "kuhn_poker", "tensor_stars")
@pytest.mark.parametrize(("game", "seats"), (GAMES | OTHER_GAMES).items())
def test_a_whole_game(page: Any, game: str, seats: list[str]) -> None:
    begin(page, game, seats)
    clicks = page.evaluate(CLICKER, 7)
    result = page.inner_text("#status")
    assert (
        result.startswith(("Player", "A draw", "The game is over: "))
        and result.endswith(".")
        and ply(page) > (1 if game == "kuhn_poker" else 4)
    )
    assert page.locator("#status.result").count() == 1
    assert page.locator("#actions button").count() == page.locator("#picture path").count() == 0
    assert clicks["areas"] + clicks["choices"] > 0 and clicks["buttons"] > 0
    assert (clicks["curtains"] > 0) == (game.startswith("tensor_stars") and seats.count(PERSON) > 1)
    if PERFECT in seats:
        assert not result.startswith(f"Player {seats.index(PERSON)}")  # tic-tac-toe is a draw, both Sheds are lost
    assert page.locator("#moves li").first.inner_text().startswith(f"{ply(page)}.")


def test_mouse_and_keyboard(page: Any) -> None:
    begin(page, "tic_tac_toe", [PERSON, PERSON])
    page.wait_for_selector(TURN)
    page.locator("#picture path[data-actions='4']").click()
    page.wait_for_selector("body[data-ply='1']")
    page.locator("#picture path[data-actions='0']").press("Enter")
    page.wait_for_selector("body[data-ply='2']")
    button = page.locator("#actions button", has_text="(1,0)")
    button.hover()
    assert page.locator("#picture path.pointed").get_attribute("data-actions") == "3"
    button.click()
    page.wait_for_selector("body[data-ply='3']")
    assert [text.split()[-1] for text in page.locator("#moves li").all_inner_texts()] == ["(1,0)", "(0,0)", "(1,1)"]
    assert page.inner_text("#status") == "Player 1 to move"
    page.reload()  # continues at the same ply
    page.wait_for_selector("body[data-ply='3'][data-state=ready]")
    assert page.locator("#picture path.legal").count() == page.locator("#actions button").count() == 6
    page.click("#words summary")
    assert page.inner_text("#text").splitlines()[1].split() == ["0", "O", ".", "."]


def test_a_part_that_stands_for_several_actions(page: Any) -> None:
    begin(page, "three_will", [PERSON, PERSON], seed=0)
    page.wait_for_selector(TURN)
    several = page.locator("#picture path.legal[aria-label*=',']")
    while not several.count():
        now = ply(page)
        page.locator("#actions button").first.click()
        page.wait_for_selector(f"body[data-ply='{now + 1}'][data-state=ready]")
    now, names = ply(page), several.first.get_attribute("aria-label").split(", ")
    several.first.click()
    assert page.locator("#actions button").all_inner_texts() == names and ply(page) == now
    page.click("#all")
    assert page.locator("#actions button").count() > len(names)
    several.first.click()
    page.locator("#actions button").last.click()
    page.wait_for_selector(f"body[data-ply='{now + 1}']")


def test_an_answer_that_refuses_is_shown(page: Any) -> None:
    """A move from another window makes the page's move too late, and the page shows the refusal."""
    begin(page, "tic_tac_toe", [PERSON, PERSON])
    page.wait_for_selector(TURN)
    status = page.evaluate(
        """async () => (await fetch(`api/tables/${location.hash.split("=")[1]}/act`, {
          method: "POST", headers: { "Content-Type": "application/json" }, body: '{"ply": 0, "action": 8}',
        })).status"""
    )
    assert status == 200
    page.locator("#actions button").first.click()
    page.wait_for_selector("body[data-state=error]")
    assert "the game is at ply 1, not at 0" in page.inner_text("#error")
    page.click("text=New game")
    page.wait_for_selector(TURN)
    assert page.locator("#error").is_hidden()


def test_a_game_under_rules_of_the_form(page: Any) -> None:
    """Rules are refused, made and played to the end against the search, and reopen by link and by table."""
    page.select_option("#game", "cube")
    page.click("#playground summary")
    page.wait_for_selector("#inputs [name='k']")
    shown = page.eval_on_selector_all("#inputs [name]", "all => all.map(({ name, value }) => [name, value])")
    assert shown == [["shape", "(3, 3, 3)"], ["k", "3"], ["misere", "False"], ["gravity", "False"]]
    page.fill("#inputs [name='k']", "9")
    page.click("#fields button")
    page.wait_for_selector("#wrong:not([hidden])")
    assert page.inner_text("#wrong") == "no line of k=9 fits on shape (3, 3, 3): k is at most 3"
    page.fill("#inputs [name='shape']", "4, 4")
    page.fill("#inputs [name='k']", "3")
    page.fill("#seed", "7")
    page.evaluate("document.body.dataset.state = 'busy'")
    page.click("#fields button")
    page.wait_for_selector(TURN)
    assert page.locator("#wrong").is_hidden() and page.locator("#actions button").count() == 16
    game = page.input_value("#game")
    assert game == "hyper_tic_tac_toe(shape=(4, 4))"
    assert page.input_value("#seats select[data-player='1']") == "search"
    page.evaluate(CLICKER, 7)
    page.click("#link")
    page.wait_for_selector("#link:not(:text-is('Copy link'))")
    actions = [int(x) for x in page.evaluate("location.hash").rpartition("moves=")[2].split(".")]
    env = te.make("hyper_tic_tac_toe", shape=(4, 4), k=3)
    state = env.init(1, 7)
    for action in actions:
        state = env.step(state, [action])
    assert state.terminated.item() and page.text_content("#text") == env.to_string(state)
    link = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(link)
    over = f"body[data-state=over][data-ply='{len(actions)}']"
    page.wait_for_selector(over)
    page.reload()  # the table's own address
    page.wait_for_selector(over)
    assert page.input_value("#game") == game and page.text_content("#text") == env.to_string(state)
    page.click("#playground summary")
    page.wait_for_selector("#inputs [name='shape']")
    assert page.input_value("#inputs [name='shape']") == "(4, 4)"
    page.select_option("#game", "2048")
    page.wait_for_selector("text=The rules of this game have no fields.")
    assert page.locator("#fields button").is_disabled()
