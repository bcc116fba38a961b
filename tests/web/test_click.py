"""Games of the static page are clicked in Chromium, from the wall of games to their ends."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest

import tensor_envs as te
from pictures.first_boards import first_board
from tensor_envs.web.site import build
from tests.games.shared import shared_env
from tests.web.shown import AXE, prompt_of, svg_after, until, violations

sync_api = pytest.importorskip("playwright.sync_api", reason="the page is clicked with playwright")
CHROMIUM = shutil.which("chromium")
PYODIDE = os.environ.get("TENSOR_ENVS_PYODIDE")  # folder of its npm package
pytestmark = [
    pytest.mark.extra("playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="the page is clicked in chromium, which is not here"),
    pytest.mark.xdist_group("web page"),
]
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-background-networking"),
    *("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),  # runs on any processor
]
SMALL = ("tic_tac_toe", "kuhn_poker")  # in one page, which starts Python once
MILLISECONDS = 120_000  # Python starts slowly on a busy machine


class Quiet(SimpleHTTPRequestHandler):
    """A server of files. Under `/unpacks/` it names the compression of files, as Apache does where it is set up to."""

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.replace("/unpacks/", "/"))

    def end_headers(self) -> None:
        if self.path.startswith("/unpacks/") and self.path.endswith(".gz"):
            self.send_header("Content-Encoding", "gzip")
        super().end_headers()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Open a browser's page whose errors and requests to other hosts fail the test."""
    folder = tmp_path_factory.mktemp("web")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    url, wrong = f"http://127.0.0.1:{server.server_port}/", list[str]()
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.set_default_timeout(MILLISECONDS)
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else wrong.append(r.url))
        page.sites = folder, url
        page.wrong = wrong
        yield page
        assert not wrong
        browser.close()
    server.shutdown()
    server.server_close()


def take(page: Any, game: str) -> None:
    """Choose a game in its page, which is built first, and take over a game of the wall."""
    folder, url = page.sites
    games = SMALL if game in SMALL else (game,)
    if not (folder / games[0]).exists():
        build(folder / games[0], list(games), PYODIDE)
    if not page.url.startswith(f"{url}{games[0]}/") or page.get_attribute("body", "data-page") != "wall":
        page.goto("about:blank")
        page.goto(f"{url}{games[0]}/#watch={game}")
        page.wait_for_selector("body[data-rate]")
    page.evaluate("for (const name in document.body.dataset) delete document.body.dataset[name]")
    page.select_option("#pace", "60")
    page.select_option("#game", game)
    page.dispatch_event("#game", "change")
    until(page, "document.body.dataset.rate > 1000")  # thousands of games move
    page.select_option("#pace", "0")
    page.click("#wall", position={"x": 70, "y": 60})
    page.wait_for_selector("#table:not([hidden])")


@pytest.mark.slow  # it goes by the clock
@pytest.mark.parametrize("game", SMALL)
def test_the_first_board_is_there_within_a_second(page: Any, game: str) -> None:
    """On a connection of 9 Mbit/s, counted from the page's load."""
    take(page, game)
    assert first_board(page, f"{page.sites[1]}{SMALL[0]}/#{game}").seconds < 1


def test_the_first_board_waits_for_three_files(page: Any) -> None:
    """They are asked for at once, each of them once, and nothing else of the game is."""
    take(page, "tic_tac_toe")
    held = list[Any]()
    page.route("**/games/*", lambda route: held.append(route))
    page.goto("about:blank")
    page.goto(f"{page.sites[1]}{SMALL[0]}/#tic_tac_toe")
    while len(held) < 3:
        page.wait_for_timeout(20)
    assert page.get_attribute("body", "data-pictured") is None
    for route in held[:]:
        route.continue_()
    page.wait_for_selector("body[data-pictured]")
    names = sorted(route.request.url.rpartition("/")[2] for route in held)
    assert names == ["tic_tac_toe.js", "tic_tac_toe.json.gz", "tic_tac_toe.wasm.gz"]
    page.unroute("**/games/*")


