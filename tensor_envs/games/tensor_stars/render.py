"""Text and SVG pictures of Tensor (stars): the board between the cards of Black and White.

A picture shows the whole state, face-down cards included. A picture for a player (`seen_by`) shows the backs of the
opponent's face-down cards.
"""

from __future__ import annotations

from math import cos, pi, sin
from textwrap import wrap
from typing import Any

from tensor_envs.games.tensor_stars.data import BLACK, CARDS, COLOURS, COMPASS, PIECES, TURNS, WHITE, Board, Card, Space
from tensor_envs.games.tensor_stars.notation import COMMIT, ORDER, OVER
from tensor_envs.games.tensor_stars.rules import StarsRules
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.status import outcome, seats, to_move
from tensor_envs.render.tile import Mark, Pixel, StateBits, Tile

SPOKEN = True
HIDDEN = CARDS  # in `commit`: a card that is hidden from the viewer
SIDES = ("Black", "White")
LETTERS = "RBY"

# pixels between spaces, around everything, of the line above
STEP = 64
MARGIN = 18
TITLE = 34
CARD_WIDTH = 54
CARD_HEIGHT = 62
GAP = 6
LEGEND = (
    "A card: its number, arrows, and how many spaces; and: in the order that you choose.",
    "R, B and Y: the pieces, and rings where they begin. A piece that ends on a Star wins.",
)
NARROW = 8  # pixels around everything in a narrow picture
STATUS_LINE, LEGEND_LINE = 46, 56  # letters of a line in a narrow picture
LEAST = 0.85  # pixels of a screen, below which cards cannot be read
SLOT = CARD_HEIGHT + 3 * GAP  # height of the placed cards, with space below
PANEL = 3 * CARD_WIDTH + 2 * GAP  # a player's side of the table
PAPER = "#f6f3ea"
INK = "#22252b"
LINE = "#2f3640"
PALE = "#b8b3a4"
CLOTH = "#e7e1d0"
PIECE_FILLS = ("#d1383d", "#2f6fc4", "#f0b429")
LETTER_FILLS = ("#ffffff", "#ffffff", "#1d1d1f")
STAR_FILLS = ("#3a3f47", "#fffdf6")
SHIRT = "#c9c2ae"  # fill of a face-down card


