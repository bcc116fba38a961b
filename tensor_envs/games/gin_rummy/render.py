"""Positions of gin rummy as text and as drawings."""

from collections.abc import Sequence

from tensor_envs.games._kit import cards
from tensor_envs.games.gin_rummy.melds import CARDS, RANKS
from tensor_envs.games.gin_rummy.notation import (
    CARD_NAMES,
    PHASES,
    action_to_string,
    fields_of,
    knocker_of,
    meld_cards,
    names_of,
    total,
)
from tensor_envs.games.gin_rummy.rules import HAND, GinRummy, HandPhase
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.moves import Game
from tensor_envs.render.status import counted, outcome, seats, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import open_actions

HIDDEN = "XX"  # a card that a player does not see
TASKS = (
    "may take the first upcard", "may take the first upcard", "draws from the stock", "draws", "discards",
    "may knock with the upcard", "discards after the knock", "lays melds", "lays off", "lays melds",
)  # fmt: skip
# pixels
LEFT = 14
CARD = (38, 52)
STEP = 42
WIDTH = 2 * LEFT + (HAND + 1) * STEP - 4
SEAT = 116  # height of a hand and its melds
PILES = 2 * SEAT + 12
BUTTON = (88, 24)
IN_ROW = 5  # buttons
IN_LINE = 14  # cards on the table
HEIGHT = PILES + 222
SECOND_FILL = "#6d9eeb"  # cards of player 1 in small pictures


def is_over(game: Game) -> bool:
    """Return whether a hand has ended."""
    return bool(game["phase"] == "over")


def phase_of(game: Game) -> int:
    """Return the number of a position's phase."""
    return PHASES.index(game["phase"])


def seen_by(rules: GinRummy, game: Game, player: int) -> Game:
    """Return the game with the unknown cards of the opponent hidden, unless a knock has opened them (G14)."""
    phase = phase_of(game)
    other = 1 - player
    if phase >= HandPhase.LAYOFF or (phase >= HandPhase.KNOCK and game["current_player"] == other):
        return game
    hands = [*game["hands"]]
    known = game["known"][other]
    hands[other] = known + [HIDDEN] * (len(hands[other]) - len(known))
    return game | {"hands": hands}


def deadwoods(game: Game) -> list[int]:
    """Return the sum of the cards in each hand."""
    return [total(cards) for cards in fields_of(game)["hands"]]


def points(rules: GinRummy, game: Game) -> tuple[int, int]:
    """Return the player who knocked, and what this player wins (G11)."""
    knocker = knocker_of(HandPhase.OVER, game["current_player"])
    values = deadwoods(game)
    margin = values[1 - knocker] - values[knocker] + (0 if values[knocker] else rules.gin_bonus)
    return knocker, margin - (rules.undercut_bonus if margin < 0 else 0)


def reason(rules: GinRummy, game: Game) -> str:
    """Return why a hand has ended (G6, G11)."""
    if not any(game["laid"]):
        return "nobody has knocked"
    knocker, won = points(rules, game)
    values = deadwoods(game)
    kind = "an undercut" if won < 0 else "a knock" if values[knocker] else "gin"
    return f"{kind}, with a deadwood of {values[knocker]} against {values[1 - knocker]}"


def status(rules: GinRummy, game: Game) -> str:
    """Return the player to move and the task, or the result."""
    names = seats(2)
    if not is_over(game):
        return to_move(game, names[game["current_player"]], TASKS[phase_of(game)])
    if not any(game["laid"]):
        return outcome(names, None, reason(rules, game))
    knocker, won = points(rules, game)
    winner = names[knocker if won > 0 else 1 - knocker]
    return f"{f'{winner} wins {abs(won)}' if won else 'a draw'}: {reason(rules, game)}"