def test_a_server_may_let_the_browser_unpack_files(page: Any) -> None:
    """The page then gets what was compressed as it was before."""
    take(page, "tic_tac_toe")
    page.goto("about:blank")
    page.goto(f"{page.sites[1]}unpacks/{SMALL[0]}/#tic_tac_toe")
    page.wait_for_selector("body[data-pictured]")
    assert page.locator("#error").is_hidden()


def test_a_module_that_did_not_come_is_asked_for_again(page: Any) -> None:
    """A browser keeps a failure to import."""
    take(page, "tic_tac_toe")
    page.route(re.compile(r"tic_tac_toe\.js$"), lambda route: route.abort(), times=1)
    page.goto("about:blank")
    page.goto(f"{page.sites[1]}{SMALL[0]}/#tic_tac_toe")
    page.wait_for_selector("body[data-pictured]")
    assert page.locator("#error").is_hidden() and len(page.wrong) == 1
    page.wrong.clear()  # the browser's report of the failure


def test_the_pages_policy_forbids_text_as_code(page: Any) -> None:
    """Neither inline scripts nor `eval` nor inline styles are obeyed, while WebAssembly is."""
    take(page, "tic_tac_toe")
    refused = page.evaluate(
        """() => new Promise((done) => {
          const refused = new Set();
          document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
            refused.add(`${effectiveDirective} ${blockedURI}`);
          });
          const script = document.createElement("script");
          script.textContent = "document.body.dataset.inline = 1";
          document.body.append(script);
          const style = document.createElement("p");
          style.setAttribute("style", "color: red");
          setTimeout(() => { try { globalThis.eval("1"); } catch {} }, 10);
          setTimeout(() => done([...refused].sort()), 300);
        })"""
    )
    assert refused == ["script-src eval", "script-src-elem inline", "style-src-attr inline"]
    page.wrong.clear()  # which the browser reports as errors
    assert page.evaluate("document.body.dataset.inline") is None


def players(page: Any, *kinds: str) -> None:
    """Start a new game between these kinds of players."""
    for player, kind in enumerate(kinds):
        page.select_option(f"#seats select[data-player='{player}']", kind)
    page.click("text=New game")
    until(page, "document.body.dataset.ply === '0'")


def play(page: Any, chance: random.Random) -> list[int]:
    """Play a person's random legal actions to the end, by the picture or by buttons, and return them."""
    clicked = list[int]()
    while True:
        page.wait_for_selector(", ".join(f"body[data-state={state}]" for state in ("ready", "over", "covered")))
        state, ply = page.evaluate("[document.body.dataset.state, document.body.dataset.ply]")
        if state == "covered":
            page.click("text=Show the cards")
            continue
        page.wait_for_selector(f"body[data-pictured='{ply}']")
        if state == "over":
            return clicked
        buttons = page.query_selector_all("#actions button")
        action = int(chance.choice(buttons).get_attribute("data-action"))
        areas = page.query_selector_all(f"#picture path.legal[data-actions='{action}']")
        part = areas[0] if areas else page.query_selector(f"#actions button[data-action='{action}']")
        part.dispatch_event("click")
        clicked.append(action)


def drawn(page: Any) -> list[Any]:
    return shapes(page.evaluate("new XMLSerializer().serializeToString(document.querySelector('#picture svg'))"))


def shapes(svg: str) -> list[Any]:
    """Return the visible elements of a picture, with the sizes of text before the page enlarged it."""
    root = ElementTree.fromstring(svg)
    for text in root:
        if size := text.attrib.pop("data-size", None):
            text.attrib["font-size"] = size
    return [(e.tag, e.attrib, e.text) for e in root if e.get("data-actions") is None]


