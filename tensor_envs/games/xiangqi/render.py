"""Positions of xiangqi as text and as drawings, with Red below, or else the viewer."""

from typing import Any

from tensor_envs.games._kit.kings import Ending, draw_choices, missing, status_of, tile_of
from tensor_envs.games.xiangqi.board import FILES, GRID, KIND_DIGITS, PIECES, RANKS, SQUARES, START
from tensor_envs.games.xiangqi.notation import FILE_NAMES, ends_of, from_dict, name_of, pieces_on, square_for
from tensor_envs.games.xiangqi.rules import Xiangqi, ends, legal_moves, pieces_of
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import seat_names
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import open_actions, state_of

NAMES = ("Red", "Black")
WOOD = "#ecd6a8"
RIVER = "#cfe0e6"
PAPER = "#fcf5e2"  # of pieces
COLOURS = ("#b3261e", "#1d2733")  # of their letters
CELL, MARGIN = 46, 34  # pixels: between two lines, around the board
PALACES = (((0, 3), (2, 5)), ((0, 5), (2, 3)), ((7, 3), (9, 5)), ((7, 5), (9, 3)))  # ends of the diagonals
PIECE_NAMES = {
    "P": "soldier",
    "A": "advisor",
    "B": "elephant",
    "N": "horse",
    "R": "chariot",
    "C": "cannon",
    "K": "general",
}
# of a point of the small picture
SMALL_SHAPES = {
    "P": ("...", ".#.", "..."),
    "A": (".#.", "#.#", "..."),
    "B": ("#.#", "...", "#.#"),
    "N": ("##.", ".#.", ".##"),
    "R": ("#.#", "###", "#.#"),
    "C": ("###", "#.#", "###"),
    "K": (".#.", "###", ".#."),
}
GROUNDS = (WOOD, "#dcc38c")  # of the small picture


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


def to_string(rules: Xiangqi, game: dict[str, Any]) -> str:
    """Return rows of pieces, Red's in capitals, the viewer's or Red's first rank below; the status, and the FEN."""
    step = -1 if game.get("viewer") else 1
    fields = from_dict(rules, game)
    board = pieces_on(fields)
    rows = [" ".join([str(y), *(board.get(FILES * y + x, ".") for x in range(FILES)[::step])]) for y in range(RANKS)]
    status = status_of(NAMES, game, fields["current_player"], ending(rules, fields))
    return "\n".join([*rows[::-step], "  " + " ".join(FILE_NAMES[::step]), status, game["fen"]])


def draw(rules: Xiangqi, game: dict[str, Any]) -> Drawing:
    """Draw the board, the viewer or Red below; a click on a point chooses the moves from it and to it."""
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    viewer = int(game.get("viewer") or 0)
    picture = Drawing(FILES * CELL + 2 * MARGIN, RANKS * CELL + 2.5 * MARGIN, title="Xiangqi")
    draw_board(picture, grid, bool(viewer))
    fields = from_dict(rules, game)  # reading a position takes most of the time of a picture
    player = fields["current_player"]
    actions = {action: ends_of(action) for action in open_actions(rules, game, fields)}
    board = pieces_on(fields)
    for square in range(SQUARES):
        rank, file = divmod(square_for(viewer, square), FILES)
        centre = grid.centre(RANKS - 1 - rank, file)
        if square in board:
            colour = COLOURS[board[square].islower()]
            picture.circle(centre, 0.43 * CELL, PAPER, colour, 2)
            picture.circle(centre, 0.35 * CELL, "none", colour)
            picture.text(centre, board[square].upper(), 20, colour, bold=True)
        draw_choices(picture, grid.square(RANKS - 1 - rank, file), square_for(player, square), actions)
    status = status_of(NAMES, game, player, ending(rules, fields))
    picture.text((picture.width / 2, RANKS * CELL + 1.8 * MARGIN), status, 14, INK)
    return picture


def draw_board(picture: Drawing, grid: SquareGrid, turned: bool) -> None:
    """Draw the lines, the river, the diagonals of the palaces, and the names of files and ranks."""
    last_rank, last_file = RANKS - 1, FILES - 1
    picture.rect(MARGIN, MARGIN, FILES * CELL, RANKS * CELL, WOOD, INK)
    left, top = grid.centre(RANKS // 2 - 1, 0)
    picture.rect(left, top, last_file * CELL, CELL, RIVER)
    for rank in range(RANKS):
        picture.line(grid.centre(rank, 0), grid.centre(rank, last_file), stroke=INK)
        name = str(rank if turned else last_rank - rank)
        picture.text((MARGIN - 12, grid.centre(rank, 0)[1]), name, 12, INK)
    for file in range(FILES):
        # The river interrupts all files but the first and the last.
        parts = [(0, last_rank)] if file in (0, last_file) else [(0, RANKS // 2 - 1), (RANKS // 2, last_rank)]
        for first, last in parts:
            picture.line(grid.centre(first, file), grid.centre(last, file), stroke=INK)
        picture.text((grid.centre(0, file)[0], MARGIN - 12), FILE_NAMES[:: -1 if turned else 1][file], 12, INK)
    for first_corner, second_corner in PALACES:
        picture.line(grid.centre(*first_corner), grid.centre(*second_corner), stroke=INK)


players = seat_names(*NAMES)


def scores(rules: Xiangqi, game: dict[str, Any]) -> list[str]:
    """Return the letters of the pieces that each player has captured, by the number of pieces missing on the board."""
    placed = game["fen"].split()[0]
    return [missing(START, placed, letters) for letters in ("rcnbap", "RCNBAP")]


def reason(rules: Xiangqi, game: dict[str, Any]) -> str:
    """Return why the game has ended (X7, X10 to X12)."""
    return ending(rules, from_dict(rules, game)).reason


def explain(rules: Xiangqi, game: dict[str, Any], action: int) -> str:
    """Return the piece, the start and the end of a move by their names, for either colour."""
    fields = from_dict(rules, game)
    board = pieces_on(fields)
    start, end = (square_for(fields["current_player"], square or 0) for square in ends_of(action))
    word = "takes" if end in board else "to"
    return f"{PIECE_NAMES[board[start].upper()]} {name_of(start)} {word} {name_of(end)}"


def tile(rules: Xiangqi) -> Tile:
    """Return the board as a small picture, Red below; a point is three pixels wide and high."""

    def pixel(y: int, x: int, black: int) -> Pixel:
        rank, file = RANKS - 1 - y // 3, x // 3
        square = square_for(black, FILES * rank + file)
        ground = RIVER if y in (14, 15) else GROUNDS[rank in (0, 1, 2, 7, 8, 9) and 3 <= file <= 5]
        colours = list[str]()
        # A pixel looks up its colour by four bits of its point: whether the piece is the mover's, and its kind.
        for key in range(16):
            own, kind = key & 1, PIECES[key >> 1]
            shown = kind != " " and SMALL_SHAPES[kind][y % 3][x % 3] == "#"
            colours.append(COLOURS[own == black] if shown else ground)
        digits = [StateBits("pieces", GRID.words * k, square, 1) for k in range(KIND_DIGITS)]
        return Pixel(tuple(colours), (StateBits("own", 0, square, 1), *digits))

    return tile_of(RANKS, FILES, pixel)
