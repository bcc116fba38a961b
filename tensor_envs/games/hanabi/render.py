"""Positions of Hanabi as text and as drawings."""

from tensor_envs.games._kit import cards
from tensor_envs.games.hanabi.notation import COLORS, UNKNOWN, action_to_string, hint_of, is_over, letters_of
from tensor_envs.games.hanabi.rules import Hanabi
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.moves import Game
from tensor_envs.render.status import counted, seats, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile

HIDDEN = 2 * UNKNOWN  # a card that its owner does not see
NAMES = ("red", "yellow", "green", "white", "blue")
FILLS = dict(zip(COLORS, ("#e06666", "#f1c232", "#6aa84f", "#f3f3f3", "#6d9eeb"), strict=True))
# pixels
WIDTH = 416
LEFT = 16
CARD = 72
STEP = 78
CHIP = 39
TOP = 94
ROW = 126  # height of a player's hand with the buttons below it
FOOT = 96
IN_LINE = 14  # discards
LEGEND = "hands, the oldest card first: card || named by hints|colours and ranks that hints allow"


def is_lost(game: Game) -> bool:
    """Return whether no life token is left."""
    return bool(game["life_tokens"] == 0)


def seen_by(rules: Hanabi, game: Game, player: int) -> Game:
    """Return the game without the cards in a player's own hand until the end; hints about them stay."""
    if is_over(rules, game):
        return game
    hands = [*game["hands"]]
    hands[player] = [HIDDEN + text[len(HIDDEN) :] for text in hands[player]]
    return game | {"hands": hands}


def score(rules: Hanabi, game: Game) -> int:
    """Return the points so far (H9)."""
    return 0 if is_lost(game) and not rules.keep_score else int(sum(game["fireworks"]))


def reason(rules: Hanabi, game: Game) -> str:
    """Return why a game has ended (H8, H9)."""
    if is_lost(game):
        return "no life token is left"
    return "all cards that count were played" if sum(game["fireworks"]) == rules.cards else "the last turns are over"


def status(rules: Hanabi, game: Game) -> str:
    """Return the player to move, or the score."""
    if is_over(rules, game):
        return f"{counted(score(rules, game), 'point')} for all: {reason(rules, game)}"
    return to_move(game, seats(rules.players)[game["current_player"]])


def table(rules: Hanabi, game: Game) -> list[str]:
    """Return lines with the tokens, and with the size of the deck or the turns that are left."""
    gone = sum(map(len, game["hands"])) + len(game["discards"]) + sum(game["fireworks"])
    left = f"{counted(rules.deck_size - gone, 'card')} in the deck"
    if gone == rules.deck_size:
        left = f"the deck is empty: {counted(game['turns'], 'turn')} left"
    return [f"information tokens {game['information_tokens']}, life tokens {game['life_tokens']}", left]


def last_action(rules: Hanabi, game: Game) -> list[str]:
    """Return a line with the action before the position, or none at the start and the end (H11)."""
    if game["last_action"] < 0 or is_over(rules, game):
        return []
    actor = seats(rules.players)[(game["current_player"] - 1) % rules.players]
    parts = [f"last action: {actor}, {action_to_string(rules, game['last_action'])}"]
    parts += [game["last_card"]] if game["last_card"] else []
    parts += ["which scored"] if game["scored"] else []
    parts += ["and gave an information token back"] if game["regained"] else []
    return [", ".join(parts)]


def to_string(rules: Hanabi, game: Game) -> str:
    """Return the fireworks, tokens, discards and last action, the hands as OpenSpiel writes them, and the status."""
    heights = " ".join(f"{color}{height}" for color, height in zip(COLORS, game["fireworks"], strict=False))
    discards = " ".join(game["discards"]) or "none"
    hands = [f"{name}: {', '.join(hand)}" for name, hand in zip(seats(rules.players), game["hands"], strict=True)]
    lines = [f"fireworks {heights}", *table(rules, game), f"discards {discards}", *last_action(rules, game)]
    return "\n".join([*lines, LEGEND, *hands, status(rules, game)])


def hint(rules: Hanabi, game: Game, action: int) -> tuple[int, str, list[int]]:
    """Return a hint's receiver, its colour or rank, and the positions of the cards that it touches."""
    turns, letter = hint_of(rules, action)
    receiver = (game["current_player"] + turns) % rules.players
    return receiver, letter, [k for k, text in enumerate(game["hands"][receiver]) if letter in text[: len(HIDDEN)]]