def stock_size(game: Game) -> int:
    """Return the number of cards in the stock."""
    laid = sum(len(meld) // 2 for melds in game["laid"] for meld in melds)
    hands = sum(map(len, game["hands"]))
    return CARDS - hands - laid - len(game["discards"]) - len(game["layoffs"]) - (game["upcard"] != "")


def table(game: Game) -> str:
    """Return a line with the stock, the upcard and the most deadwood of a knock."""
    stock = f"{counted(stock_size(game), 'card')} in the stock"
    return f"{stock}, upcard {game['upcard'] or 'none'}, knock with at most {game['knock_card']}"


def to_string(rules: GinRummy, game: Game) -> str:
    """Return the hands and melds, the table, the discards, and the status."""
    lines = list[str]()
    for seat, (name, hand) in enumerate(zip(seats(2), game["hands"], strict=True)):
        lines.append(f"{name}: {' '.join(hand) or 'no card'}")
        lines += [f"  melds {' '.join(game['laid'][seat])}"] if game["laid"][seat] else []
        known = game["known"][seat]
        lines += [f"  known to the opponent: {' '.join(known)}"] if known else []
    lines += [table(game), f"discards: {' '.join(game['discards']) or 'none'}"]
    lines += [f"laid off: {' '.join(game['layoffs'])}"] if game["layoffs"] else []
    return "\n".join([*lines, status(rules, game)])


def draw(rules: GinRummy, game: Game) -> Drawing:
    """Draw both hands with their melds, the table, and a button for each action without a place there."""
    picture = Drawing(WIDTH, HEIGHT, cards.CLOTH, title="Gin rummy")
    actions = known_actions(rules, game)
    for seat in (0, 1):
        draw_hand(picture, game, seat, [action for action in actions if action < CARDS])
    # The stock and the upcard are buttons themselves.
    piles = {"draw_stock": HIDDEN, "draw_upcard": game["upcard"]}
    for k, (name, card) in enumerate(piles.items()):
        if card:
            draw_card(picture, LEFT + k * STEP, PILES, card)
        if (action := rules.actions[name].start) in actions:
            picture.area(box(LEFT + k * STEP, PILES, *CARD), action)
    names = ["discards:", *game["discards"], *(["laid off:", *game["layoffs"]] if game["layoffs"] else [])]
    rows = [" ".join(names[k : k + IN_LINE]) for k in range(0, len(names), IN_LINE)]
    for k, line in enumerate([table(game), *rows]):
        picture.text((LEFT + 2 * STEP + 4, PILES + 6 + 16 * k), line, 12, cards.PALE, "start")
    others = [action for action in actions if action >= rules.actions["finish"].start]
    for k, action in enumerate(others):
        x = LEFT + k % IN_ROW * (BUTTON[0] + 4)
        y = PILES + 66 + k // IN_ROW * (BUTTON[1] + 3)
        picture.rect(x, y, *BUTTON, cards.FACE, cards.INK)
        picture.text((x + BUTTON[0] / 2, y + BUTTON[1] / 2), action_to_string(rules, action), 13, cards.INK)
        picture.area(box(x, y, *BUTTON), action)
    picture.text((WIDTH / 2, HEIGHT - 16), status(rules, game), 14, cards.PALE, bold=True)
    return picture


def draw_hand(picture: Drawing, game: Game, seat: int, actions: Sequence[int]) -> None:
    """Draw a player's cards and melds. actions: cards that the player to move may discard or lay off."""
    y = seat * SEAT
    moves = seat == game["current_player"]
    picture.text((LEFT, y + 16), seats(2)[seat], 13, cards.PALE, "start", bold=moves)
    for k, card in enumerate(game["hands"][seat]):
        x = LEFT + k * STEP
        draw_card(picture, x, y + 28, card)
        if moves and card != HIDDEN and (action := CARD_NAMES.index(card)) in actions:
            picture.area(box(x, y + 28, *CARD), action)
    picture.text((LEFT, y + 94), " ".join(game["laid"][seat]), 13, cards.PALE, "start")


def known_actions(rules: GinRummy, game: Game) -> list[int]:
    """Return the legal actions; none where the hand of the player to move is hidden."""
    fields = fields_of(game) | {name: game[name] for name in ("knock_card", "current_player")}
    is_hidden = HIDDEN in game["hands"][game["current_player"]]
    return [] if is_hidden else open_actions(rules, game, fields | {"terminated": is_over(game)})


def draw_card(picture: Drawing, x: float, y: float, card: str) -> None:
    """Draw a card by its name."""
    picture.rect(x, y, *CARD, cards.BACK if card == HIDDEN else cards.FACE, cards.INK)
    text = "?" if card == HIDDEN else card
    colour = cards.SUIT_COLOURS.get(card[-1], cards.INK)
    picture.text((x + CARD[0] / 2, y + CARD[1] / 2), text, 18, colour, bold=True)


def explain(rules: GinRummy, game: Game, action: int) -> str:
    """Return what an action does in its phase (G4 to G10)."""
    name = action_to_string(rules, action)
    phase = phase_of(game)
    if name in meld_cards():
        return f"lay the meld {' '.join(names_of(meld_cards()[name]))}"
    if name == "Draw upcard":
        return f"take {game['upcard']}"
    if name == "Pass":
        ends = {PHASES[HandPhase.MELD]: "lay no more melds", PHASES[HandPhase.LAYOFF]: "lay off no more cards"}
        return ends.get(game["phase"], "pass")
    if name == "Knock":
        return f"end the hand with a deadwood of at most {game['knock_card']}"
    if name == "Draw stock":
        return "draw from the stock"
    return f"{'lay off' if phase == HandPhase.LAYOFF else 'discard'} {name}"


def tile(rules: GinRummy) -> Tile:
    """Return all cards as a small picture, a row for each suit: those of either hand, and discards."""
    pixels = list[Pixel]()
    for card in range(CARDS):
        places = (StateBits("hands", 0, card, 1), StateBits("hands", 1, card, 1), StateBits("discards", 0, card, 1))
        colours = (cards.CLOTH, cards.FACE, SECOND_FILL, cards.CLOTH, cards.INK, *[cards.CLOTH] * 3)
        pixels.append(Pixel(colours, places))
    return Tile(RANKS, (pixels,))
