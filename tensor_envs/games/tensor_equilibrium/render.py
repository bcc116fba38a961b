"""Text and SVG pictures of Tensor, a game of equilibrium: the boards, the tokens and the table.

The colours of the types are the bright scheme of P. Tol, "Colour schemes" (2021), which is colour-blind safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import sqrt
from textwrap import wrap
from typing import Any

from tensor_envs.games.tensor_equilibrium.data import DIRECTIONS, OPERATIONS, TYPE_NAMES, TYPES, Act, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import Hexagon
from tensor_envs.render.drawing import Drawing, Point, box, disc
from tensor_envs.render.grids import hexagon
from tensor_envs.render.status import seats, shared_win
from tensor_envs.render.tile import Pixel, StateBits, Tile

SPOKEN = True
TASKS = {  # task of the player to move
    Phase.SETUP_CENTRE: "chooses a type of the top row for the centre",
    Phase.SETUP_TYPE: "chooses a type of the bottom row",
    Phase.SETUP_CELL: "places the second tile",
    Phase.MAIN: "takes an action",
    Phase.PICK: "takes tiles from the action board",
    Phase.PLACE: "places a tile",
    Phase.TWEAK: "tweaks a token",
    Phase.SUB_CELL: "removes a tile",
    Phase.ADD_REMOVE: "removes a tile",
    Phase.ADD_TYPE: "chooses a tile from the supply",
    Phase.ADD_CELL: "places the tile",
    Phase.DIV_CELL: "flips a tile",
    Phase.MUL_EDGE: "chooses two tiles to copy",
    Phase.MUL_CELL: "places the copies",
    Phase.FLIP: "flips a tile of a type that moved up",
}

EFFECTS = (  # effects of the operation cards
    "remove one of your tiles",
    "remove one of your tiles, then add one of another type",
    "flip one of your tiles",
    "copy two adjacent tiles",
)


DECIDING = ("lowest token", "second lowest", "third lowest", "second highest", "highest", "GPU")  # at the end (F42)


def headline(rules: RuleFields, game: dict[str, Any]) -> str:
    """Return the round and the decision to make."""
    if game["done"]:
        end = "is cut off" if game["truncated"] else "is over"
        return f"round {game['round']}: the game {end}{result(rules, game)}"
    task = TASKS[game["phase"]]
    for phase, limit in ((Phase.PICK, game["picks_left"]), (Phase.TWEAK, game["tweaks_left"])):
        task += f" ({limit} left)" if game["phase"] == phase else ""
    last = f", final actions ({game['final_left']} left)" if game["final"] else ""
    return f"round {game['round']}{last}: {seats(rules.players)[game['actor']]} {task}"


def pending(rules: RuleFields, game: dict[str, Any]) -> str:
    """Return what the player places: a type, the board of another player, or the two tiles that are copied."""
    phase = game["phase"]
    if phase == Phase.MUL_CELL and not game["done"]:
        direction, cell = divmod(game["pend_slot"], rules.cells)
        axial = Hexagon(rules.board_radius).axial
        pair = [axial[cell], axial[neighbour(rules, cell, direction)]]
        return ": " + " and ".join(f"{q},{r}" for q, r in pair)
    if game["done"] or phase not in (Phase.SETUP_CELL, Phase.PLACE, Phase.ADD_CELL):
        return ""
    hacks = phase == Phase.PLACE and game["pend_target"] != game["actor"]
    board = f" on the board of {seats(rules.players)[game['pend_target']]}" if hacks else ""
    return f": type {TYPE_NAMES[game['pend_type']]}{board}"


def result(rules: RuleFields, game: dict[str, Any]) -> str:
    """Return the winners of a game that is scored (F42, G42)."""
    if game["phase"] != Phase.OVER or (game["truncated"] and not rules.score_truncated):
        return ""
    ranked = standings(game)
    named = zip(seats(rules.players), ranked, strict=True)
    return f", {shared_win([name for name, standing in named if standing == max(ranked)])}"


def standings(game: dict[str, Any]) -> list[list[int]]:
    """Return the sort key of each seat at the end: its tokens from the lowest on, and its GPU (F42)."""
    return [[*sorted(levels), gpu] for levels, gpu in zip(game["level"], game["gpu"], strict=True)]


def letters(counts: list[int]) -> str:
    """Return tiles by type as letters, such as "AAC", or "-" for none."""
    return "".join(TYPE_NAMES[t] * n for t, n in enumerate(counts)) or "-"


def operations(counts: list[int]) -> str:
    """Return the names of operation cards, or "-" for none."""
    return " ".join(name for o, name in enumerate(OPERATIONS) for _ in range(counts[o])) or "-"


def card_text(rules: RuleFields, card: int) -> str:
    """Return the rows of a Tensor card, such as "AB|CD"."""
    return "|".join("".join(TYPE_NAMES[t] for t in row) for row in rules.tensor_cards[card])


def limits(rules: RuleFields, levels: list[int]) -> tuple[int, int, int]:
    """Return the limits of hand and storage, and the income (F13)."""
    tier = max(i for i, least in enumerate(rules.tier_level) if max(levels) >= least)
    return rules.tier_hand[tier], rules.tier_storage[tier], rules.tier_income[tier]


# *** text ***


def to_string(rules: RuleFields, game: dict[str, Any]) -> str:
    """Return a block for the table, then one for each seat: its board beside its holdings.

    A capital letter is a face-up tile, a small one a face-down tile, "." an empty cell, "#" a dark one. An asterisk
    marks the player to move.
    """
    supply = " ".join(f"{TYPE_NAMES[t]}{n}" for t, n in enumerate(game["supply"]))
    market = f"action board {letters(game['market'])}, pile {sum(game['pile'])}, supply {supply}"
    cards = f"cards {operations(game['ops'])}, turn order {' '.join(str(seat + 1) for seat in game['order'])}"
    blocks = [[headline(rules, game) + pending(rules, game), market, cards]]
    for seat in range(rules.players):
        board = text_board(rules, game["board"][seat])
        facts = text_facts(rules, game, seat)
        width = max(map(len, board))
        pairs = zip_longest(board, facts, fillvalue="")
        blocks.append([f"{row:<{width}}   {fact}".rstrip() for row, fact in pairs])
    return "\n\n".join("\n".join(block) for block in blocks)


def text_board(rules: RuleFields, board: list[int]) -> list[str]:
    """Return the lines of a board."""
    rows = []
    for row in Hexagon(rules.board_radius).rows:
        cells = range(row.cell, row.cell + row.size)
        indent = " " * (2 * rules.board_radius + 1 - row.size)
        rows.append(indent + " ".join(sign(rules, cell, board[cell]) for cell in cells))
    return rows


def sign(rules: RuleFields, cell: int, code: int) -> str:
    if not code:
        return "#" if cell in rules.dark_cells else "."
    name = TYPE_NAMES[(code - 1) % TYPES]
    return name if code <= TYPES else name.lower()


def text_facts(rules: RuleFields, game: dict[str, Any], seat: int) -> list[str]:
    """Return the lines of a player's holdings."""
    hand, storage, income = limits(rules, game["level"][seat])
    levels = " ".join(f"{TYPE_NAMES[t]}{level}" for t, level in enumerate(game["level"][seat]))
    flips = letters(game["pend_flip"][seat])
    facts = [
        seats(rules.players)[seat] + " *" * (seat == game["actor"]) + ", passed" * bool(game["passed"][seat]),
        f"card {card_text(rules, game['card'][seat])}, GPU {game['gpu'][seat]} (+{income})",
        f"tokens {levels}",
        f"storage {letters(game['storage'][seat])} of {storage}",
        f"hand {operations(game['hand'][seat])} of {hand}",
    ]
    return facts + ([f"to flip {flips}"] if flips != "-" else [])