def status(rules: StarsRules, d: dict[str, Any]) -> str:
    """Return the next decision or the result."""
    names = players(rules, d)
    if d["phase"] == OVER:
        if d["winner"] < 0 and not d["truncated"]:
            return to_move({"terminated": True}, names[d["player"]])
        return outcome(names, d["winner"]) if d["winner"] >= 0 else outcome(names, None, "the limit of hands")
    colour = COLOURS[d["cursor"] // 2 if d["phase"] == ORDER else placed(d) % PIECES]
    what = "to choose an order for" if d["phase"] == ORDER else "to place a card for"
    out = " and ".join(COLOURS[piece] for piece, space in enumerate(d["pos"]) if space < 0)
    turn = f"hand {d['hands'] + 1}, turn {d['turn'] + 1} of {TURNS}"
    return f"{turn}: {names[d['player']]} {what} {colour}" + (f" ({out} out of play)" if out else "")


def named(d: dict[str, Any], player: int) -> str:
    """Return a player's colour, which may be drawn (G23)."""
    return SIDES[player ^ d["flip"]]


def placed(d: dict[str, Any]) -> int:
    """Return the number of cards placed in this turn."""
    return sum(card >= 0 for cards in d["commit"] for card in cards)


def player_of(d: dict[str, Any], side: int) -> int:
    """Return the player of a side."""
    player: int = side ^ d["flip"]
    return player


def face_up(d: dict[str, Any], piece: int) -> bool:
    """Return whether both cards of a piece are revealed (F5)."""
    return d["phase"] != COMMIT and placed(d) == 2 * PIECES and piece <= d["cursor"] // 2


def seen_by(rules: StarsRules, d: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the position for one player: the opponent's face-down cards count as cards in hand (G22)."""
    hand = [*d["hand"]]
    commit = [*d["commit"]]
    other = 1 - player
    hidden = {piece: card for piece, card in enumerate(commit[other]) if card >= 0 and not face_up(d, piece)}
    hand[other] = [int(held or card in hidden.values()) for card, held in enumerate(hand[other])]
    commit[other] = [HIDDEN if piece in hidden else card for piece, card in enumerate(commit[other])]
    return {**d, "hand": hand, "commit": commit}


# *** text ***


def to_string(rules: StarsRules, d: dict[str, Any]) -> str:
    """Return the board with pieces R, B, Y and Stars *, then both players' cards, face-down ones in brackets."""
    board = rules.board
    rows = []
    for y in range(board.height):
        rows.append("".join(text_of_space(board, d["pos"], (x, y)) for x in range(board.width)))
        downwards = (((x, y), (x, y + 1)) in board.joins for x in range(board.width))
        rows.append("".join("   |" if down else "    " for down in downwards))
    rows = [row.rstrip() for row in rows[:-1]]
    players = [text_of_player(rules, d, player_of(d, side)) for side in (BLACK, WHITE)]
    return "\n".join([status(rules, d), "", *rows, "", *players])


def text_of_space(board: Board, pos: list[int], space: Space) -> str:
    """Return the four characters of a space: the line to the west, a Star, and a piece."""
    index = board.index(space)
    if index not in board.spaces:
        return "    "
    west = ((space[0] - 1, space[1]), space) in board.joins
    star = index in board.star_indices(BLACK, WHITE)
    mark = LETTERS[pos.index(index)] if index in pos else "*" if star else "o"
    beside = "*" if star and index in pos else "-" if west else " "
    return ("--" if west else "  ") + beside + mark


def text_of_player(rules: StarsRules, d: dict[str, Any], player: int) -> str:
    """Return a player's placed cards, hand and points."""
    hand = " ".join(str(rules.deck[i].number) for i in range(CARDS) if d["hand"][player][i]) or "none"
    cards = []
    for piece, card in enumerate(d["commit"][player]):
        number = "-" if card < 0 else "?" if card == HIDDEN else str(rules.deck[card].number)
        cards.append(f"{COLOURS[piece]} {number if card < 0 or face_up(d, piece) else f'[{number}]'}")
    score = f"; points {d['points'][player]} of {rules.points_to_win}" if rules.points_to_win > 1 else ""
    return f"{named(d, player)}: {', '.join(cards)}; in hand {hand}{score}"


# *** drawing ***


def draw(rules: StarsRules, d: dict[str, Any]) -> Drawing:
    """Draw the board with Stars in their side's colour and rings at the starts, and each side's cards beside it."""
    board = rules.board
    board_width = STEP * board.width
    board_height = STEP * board.height
    hand_height = 4 * (CARD_HEIGHT + GAP)
    height = max(board_height, TITLE + SLOT + hand_height)
    picture = Drawing(
        2 * (PANEL + 2 * MARGIN) + board_width,
        TITLE + height + 2 * MARGIN + 20 * len(LEGEND),
        PAPER,
        title="Tensor (stars)",
        least=LEAST,
    )
    for line, text in enumerate(reversed(LEGEND)):
        picture.text((MARGIN, picture.height - MARGIN - 20 * line), text, 13, LINE, "start")
    picture.text((MARGIN, MARGIN + TITLE / 2 - 4), status(rules, d), 17, INK, "start", bold=True)
    corner = (PANEL + 2 * MARGIN, MARGIN + TITLE + (height - board_height) / 2)
    draw_board(picture, board, d, corner)
    for side in (BLACK, WHITE):
        left = MARGIN if side == BLACK else picture.width - MARGIN - PANEL
        draw_player(picture, rules, d, side, (left, MARGIN + TITLE + (height - SLOT - TITLE - hand_height) / 2))
    return picture


def draw_narrow(rules: StarsRules, d: dict[str, Any]) -> Drawing:
    """Draw the board above each side's cards."""
    board = rules.board
    board_width = STEP * board.width
    width = max(board_width, 2 * PANEL + NARROW) + 2 * NARROW
    above = wrap(status(rules, d), STATUS_LINE)
    legend = wrap(" ".join(LEGEND), LEGEND_LINE)
    top = MARGIN + 20 * len(above)
    cards = top + STEP * board.height + NARROW
    height = cards + TITLE + SLOT + 4 * (CARD_HEIGHT + GAP) + 20 * len(legend) + NARROW
    picture = Drawing(width, height, PAPER, title="Tensor (stars)")
    for line, text in enumerate(above):
        picture.text((NARROW, MARGIN + 20 * line), text, 15, INK, "start", bold=True)
    for line, text in enumerate(reversed(legend)):
        picture.text((NARROW, height - NARROW - 8 - 20 * line), text, 13, LINE, "start")
    draw_board(picture, board, d, ((width - board_width) / 2, top))
    for side in (BLACK, WHITE):
        draw_player(picture, rules, d, side, (NARROW if side == BLACK else width - NARROW - PANEL, cards))
    return picture


def players(rules: StarsRules, game: dict[str, Any] | None) -> list[str]:
    """Return the colours of the players, which may be drawn (G23)."""
    if game is None and rules.random_colours:
        return seats(2)
    return [named(game or {"flip": 0}, player) for player in (0, 1)]


def scores(rules: StarsRules, game: dict[str, Any]) -> list[str]:
    """Return the points of each player; empty texts where one point wins."""
    return [f"{n} of {rules.points_to_win} points" if rules.points_to_win > 1 else "" for n in game["points"]]


def reason(rules: StarsRules, game: dict[str, Any]) -> str:
    """Return the way in which the winner made the last point (F12)."""
    return "a piece has ended its movement on a Star" if game["winner"] >= 0 else ""


def explain(rules: StarsRules, game: dict[str, Any], action: int) -> str:
    """Return the effect of a card, or the part of it that comes first (F10)."""
    player = game["player"]
    own = game.get("viewer", player) == player
    if action >= CARDS:
        parts = rules.deck[game["commit"][player][game["cursor"] // 2]].moves
        return "first " + ", then ".join(course(part, own) for part in (parts if action == CARDS else parts[::-1]))
    card = rules.deck[action]
    joint = " and, in the order you choose, " if card.either else ", then "
    moves = joint.join(course(part, own) for part in card.moves)
    return f"card {card.number} for {COLOURS[placed(game) % PIECES]}: {moves}"


def course(part: tuple[int, int], own: bool) -> str:
    """Return a move of a card in words. own: whether the reader owns the card, whose side gives the directions."""
    direction, count = part
    owner, whose = ("you", "your") if own else ("them", "their")
    ways = f"toward {owner}", f"away from {owner}", f"to {whose} left", f"to {whose} right"
    return f"{count} {ways[direction]}"


def draw_board(picture: Drawing, board: Board, d: dict[str, Any], corner: Point) -> None:
    """Draw the lines, spaces, starts, Stars and pieces."""

    def centre(space: Space) -> Point:
        return corner[0] + STEP * (space[0] + 0.5), corner[1] + STEP * (space[1] + 0.5)

    picture.rect(*corner, STEP * board.width, STEP * board.height, CLOTH)
    for a, b in sorted(board.joins):
        picture.line(centre(a), centre(b), stroke=LINE, width=3)
    for index in sorted(board.spaces):
        picture.circle(centre(board.space(index)), 7, PAPER, LINE, 2)
    for piece, start in enumerate(board.starts):
        picture.circle(centre(start), 15, stroke=PIECE_FILLS[piece], width=3)
        x, y = centre(start)
        picture.text((x + 20, y - 18), LETTERS[piece], 11, INK)
    for space, side in board.stars:
        picture.polygon(star(centre(space), 23), STAR_FILLS[side], INK, 2)
    for piece, index in enumerate(d["pos"]):
        if index >= 0:
            picture.circle(centre(board.space(index)), 13, PIECE_FILLS[piece], INK, 2)
            picture.text(centre(board.space(index)), LETTERS[piece], 15, LETTER_FILLS[piece], bold=True)


def star(centre: Point, radius: float) -> list[Point]:
    """Return the corners of a star of five points."""
    corners = []
    for i in range(10):
        length = radius * (0.45 if i % 2 else 1)
        angle = pi * (i / 5 - 0.5)
        corners.append((centre[0] + length * cos(angle), centre[1] + length * sin(angle)))
    return corners


def draw_player(picture: Drawing, rules: StarsRules, d: dict[str, Any], side: int, corner: Point) -> None:
    """Draw a side's three placed cards, and below them all ten; cards that are not in hand are empty frames."""
    player = player_of(d, side)
    left, top = corner
    to_move = d["phase"] != OVER and d["player"] == player
    name = named(d, player) + (f": {d['points'][player]}" if rules.points_to_win > 1 else "")
    picture.circle((left + 8, top + 12), 7, STAR_FILLS[side], INK, 2)
    picture.text((left + 22, top + 12), name, 13, INK, "start", bold=to_move)
    top += TITLE
    for piece, card in enumerate(d["commit"][player]):
        x = left + piece * (CARD_WIDTH + GAP)
        picture.rect(x - 2, top - 2, CARD_WIDTH + 4, CARD_HEIGHT + 4, stroke=PIECE_FILLS[piece], width=3)
        picture.text((x + CARD_WIDTH / 2, top + CARD_HEIGHT + 9), LETTERS[piece], 11, INK, bold=True)
        if card == HIDDEN:
            draw_back(picture, (x, top))
        elif card >= 0:
            draw_card(picture, rules.deck[card], side, (x, top), "#ffffff" if face_up(d, piece) else SHIRT)
        if to_move and d["phase"] == ORDER and piece == d["cursor"] // 2:
            picture.area(box(x, top, CARD_WIDTH, CARD_HEIGHT), CARDS, CARDS + 1)
    for i, card_data in enumerate(rules.deck):
        x = left + i % 3 * (CARD_WIDTH + GAP)
        y = top + SLOT + i // 3 * (CARD_HEIGHT + GAP)
        if d["hand"][player][i]:
            draw_card(picture, card_data, side, (x, y), "#ffffff")
            if to_move and d["phase"] == COMMIT:
                picture.area(box(x, y, CARD_WIDTH, CARD_HEIGHT), i)
        else:
            picture.rect(x, y, CARD_WIDTH, CARD_HEIGHT, stroke=PALE, width=1)


def draw_card(picture: Drawing, card: Card, side: int, corner: Point, fill: str) -> None:
    """Draw a card's number, and for each part an arrow in its direction on the board and its number of spaces."""
    x, y = corner
    picture.rect(x, y, CARD_WIDTH, CARD_HEIGHT, fill, INK, 1.5)
    picture.text((x + CARD_WIDTH / 2, y + 16), str(card.number), 18, INK, bold=True)
    for i, (direction, count) in enumerate(card.moves):
        middle = x + CARD_WIDTH / 2 + (i - (len(card.moves) - 1) / 2) * 39
        draw_arrow(picture, (middle, y + 35), COMPASS[direction ^ side])
        picture.text((middle, y + 52), str(count), 12, INK)
    if len(card.moves) == 2:
        picture.text((x + CARD_WIDTH / 2, y + 52), "and" if card.either else "then", 11, LINE)


def draw_back(picture: Drawing, corner: Point) -> None:
    """Draw the back of a card."""
    x, y = corner
    picture.rect(x, y, CARD_WIDTH, CARD_HEIGHT, SHIRT, INK, 1.5)
    picture.rect(x + 5, y + 5, CARD_WIDTH - 10, CARD_HEIGHT - 10, stroke=PAPER, width=2)
    picture.polygon(star((x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2), 11), PAPER)


def draw_arrow(picture: Drawing, centre: Point, direction: Space, size: float = 7) -> None:
    """Draw an arrow."""
    (x, y), (dx, dy) = centre, direction
    tip = x + size * dx, y + size * dy
    picture.line((x - size * dx, y - size * dy), tip, stroke=INK, width=2)
    barbs = [(tip[0] - 5 * dx + 4 * turn * dy, tip[1] - 5 * dy + 4 * turn * dx) for turn in (1, -1)]
    picture.line(barbs[0], tip, barbs[1], stroke=INK, width=2)


def tile(rules: StarsRules) -> Tile:
    """Return the board with its Stars and pieces as a small picture."""
    board = rules.board
    colours = [PALE if index in board.spaces else CLOTH for index in range(board.size)]
    for space, side in board.stars:
        colours[board.index(space)] = STAR_FILLS[side]
    places = tuple(range(board.size))  # a piece that is out of play is on none
    marks = tuple(Mark(fill, StateBits("pos", piece), places) for piece, fill in enumerate(PIECE_FILLS))
    return Tile(board.width, ([Pixel((colour,)) for colour in colours],), marks)
