"""Positions of shogi as text and as drawings, with Black below, or else the viewer."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.kings import Ending, Ends, draw_choices, draw_labels, king_texts, repeated, tile_of
from tensor_envs.games.shogi.notation import ends_of, from_dict, parse, position_of
from tensor_envs.games.shogi.rules import Shogi, legal_moves, pieces_of
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import seat_names
from tensor_envs.render.tile import Tile
from tensor_envs.rules.plain import open_actions, state_of

NAMES = ("Black", "White")
WOOD = "#e3bd74"
GRID = "#6b4f22"
PIECES = ("#f7e3b5", "#fffdf5")  # Black's and White's
RAISED = "#b3201b"  # letters of promoted pieces
CELL, MARGIN = 48, 36  # pixels: a square, around the board
MIN_WIDTH = 460  # width that the status line needs
# outline of a piece that goes up, in a square of side 1
SHAPE = [(0.5, 0.08), (0.8, 0.24), (0.89, 0.92), (0.11, 0.92), (0.2, 0.24)]
# pixels of a piece that goes up in the small picture, and colours of both players' pieces
SMALL_SHAPE = (".#.", "###", "###")
SMALL_COLOURS = (INK, "#fcfcfa")
LETTER = "#10161d"  # letters on pieces; `INK` would become light in the dark, and pieces do not
CROWN = "#f2c200"  # the middle of a king


def ending(rules: Shogi, fields: dict[str, Any]) -> Ending:
    """Return whether the player to move is in check, who has won, and why the game has ended."""
    s = state_of(rules, fields)
    moves = legal_moves(rules.board, s)
    check = bool(moves.check.value)
    end = rules.ends(s, moves)
    player = fields["current_player"]
    winner = None if end.drawn.value else 1 - player if end.won.value else player
    if not any(x.value for x in end):
        return Ending(check)
    # A player without a move is mated, also where the position has occurred before.
    if not any(cells.any().value for cells in moves.planes):
        return Ending(check, winner, "checkmate" if check else "no legal move")
    if s.repeats.value == rules.fold - 1:
        since = rules.past.plies_since(rules.past.recurrences(s)).value
        perpetual = rules.board.variant.orthodox and max(fields["checks"]) >= since
        time = "fourth" if rules.fold == 4 else "third"
        return Ending(check, winner, "perpetual check" if perpetual else f"the same position for the {time} time")
    # In animal shogi alone a king may be missing.
    caught = not pieces_of(rules.board, s).king.any().value
    return Ending(check, winner, "the lion is caught" if caught else "the lion has reached the last rank")


players = seat_names(*NAMES)
reason, status = king_texts(NAMES, ending, from_dict)


def scores(rules: Shogi, game: dict[str, Any]) -> list[str]:
    """Return the letters of the pieces that each player has in hand, with their numbers."""
    position, _ = parse(rules, game["sfen"])

    def text(hand: list[int]) -> str:
        counts = [(letter, count) for letter, count in zip(rules.board.letters, hand, strict=False) if count]
        return " ".join(letter if count == 1 else f"{letter} x {count}" for letter, count in counts)

    return [text(hand) for hand in rules.board.fields_of(position.pieces)["hands"]]


def to_string(rules: Shogi, game: dict[str, Any]) -> str:
    """Return rows of pieces, Black's in capitals, the viewer's or Black's side below; hands, the status, and SFEN."""
    board = rules.board
    fields = from_dict(rules, game)
    pieces = position_of(rules, fields).pieces
    step = -1 if game.get("viewer") else 1
    lines = [" ".join(f"{name:>2}" for name in board.columns[::step])]
    for name, row in [*zip(board.lines, board.rows, strict=True)][::step]:
        lines.append(" ".join(f"{pieces.get(cell, '.'):>2}" for cell in row[::step]) + f" {name}")
    lines += [f"{name}: {score or '-'}" for name, score in zip(NAMES, scores(rules, game), strict=True)]
    return "\n".join([*lines, *repeated(fields["repeats"]), status(rules, game, fields), game["sfen"]])