@pytest.mark.few("tic_tac_toe", "kuhn_poker")
@pytest.mark.parametrize(
    "name", ["tic_tac_toe", "kuhn_poker", "gomoku", pytest.param("othello", marks=pytest.mark.page)]
)
def test_a_whole_game_is_what_the_environment_says(page: Any, name: str) -> None:
    take(page, name)
    page.fill("#seed", "5")
    players(page, "person", "person")
    env = shared_env(name)
    state, actions = env.init(1, 5), play(page, random.Random(1))
    for action in actions:
        state = env.step(state, [action])
    assert state.terminated.item() and len(actions) == state.ply.item() > 1
    names = [text.split()[-1] for text in page.locator("#moves li").all_inner_texts()[::-1]]
    assert names == [env.action_names[action] for action in actions]
    seed = r" The seed was 5\." * env.spec.chance
    assert re.fullmatch(rf"([\w ]+ wins|A draw): .+\.{seed}", page.inner_text("#status"))
    assert prompt_of(page) == te.text.prompt(state, history=te.record(env, actions, seed=5))
    assert drawn(page) == shapes(svg_after(env, actions, 5, None if name == "kuhn_poker" else 0))


@pytest.mark.slow
@pytest.mark.skipif(PYODIDE is None, reason="the form's games are played by Python")
def test_a_game_under_rules_of_the_form(page: Any) -> None:
    take(page, "tic_tac_toe")
    page.click("#playground summary")
    page.wait_for_selector("#inputs [name='k']")
    shown = page.eval_on_selector_all("#inputs [name]", "all => all.map(({ name, value }) => [name, value])")
    assert shown == [["shape", "(3, 3)"], ["k", "3"], ["misere", "False"], ["gravity", "False"]]
    page.fill("#inputs [name='k']", "9")
    page.click("#fields button")
    page.wait_for_selector("#wrong:not([hidden])")
    assert page.inner_text("#wrong") == "no line of k=9 fits on shape (3, 3): k is at most 3"
    page.fill("#inputs [name='shape']", "4, 4")
    page.fill("#inputs [name='k']", "3")
    page.click("#fields button")
    page.wait_for_selector("body[data-state=ready]")
    assert page.locator("#wrong").is_hidden()
    page.locator("#actions button").first.click()  # and playouts answer
    page.wait_for_selector("body[data-state=ready][data-ply='2']")
    assert page.input_value("#seats select[data-player='1']") == "playouts"
    page.fill("#seed", "7")
    players(page, "person", "uniform")
    env = te.make("hyper_tic_tac_toe", shape=(4, 4), k=3)
    play(page, random.Random(3))
    link, text = taken(page), prompt_of(page)
    state, actions = env.init(1, 7), [*map(int, parse_qs(urlsplit(link).fragment)["moves"][0].split("."))]
    for action in actions:
        if state.current_player.item() == 1:
            assert te.agents.uniform(state).tolist() == [action]
        state = env.step(state, [action])
    assert state.terminated.item() and env.to_string(state).rstrip() in text
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(f"body[data-state=over][data-pictured='{state.ply.item()}']")
    assert prompt_of(page) == text and drawn(page) == shapes(svg_after(env, actions, 7, 0))
    assert page.input_value("#game") == "hyper_tic_tac_toe(shape=(4, 4))"
    page.click("#watch")  # such a game has no kernels, so that its wall is empty
    page.wait_for_selector("#alone:not([hidden])")
    assert page.locator("#live").is_hidden() and page.locator("#error").is_hidden()
    page.goto("about:blank")  # as other tests leave the page, with a wall


def test_against_the_computer_with_hidden_cards_and_back_again(page: Any) -> None:
    take(page, "kuhn_poker")
    players(page, "person", "uniform")
    page.wait_for_selector("body[data-state=ready]")
    page.wait_for_selector("body[data-pictured]")
    assert "?" in prompt_of(page)  # the other player's card
    play(page, random.Random(2))
    moves = page.locator("#moves li").count()
    page.click("#undo")
    until(page, f"document.body.dataset.ply < {moves}")
    assert page.get_attribute("body", "data-state") == "ready"
    page.focus("#wall")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, "location.hash.includes('&start=')")


