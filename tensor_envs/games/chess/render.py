"""Positions of chess as text and as drawings, with White below, or else the viewer."""

from typing import Any

from tensor_envs.games._kit import fen
from tensor_envs.games._kit.kings import Ending, draw_choices, status_of, tile_of
from tensor_envs.games.chess.board import FIRST_RANKS
from tensor_envs.games.chess.notation import FILE_NAMES, ends_of, from_dict, promoted
from tensor_envs.games.chess.rules import Chess, legal_moves
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import seat_names
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import legal_actions, open_actions, state_of

NAMES = ("White", "Black")
LIGHT = "#ece5d3"
SHADE = "#94abbf"
PAPER = "#fcfcfa"
CELL, MARGIN = 48, 36  # pixels: a square, around the board
# outlines in a square of side 1; heads are circles: height of the centre, radius
SHAPES: dict[str, list[Point]] = {
    "p": [(0.3, 0.86), (0.7, 0.86), (0.58, 0.48), (0.42, 0.48)],
    "r": [(0.26, 0.86), (0.74, 0.86), (0.66, 0.7), (0.66, 0.42), (0.74, 0.34), (0.74, 0.16), (0.61, 0.16),
          (0.61, 0.25), (0.55, 0.25), (0.55, 0.16), (0.45, 0.16), (0.45, 0.25), (0.39, 0.25), (0.39, 0.16),
          (0.26, 0.16), (0.26, 0.34), (0.34, 0.42), (0.34, 0.7)],
    "n": [(0.3, 0.86), (0.76, 0.86), (0.74, 0.5), (0.64, 0.28), (0.5, 0.2), (0.44, 0.08), (0.4, 0.22),
          (0.28, 0.36), (0.18, 0.54), (0.25, 0.64), (0.38, 0.55), (0.48, 0.54), (0.36, 0.7)],
    "b": [(0.28, 0.86), (0.72, 0.86), (0.59, 0.72), (0.67, 0.5), (0.6, 0.34), (0.5, 0.22), (0.4, 0.34), (0.33, 0.5),
          (0.41, 0.72)],
    "q": [(0.28, 0.86), (0.72, 0.86), (0.88, 0.3), (0.68, 0.52), (0.66, 0.18), (0.5, 0.48), (0.34, 0.18), (0.32, 0.52),
          (0.12, 0.3)],
    "k": [(0.3, 0.86), (0.7, 0.86), (0.8, 0.5), (0.66, 0.4), (0.54, 0.46), (0.54, 0.28), (0.64, 0.28),
          (0.64, 0.19), (0.54, 0.19), (0.54, 0.08), (0.46, 0.08), (0.46, 0.19), (0.36, 0.19), (0.36, 0.28),
          (0.46, 0.28), (0.46, 0.46), (0.34, 0.4), (0.2, 0.5)],
}  # fmt: skip
# of a square of the small picture
SMALL_SHAPES = {
    "p": ("...", ".#.", ".#."),
    "r": ("#.#", "###", "###"),
    "n": ("##.", ".#.", ".##"),
    "b": (".#.", "#.#", "###"),
    "q": ("#.#", ".#.", "###"),
    "k": (".#.", "###", ".#."),
}
TILE_SQUARES = (SHADE, "#6c8299")
TILE_SETS = ("own", "other", "pawns", "knights", "diagonals", "lines")
# of the pieces that each player may capture: symbols and letters
CAPTURES = (("♛♜♝♞♟", "qrbnp"), ("♕♖♗♘♙", "QRBNP"))
GLYPHS = {"q": "♛", "r": "♜", "b": "♝", "n": "♞"}  # of promotions
PIECE_NAMES = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}
HEADS = {"p": (0.36, 0.14), "b": (0.15, 0.07)}


def rows_of(game: dict[str, Any]) -> list[str]:
    """Return a string of pieces for each rank, the last rank first, "." for an empty square."""
    return ["".join(piece or "." for piece in row) for row in fen.rows_of(game["fen"].split()[0])]


def mover(game: dict[str, Any]) -> int:
    """Return the player to move."""
    return "wb".index(game["fen"].split()[1])


def ending(rules: Chess, fields: dict[str, Any]) -> Ending:
    """Return whether the player to move is in check, who has won, and why the game has ended (C8 to C11)."""
    s = state_of(rules, fields)
    moves = legal_moves(rules.board, s)
    check = bool(moves.check.value)
    lost, drawn = (bool(x.value) for x in rules.ends(s, moves))
    if lost:
        return Ending(check, 1 - fields["current_player"], "checkmate")
    if not drawn:
        return Ending(check)
    if not legal_actions(rules, s.asdict()):
        return Ending(check, None, "stalemate")
    if s.repeats.value >= 2:
        return Ending(check, None, "the same position for the third time")
    if s.quiet.value >= rules.quiet_plies:
        return Ending(check, None, f"{rules.quiet_plies} plies without a capture or a pawn's move")
    return Ending(check, None, "neither side has the men to mate")


def status(rules: Chess, game: dict[str, Any], fields: dict[str, Any]) -> str:
    """Return the status: the player to move, or how the game has ended."""
    return status_of(NAMES, game, fields["current_player"], ending(rules, fields))


def to_string(rules: Chess, game: dict[str, Any]) -> str:
    """Return rows of pieces, white's in capitals, the viewer's or white's first rank below; the status, and the FEN."""
    step = -1 if game.get("viewer") else 1
    text = status(rules, game, from_dict(rules, game))
    rows = [f"{rules.side - line} " + " ".join(row[::step]) for line, row in enumerate(rows_of(game))]
    files = " ".join(FILE_NAMES[: rules.side][::step])
    return "\n".join([*rows[::step], f"  {files}", text, game["fen"]])


