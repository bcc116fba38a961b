"""The page of tensor_envs.play in a real browser: whole games of every game are clicked through."""

from __future__ import annotations

import re
from threading import Thread
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.play import searches, server
from tensor_envs.web.variants import VARIANTS
from tests.play.clicking import (
    CLICKER,
    GAMES,
    IN_CHROMIUM,
    MOVERS,
    OTHER_GAMES,
    PERFECT,
    PERSON,
    TURN,
    begin,
    open_table,
    ply,
)
from tests.play.client import sleep
from tests.web.shown import prompt_of

pytestmark = IN_CHROMIUM


def test_every_game_is_clicked() -> None:
    assert GAMES.keys() | OTHER_GAMES.keys() == VARIANTS.keys()
    assert {VARIANTS[game].id for game in GAMES} == set(te.registered())


@pytest.mark.few("tic_tac_toe", "shed_7", "kuhn_poker", "tensor_stars")
@pytest.mark.parametrize(("game", "seats"), (GAMES | OTHER_GAMES).items())
def test_a_whole_game(page: Any, game: str, seats: list[str]) -> None:
    # the first deals of hold'em, and of animal shogi the first games, are over before everything is clicked
    begin(page, game, seats, seed={"texas_holdem": 5, "animal_shogi": 4}.get(game, 1))
    clicks = page.evaluate(CLICKER, 2 if game == "texas_holdem" else 7)
    result = page.inner_text("#status")
    assert re.match(r"([\w ,]+ (wins|share the win)|A draw|The game is over)[.:]", result) and result.endswith(".")
    # a hand of poker may end by its first actions, and few bids make a game of liar's dice
    assert ply(page) >= {"kuhn_poker": 2, "texas_holdem": 1, "liars_dice": 3}.get(game, 5)
    assert page.locator("#status.result").count() == 1
    assert page.locator("#actions button").count() == page.locator("#picture path").count() == 0
    assert clicks["areas"] + clicks["choices"] > 0 and clicks["buttons"] > 0
    assert (clicks["curtains"] > 0) == (game.startswith("tensor_stars") and seats.count(PERSON) > 1)
    if PERFECT in seats:
        name = "X" if game == "tic_tac_toe" else f"Player {seats.index(PERSON) + 1}"
        assert not result.startswith(f"{name} wins")  # tic-tac-toe is a draw, both Sheds are lost
    assert (clicks["targets"] > 0) == (VARIANTS[game].id in MOVERS)
    if page.locator("#moves.paired").count():  # a record in the notation of the game, a move of both players in a line
        assert page.locator("#moves li").last.inner_text().startswith(f"{(ply(page) + 1) // 2}.")
    else:
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
    assert page.inner_text("#status") == "O to move"
    page.reload()  # continues at the same ply
    page.wait_for_selector("body[data-ply='3'][data-state=ready]")
    assert page.locator("#picture path.legal").count() == page.locator("#actions button").count() == 6


def test_a_position_is_a_prompt_to_copy(page: Any) -> None:
    """The text is that of `te.text.prompt`, at earlier positions as well, and the clipboard has it."""
    begin(page, "tic_tac_toe", [PERSON, PERSON])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_selector(TURN)
    for now, action in enumerate((4, 0)):
        page.locator(f"#picture path[data-actions='{action}']").click()
        page.wait_for_selector(f"body[data-pictured='{now + 1}']")
    for actions in ([4, 0], [4]):
        game = te.record(te.make("tic_tac_toe"), actions)
        expected = te.text.prompt(te.replay(game), history=game)
        page.wait_for_selector(f"body[data-pictured='{len(actions)}']")
        assert prompt_of(page) == expected
        page.click("#copy")
        page.wait_for_selector("#copy:has-text('Copied')")
        assert page.evaluate("navigator.clipboard.readText()") == expected
        page.click("#back")


def test_a_conflict_shows_the_newest_state(page: Any) -> None:
    """A move from another window makes the page's move too late: the page shows the table as it is now."""
    begin(page, "tic_tac_toe", [PERSON, PERSON])
    page.wait_for_selector(TURN)
    status = page.evaluate(
        """async () => (await fetch(`api/tables/${new URLSearchParams(location.hash.slice(1)).get("table")}/act`, {
          method: "POST", headers: { "Content-Type": "application/json" }, body: '{"ply": 0, "action": 8}',
        })).status"""
    )
    assert status == 200
    page.locator("#actions button").first.click()
    page.wait_for_selector("body[data-state=ready][data-ply='1']")
    assert page.locator("#error").is_hidden() and page.locator("#actions button").count() == 8
    page.locator("#actions button").first.click()
    page.wait_for_selector("body[data-state=ready][data-ply='2']")


