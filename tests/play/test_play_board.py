"""The board of the play page in a real browser: its parts are pressed and dragged, on screens of several sizes."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.web.example import DARK, example
from tensor_envs.web.variants import VARIANTS, variant
from tests.play.clicking import GAMES, IN_CHROMIUM, PERSON, RANDOM, open_table, ply
from tests.web.shown import until

pytestmark = IN_CHROMIUM


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


def test_a_phone_that_is_turned_has_another_picture(page: Any, url: str) -> None:
    """The narrow picture takes the place of the wide one at once, and its parts are pressed."""
    width = "document.querySelector('#picture svg').viewBox.baseVal.width"
    page.set_viewport_size({"width": 390, "height": 844})
    open_table(page, url, game="tensor_stars")
    narrow = page.evaluate(width)
    parts = page.locator("#picture path.legal").count()
    page.set_viewport_size({"width": 844, "height": 390})
    until(page, f"{width} > {narrow}")
    assert page.locator("#picture path.legal").count() == parts > 0
    page.set_viewport_size({"width": 390, "height": 844})
    until(page, f"{width} === {narrow}")
    page.locator("#picture path.legal").first.dispatch_event("click")
    page.wait_for_selector("body[data-ply='1']")


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
    open_table(page, url, game="cube")  # the layers of a board, with their lines
    layer = "getComputedStyle(document.querySelector('#picture svg > polygon')).fill"
    assert page.evaluate(layer) == "rgb(43, 53, 66)"
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
