"""Positions of xiangqi as text and as drawings, with Red below, or else the viewer."""

from typing import Any

from tensor_envs.games._kit.kings import Ending, draw_choices, draw_labels, king_texts, missing, repeated, tile_of
from tensor_envs.games.xiangqi.moves import BOARD, FILES, GRID, KIND_DIGITS, PIECES, RANKS, legal_moves, pieces_of
from tensor_envs.games.xiangqi.notation import ends_of, from_dict, parse, pieces_on
from tensor_envs.games.xiangqi.rules import PAST, START, Xiangqi, ends
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import seat_names
from tensor_envs.render.tile import Tile
from tensor_envs.rules.plain import open_actions, state_of

NAMES = ("Red", "Black")
WOOD = "#ecd6a8"
RIVER = "#cfe0e6"
PAPER = "#fcf5e2"  # pieces
COLOURS = ("#b3261e", "#1d2733")  # letters on them
CELL, MARGIN = 46, 34  # pixels: between two lines, around the board
PALACES = (((0, 3), (2, 5)), ((0, 5), (2, 3)), ((7, 3), (9, 5)), ((7, 5), (9, 3)))  # ends of the diagonals
# name of each piece, and its rows in the small picture
PIECE_LOOKS = {
    "P": ("soldier", "...", ".#.", "..."),
    "A": ("advisor", ".#.", "#.#", "..."),
    "B": ("elephant", "#.#", "...", "#.#"),
    "N": ("horse", "##.", ".#.", ".##"),
    "R": ("chariot", "#.#", "###", "#.#"),
    "C": ("cannon", "###", "#.#", "###"),
    "K": ("general", ".#.", "###", ".#."),
}
GROUNDS = (WOOD, "#dcc38c")  # squares of the small picture


def ending(rules: Xiangqi, fields: dict[str, Any]) -> Ending:
    """Return whether the player to move is in check, who has won, and why the game has ended."""
    s = state_of(rules, fields)
    moves = legal_moves(pieces_of(s))
    check = bool(moves.check.value)
    stuck, repeated, culprit = (int(x.value) for x in ends(s, moves))
    player = fields["current_player"]
    if stuck:
        return Ending(check, 1 - player, "checkmate" if check else "stalemate")
    if repeated and culprit >= 0:
        return Ending(check, (1 - player, player)[culprit], "perpetual check by the opponent")
    if repeated:
        return Ending(check, None, "the same position for the third time")
    quiet = fields["quiet"] >= rules.quiet_plies
    return Ending(check, None, f"{rules.quiet_plies} plies without a capture" if quiet else "")


players = seat_names(*NAMES)
reason, status = king_texts(NAMES, ending, from_dict)


def to_string(rules: Xiangqi, game: dict[str, Any]) -> str:
    """Return rows of pieces, Red's in capitals, the viewer's or Red's first rank below; the status, and the FEN."""
    fields = from_dict(rules, game)
    lines = BOARD.lines_of(pieces_on(fields), game.get("viewer"))
    again = repeated(int(PAST.recurrences(state_of(rules, fields)).count().value))
    return "\n".join([*lines, *again, status(rules, game, fields), game["fen"]])


def draw(rules: Xiangqi, game: dict[str, Any]) -> Drawing:
    """Draw the board, the viewer or Red below; a click on a point chooses the moves from it and to it."""
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    viewer = game.get("viewer")
    picture = Drawing(FILES * CELL + 2 * MARGIN, RANKS * CELL + 2.5 * MARGIN, title="Xiangqi")
    draw_board(picture, grid)
    draw_labels(picture, grid, BOARD, viewer, MARGIN - 12, 12)
    fields = from_dict(rules, game)  # reading a position takes most of the time of a picture
    actions = {action: ends_of(action) for action in open_actions(rules, game, fields)}
    pieces = pieces_on(fields)
    for square, place in BOARD.places(viewer).items():
        centre = grid.centre(*place)
        if square in pieces:
            colour = COLOURS[pieces[square].islower()]
            picture.circle(centre, 0.43 * CELL, PAPER, colour, 2)
            picture.circle(centre, 0.35 * CELL, "none", colour)
            picture.text(centre, pieces[square].upper(), 20, colour, bold=True)
        draw_choices(picture, grid.square(*place), BOARD.number_for(fields["current_player"], square), actions)
    picture.text((picture.width / 2, RANKS * CELL + 1.8 * MARGIN), status(rules, game, fields), 14, INK)
    return picture


def draw_board(picture: Drawing, grid: SquareGrid) -> None:
    """Draw the lines, the river, and the diagonals of the palaces."""
    last_rank, last_file = RANKS - 1, FILES - 1
    picture.rect(MARGIN, MARGIN, FILES * CELL, RANKS * CELL, WOOD, INK)
    picture.rect(*grid.centre(RANKS // 2 - 1, 0), last_file * CELL, CELL, RIVER)
    lines = [((rank, 0), (rank, last_file)) for rank in range(RANKS)]
    for file in range(FILES):
        # The river interrupts all files but the first and the last.
        parts = [(0, last_rank)] if file in (0, last_file) else [(0, RANKS // 2 - 1), (RANKS // 2, last_rank)]
        lines += [((first, file), (last, file)) for first, last in parts]
    for first_end, second_end in [*lines, *PALACES]:
        picture.line(grid.centre(*first_end), grid.centre(*second_end), stroke=INK)


def scores(rules: Xiangqi, game: dict[str, Any]) -> list[str]:
    """Return the letters of the pieces that each player has captured, by the number of pieces missing on the board."""
    return [missing(START, game["fen"].split()[0], letters) for letters in ("rcnbap", "RCNBAP")]


def explain(rules: Xiangqi, game: dict[str, Any], action: int) -> str:
    """Return the piece, the start and the end of a move by their names, for either colour."""
    pieces, black, *_ = parse(rules, game["fen"])  # without reading the history
    start, end = (BOARD.number_for(black, square or 0) for square in ends_of(action))
    word = "takes" if end in pieces else "to"
    return f"{PIECE_LOOKS[pieces[start].upper()][0]} {BOARD.names[start]} {word} {BOARD.names[end]}"


def tile(rules: Xiangqi) -> Tile:
    """Return the board as a small picture, Red below; a point is three pixels wide and high."""

    def colour(y: int, x: int, black: int, key: int) -> str:
        """Return the colour of a pixel for bits of its point: whether the piece is the mover's, and its kind."""
        own = key & 1
        kind = PIECES[key >> 1]
        if kind != " " and PIECE_LOOKS[kind][1 + y % 3][x % 3] == "#":
            return COLOURS[own == black]
        in_palace = y // 3 in (0, 1, 2, 7, 8, 9) and 3 <= x // 3 <= 5
        return RIVER if y in (14, 15) else GROUNDS[in_palace]

    return tile_of(BOARD, [("own", 0), *(("pieces", GRID.words * k) for k in range(KIND_DIGITS))], colour)
