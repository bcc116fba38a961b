"""Tables opened and clicked in Chromium, for the tests of the play page."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
IN_CHROMIUM = [
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
MOVERS = {"backgammon", "breakthrough", "checkers", "chess", "clobber", "gardner_chess"}
MOVERS |= {"shogi", "minishogi", "animal_shogi", "xiangqi"}
MOVERS |= {"lines_of_action", "nine_mens_morris", "three_will", "chinese_checkers", "barrage_stratego"}
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
    "chinese_checkers": [PERSON, RANDOM],
    "kuhn_poker": [PERSON, RANDOM],
    "leduc_poker": [PERSON, RANDOM],
    "texas_holdem": [PERSON, RANDOM],
    "hanabi": [PERSON, RANDOM],
    "gin_rummy": [PERSON, RANDOM],
    "barrage_stratego": [PERSON, RANDOM],
    "2048": [PERSON],
    "backgammon": [PERSON, RANDOM],
    "chess": [PERSON, RANDOM],
    "gardner_chess": [PERSON, RANDOM],
    "shogi": [PERSON, RANDOM],
    "minishogi": [PERSON, RANDOM],
    "animal_shogi": [PERSON, RANDOM],
    "xiangqi": [PERSON, RANDOM],
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