# *** SVG ***

GROUND = "#faf8f3"
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377")
LETTERS = ("#ffffff", "#1d1d1f", "#ffffff", "#1d1d1f", "#ffffff")  # letters on tiles
PAPER = "#f4f1ea"
INK = "#22252b"
PALE = "#8a8f98"
LINE = "#c9c4b8"
DARK = "#b9b3a5"
BACK = "#4a4f59"
GOLD = "#e3a008"
CELL_PHASES = (
    *(Phase.SETUP_CELL, Phase.PLACE, Phase.SUB_CELL, Phase.ADD_REMOVE),
    *(Phase.ADD_CELL, Phase.DIV_CELL, Phase.MUL_CELL, Phase.FLIP),
)
CELL = 20  # pixels from the middle of a cell to a corner
GAP, TOP = 17, 104  # pixels around panels, height of the table
NARROW, NARROW_TOP = 7, 226  # in a narrow picture: pixels beside panels, height of the table
HEADLINE, KEY_LINE = 44, 50  # letters of a line in a narrow picture
TRACK = 17  # pixels for a level of the confidence board
COLUMN = 28
TILE = 28
CARD = (44, 28)
LEAST = 0.857  # pixels of a screen for each of the picture: tiles of 24 pixels
KEY = (  # legend of the golden line, the cards and GPU
    *("higher limits", "SUB removes a tile", "ADD exchanges one", "DIV flips one", "MUL copies two"),
    "GPU 7 (+4): its income",
)
SMALLEST = 13  # size of letters: 11 pixels where the whole picture has the width of a table beside its moves