def draw(rules: Shogi, game: dict[str, Any]) -> Drawing:
    """Draw the board between both hands; a click on a square or a piece in hand chooses the moves from it and to it."""
    board = rules.board
    viewer = int(game.get("viewer") or 0)
    wide = board.files * CELL
    high = board.ranks * CELL
    picture = Drawing(max(wide + 2 * MARGIN, MIN_WIDTH), high + 2 * CELL + 3.2 * MARGIN, title=board.variant.title)
    grid = SquareGrid((picture.width - wide) / 2, CELL + 1.2 * MARGIN, CELL)
    picture.rect(grid.left, grid.top, wide, high, WOOD, GRID, 2)
    fields = from_dict(rules, game)  # reading a position takes most of the time of a picture
    pieces = position_of(rules, fields).pieces
    ends = {action: ends_of(rules, fields, action) for action in open_actions(rules, game, fields)}
    for cell, place in board.places(viewer).items():
        corners = grid.square(*place)
        picture.polygon(corners, stroke=GRID)
        if cell in pieces:
            draw_piece(picture, pieces[cell], corners[0], viewer)
        draw_choices(picture, corners, cell, ends)
    draw_labels(picture, grid, board, viewer, grid.left + wide + 14, 12)
    for side, top in ((viewer, grid.top + high + 0.3 * MARGIN), (1 - viewer, 0.2 * MARGIN)):
        draw_hand(picture, rules, pieces, ends, side, top, viewer)
    picture.text((picture.width / 2, picture.height - 0.6 * MARGIN), status(rules, game, fields), 14, INK)
    return picture


def draw_hand(
    picture: Drawing, rules: Shogi, pieces: dict[int, str], ends: Ends, side: int, top: float, viewer: int
) -> None:
    """Draw a player's pieces in hand, once for each kind with their number; they stand for their drops."""
    board = rules.board
    left = (picture.width - len(board.counts) * CELL) / 2
    for k, most in enumerate(board.counts):
        corners = box(left + k * CELL, top, CELL, CELL)
        place, *more = (board.number_for(side, board.slots[k] + n) for n in range(most))
        count = 1 + sum(other in pieces for other in more)
        if place in pieces:
            draw_piece(picture, pieces[place], corners[0], viewer)
        if count > 1:
            picture.text((left + (k + 1) * CELL - 6, top + 8), str(count), 13, INK, bold=True)
        draw_choices(picture, corners, place, ends)


def draw_piece(picture: Drawing, piece: str, corner: Point, viewer: int) -> None:
    """Draw a piece with its letter; the viewer's point up."""
    side = int(piece[-1].islower())
    x, y = corner
    up = side == viewer
    points = [(x + (a if up else 1 - a) * CELL, y + (b if up else 1 - b) * CELL) for a, b in SHAPE]
    picture.polygon(points, PIECES[side], INK, 1.5)
    colour = RAISED if piece[0] == "+" else LETTER
    picture.text((x + CELL / 2, y + (0.58 if up else 0.42) * CELL), piece.upper(), 18, colour, bold=True)


def explain(rules: Shogi, game: dict[str, Any], action: int) -> str:
    """Return the piece, the start and the end of a move, or the piece and the square of a drop."""
    board = rules.board
    (pieces, player), _ = parse(rules, game["sfen"])  # `from_dict` would look for mates by every drop
    fields = board.fields_of(board.seen_by(player, pieces)) | {"current_player": player}
    start, end = ends_of(rules, fields, action)
    name = next(form.name for form in board.forms if form.letter == pieces[start].upper())
    if start not in board.names:
        return f"drop a {name} on {board.names[end]}"
    promotes = ", promotes" if board.ways <= action // board.size < board.drops else ""
    return f"{name} {board.names[start]} {'takes' if end in pieces else 'to'} {board.names[end]}{promotes}"


def symbols(rules: Shogi, game: dict[str, Any], actions: Sequence[int]) -> list[str]:
    """Return "+" for moves with promotion and "=" for those without it where there is a choice, else ""."""
    board = rules.board
    legal = {*actions}

    def symbol(action: int) -> str:
        plane = action // board.size
        promotes = board.ways <= plane < board.drops
        # the same move, with promotion instead of without it, or the other way round
        other = action - board.ways * board.size if promotes else action + board.ways * board.size
        choice = plane < board.drops and other in legal and board.variant.orthodox
        return "" if not choice else "+" if promotes else "="

    return [symbol(action) for action in actions]


def tile(rules: Shogi) -> Tile:
    """Return the board as a small picture, Black below; a square is three pixels wide and high."""
    board = rules.board

    def colour(y: int, x: int, player: int, key: int) -> str:
        """Return the colour of a pixel for the bits own, other, and digits of the piece."""
        own = key & 1
        is_empty = key & 3 == 0
        promoted, kind = divmod(key >> 2, 1 << board.digits)
        side = player if own else 1 - player
        row = y % 3
        column = x % 3
        if is_empty or SMALL_SHAPE[2 - row if side else row][column] == ".":
            return WOOD
        if (row, column) == (1, 1) and promoted:
            return RAISED
        is_king = kind == len(board.kinds) - 1
        return CROWN if is_king and (row, column) == (1, 1) else SMALL_COLOURS[side]

    digits = [("pieces", k * board.grid.words) for k in range(board.digits + 1)]
    return tile_of(board, [("own", 0), ("other", 0), *digits], colour)