def test_a_game_is_looked_back_at(page: Any) -> None:
    begin(page, "tic_tac_toe", [PERSON, PERSON])
    page.wait_for_selector(TURN)
    for now, action in enumerate((4, 0, 8), 1):
        page.click(f"#actions button[data-action='{action}']")
        page.wait_for_selector(f"body[data-ply='{now}'][data-pictured='{now}']")
    last = page.inner_html("#picture")
    page.click("#moves button[data-ply='1']")
    page.wait_for_selector("body[data-pictured='1']")
    assert page.inner_text("#status") == "After move 1 of 3"
    assert page.locator("#picture path.legal").count() == 0
    assert [page.locator("#moves button[aria-current=step]").get_attribute("data-ply")] == ["1"]
    page.click("#back")
    page.wait_for_selector("body[data-pictured='0']")
    assert page.locator("#back").is_disabled() and page.inner_text("#status") == "The first position"
    page.click("#now")
    page.wait_for_selector("body[data-pictured='3']")
    assert page.inner_html("#picture") == last and page.locator("#now").is_disabled()
    page.click("#back")
    page.wait_for_selector("body[data-pictured='2']")
    page.locator("#actions button").first.click()  # the table goes on where it is
    page.wait_for_selector("body[data-ply='4'][data-pictured='4']")


def test_a_hint_and_the_evaluation(page: Any, url: str) -> None:
    open_table(page, url, game="tic_tac_toe", actions=[0, 3, 1, 4])
    assert page.locator("#worth").is_hidden()
    page.click("#hint")
    page.wait_for_selector("#picture path.best")
    assert page.locator("#picture path.best").get_attribute("data-actions") == "2"
    assert page.inner_text("#advice") == "Best: (0,2)" and page.locator("#bar").is_visible()
    page.wait_for_selector("#worth:has-text('X wins in 1 ply with perfect play')")
    assert page.locator("#bar").get_attribute("aria-valuenow") == "100"
    page.click("#actions button[data-action='8']")
    page.wait_for_selector("body[data-ply='5'][data-state=ready]")
    assert page.locator("#worth").is_hidden() and page.locator("#advice").is_hidden()
    page.click("#hint")
    page.wait_for_selector("#worth:has-text('O wins in 1 ply with perfect play')")
    assert page.locator("#bar").get_attribute("aria-valuenow") == "0"


def test_levels_are_numbers_of_simulations(page: Any, url: str) -> None:
    """A seat's name says the level, and the last move is seen while the computer searches."""
    held = list[Any]()
    page.route("**/advance", lambda route: route.continue_() if held else held.append(route))
    open_table(page, url, game="kalah", seats=[PERSON, "playout:8"])
    options = page.locator("#seats select[data-player='1'] option").all_inner_texts()
    levels = [f"level {level}: {2 << level} simulations" for level in range(1, 9)]
    assert options[:10] == ["person", "random", *levels]
    page.click("#actions button[data-action='0']")
    page.wait_for_selector("body[data-pictured='1']")
    assert page.inner_text("#status") == "North (level 2) is thinking"
    while not held:  # the status may come before the request
        page.wait_for_timeout(10)
    held[0].continue_()
    page.wait_for_selector(TURN)


def test_a_hint_shows_that_it_works(page: Any, url: str) -> None:
    open_table(page, url, game="kalah")
    held = list[Any]()
    page.route("**/hint/*", lambda route: route.continue_() if held else held.append(route))
    page.click("#hint")
    page.wait_for_selector("#advice:has-text('Searching ...')")
    assert page.locator("#hint").is_disabled()
    while not held:  # the text may come before the request
        page.wait_for_timeout(10)
    held[0].continue_()
    page.wait_for_selector("#advice:has-text('Best: ')")
    page.wait_for_selector("#worth:has-text(', estimated by random games')")


