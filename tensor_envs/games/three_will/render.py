"""Text and SVG pictures of Three Will, from either side.

Numbers and the top card are hidden from both players until the game is over. A picture for a player (`seen_by`) is
drawn from that player's side.
"""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from tensor_envs.games._kit.dice import draw_die
from tensor_envs.games.three_will.data import (
    AGENTS,
    CHALLENGE,
    EXAMINE,
    FMOVE,
    FREE,
    MOVE,
    OPTIONS,
    OVER,
    PASS,
    SIDE,
    SLOTS,
    SQUARES,
    USE_FREE,
)
from tensor_envs.games.three_will.notation import TURN
from tensor_envs.games.three_will.rules import ThreeWillRules
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.grids import INK
from tensor_envs.render.status import outcome, seat_names, to_move
from tensor_envs.render.tile import Mark, Pixel, StateBits, Tile

COLOURS = ("White", "Black")
# pixels of a square, around the board, of the table, around all
CELL = 58
MARGIN = 30
PANEL = 232
EDGE = 16
DISC, STACKED = 20, 8  # pixels: radius of an agent, shift of two on a square
PAPER = "#f5f1e6"
PALE = "#8d8778"
LIGHT = "#e9dfc6"
DARK = "#d3c39f"
GOALS = ("#f6e3b4", "#b9b4ad")  # White's and Black's
FILLS = ("#fffdf6", "#2b2e36")
LABELS = ("#23262d", "#fffdf6")
RIMS = ("#23262d", "#a9adb8")
GOLD = "#d9a016"
CARD = "#b6423c"
FREE_CARD = "#3c7a57"
BANKED = "#c9c1ae"
SPOKEN = True
WAYS = {1: "forward", 0: "", -1: "back"}, {1: "right", 0: "", -1: "left"}


