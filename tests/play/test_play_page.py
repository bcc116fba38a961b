"""The page of tensor_envs.play in a real browser: whole games of every game are clicked through."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.web.example import DARK, example
from tensor_envs.web.variants import VARIANTS, variant
from tests.web.shown import prompt_of

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
  const clicks = { areas: 0, targets: 0, buttons: 0, choices: 0, curtains: 0 };
  for (;;) {
    await settled();
    if (state() === "over") return clicks;
    if (state() === "error") throw new Error(document.getElementById("error").textContent);
    let kind = "buttons", from = [...document.querySelectorAll("#actions button")];
    const areas = [...document.querySelectorAll("#picture path.legal")];
    if (state() === "covered") {
      if (areas.length || from.length) throw new Error("something can be clicked behind the curtain");
      [kind, from] = ["curtains", [document.querySelector("#curtain button")]];
    } else if (!document.getElementById("choice").hidden) {
      [kind, from] = ["choices", [...document.querySelectorAll("#choice button:not(.close)")]];
    } else if (document.querySelector("#picture path.target")) {
      [kind, from] = ["targets", [...document.querySelectorAll("#picture path.target")]];
    } else if (areas.length && random(4)) [kind, from] = ["areas", areas];
    if (!from.length) throw new Error("nothing can be clicked");
    clicks[kind] += 1;
    from[random(from.length)].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }
}"""