def panel(rules: RuleFields, gap: int) -> tuple[float, float]:
    """Return the width and the height of a seat's panel with gaps of so many pixels beside its parts."""
    levels = rules.level_max - rules.level_min + 1
    height = max(board_size(rules)[1], levels * TRACK + COLUMN) + 4 * GAP + 2 * TILE
    return board_size(rules)[0] + TYPES * COLUMN + 6 * gap, height


def board_size(rules: RuleFields) -> tuple[float, float]:
    """Return the width and the height of a seat's board."""
    return sqrt(3) * CELL * (2 * rules.board_radius + 1), CELL * (3 * rules.board_radius + 2)


def draw(rules: RuleFields, game: dict[str, Any]) -> Drawing:
    """Draw the table, and for each seat a panel with its board, confidence board and holdings."""
    width, height = panel(rules, GAP)
    picture = Drawing(
        GAP + 2 * (width + GAP),
        TOP + (rules.players + 1) // 2 * (height + GAP),
        PAPER,
        title="Tensor: a game of equilibrium",
        least=LEAST,
    )
    draw_table(picture, rules, game)
    for seat in range(rules.players):
        draw_seat(picture, rules, game, seat, (GAP + seat % 2 * (width + GAP), TOP + seat // 2 * (height + GAP)))
    return picture


def draw_narrow(rules: RuleFields, game: dict[str, Any]) -> Drawing:
    """Draw the table above the seats, which stand below each other."""
    width, height = panel(rules, NARROW)
    height += TILE + GAP / 2  # room for a second row of holdings
    picture = Drawing(
        width + 2 * NARROW, NARROW_TOP + rules.players * (height + NARROW), PAPER, title="Tensor: a game of equilibrium"
    )
    draw_narrow_table(picture, rules, game)
    for seat in range(rules.players):
        draw_seat(picture, rules, game, seat, (NARROW, NARROW_TOP + seat * (height + NARROW)), NARROW)
    return picture


def draw_seat(
    picture: Drawing, rules: RuleFields, game: dict[str, Any], seat: int, corner: Point, gap: int = GAP
) -> None:
    """Draw a seat's panel; a narrow one has a second row of holdings."""
    x, y = corner
    board_width, board_height = board_size(rules)
    width, height = panel(rules, gap)
    bottom = y + height - GAP - TILE / 2
    second = bottom + (TILE + GAP / 2) * (gap == NARROW)
    mover = seat == game["actor"]
    picture.rect(x, y, width, second + GAP + TILE / 2 - y, "#ffffff", GOLD if mover else LINE, 3 if mover else 1)
    draw_title(picture, rules, game, seat, x + gap, y + GAP)
    draw_board(picture, rules, game, seat, (x + gap + board_width / 2, y + 2.4 * GAP + board_height / 2))
    draw_tokens(picture, rules, game, seat, (x + board_width + 4 * gap, y + 2.4 * GAP))
    draw_holdings(picture, rules, game, seat, (x + gap, bottom), second)


def scores(rules: RuleFields, game: dict[str, Any]) -> list[str]:
    """Return the lowest token, which counts at the end, and the GPU of each seat."""
    return [f"lowest token {min(levels)}, GPU {gpu}" for levels, gpu in zip(game["level"], game["gpu"], strict=True)]


def reason(rules: RuleFields, game: dict[str, Any]) -> str:
    """Return the token that decides, or the GPU, with its number on each seat that is equal before it (F42, G42)."""
    if not result(rules, game):
        return ""
    ranked = sorted(standings(game), reverse=True)
    best = ranked[0]
    lost = next((standing for standing in ranked if standing != best), None)
    if lost is None:
        return "all tokens and the GPU are equal"
    at = next(k for k, (high, low) in enumerate(zip(best, lost, strict=True)) if high != low)
    numbers = " to ".join(str(standing[at]) for standing in ranked if standing[:at] == best[:at])
    equal = ("", "the lowest tokens are equal, and ", f"the {at} lowest tokens are equal, and ")[min(at, 2)]
    return f"{'all tokens are equal, and ' if at == TYPES else equal}the {DECIDING[at]} decides, {numbers}"


def explain(rules: RuleFields, game: dict[str, Any], action: int) -> str:
    """Return the effect and the price of an action."""
    if action >= Act.CELL:
        verb, _, rest = TASKS[game["phase"]].partition(" ")
        block, cell = divmod(action - Act.CELL, rules.cells)
        cells = [cell] if block == 0 else [cell, neighbour(rules, cell, block - 1)]
        return f"{verb.removesuffix('s')} {rest}: {' and '.join(place(rules, x) for x in cells)}"
    if action >= Act.TYPE:
        return f"a tile of type {TYPE_NAMES[action - Act.TYPE]}"
    if action >= Act.TWEAK:
        return (
            "no further tweak" if action == Act.STOP else f"tweak: token {TYPE_NAMES[action - Act.TWEAK]} moves up by 1"
        )
    if action >= Act.TAKE:
        return f"take the {TYPE_NAMES[action - Act.TAKE]} tile from the action board into your storage"
    if action >= Act.HACK:
        further, kind = divmod(action - Act.HACK, TYPES)
        other = seats(rules.players)[(game["actor"] + further + 1) % rules.players]
        return f"Ethical Hack for {rules.cost_hack} GPU: put a stored {TYPE_NAMES[kind]} on the board of {other}"
    if action >= Act.LOAD:
        return f"Load Data for {rules.cost_load} GPU: put a stored {TYPE_NAMES[action - Act.LOAD]} on your board"
    if action >= Act.RUN:
        operation = action - Act.RUN
        return f"Run {OPERATIONS[operation]} for {rules.cost_run} GPU: {EFFECTS[operation]}"
    if action >= Act.CODE:
        operation = action - Act.CODE
        return f"Code {OPERATIONS[operation]} for {rules.op_cost[operation]} GPU: take the card into your hand"
    if action == Act.DOWNLOAD:
        return f"Download Data for {rules.cost_download} GPU: fill your storage from the action board"
    return "pass: no more actions in this round"


def neighbour(rules: RuleFields, cell: int, direction: int) -> int:
    """Return the cell next to one in a direction."""
    axial = Hexagon(rules.board_radius).axial
    (q, r), (dq, dr) = axial[cell], DIRECTIONS[direction]
    return axial.index((q + dq, r + dr))


def place(rules: RuleFields, cell: int) -> str:
    """Return where a cell is in the picture, seen from the middle of the board."""
    q, r = Hexagon(rules.board_radius).axial[cell]
    halves = 2 * q + r  # cells of a row are two halves apart, and each row begins half a cell further
    rows = f"{abs(r)} {'row' if abs(r) == 1 else 'rows'} {'down' if r > 0 else 'up'}" if r else ""
    whole, half = divmod(abs(halves), 2)
    count = f"{whole or ''}{'½' * half}"
    side = f"{count} to the {'right' if halves > 0 else 'left'}" if halves else ""
    return ", ".join(x for x in (rows, side) if x) or "the middle"


def draw_table(picture: Drawing, rules: RuleFields, game: dict[str, Any]) -> None:
    """Draw the action board (D in the rulebook): market, cards, pile and turn order."""
    picture.text((GAP, 22), headline(rules, game), 17, INK, "start", bold=True)
    x = draw_action_board(picture, game, (GAP, 58))
    x = draw_supply(picture, game, (x, 58))
    for line, text in enumerate(facts_of_table(game)):
        picture.text((x + GAP, 50 + 18 * line), text, 13, INK, "start")
    x = draw_key(picture, (GAP, 90))
    picture.text((x, 90), " · ".join(KEY), SMALLEST, PALE, "start")


def draw_narrow_table(picture: Drawing, rules: RuleFields, game: dict[str, Any]) -> None:
    """Draw the action board in rows."""
    for line, text in enumerate(wrap(headline(rules, game), HEADLINE)):
        picture.text((NARROW, 18 + 20 * line), text, 15, INK, "start", bold=True)
    draw_action_board(picture, game, (NARROW, 66))
    draw_supply(picture, game, (NARROW, 102))
    for line, text in enumerate(facts_of_table(game)):
        picture.text((NARROW, 130 + 18 * line), text, 13, INK, "start")
    x = draw_key(picture, (NARROW, 172))
    picture.text((x, 172), KEY[0], SMALLEST, PALE, "start")
    for line, text in enumerate(wrap(" · ".join(KEY[1:]), KEY_LINE)):
        picture.text((NARROW, 192 + 18 * line), text, SMALLEST, PALE, "start")


def draw_action_board(picture: Drawing, game: dict[str, Any], at: Point) -> float:
    """Draw the tiles of the action board and return their right end."""
    acts = [[Act.DOWNLOAD] if game["phase"] == Phase.MAIN else [Act.TAKE + t] for t in range(TYPES)]
    return draw_tiles(picture, "action board", game["market"], *at, acts)


def draw_supply(picture: Drawing, game: dict[str, Any], at: Point) -> float:
    """Draw the operation cards on the table and return their right end."""
    return draw_cards(picture, "", game["ops"], *at, [[Act.CODE + o] for o in range(len(OPERATIONS))])


def facts_of_table(game: dict[str, Any]) -> list[str]:
    """Return lines of the pile, the supply, and the order of turns."""
    supply = " ".join(f"{TYPE_NAMES[t]}{n}" for t, n in enumerate(game["supply"]))
    order = f"turn order {' '.join(str(seat + 1) for seat in game['order'])}"
    passed = [str(seat + 1) for seat in game["next_order"] if seat >= 0]
    return [f"pile {sum(game['pile'])}, supply {supply}", order + (f", passed {' '.join(passed)}" if passed else "")]


def draw_key(picture: Drawing, at: Point) -> float:
    """Draw what symbols mean, and return where the meaning of the last one begins."""
    x, y = at[0] + 8, at[1]
    for face_up, text in ((True, "face-up"), (False, "face-down")):
        draw_tile(picture, (x, y), 0, 9, face_up)
        picture.text((x + 14, y), text, SMALLEST, PALE, "start")
        x += 36 + 8 * len(text)
    picture.line((x, y), (x + 20, y), stroke=GOLD, width=2)
    return x + 28


def draw_title(picture: Drawing, rules: RuleFields, game: dict[str, Any], seat: int, x: float, y: float) -> None:
    """Draw the seat, the rows of its Tensor card, and its GPU."""
    _, _, income = limits(rules, game["level"][seat])
    name = seats(rules.players)[seat] + (", passed" if game["passed"][seat] else "")
    picture.text((x, y), name, 15, PALE if game["passed"][seat] else INK, "start", bold=True)
    x += 165
    for i, row in enumerate(rules.tensor_cards[game["card"][seat]]):
        for t in row:
            draw_tile(picture, (x, y), t, TILE / 2)
            if seat == game["actor"] and game["phase"] in (Phase.SETUP_CENTRE, Phase.SETUP_TYPE):
                picture.area(disc((x, y), TILE / 2), Act.TYPE + t)
            x += TILE + 1
        if i == 0:
            picture.text((x, y), "/", 15, PALE)
            x += TILE - 4
    picture.text((x + 8, y), f"GPU {game['gpu'][seat]} (+{income})", 14, INK, "start")


def draw_board(picture: Drawing, rules: RuleFields, game: dict[str, Any], seat: int, middle: Point) -> None:
    """Draw the cells and tiles of a seat. A face-down tile shows its back and a small letter."""
    axial = Hexagon(rules.board_radius).axial
    places = [(middle[0] + sqrt(3) * CELL * (q + r / 2), middle[1] + 1.5 * CELL * r) for q, r in axial]
    # A tile is placed on the board of the seat that it was sent to; all else happens on the actor's.
    target = game["pend_target"] if game["phase"] == Phase.PLACE else game["actor"]
    for cell, at in enumerate(places):
        code = game["board"][seat][cell]
        dark = cell in rules.dark_cells
        picture.polygon(hexagon(at, CELL - 1), DARK if dark else GROUND, LINE)
        if code:
            draw_tile(picture, at, (code - 1) % TYPES, CELL - 4, code <= TYPES)
        if seat == target and game["phase"] in CELL_PHASES:
            picture.area(hexagon(at, CELL - 1), Act.CELL + cell)
    # A pair of cells is chosen by a click between them.
    if seat == target and game["phase"] == Phase.MUL_EDGE:
        for number, (cell, direction) in enumerate((c, d) for d in DIRECTIONS for c in range(rules.cells)):
            other = axial[cell][0] + direction[0], axial[cell][1] + direction[1]
            if other in axial and game["board"][seat][cell] and game["board"][seat][axial.index(other)]:
                x, y = places[cell]
                u, v = places[axial.index(other)]
                picture.area(disc(((x + u) / 2, (y + v) / 2), TILE / 2), Act.CELL + rules.cells + number)


def draw_tile(picture: Drawing, at: Point, kind: int, radius: float, face_up: bool = True) -> None:
    """Draw a tile as a hexagon with its letter."""
    if face_up:
        picture.polygon(hexagon(at, radius), COLOURS[kind], INK)
        picture.text(at, TYPE_NAMES[kind], max(radius, SMALLEST), LETTERS[kind], bold=True)
    else:
        picture.polygon(hexagon(at, radius), BACK, COLOURS[kind], 2.5)
        picture.text(at, TYPE_NAMES[kind], max(0.7 * radius, SMALLEST), "#e2e5ea")


def draw_tokens(picture: Drawing, rules: RuleFields, game: dict[str, Any], seat: int, corner: Point) -> None:
    """Draw the confidence board: a column for each type, and a golden line below the first level of each tier (G7)."""
    (x, y), levels = corner, game["level"][seat]
    for i, level in enumerate(range(rules.level_max, rules.level_min - 1, -1)):
        at = y + (i + 0.5) * TRACK
        tier = level in rules.tier_level[1:]
        stroke, width = (GOLD, 2) if tier else (LINE, 1)
        picture.line((x, at + TRACK / 2), (x + TYPES * COLUMN, at + TRACK / 2), stroke=stroke, width=width)
        picture.text((x - 8, at), str(level), SMALLEST, PALE, "end")
    bottom = y + (rules.level_max - rules.level_min + 1) * TRACK
    for t, level in enumerate(levels):
        middle = x + (t + 0.5) * COLUMN
        at = y + (rules.level_max - level + 0.5) * TRACK
        picture.line((middle, y), (middle, bottom), stroke=COLOURS[t], width=2, opacity=0.35)
        picture.circle((middle, at), TRACK / 2 - 1, COLOURS[t], INK)
    for place, t in enumerate(rules.tiebreak_order):
        draw_tile(picture, (x + (t + 0.5) * COLUMN, bottom + COLUMN / 2), t, TILE / 2)
        picture.text((x + (t + 0.5) * COLUMN, bottom + 1.45 * COLUMN), str(place + 1), SMALLEST, PALE)
    if seat == game["actor"]:
        for t in range(TYPES):
            action = {Phase.TWEAK: Act.TWEAK + t, Phase.ADD_TYPE: Act.TYPE + t}.get(game["phase"])
            if action is not None:
                picture.area(box(x + t * COLUMN, y, COLUMN, bottom - y + COLUMN), action)


def draw_holdings(
    picture: Drawing, rules: RuleFields, game: dict[str, Any], seat: int, at: Point, second: float
) -> None:
    """Draw the storage and the hand with their limits; the hand stands beside the storage or in a second row."""
    x, y = at
    hand, storage, _ = limits(rules, game["level"][seat])
    mine = seat == game["actor"]
    acts = [[Act.LOAD + t, *(Act.HACK + TYPES * k + t for k in range(rules.players - 1))] for t in range(TYPES)]
    beside = draw_tiles(picture, f"storage (of {storage})", game["storage"][seat], x, y, acts if mine else ()) + GAP
    acts = [[Act.RUN + o] for o in range(len(OPERATIONS))]
    x = beside if second == y else x
    draw_cards(picture, f"hand (of {hand})", game["hand"][seat], x, second, acts if mine else ())


Acts = Sequence[Sequence[int]]  # actions by tile type, or by operation card


def draw_tiles(picture: Drawing, title: str, counts: list[int], x: float, y: float, acts: Acts = ()) -> float:
    """Draw a row of tiles and return its right end."""
    picture.text((x, y), title, 13, INK, "start")
    x += 7 * len(title) + TILE
    for t in (t for t, count in enumerate(counts) for _ in range(count)):
        draw_tile(picture, (x, y), t, TILE / 2)
        if acts:
            picture.area(disc((x, y), TILE / 2), *acts[t])
        x += TILE + 1
    return x


def draw_cards(picture: Drawing, title: str, counts: list[int], x: float, y: float, acts: Acts = ()) -> float:
    """Draw a row of operation cards and return its right end."""
    picture.text((x, y), title, 13, INK, "start")
    x += 7 * len(title) + 8
    for o in (o for o, count in enumerate(counts) for _ in range(count)):
        picture.rect(x, y - CARD[1] / 2, *CARD, "#fffdf6", INK)
        picture.text((x + CARD[0] / 2, y), OPERATIONS[o], SMALLEST, INK, bold=True)
        if acts:
            picture.area(box(x, y - CARD[1] / 2, *CARD), *acts[o])
        x += CARD[0] + 4
    return x


def tile(rules: RuleFields) -> Tile:
    """Return the boards as a small picture, two beside each other; a cell is two pixels wide and high."""
    hexagon = Hexagon(rules.board_radius)
    side = 2 * (2 * rules.board_radius + 1)
    width = 2 * side + 1
    pixels = [Pixel((PAPER,))] * (width * ((side + 1) * -(-rules.players // 2) - 1))
    for seat in range(rules.players):
        for cell, (q, r) in enumerate(hexagon.axial):
            ground = DARK if cell in rules.dark_cells else GROUND
            back = (BACK,) * 7
            colours = (ground, *COLOURS, ground, ground)  # by code if it is face-up
            bits = tuple(StateBits("tiles", 4 * seat + plane, hexagon.bits[cell], 1) for plane in range(4))
            x = seat % 2 * (side + 1) + 2 * (q + rules.board_radius) + r
            y = seat // 2 * (side + 1) + 2 * (r + rules.board_radius)
            for at in (width * y + x, width * (y + 1) + x):
                pixels[at : at + 2] = [Pixel((ground, *back, *colours), bits)] * 2
    return Tile(width, (pixels,))