def seen_by(rules: ThreeWillRules, d: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the position without numbers and card that are hidden (F28, G27), and with the `viewer` to draw it for."""
    over = d["phase"] == OVER
    ids = d["ids"] if over or rules.ids_visible else [0] * AGENTS
    return {**d, "ids": ids, "ces": d["ces"] if over else -1, "viewer": player}


def status(d: dict[str, Any]) -> str:
    """Return the next decision or the result."""
    if d["phase"] == OVER:
        return outcome(COLOURS, d["winner"] if d["winner"] >= 0 else None)
    tasks = {
        MOVE: f"rolled {d['die']}",
        FREE: "may use a Free card",
        FMOVE: f"rolled {d['die']} with a Free card: edges are open",
        CHALLENGE: f"may challenge: {COLOURS[1 - d['player']]} declares victory",
    }
    return to_move(d, COLOURS[d["player"]], tasks[d["phase"]])


def bank(rules: ThreeWillRules, d: dict[str, Any]) -> int:
    """Return the number of cards in the bank."""
    cards: int = rules.cards_total - sum(d["dr"]) - sum(d["free"])
    return cards


def name(rules: ThreeWillRules, d: dict[str, Any], agent: int) -> str:
    """Return an agent's colour and slot, with its number where it is visible: "W3", "W3(7)"."""
    visible = rules.ids_visible or d["phase"] == OVER
    return f"{COLOURS[agent // SLOTS][0]}{agent % SLOTS}" + f"({d['ids'][agent]})" * visible


def locked(d: dict[str, Any], agent: int) -> bool:
    """Return whether an agent is on its goal row (G16)."""
    return bool(d["pos"][agent] // SIDE == (0 if agent // SLOTS else SIDE - 1))


def stack(d: dict[str, Any], square: int) -> list[int]:
    """Return the agents of a square, the higher one first."""
    return sorted((a for a in range(AGENTS) if d["pos"][a] == square), key=lambda a: d["lvl"][a])


def squares_seen(viewer: int) -> list[list[int]]:
    """Return the squares as a player sees them, from the far row to the near one and from left to right."""
    rows = [list(range(first, first + SIDE)) for first in range(0, SQUARES, SIDE)]
    return [row[::-1] for row in rows] if viewer else rows[::-1]


# *** text ***


def to_string(rules: ThreeWillRules, d: dict[str, Any]) -> str:
    """Return the board with the viewer below, both players' cards, and the status.

    "W3/B5" is White's agent of slot 3 over Black's of slot 5; "=" marks a locked agent.
    """
    viewer = d.get("viewer", 0)
    rows = squares_seen(viewer)
    table = [[text_of_square(rules, d, square) for square in row] for row in rows]
    heads = [str(row[0] // SIDE) for row in rows]
    table.append([str(square % SIDE) for square in rows[0]])
    width = max(len(cell) for cells in table for cell in cells)
    lines = [
        f"{head} {' '.join(cell.center(width) for cell in cells)}".rstrip()
        for head, cells in zip([*heads, " "], table, strict=True)
    ]
    for player in (viewer, 1 - viewer):
        lines.append(f"{COLOURS[player]}: Double Risk {d['dr'][player]}, Free {d['free'][player]}")
    challenge = "" if d["challenge_left"] else "; no challenge left"
    lines.append(f"bank {bank(rules, d)}; turn {d['turns'] + 1} of {rules.max_turns}{challenge}")
    if d["phase"] == OVER:
        lines.append(f"top card {d['ces']}")
    return "\n".join([*lines, status(d)])


def text_of_square(rules: ThreeWillRules, d: dict[str, Any], square: int) -> str:
    """Return the agents of a square, the higher one first, or "." for none."""
    return "/".join(name(rules, d, a) + "=" * locked(d, a) for a in stack(d, square)) or "."


# *** drawing ***


def draw(rules: ThreeWillRules, d: dict[str, Any]) -> Drawing:
    """Draw the board with the viewer below; beside it the die, its directions and the cards.

    Goal rows have their player's tint, locked agents a gold ring. A lower agent lies half under the higher one.
    """
    viewer = d.get("viewer", 0)
    board = SIDE * CELL
    picture = Drawing(2 * EDGE + MARGIN + board + PANEL, 2 * EDGE + MARGIN + board, PAPER, title="Three Will")
    left = EDGE + MARGIN
    top = EDGE
    rows = squares_seen(viewer)
    ends = ends_of(rules, d)
    for y, row in enumerate(rows):
        for x, square in enumerate(row):
            goal = {SIDE - 1: GOALS[0], 0: GOALS[1]}.get(square // SIDE)
            fill = goal or (LIGHT, DARK)[(square + square // SIDE) % 2]
            picture.rect(left + x * CELL, top + y * CELL, CELL, CELL, fill, PAPER)
            here = ends.get(square, [])
            middle = (left + (x + 0.5) * CELL, top + (y + 0.5) * CELL)
            agents = stack(d, square)
            draw_stack(picture, rules, d, agents, middle)
            if actions := [action for agent in agents for action in actions_of(d, agent)] + here:
                picture.area(box(left + x * CELL, top + y * CELL, CELL, CELL), *actions, targets=here)
        picture.text((EDGE + MARGIN / 2, top + (y + 0.5) * CELL), str(row[0] // SIDE), 13, PALE)
    for x, square in enumerate(rows[0]):
        picture.text((left + (x + 0.5) * CELL, top + board + MARGIN / 2), str(square % SIDE), 13, PALE)
    draw_table(picture, rules, d, viewer, (left + board + 2 * EDGE, top))
    return picture


players = seat_names(*COLOURS)


def scores(rules: ThreeWillRules, game: dict[str, Any]) -> list[str]:
    """Return the number of agents of each player on the goal row."""
    home = [sum(locked(game, agent) for agent in range(first, first + SLOTS)) for first in (0, SLOTS)]
    return [f"{count} of {rules.to_win} home" for count in home]


def reason(rules: ThreeWillRules, game: dict[str, Any]) -> str:
    """Return why the game has ended (F7, F8, G28)."""
    winner = game["winner"]
    if winner < 0:
        return ""
    home = sum(locked(game, agent) for agent in range(SLOTS * winner, SLOTS * (winner + 1)))
    return f"{home} agents in the base of the other" if home >= rules.to_win else "the other has no active agent"


def explain(rules: ThreeWillRules, game: dict[str, Any], action: int) -> str:
    """Return the effect of an action (section 4); left and right are those of the picture."""
    player, phase = game["player"], game["phase"]
    if action == PASS:
        if phase == CHALLENGE:
            return "accept the victory"
        return "keep the card and end the turn" if phase == FREE else "end the turn: no step is possible"
    if action == USE_FREE:
        return "pay a Free card and roll again"
    if action >= EXAMINE:
        return f"compare agent {action - EXAMINE} with the top card: if they match, the victory may be undone"
    slot, option = divmod(action, OPTIONS)
    forward, right = rules.chart[game["die"] - 1][option]
    if game.get("viewer", player) != player:
        right = -right  # the opponent's right hand is at the left side
    course = " and ".join(word for word in (WAYS[0][forward], WAYS[1][right]) if word)
    row, column = end_of(rules, game, action)
    if there := stack(game, SIDE * row + column % SIDE):
        cost = "a Double Risk card" if game["dr"][player] else "a loan"
        return f"agent {slot} tries to stack on {name(rules, game, there[0])}, {course}: {cost}, and a double is needed"
    return f"agent {slot} {'steps' if column in range(SIDE) else 'leaps across the edge'} {course}"


def draw_stack(picture: Drawing, rules: ThreeWillRules, d: dict[str, Any], agents: list[int], centre: Point) -> None:
    """Draw the agents of a square, the lower one first, so that the higher one covers part of it."""
    for agent in reversed(agents):
        shift = 0 if len(agents) == 1 else STACKED if d["lvl"][agent] else -STACKED
        at = (centre[0] + shift, centre[1] + shift)
        player = agent // SLOTS
        rim, width = (GOLD, 3) if locked(d, agent) else (RIMS[player], 1.5)
        picture.circle(at, DISC, FILLS[player], rim, width)
        label = name(rules, d, agent)[1:]
        covered = shift > 0
        size = (9 if covered else 11) if len(label) > 1 else (12 if covered else 16)
        offset = DISC / 2.4 if covered else 0  # to the middle of the visible part of a covered agent
        picture.text((at[0] + offset, at[1] + offset), label, size, LABELS[player], bold=True)


def end_of(rules: ThreeWillRules, d: dict[str, Any], action: int) -> tuple[int, int]:
    """Return the row and the column in which a move ends; one beyond an edge is a leap."""
    slot, option = divmod(action, OPTIONS)
    row, column = divmod(d["pos"][SLOTS * d["player"] + slot], SIDE)
    forward, right = rules.chart[d["die"] - 1][option]
    sign = 1 - 2 * d["player"]
    return row + sign * forward, column + sign * right


def ends_of(rules: ThreeWillRules, d: dict[str, Any]) -> dict[int, list[int]]:
    """Return the moves that end on each square, legal or not."""
    ends: dict[int, list[int]] = {}
    if d["phase"] in (MOVE, FMOVE):
        options = range(len(rules.chart[d["die"] - 1]))
        for action in (OPTIONS * slot + option for slot in range(SLOTS) for option in options):
            row, column = end_of(rules, d, action)
            if row in range(SIDE):
                ends.setdefault(SIDE * row + column % SIDE, []).append(action)
    return ends


def actions_of(d: dict[str, Any], agent: int) -> list[int]:
    """Return the actions that a click on an agent's square may stand for."""
    player, slot = divmod(agent, SLOTS)
    if d["phase"] in (MOVE, FMOVE) and player == d["player"]:
        return [OPTIONS * slot + option for option in range(OPTIONS)]
    return [EXAMINE + slot] if d["phase"] == CHALLENGE and player == d["declarer"] else []


def draw_table(picture: Drawing, rules: ThreeWillRules, d: dict[str, Any], viewer: int, corner: Point) -> None:
    """Draw both players' cards at their ends of the table, and between them the bank, the die and the turn."""
    x, y = corner
    far = 1 - viewer
    near = viewer
    for player, at in ((far, y), (near, y + SIDE * CELL - 106)):
        picture.circle((x + 9, at + 10), 8, FILLS[player], INK)
        bold = d["player"] == player and d["phase"] != OVER
        picture.text((x + 26, at + 10), COLOURS[player], 16, INK, "start", bold=bold)
        picture.rect(x + 1, at + 24, 16, 16, GOALS[player], PALE)
        picture.text((x + 26, at + 32), f"goal: row {0 if player else SIDE - 1}", 12, PALE, "start")
        draw_cards(picture, (x, at + 44), d["dr"][player], CARD, "Double Risk")
        draw_cards(picture, (x, at + 76), d["free"][player], FREE_CARD, "Free")
        if d["phase"] == FREE and player == d["player"]:
            picture.area(box(x, at + 66, 13 * d["free"][player] + 70, 48), USE_FREE, PASS)
    middle = y + SIDE * CELL / 2
    draw_cards(picture, (x, middle - 112), bank(rules, d), BANKED, "in the bank")
    if d["phase"] in (MOVE, FMOVE):
        draw_die(picture, (x + 30, middle - 40), d["die"])
        draw_directions(picture, rules, (x + 122, middle - 40), d["die"], turned=d["player"] != viewer)
    lines = [status(d), f"turn {d['turns'] + 1} of {rules.max_turns}"]
    if rules.challenge and not d["challenge_left"]:
        lines.append("no challenge left")
    if d["phase"] == OVER:
        lines.append(f"top card {d['ces']}")
    for i, line in enumerate(part for text in lines for part in wrap(text, 28)):
        picture.text((x, middle + 8 + 22 * i), line, 13, INK, "start", bold=i == 0)


def draw_cards(picture: Drawing, corner: Point, number: int, fill: str, label: str) -> None:
    """Draw a row of cards with their number and a label."""
    x, y = corner
    for i in range(number):
        picture.rect(x + 13 * i, y, 20, 28, fill, PAPER, 1.5)
    picture.text((x + (13 * number + 14 if number else 0), y + 14), f"{number} {label}", 12, PALE, "start")


def draw_directions(picture: Drawing, rules: ThreeWillRules, centre: Point, die: int, turned: bool) -> None:
    """Draw an arrow for each option of the directive, from the viewer's side.

    Several options have the letters of their actions' names.
    """
    x, y = centre
    picture.circle(centre, 4, INK)
    for letter, (forward, right) in zip("abc", rules.chart[die - 1], strict=False):
        across, up = (-right, -forward) if turned else (right, forward)
        length = (across * across + up * up) ** 0.5
        dx = across / length
        dy = -up / length
        tip = (x + 30 * dx, y + 30 * dy)
        picture.line((x + 8 * dx, y + 8 * dy), tip, stroke=INK, width=3)
        wings = [(tip[0] - 9 * dx + side * 6 * dy, tip[1] - 9 * dy - side * 6 * dx) for side in (-1, 1)]
        picture.polygon([(tip[0] + 3 * dx, tip[1] + 3 * dy), *wings], INK)
        if len(rules.chart[die - 1]) > 1:
            picture.text((x + 43 * dx, y + 43 * dy), letter, 13, INK, bold=True)


def tile(rules: ThreeWillRules) -> Tile:
    """Return the board as a small picture, White below; a square shows the higher one of two agents."""
    pixels = []
    for row in squares_seen(0):
        for square in row:
            goal = {SIDE - 1: GOALS[0], 0: GOALS[1]}.get(square // SIDE)
            pixels.append(Pixel((goal or (LIGHT, DARK)[(square + square // SIDE) % 2],)))
    order = [square for row in squares_seen(0) for square in row]
    marks = []
    for level in (1, 0):  # the higher agents cover the lower ones
        for agent in range(AGENTS):
            player = agent // SLOTS
            seen = tuple(order.index(square ^ TURN[player]) for square in range(SQUARES))
            nowhere = (-1,) * SQUARES
            places = nowhere + seen if level else seen + nowhere
            marks.append(Mark(FILLS[player], StateBits("agents", 0, 8 * agent, 7), places))
    return Tile(SIDE, (pixels,), tuple(marks))