@pytest.mark.few("playout:512")
@pytest.mark.parametrize("kind", ["playout:64", "playout:512"])
def test_the_computer_wins_what_a_link_hands_it(page: Any, kind: str) -> None:
    take(page, "tic_tac_toe")
    link = f"game=tic_tac_toe&seats={kind}.person&seed=3&moves=0.3.1.4"
    write = "history.replaceState(null, '', hash)"  # as the table does with its own address
    page.evaluate(f"link => {{ const {{ hash }} = location; location.hash = link; {write}; }}", link)
    page.wait_for_selector("body[data-state=over]")
    page.wait_for_selector("body[data-pictured='5']")
    assert page.inner_text("#status") == "X wins: 3 in a row."
    assert page.input_value("#seats select[data-player='0']") == kind
    assert page.locator("#moves li").first.inner_text().split() == ["5.", "X", "(0,2)"]


@pytest.mark.slow
def test_perfect_play_by_a_table(page: Any) -> None:
    take(page, "shed_5")
    page.fill("#seed", "5")
    players(page, "person", "perfect")
    play(page, random.Random(4))
    env = te.make("shed", cards=5)
    state, are_best = env.init(1, 5), list[bool]()
    for action in map(int, parse_qs(urlsplit(taken(page)).fragment)["moves"][0].split(".")):
        if state.current_player.item() == 1:
            are_best.append(te.agents.solution_of(env).best_actions(state)[0, action])
        state = env.step(state, [action])
    assert state.terminated.item() and len(are_best) > 2 and all(are_best)


def test_hidden_cards_are_behind_a_curtain(page: Any) -> None:
    take(page, "kuhn_poker")
    players(page, "person", "person")
    for player in (0, 1):
        page.wait_for_selector("body[data-state=covered]")
        assert f"Only Player {player + 1} looks" in page.inner_text("#curtain")
        assert page.locator("#picture > *").count() == page.locator("#actions button").count() == 0
        assert page.locator("#words").is_hidden()
        page.click("text=Show the cards")
        page.wait_for_selector("body[data-state=ready]")
        page.wait_for_selector(f"body[data-pictured='{player}']")
        prompt = prompt_of(page)
        assert prompt.startswith(f"You are Player {player + 1} in kuhn_poker;") and prompt.count("?") == 1
        page.locator("#actions button").first.click()


def test_a_position_is_taken_back_linked_and_saved(page: Any) -> None:
    take(page, "tic_tac_toe")
    page.wait_for_selector("body[data-state=ready], body[data-state=over]")
    assert "&start=" in taken(page)
    page.fill("#seed", "5")
    players(page, "person", "person")
    for ply, action in enumerate((4, 0, 8)):
        page.focus(f"#actions button[data-action='{action}']")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"body[data-ply='{ply + 1}'][data-state=ready]")
        assert page.locator("#actions button").first.evaluate("button => button === document.activeElement")
    page.click("#undo")
    page.wait_for_selector("body[data-ply='2'][data-state=ready]")
    link = taken(page)
    assert link.endswith("#game=tic_tac_toe&seed=5&seats=person.person&moves=4.0")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("body[data-ply='2'][data-state=ready]")
    assert page.locator("#actions button").count() == 7
    page.wait_for_selector("body[data-pictured='2']")
    with page.expect_download() as download:
        page.click("#save")
    env = shared_env("tic_tac_toe")
    assert download.value.suggested_filename == "tic_tac_toe_2.svg"
    assert download.value.path().read_text() == svg_after(env, [4, 0], 0, 0)
    page.click("#back")
    page.wait_for_selector("body[data-pictured='1']")
    page.click("#branch")  # another game from there on
    page.wait_for_selector("body[data-ply='1'][data-state=ready]")
    assert taken(page).endswith("&moves=4")


@pytest.mark.skipif(AXE is None, reason="TENSOR_ENVS_AXE names no axe-core")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("dark", 390)])
def test_no_accessibility_rule_is_violated(page: Any, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    take(page, "tic_tac_toe")
    page.wait_for_selector("body[data-state=ready], body[data-state=over]")
    assert violations(page) == []


def taken(page: Any) -> str:
    """Copy the link, and return it."""
    page.click("#link")
    until(page, "document.querySelector('#link').textContent !== 'Copy link'")
    url: str = page.url
    return url