# ids whose pictures choose a move by its start, then by its end
MOVERS = {"backgammon", "breakthrough", "checkers", "chess", "clobber"}
MOVERS |= {"lines_of_action", "nine_mens_morris", "three_will"}
GAMES: dict[str, list[str]] = {  # every id once, with its players
    "tic_tac_toe": [PERSON, PERFECT],
    "cube": [PERSON, PERSON],
    "qubic": [PERSON, RANDOM],
    "gomoku": [PERSON, RANDOM],
    "connect_four": [PERSON, RANDOM],
    "othello": [PERSON, RANDOM],
    "ultimate_tic_tac_toe": [PERSON, RANDOM],
    "kalah": [PERSON, RANDOM],
    "oware": [PERSON, RANDOM],
    "breakthrough": [PERSON, RANDOM],
    "clobber": [PERSON, RANDOM],
    "lines_of_action": [PERSON, RANDOM],
    "kuhn_poker": [PERSON, RANDOM],
    "leduc_poker": [PERSON, RANDOM],
    "texas_holdem": [PERSON, RANDOM],
    "hanabi": [PERSON, RANDOM],
    "2048": [PERSON],
    "backgammon": [PERSON, RANDOM],
    "chess": [PERSON, RANDOM],
    "checkers": [PERSON, RANDOM],
    "dots_and_boxes": [PERSON, RANDOM],
    "amazons": [PERSON, RANDOM],
    "nine_mens_morris": [PERSON, RANDOM],
    "quoridor": [PERSON, RANDOM],
    "hex": [PERSON, RANDOM],
    "y": [PERSON, RANDOM],
    "havannah": [PERSON, RANDOM],
    "yahtzee": [PERSON],
    "liars_dice": [PERSON, RANDOM],
    "dark_hex": [PERSON, RANDOM],
    "phantom_tic_tac_toe": [PERSON, RANDOM],
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
    page.goto(f"{url}#tic_tac_toe")
    page.wait_for_selector(TURN)
    yield page
    page.close()
    assert complaints == [], complaints


def begin(page: Any, game: str, seats: list[str], seed: int = 1) -> None:
    page.select_option("#game", game)  # which begins one
    page.wait_for_selector("body:is([data-state=ready], [data-state=covered])")
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
    assert re.match(r"([\w ,]+ (wins|share the win)|A draw|The game is over)[.:]", result) and result.endswith(".")
    assert ply(page) > (1 if game == "kuhn_poker" else 4)
    assert page.locator("#status.result").count() == 1
    assert page.locator("#actions button").count() == page.locator("#picture path").count() == 0
    assert clicks["areas"] + clicks["choices"] > 0 and clicks["buttons"] > 0
    assert (clicks["curtains"] > 0) == (game.startswith("tensor_stars") and seats.count(PERSON) > 1)
    if PERFECT in seats:
        name = "X" if game == "tic_tac_toe" else f"Player {seats.index(PERSON) + 1}"
        assert not result.startswith(f"{name} wins")  # tic-tac-toe is a draw, both Sheds are lost
    assert (clicks["targets"] > 0) == (VARIANTS[game].id in MOVERS)
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
    for ply, action in enumerate((4, 0)):
        page.locator(f"#picture path[data-actions='{action}']").click()
        page.wait_for_selector(f"body[data-pictured='{ply + 1}']")
    for actions in ([4, 0], [4]):
        game = te.record(te.make("tic_tac_toe"), actions)
        expected = te.text.prompt(te.replay(game), history=game)
        page.wait_for_selector(f"body[data-pictured='{len(actions)}']")
        assert prompt_of(page) == expected
        page.click("#copy")
        page.wait_for_selector("#copy:has-text('Copied')")
        assert page.evaluate("navigator.clipboard.readText()") == expected
        page.click("#back")


def open_table(page: Any, url: str, **table: Any) -> None:
    """Open a table of these actions by the server's interface, and look at it."""
    page.goto("about:blank")
    table = {"seats": [PERSON, PERSON], "seed": 0, "actions": [], **table}
    answer = page.request.post(f"{url}api/tables", data=table)
    assert answer.ok, answer.text()
    page.goto(f"{url}#table={answer.json()['table']}")
    pictured = f"body[data-state=ready][data-pictured='{len(table['actions'])}']"
    page.wait_for_selector(f"{pictured}, body[data-state=covered]")
    if page.locator("#curtain").is_visible():
        page.click("text=Show the cards")
    page.wait_for_selector(pictured)


def free_card() -> list[int]:
    """Return the actions of a game of Three Will, seed 0, that lead to a question about a Free card."""
    env = te.make("three_will")
    state, actions = env.init(1, 0), list[int]()
    while not state.legal_action_mask[0, 25].item():
        actions.append(int(te.agents.uniform(state).item()))
        state = env.step(state, actions[-1:])
    return actions


def test_a_click_that_stands_for_several_actions_opens_a_choice(page: Any, url: str) -> None:
    """In Three Will the Free card's area stands for all legal actions, pass and free card."""
    actions = free_card()
    open_table(page, url, game="three_will", actions=actions)
    area, choice = page.locator("#picture path.legal"), page.locator("#choice button")
    assert area.count() == 1 and page.locator("#choice").is_hidden()
    area.click()
    texts = ["Pay a Free card and roll again", "Keep the card and end the turn", "Cancel"]  # without names of actions
    assert choice.all_inner_texts() == texts and ply(page) == len(actions)
    page.keyboard.press("Escape")
    assert page.locator("#choice").is_hidden()
    area.press("Enter")
    choice.nth(2).click()
    assert page.locator("#choice").is_hidden() and ply(page) == len(actions)
    area.click()
    choice.nth(0).click()
    page.wait_for_selector(f"body[data-ply='{len(actions) + 1}'][data-state=ready]")
    assert page.locator("#moves li").first.inner_text().endswith("pay a Free card and roll again")


def test_a_piece_is_chosen_and_then_its_end(page: Any, url: str) -> None:
    """The squares where a chosen piece may go are marked; a pawn's promotion is chosen on the board."""
    moves = ["a2a4", "h2h4", "a4a5", "h4h5", "a5a6", "h5h6", "a6b7", "h6g7"]
    names = te.make("chess").action_names
    open_table(page, url, game="chess", actions=[names.index(name) for name in moves])
    targets, seventh = page.locator("#picture path.target"), page.locator("#picture path.selected")
    page.locator(
        "#picture path.start[aria-label='b7a8b, b7a8n, b7a8q, b7a8r'], #picture path.start[aria-label*='b7a8']"
    ).first.click()
    assert targets.count() == 2 and seventh.count() == 1 and ply(page) == len(moves)
    seventh.click()
    assert targets.count() == seventh.count() == 0
    page.locator("#picture path.start[aria-label*='b7a8']").first.dblclick()
    assert targets.count() == 2
    targets.first.click()
    offered = page.locator("#choice button small").all_inner_texts()
    assert [text.rpartition(" ")[2] for text in offered] == ["queen", "knight", "bishop", "rook"]
    assert page.locator("#choice button i").all_inner_texts() == ["♛", "♞", "♝", "♜"]
    page.locator("#choice button", has_text="becomes a knight").click()
    page.wait_for_selector(f"body[data-ply='{len(moves) + 1}'][data-state=ready]")


@pytest.mark.parametrize("seats", [[PERSON, PERSON], [PERSON, RANDOM]], ids=["persons", "computer"])
def test_a_double_click_plays_one_action(page: Any, url: str, seats: list[str]) -> None:
    """The second click of a double click plays nothing, by a button or by the picture, and the table goes on."""
    open_table(page, url, game="hex", seats=seats)
    turn = len(set(seats))  # plies of a round
    for part in ("#actions button", "#picture path.legal"):
        for _ in range(3):
            before = ply(page)
            page.locator(part).nth(5).dblclick()
            page.wait_for_selector(f"body[data-ply='{before + turn}'][data-state=ready]")
            page.wait_for_timeout(100)
            assert ply(page) == before + turn and page.locator("#error").is_hidden()
    before = ply(page)  # two different actions at once: the first one counts
    page.evaluate(
        "(() => { const all = document.querySelectorAll('#actions button'); all[0].click(); all[1].click(); })()"
    )
    page.wait_for_selector(f"body[data-ply='{before + turn}'][data-state=ready]")
    page.wait_for_timeout(100)
    assert ply(page) == before + turn and page.locator("#error").is_hidden()


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
    held[0].continue_()
    page.wait_for_selector(TURN)


def test_a_hint_shows_that_it_works(page: Any, url: str) -> None:
    open_table(page, url, game="kalah")
    held = list[Any]()
    page.route("**/hint/*", lambda route: route.continue_() if held else held.append(route))
    page.click("#hint")
    page.wait_for_selector("#advice:has-text('Searching ...')")
    assert page.locator("#hint").is_disabled()
    held[0].continue_()
    page.wait_for_selector("#advice:has-text('Best: ')")
    page.wait_for_selector("#worth:has-text(', estimated by random games')")


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


def test_a_phone(page: Any, url: str) -> None:
    """The board fills the width, only a picture with small parts is scrolled, and what is secondary is folded away."""
    page.set_viewport_size({"width": 390, "height": 844})
    for game in ("go", "tensor_equilibrium_2", "tensor_stars", "three_will", "shed_14"):
        open_table(page, url, game=game)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert (page.evaluate("document.getElementById('picture').scrollWidth") > 390) == (game == "shed_14")
        assert page.locator("#picture").bounding_box()["width"] == 390
        assert not page.evaluate("document.getElementById('tools').open")
    open_table(page, url, game="go")
    assert not page.evaluate("document.getElementById('listed').open")  # the board reaches every action


# pixels of the smallest text in the picture
SMALLEST = """() => {
  const svg = document.querySelector("#picture svg"), scale = svg.getScreenCTM().a;
  return Math.min(...[...svg.querySelectorAll("text")].map((text) => scale * text.getAttribute("font-size")));
}"""


@pytest.mark.parametrize("game", ["tensor_equilibrium_2", "tensor_stars", "three_will"])
def test_text_is_legible_beside_the_moves(page: Any, url: str, game: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    open_table(page, url, game=game)
    assert page.evaluate(SMALLEST) >= 10.9


PARTS = """() => Math.min(...[...document.querySelectorAll("#picture path.legal")].map((area) => {
  const { width, height } = area.getBoundingClientRect();
  return Math.min(width, height);
}))"""


@pytest.mark.few("gomoku", "quoridor", "tensor_equilibrium_2", "tensor_stars")
@pytest.mark.parametrize("game", sorted(GAMES))
def test_a_phone_shows_text_and_parts_of_a_size(page: Any, url: str, game: str) -> None:
    """No text has less than 11 pixels, no part less than 24, and a board is nearly as wide as the page."""
    page.set_viewport_size({"width": 390, "height": 844})
    open_table(page, url, game=game, seats=[PERSON] * len(GAMES[game]))
    assert page.evaluate(SMALLEST) >= 10.9
    assert page.evaluate(PARTS) >= 23.9
    wide = """() => {
      const all = [...document.querySelectorAll("#picture path.legal")].map((area) => area.getBoundingClientRect());
      return Math.max(...all.map(({ right }) => right)) - Math.min(...all.map(({ left }) => left));
    }"""
    if game in ("tic_tac_toe", "gomoku", "dots_and_boxes"):
        assert page.evaluate(wide) > 300


def test_pictures_are_dark_in_the_dark(page: Any, url: str) -> None:
    """Paper is dark and labels on it light, without a filter, at a table and on the first screen."""
    page.emulate_media(color_scheme="dark")
    look = """() => ["svg > rect", "svg > text:last-of-type"].map((part) =>
      Math.max(...getComputedStyle(document.querySelector(`#picture ${part}`)).fill.match(/\\d+/g).map(Number)))"""
    for game in ("tic_tac_toe", "kuhn_poker", "backgammon", "2048", "three_will"):
        open_table(page, url, game=game, seats=[PERSON] * (1 if game == "2048" else 2))
        paper, label = page.evaluate(look)
        assert paper < 80 and (label > 200 or game == "kuhn_poker"), game  # whose last one is on a card
        assert page.evaluate("getComputedStyle(document.querySelector('#picture svg')).filter") == "none"
    page.goto(url)
    page.wait_for_selector("#cards a")
    corner = """async () => {
      const image = document.querySelector("#cards a[href$='three_will'] img");
      const canvas = document.createElement("canvas");
      image.loading = "eager";
      await image.decode();
      canvas.getContext("2d").drawImage(image, 0, 0);
      return Math.max(...canvas.getContext("2d").getImageData(2, 2, 1, 1).data.slice(0, 3));
    }"""
    assert page.evaluate(corner) < 80


def test_every_game_has_a_picture_for_the_dark() -> None:
    """A picture has a dark paper if the sheet of dark colours has a rule for its paper."""
    papers = {re.search(r'<rect [^>]*fill="(#\w+)"', example(variant(name)[1]))[1] for name in VARIANTS}  # type: ignore[index]
    assert {paper for paper in papers if f'[fill="{paper}"]' not in DARK.read_text()} == set() and len(papers) > 5


def test_men_of_backgammon_are_pressed(page: Any, url: str) -> None:
    """A point with own men marks the points and the tray where they go, and the dice are drawn."""
    open_table(page, url, game="backgammon", seed=1)
    faces = page.evaluate(
        "[...document.querySelectorAll('#picture svg circle')].filter((one) => one.r.baseVal.value < 6).length"
    )
    env = te.make("backgammon")
    assert faces == sum(env.state_to_dict(env.init(1, 1))["dice"])
    start, action = next((name.split("/")[0], number) for number, name in env.legal_actions(env.init(1, 1)).items())
    page.locator(f"#picture path.start[data-actions~='{action}']").click()
    assert page.locator("#picture path.target").count() >= 1 and ply(page) == 0
    page.locator(f"#picture path.target[data-targets~='{action}']").click()
    page.wait_for_selector("body[data-ply='1']")
    assert page.locator("#moves li").first.inner_text().split()[-1].startswith(f"{start}/")


def test_dice_are_held_and_thrown(page: Any, url: str) -> None:
    """A press holds a die, another releases it; the button throws the others, and nothing if all are held."""
    open_table(page, url, game="yahtzee", seats=[PERSON], seed=1)
    dice = page.locator("#picture path[data-toggle]")
    throw = page.locator("#picture path[data-label^='throw']")
    assert dice.count() == 5 and page.locator("#picture path.legal").count() == 5 + 1 + 13
    for k in range(5):
        dice.nth(k).click()
    throw.click()
    assert ply(page) == 0 and page.locator("#choice").is_hidden()
    dice.nth(1).click()
    dice.nth(3).press("Enter")
    assert [dice.nth(k).get_attribute("aria-pressed") for k in range(5)] == ["true", "false", "true", "false", "true"]
    throw.click()
    page.wait_for_selector("body[data-ply='1'][data-state=ready]")
    assert page.locator("#moves li").first.inner_text().endswith("reroll 2 4")


def test_a_piece_of_chess_is_dragged(page: Any, url: str) -> None:
    """A pawn follows the pointer. Off its targets it returns; the list has pairs of moves in algebraic notation."""
    open_table(page, url, game="chess")
    names = te.make("chess").legal_actions(te.make("chess").init(1))
    action = next(number for number, name in names.items() if name == "e2e4")
    start = page.locator(f"#picture path.start[data-actions~='{action}']").bounding_box()
    x, y, side = start["x"] + start["width"] / 2, start["y"] + start["height"] / 2, start["width"]
    moved = "document.querySelectorAll('#picture svg [transform]').length"
    for squares in (3, 2):
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y - squares * side, steps=4)
        assert page.evaluate(moved) == 2  # the body and the head of a pawn
        page.mouse.up()
        assert page.evaluate(moved) == 0
    page.wait_for_selector("body[data-ply='1'][data-state=ready]")
    page.locator("#actions button", has_text="g8f6").click()
    page.wait_for_selector("body[data-ply='2'][data-state=ready]")
    page.locator("#actions button", has_text="b1c3").click()
    page.wait_for_selector("body[data-ply='3'][data-state=ready]")
    assert [text.split() for text in page.locator("#moves li").all_inner_texts()] == [
        ["1.", "e4", "Nf6"],
        ["2.", "Nc3"],
    ]


def test_walls_of_quoridor_are_hit(page: Any, url: str) -> None:
    """Beside the middle of a wall a level one is pressed, above it an upright one, and the wall is shown before."""
    open_table(page, url, game="quoridor")
    mark = page.locator("#picture path[aria-label='e3h'] + .mark")
    middle = mark.bounding_box()
    x, y = middle["x"] + middle["width"] / 2, middle["y"] + middle["height"] / 2
    for dx, dy, name in ((-12, 0, "e3h"), (12, 3, "e3h"), (3, 12, "e3v"), (0, -12, "e3v")):
        page.mouse.move(x + dx, y + dy)
        assert page.locator("#picture path.legal:hover").get_attribute("aria-label") == name
    page.mouse.click(x + 12, y)
    page.wait_for_selector("body[data-ply='1']")
    assert page.locator("#moves li").first.inner_text().endswith("e3h")


def test_arrow_keys_walk_over_the_board(page: Any, url: str) -> None:
    """From a part of the board arrows go to its neighbours, else through the moves; a board is one stop of Tab."""
    open_table(page, url, game="tic_tac_toe", actions=[4])
    named = "document.activeElement.getAttribute('aria-label')"
    assert page.locator("#picture path[tabindex='0']").count() == 1
    page.locator("#picture path[aria-label='(0,0)']").focus()
    seen = []
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        seen.append(page.evaluate(named))
    assert seen == ["(0,1)", "(2,1)", "(2,2)", "(1,2)", "(1,0)", "(1,0)", "(1,0)"]
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-pictured='2']")
    page.locator("#undo").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("body[data-pictured='1']")


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
