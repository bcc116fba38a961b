"""Positions of chess as text and as drawings, with White below, or else the viewer."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.kings import Ending, draw_choices, draw_labels, king_texts, missing, repeated, tile_of
from tensor_envs.games.chess.board import LETTERS, STARTS
from tensor_envs.games.chess.notation import ends_of, from_dict, promoted
from tensor_envs.games.chess.rules import Chess, legal_moves
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import seat_names
from tensor_envs.render.tile import Tile
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
# pixels of pieces in a square of the small picture
SMALL_SHAPES = {
    "p": ("...", ".#.", ".#."),
    "r": ("#.#", "###", "###"),
    "n": ("##.", ".#.", ".##"),
    "b": (".#.", "#.#", "###"),
    "q": ("#.#", ".#.", "###"),
    "k": (".#.", "###", ".#."),
}
TILE_SQUARES = (SHADE, "#6c8299")
CAPTURES = ("qrbnp", "QRBNP")  # pieces that each player may capture
GLYPHS = dict(zip("".join(CAPTURES), "♛♜♝♞♟♕♖♗♘♙", strict=True))
PIECE_NAMES = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}
HEADS = {"p": (0.36, 0.14), "b": (0.15, 0.07)}


def pieces_of(rules: Chess, game: dict[str, Any]) -> dict[int, str]:
    """Return the pieces by their squares, as White sees them."""
    return rules.board.pieces_of(game["fen"].split()[0])


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


players = seat_names(*NAMES)
reason, status = king_texts(NAMES, ending, from_dict)


def to_string(rules: Chess, game: dict[str, Any]) -> str:
    """Return rows of pieces, white's in capitals, the viewer's or white's first rank below; the status, and the FEN."""
    fields = from_dict(rules, game)
    lines = rules.board.lines_of(pieces_of(rules, game), game.get("viewer"))
    return "\n".join([*lines, *repeated(fields["repeats"]), status(rules, game, fields), game["fen"]])


def draw(rules: Chess, game: dict[str, Any]) -> Drawing:
    """Draw the board, the viewer or white below; a click on a square chooses the moves from it and to it."""
    board = rules.board
    side = rules.side * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    viewer = game.get("viewer")
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Chess")
    picture.rect(MARGIN, MARGIN, side, side, LIGHT, INK)
    draw_labels(picture, grid, board, viewer, MARGIN - 14, 14)
    fields = from_dict(rules, game)  # reading a position takes most of the time of a picture
    # the highest number comes first: of promotions that to a queen
    actions = {action: ends_of(rules, action) for action in reversed(open_actions(rules, game, fields))}
    pieces = pieces_of(rules, game)
    for square, place in board.places(viewer).items():
        corners = grid.square(*place)
        if board.dark >> square & 1:
            picture.polygon(corners, SHADE)
        if square in pieces:
            draw_piece(picture, pieces[square], *corners[0])
        draw_choices(picture, corners, board.number_for(mover(game), square), actions)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game, fields), 14, INK)
    return picture


def draw_piece(picture: Drawing, piece: str, x: float, y: float) -> None:
    """Draw a piece: a white one light with a dark outline, a black one dark with a light outline."""
    fill, stroke = (PAPER, INK) if piece.isupper() else (INK, PAPER)
    kind = piece.lower()
    picture.polygon([(x + a * CELL, y + b * CELL) for a, b in SHAPES[kind]], fill, stroke, 1.5)
    if kind in HEADS:
        height, radius = HEADS[kind]
        picture.circle((x + CELL / 2, y + height * CELL), radius * CELL, fill, stroke, 1.5)


def scores(rules: Chess, game: dict[str, Any]) -> list[str]:
    """Return the pieces that each player has captured, by the number of pieces missing on the board."""
    placed = game["fen"].split()[0]
    captured = [missing(STARTS[rules.side], placed, letters) for letters in CAPTURES]
    return ["".join(GLYPHS[letter] for letter in letters) for letters in captured]


def explain(rules: Chess, game: dict[str, Any], action: int) -> str:
    """Return the piece, the start and the end of a move by their usual names, for either colour."""
    castles = rules.board.castles
    if action in castles:
        return f"castle on the {'queen' if action == castles[0] else 'king'}'s side"
    board = rules.board
    pieces = pieces_of(rules, game)
    start, end = (board.number_for(mover(game), square) for square in ends_of(rules, action))
    names = board.names[start], board.names[end]
    kind = pieces[start].lower()
    taken = end in pieces or (kind == "p" and names[0][0] != names[1][0])
    letter = promoted(rules, action, sets_of(rules, game))
    became = f", becomes a {PIECE_NAMES[letter]}" if letter else ""
    return f"{PIECE_NAMES[kind]} {names[0]} {'takes' if taken else 'to'} {names[1]}{became}"


def sets_of(rules: Chess, game: dict[str, Any]) -> dict[str, int]:
    """Return the fields of the pieces, without reading the rest of the position."""
    return rules.board.sets_of(rules.board.seen_by(mover(game), pieces_of(rules, game)))


def symbols(rules: Chess, game: dict[str, Any], actions: Sequence[int]) -> list[str]:
    """Return the piece that a pawn becomes as a symbol; "" for other moves."""
    sets = sets_of(rules, game)
    return [GLYPHS.get(promoted(rules, action, sets), "") for action in actions]


def tile(rules: Chess) -> Tile:
    """Return the board as a small picture, white below; a square is three pixels wide and high."""
    board = rules.board

    def colour(y: int, x: int, black: int, key: int) -> str:
        """Return the colour of a pixel by the bits of its square; any combination of bits has a colour."""
        own, other, pawn, knight, diagonal, line = (key >> i & 1 for i in range(6))
        kind = "p" if pawn else "n" if knight else "kbrq"[diagonal + 2 * line]
        if (own or other) and SMALL_SHAPES[kind][y % 3][x % 3] == "#":
            return INK if own == black else PAPER
        return TILE_SQUARES[board.dark >> board.rows[y // 3][x // 3] & 1]

    return tile_of(board, [(name, 0) for name in LETTERS], colour)