def draw(rules: Chess, game: dict[str, Any]) -> Drawing:
    """Draw the board, the viewer or white below; a click on a square chooses the moves from it and to it."""
    count = rules.side
    side = count * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    order = range(count)[:: -1 if game.get("viewer") else 1]
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Chess")
    picture.rect(MARGIN, MARGIN, side, side, LIGHT, INK)
    for place, line in enumerate(order):
        picture.text((MARGIN - 14, MARGIN + (place + 0.5) * CELL), str(count - line), 12, INK)
        picture.text((MARGIN + (place + 0.5) * CELL, MARGIN - 14), FILE_NAMES[line], 12, INK)
    fields = from_dict(rules, game)  # reading a position takes most of the time of a picture
    # the highest number comes first: of promotions that to a queen
    actions = {action: ends_of(rules, action) for action in reversed(open_actions(rules, game, fields))}
    for row, pieces in enumerate(rows_of(game)):
        for file, piece in enumerate(pieces):
            corners = grid.square(order[row], order[file])
            if is_dark(rules, row, file):
                picture.polygon(corners, SHADE)
            if piece != ".":
                draw_piece(picture, piece, *corners[0])
            square = count * file + (row if mover(game) else count - 1 - row)
            draw_choices(picture, corners, square, actions)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game, fields), 14, INK)
    return picture


def is_dark(rules: Chess, row: int, file: int) -> bool:
    """Return whether a square is dark, as a1 is; rows are counted from the last rank."""
    return (rules.side - 1 - row + file) % 2 == 0


def draw_piece(picture: Drawing, piece: str, x: float, y: float) -> None:
    """Draw a piece: a white one light with a dark outline, a black one dark with a light outline."""
    fill, stroke = (PAPER, INK) if piece.isupper() else (INK, PAPER)
    kind = piece.lower()
    picture.polygon([(x + a * CELL, y + b * CELL) for a, b in SHAPES[kind]], fill, stroke, 1.5)
    if kind in HEADS:
        height, radius = HEADS[kind]
        picture.circle((x + CELL / 2, y + height * CELL), radius * CELL, fill, stroke, 1.5)


players = seat_names(*NAMES)


def scores(rules: Chess, game: dict[str, Any]) -> list[str]:
    """Return the pieces that each player has captured, by the number of pieces missing on the board."""
    placed = game["fen"].split()[0]
    first = FIRST_RANKS[rules.side] + "P" * rules.side
    return [
        "".join(symbol * max(0, first.count(man.upper()) - placed.count(man)) for symbol, man in zip(*row, strict=True))
        for row in CAPTURES
    ]


def reason(rules: Chess, game: dict[str, Any]) -> str:
    """Return why the game has ended."""
    return ending(rules, from_dict(rules, game)).reason


def explain(rules: Chess, game: dict[str, Any], action: int) -> str:
    """Return the piece, the start and the end of a move by their usual names, for either colour."""
    castles = rules.board.castles
    if action in castles:
        return f"castle on the {'queen' if action == castles[0] else 'king'}'s side"
    rows = rows_of(game)
    black = mover(game)
    files, ranks = zip(*(divmod(square, rules.side) for square in ends_of(rules, action)), strict=True)
    lines = [rank if black else rules.side - 1 - rank for rank in ranks]
    start, end = (FILE_NAMES[file] + str(rules.side - line) for file, line in zip(files, lines, strict=True))
    kind = rows[lines[0]][files[0]].lower()
    taken = rows[lines[1]][files[1]] != "." or (kind == "p" and files[0] != files[1])
    letter = promoted(rules, action, pawns_of(rules, game))
    became = f", becomes a {PIECE_NAMES[letter]}" if letter else ""
    return f"{PIECE_NAMES[kind]} {start} {'takes' if taken else 'to'} {end}{became}"


def pawns_of(rules: Chess, game: dict[str, Any]) -> dict[str, int]:
    """Return the field of the pawns of both colours, without reading the rest of the position."""
    rows = [row.lower() for row in rows_of(game)]
    # Ranks count from the side of the player to move, which is Black's for the rows of a FEN.
    ranks = rows if mover(game) else rows[::-1]
    side = rules.side
    return {"pawns": sum(1 << side * f + r for r, row in enumerate(ranks) for f in range(side) if row[f] == "p")}


def symbol(rules: Chess, game: dict[str, Any], action: int) -> str:
    """Return the piece that a pawn becomes as a symbol; "" for other moves."""
    return GLYPHS.get(promoted(rules, action, pawns_of(rules, game)), "")


def tile(rules: Chess) -> Tile:
    """Return the board as a small picture, white below; a square is three pixels wide and high."""

    def pixel(y: int, x: int, black: int) -> Pixel:
        row = y // 3
        file = x // 3
        square = rules.side * file + (row if black else rules.side - 1 - row)
        ground = TILE_SQUARES[is_dark(rules, row, file)]
        colours = list[str]()
        # A pixel looks up its colour by the six bits that its square has in the sets of the state.
        for key in range(64):
            own, other, pawn, knight, diagonal, line = (key >> i & 1 for i in range(6))
            kind = "p" if pawn else "n" if knight else "kbrq"[diagonal + 2 * line]
            # Keys that no square can have need a colour as well, since the table is complete.
            shown = (own or other) and SMALL_SHAPES[kind][y % 3][x % 3] == "#"
            colours.append((INK if own == black else PAPER) if shown else ground)
        return Pixel(tuple(colours), tuple(StateBits(name, 0, square, 1) for name in TILE_SETS))

    return tile_of(rules.side, rules.side, pixel)