def draw(rules: Hanabi, game: Game) -> Drawing:
    """Draw the fireworks, the discards and each hand, with buttons below it for plays and discards or for hints."""
    letters = letters_of(rules)
    picture = Drawing(WIDTH, TOP + rules.players * ROW + FOOT, cards.CLOTH, title="Hanabi")
    # The table: a place for each colour, even if no card of it was played.
    for k, (color, height) in enumerate(zip(COLORS, game["fireworks"], strict=False)):
        card_at(picture, LEFT + k * STEP, 12, 34, f"{color}{height}", FILLS[color] if height else cards.CLOTH)
    cards.draw_lines(picture, table(rules, game), 62, 16, 13)
    # A row for each hand. A hidden card shows what hints have named of it, so that its owner need not remember.
    over = is_over(rules, game) or bool(game.get("terminated"))
    for seat, (name, hand) in enumerate(zip(seats(rules.players), game["hands"], strict=True)):
        y = TOP + seat * ROW
        picture.text((LEFT, y + 8), name, 13, cards.PALE, "start", bold=seat == game["current_player"])
        for k, text in enumerate(hand):
            card, _, about = text.partition(" || ")
            told, _, possible = about.partition("|")
            x = LEFT + k * STEP
            shown = told.replace(UNKNOWN, "?") if card == HIDDEN else card
            card_at(picture, x, y + 18, 40, shown, FILLS.get(card[0], cards.BACK))
            picture.text((x + CARD / 2, y + 67), "any" if possible == letters else possible, 12, cards.PALE)
            if seat == game["current_player"] and not over:
                button(picture, x, y + 77, CARD, "play", rules.size + k)
                if game["information_tokens"] < rules.information_tokens:
                    button(picture, x, y + 97, CARD, "discard", k)
    # Hints stand below the hand of their receiver, each at its own place, so that it is found again.
    for action in range(2 * rules.size, rules.actions.count):
        receiver, letter, touched = hint(rules, game, action)
        if touched and game["information_tokens"] and not over:
            x = LEFT + letters.index(letter) * CHIP
            button(picture, x, TOP + receiver * ROW + 77, CHIP - 4, letter, action)
    discards = ["discards:", *(game["discards"] or ["none"])]
    lines = [" ".join(discards[k : k + IN_LINE]) for k in range(0, len(discards), IN_LINE)]
    cards.draw_lines(picture, lines, picture.height - FOOT + 10, 15)
    picture.text((WIDTH / 2, picture.height - 14), status(rules, game), 14, cards.PALE, bold=True)
    return picture


def card_at(picture: Drawing, x: float, y: float, height: float, text: str, fill: str) -> None:
    """Draw a card."""
    picture.rect(x, y, CARD, height, fill, cards.INK)
    ink = cards.PALE if fill == cards.CLOTH else cards.INK  # pale on a colour of which no card is played
    picture.text((x + CARD / 2, y + height / 2), text, 20, ink, bold=True)


def button(picture: Drawing, x: float, y: float, width: float, text: str, action: int) -> None:
    """Draw a button for an action."""
    picture.rect(x, y, width, 18, FILLS.get(text, cards.FACE), cards.INK)
    picture.text((x + width / 2, y + 9), text, 12, cards.INK)
    picture.area(box(x, y, width, 18), action)


def scores(rules: Hanabi, game: Game) -> list[str]:
    """Return the points of all players."""
    return [counted(score(rules, game), "point")] * rules.players


def explain(rules: Hanabi, game: Game, action: int) -> str:
    """Return what a hint tells, or what the own hints say of a card that is played or discarded (H4, H5, H7)."""
    if action < 2 * rules.size:
        possible = game["hands"][game["current_player"]][action % rules.size].split("|")[-1]
        known = "any card" if possible == letters_of(rules) else f"one of {possible}"
        return f"{'play' if action >= rules.size else 'discard'} card {action % rules.size}, {known}"
    receiver, letter, touched = hint(rules, game, action)
    what = NAMES[COLORS.index(letter)] if letter in COLORS else letter
    return f"tell {seats(rules.players)[receiver]} which cards are {what}: {' '.join(map(str, touched))}"


def tile(rules: Hanabi) -> Tile:
    """Return the fireworks, from the lowest rank below to the highest, and the hands below them as a small picture."""
    width = max(rules.size, rules.colors)
    empty = Pixel((cards.CLOTH,))
    fills = [*FILLS.values()]
    rows = list[list[Pixel]]()
    for rank in reversed(range(rules.ranks)):
        heights = range(1 << rules.ranks.bit_length())
        columns = [tuple(fills[color] if h > rank else cards.CLOTH for h in heights) for color in range(rules.colors)]
        rows.append([Pixel(column, (StateBits("fireworks", color),)) for color, column in enumerate(columns)])
    values = range(1 << rules.cards.bit_length())
    faces = tuple(fills[card // rules.ranks] if card < rules.cards else cards.CLOTH for card in values)
    for first in range(0, rules.players * rules.size, rules.size):
        rows.append([Pixel(faces, (StateBits("hands", first + k),)) for k in range(rules.size)])
    return Tile(width, ([pixel for row in rows for pixel in row + [empty] * (width - len(row))],))