def test_the_page_says_that_a_search_is_compiled(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other kernels than the search's are there, so that the person's move is drawn at once."""
    monkeypatch.setattr(searches.Searcher, "_send", sleep)
    with server.Server(0) as served:
        Thread(target=served.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"{served.url}#tic_tac_toe")
        page.wait_for_selector(TURN)
        page.click("#hint")
        page.wait_for_selector("#advice:has-text('First the search of this game is compiled, once')")
        page.locator("#picture path.legal").first.click()
        page.wait_for_selector("body[data-pictured='1']")
        page.wait_for_selector("#status:has-text('O (level 4) waits: the search of this game is compiled, once')")
        page.close()
        served.shutdown()


def test_an_exact_value_takes_the_place_of_a_searched_one(page: Any, url: str) -> None:
    """In connect four a proven loss is found by a process of its own; all answers to three in a row are as good."""
    open_table(page, url, game="connect_four", actions=[2, 2, 3, 3, 4])
    page.click("#hint")
    page.wait_for_selector("#worth:has-text('Yellow wins in 2 plies with perfect play')")
    assert page.locator("#bar").get_attribute("aria-valuenow") == "100"
    page.wait_for_selector("#advice:has-text('Best: 1, 2, 3 and 4 more')")
    assert page.locator("#actions button.best").count() == 7
    page.click("#back")
    page.wait_for_selector("body[data-pictured='4']")
    assert page.locator("#worth").is_hidden() and page.locator("#advice").is_hidden()


def test_the_rules_are_a_page(page: Any) -> None:
    page.select_option("#game", "three_will")
    page.click("#rules")
    page.wait_for_selector("#book[open] h2")
    assert page.locator("#pages > h2").inner_text() == "Three Will"
    assert page.locator("#pages > h3").all_inner_texts() == ["How to play"]
    assert page.locator("#pages > ul > li").count() == 3 and page.locator("#pages table").first.is_hidden()
    page.click("#pages summary")
    assert page.locator("#pages table").first.is_visible()
    assert page.locator("#pages table").count() == 6 and page.locator("#pages li").count() > 10
    text = page.inner_text("#pages")
    assert "**" not in text and "|---" not in text and "`" not in text and "This game is three_will with chart=" in text
    page.keyboard.press("Escape")
    page.wait_for_selector("#book", state="hidden")


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker"])
def test_a_second_tab_follows(browser: Any, url: str, game: str) -> None:
    """A tab with the same address shows what is played in the other one, in both directions."""
    context = browser.new_context()
    page, other = context.new_page(), context.new_page()
    open_table(page, url, game=game)
    other.goto(page.url)
    other.wait_for_selector("body:is([data-pictured='0'], [data-state=covered])")
    for now, (first, second) in enumerate([(page, other), (other, page)], 1):
        if first.locator("#curtain").is_visible():
            first.click("text=Show the cards")
        first.locator("#actions button").first.click()
        second.wait_for_selector(f"body[data-ply='{now}']")
        first.wait_for_selector(f"body[data-ply='{now}']:not([data-state=busy])")
    context.close()


def test_nothing_moves_for_who_prefers_that(page: Any, url: str) -> None:
    """With prefers-reduced-motion the evaluation bar jumps and no scrolling is smooth; else the bar slides."""
    open_table(page, url, game="tic_tac_toe")
    times = "getComputedStyle(document.querySelector('#bar div')).transitionDuration"
    for motion, seconds in (("no-preference", "0.3s"), ("reduce", "0s")):
        page.emulate_media(reduced_motion=motion)
        assert page.evaluate(times) == seconds, motion
    moving = """[...document.querySelectorAll("*")].filter((one) => {
      const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(one);
      return animationName !== "none" || parseFloat(transitionDuration) > 0 || scrollBehavior !== "auto";
    }).length"""
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")


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
    assert page.input_value("#seats select[data-player='1']") == "playout:32"
    page.evaluate(CLICKER, 7)
    page.click("#link")
    page.wait_for_selector("#link:not(:text-is('Copy link'))")
    actions = [int(x) for x in page.evaluate("location.hash").rpartition("moves=")[2].split(".")]
    env = te.make("hyper_tic_tac_toe", shape=(4, 4), k=3)
    state = env.init(1, 7)
    for action in actions:
        state = env.step(state, [action])
    assert state.terminated.item() and env.to_string(state).rstrip() in prompt_of(page)
    link = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(link)
    over = f"body[data-state=over][data-ply='{len(actions)}']"
    page.wait_for_selector(over)
    page.reload()  # the table's own address
    page.wait_for_selector(over)
    assert page.input_value("#game") == game and env.to_string(state).rstrip() in prompt_of(page)
    page.click("#playground summary")
    page.wait_for_selector("#inputs [name='shape']")
    assert page.input_value("#inputs [name='shape']") == "(4, 4)"
    page.select_option("#game", "2048")
    page.wait_for_selector("text=The rules of this game have no fields.")
    assert page.locator("#fields button").is_disabled()
