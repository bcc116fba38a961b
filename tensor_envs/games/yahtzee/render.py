"""Positions of Yahtzee as text and as drawings."""

from typing import Any

from tensor_envs.games._kit import cards
from tensor_envs.games._kit.dice import draw_die
from tensor_envs.games.yahtzee.notation import action_to_string, points_of
from tensor_envs.games.yahtzee.rules import BONUS, BOXES, DICE, EXTRA, SETS, Yahtzee
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.status import compared, counted, seats, shared_win, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import legal_actions

# pixels
DIE = 48
ROW = 28
COLUMN = 64
NAMES = 130
BUTTON = (104, DIE)
LEFT = 24
TOP = 78
WIDTH = 2 * LEFT + NAMES + 4 * COLUMN
FACES = ("#ffffff", "#fbf7ea", "#f6d186", "#f6b26b", "#e58e73", "#cc4125", "#8e7cc3", "#ffffff")  # in small pictures


def status(rules: Yahtzee, game: dict[str, Any]) -> str:
    """Return the status: the player to move, or the result."""
    names = seats(rules.players)
    if any(-1 in row for row in game["boxes"]):
        return f"{to_move(game, names[game['current_player']])}, {game['rerolls']} throws left"
    points = totals(game)
    if rules.players == 1:
        return f"the game is over: {points[0]} points"
    winners = [name for name, total in zip(names, points, strict=True) if total == max(points)]
    return shared_win(winners)


def totals(game: dict[str, Any]) -> list[int]:
    """Return the points of all players."""
    return [points_of(row, extras)[0] for row, extras in zip(game["boxes"], game["extras"], strict=True)]


def lines(rules: Yahtzee, game: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the card's lines: a name and a text for each player."""
    boxes = [(name, [str(row[k]) if row[k] >= 0 else "." for row in game["boxes"]]) for k, name in enumerate(BOXES)]
    bonus = [str(BONUS) if points_of(row, 0)[1] else "." for row in game["boxes"]]
    extras = [str(EXTRA * extra or ".") for extra in game["extras"]]
    return [*boxes, ("bonus", bonus), ("extra yahtzees", extras), ("total", list(map(str, totals(game))))]


def to_string(rules: Yahtzee, game: dict[str, Any]) -> str:
    """Return the dice, the players' boxes and the status."""
    card = [f"{name:<16}{''.join(f'{text:>6}' for text in texts)}" for name, texts in lines(rules, game)]
    return "\n".join(["dice " + " ".join(map(str, game["dice"])), *card, status(rules, game)])


def die_box(die: int) -> list[Point]:
    """Return the outline of a die."""
    return [*box(LEFT + die * (DIE + 8), 16, DIE, DIE)]


def draw(rules: Yahtzee, game: dict[str, Any]) -> Drawing:
    """Draw the dice, which a click holds, a button that throws the others, and the card with open boxes as actions."""
    card = lines(rules, game)
    picture = Drawing(WIDTH, TOP + (len(card) + 1) * ROW + 54, cards.CLOTH, title="Yahtzee")
    legal = [] if game.get("terminated") else legal_actions(rules, game)
    sets = [action for action in legal if action < SETS]
    for die, face in enumerate(game["dice"]):
        draw_die(picture, (LEFT + die * (DIE + 8) + DIE / 2, 16 + DIE / 2), face, DIE)
        if held := [action for action in sets if not action + 1 >> die & 1]:
            picture.area(die_box(die), *held, label=f"hold the {face}", held=True)
    if sets:
        button = box(LEFT + DICE * (DIE + 8), 16, *BUTTON)
        picture.polygon(button, cards.CHIP, cards.INK)
        picture.text((button[0][0] + BUTTON[0] / 2, 16 + DIE / 2), "throw", 16, cards.INK, bold=True)
        picture.area(button, *sets, label="throw the dice that are not held")
    for player, name in enumerate(seats(rules.players)):
        picture.text((LEFT + NAMES + (player + 0.5) * COLUMN, TOP + ROW / 2), name, 12, cards.PALE)
    for k, (name, texts) in enumerate(card):
        y = TOP + (k + 1) * ROW
        picture.text((LEFT + NAMES / 2 - 8, y + ROW / 2), name, 12, cards.PALE)
        for player, text in enumerate(texts):
            x = LEFT + NAMES + player * COLUMN
            is_open = player == game["current_player"] and SETS + k in legal
            picture.rect(x + 2, y + 1, COLUMN - 4, ROW - 2, cards.CHIP if is_open else cards.FACE, cards.INK)
            picture.text((x + COLUMN / 2, y + ROW / 2), text, 12, cards.INK)
            if is_open:
                picture.area(box(x, y, COLUMN, ROW), SETS + k)
    picture.text((WIDTH / 2, picture.height - 24), status(rules, game), 14, cards.PALE, bold=True)
    return picture


def scores(rules: Yahtzee, game: dict[str, Any]) -> list[str]:
    """Return the points of all players."""
    return [counted(points, "point") for points in totals(game)]


def reason(rules: Yahtzee, game: dict[str, Any]) -> str:
    """Return why the game has ended; the points of all players where they compete."""
    return "all boxes are filled" if rules.players == 1 else compared(totals(game), "point")


def last_move(rules: Yahtzee, before: dict[str, Any], after: dict[str, Any], action: int) -> list[list[Point]]:
    """Return the outlines of the dice that were thrown, or of the box that was filled."""
    if action < SETS:
        return [[*die_box(die)] for die in range(DICE) if action + 1 >> die & 1]
    column = LEFT + NAMES + before["current_player"] * COLUMN
    row = TOP + (action - SETS + 1) * ROW
    return [[*box(column, row, COLUMN, ROW)]]


def explain(rules: Yahtzee, game: dict[str, Any], action: int) -> str:
    """Return which dice are thrown again (Y3), or which box is filled (Y4)."""
    if action >= SETS:
        return f"fill the box {action_to_string(rules, action)}"
    faces = [str(game["dice"][die]) for die in range(DICE) if action + 1 >> die & 1]
    return f"throw {' '.join(faces)} again"


def tile(rules: Yahtzee) -> Tile:
    """Return the dice as a small picture."""
    return Tile(DICE, ([Pixel(FACES, (StateBits("dice", die),)) for die in range(DICE)],))
