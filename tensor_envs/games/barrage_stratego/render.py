"""Positions of Barrage Stratego as text and as drawings."""

from collections.abc import Sequence

from tensor_envs.games.barrage_stratego.notation import DRAW, end_of, square_for, squares_of
from tensor_envs.games.barrage_stratego.rules import KINDS, LAKES, SIDE, SQUARES, BarrageStratego
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.grids import INK, SquareGrid, cell_name, labelled
from tensor_envs.render.moves import Game
from tensor_envs.render.status import outcome, seat_names, to_move
from tensor_envs.render.tile import Mark, Pixel, StateBits, Tile
from tensor_envs.rules.plain import open_actions

NAMES = ("Red", "Blue")
# by kind, in texts and in pictures; the last one is that of an unknown piece
SIGNS = "FBSCMGL?"
RANKS = ("F", "B", "S", "2", "3", "9", "10", "")
LEGEND = "F flag, B bomb, S spy, C scout, M miner, G general, L marshal, Red in capitals, ? unknown"
COLOURS = ("#b3261e", "#1c4f9c")
PAPER = "#ffffff"
GROUND, WATER = "#dfe5c4", "#86b6d6"
CELL, MARGIN = 44, 36  # pixels: side of a square, width around the board
Piece = tuple[int, int, int, int]  # its player and kind, -1 if unknown; whether it has moved and is shown


def pieces_on(rules: BarrageStratego, game: Game) -> dict[int, Piece]:
    """Return the pieces on the board by their squares, as Red sees these."""
    pieces = dict[int, Piece]()
    for player, squares in enumerate(game["squares"]):
        hidden = game["hidden"][player] if "hidden" in game else [0] * len(squares)
        kinds = [-1 if unknown else kind for kind, unknown in zip(rules.kinds, hidden, strict=True)]
        for square, *facts in zip(squares, kinds, game["moved"][player], game["shown"][player], strict=True):
            pieces[square_for(player, square)] = (player, *facts)
    return {square: piece for square, piece in pieces.items() if 0 <= square < SQUARES}


def reason(rules: BarrageStratego, game: Game) -> str:
    """Return why a game has ended, "" if it goes on; nothing is hidden at the end."""
    return "" if "hidden" in game else end_of(rules, game)


def seen_by(rules: BarrageStratego, game: Game, player: int) -> Game:
    """Return the game with the opponent's unknown pieces in the order of their squares, or off the board (B13)."""
    if reason(rules, game):
        return game
    other = 1 - player
    squares, moved, hidden = ([[*row] for row in game[name]] for name in ("squares", "moved", "shown"))
    hidden[player] = [0] * len(rules.kinds)
    hidden[other] = [int(q >= 0 and not known) for q, known in zip(squares[other], hidden[other], strict=True)]
    unknown = [k for k, is_hidden in enumerate(hidden[other]) if is_hidden]
    places = sorted((squares[other][k], moved[other][k]) for k in unknown)
    for k, place in zip(unknown, places, strict=True):
        squares[other][k], moved[other][k] = (-1, 0) if game["placed"] < 2 * len(rules.kinds) else place
    return game | {"squares": squares, "moved": moved, "hidden": hidden}


def visible_moves(rules: BarrageStratego, moves: Sequence[str], player: int) -> list[str]:
    """Return the names of all moves, "?" for the squares on which the opponent has placed pieces."""
    return ["?" if ply < 2 * len(rules.kinds) and ply % 2 != player else name for ply, name in enumerate(moves)]


def actions_of(rules: BarrageStratego, game: Game) -> dict[int, list[int]]:
    """Return the squares of each legal action, as Red sees them; none where the player to move has unknown pieces."""
    player = game["current_player"]
    is_known = "hidden" not in game or not any(game["hidden"][player])
    actions = open_actions(rules, game, game | {"terminated": not is_known or reason(rules, game) != ""})
    return {action: squares_of(action, player) for action in actions}


players = seat_names(*NAMES)


def status(rules: BarrageStratego, game: Game) -> str:
    """Return the player to move and the task, or the result."""
    player = game["current_player"]
    if why := reason(rules, game):
        return outcome(NAMES, None if why == DRAW else 1 - player, why)
    kinds = rules.kinds[game["placed"] // 2 :]
    return to_move(game, NAMES[player], f"places the {KINDS[kinds[0]]}" if kinds else "to move")


def scores(rules: BarrageStratego, game: Game) -> list[str]:
    """Return the kinds of each player's captured pieces, which are known."""
    armies = [zip(rules.kinds, *pairs, strict=True) for pairs in zip(game["squares"], game["shown"], strict=True)]
    lost = [" ".join(KINDS[kind] for kind, square, shown in army if square < 0 and shown) for army in armies]
    return [f"lost {kinds}" if kinds else "" for kinds in lost]


def to_string(rules: BarrageStratego, game: Game) -> str:
    """Return rows of letters, which pieces have moved and are known to the opponent, captured ones, and the status."""
    signs = ["~" if square in LAKES else "." for square in range(SQUARES)]
    lists: list[list[list[str]]] = [[[], []] for _ in NAMES]
    for square, (player, kind, *facts) in sorted(pieces_on(rules, game).items()):
        signs[square] = SIGNS[kind].lower() if player else SIGNS[kind]
        for names, fact in zip(lists[player], facts, strict=True):
            names += [cell_name(square, SIDE)] * fact
    lines = [*labelled(signs, SIDE, from_top=False), LEGEND]
    for name, (moved, known), lost in zip(NAMES, lists, scores(rules, game), strict=True):
        lines.append(
            f"{name}: {lost or 'lost none'}; moved {' '.join(moved) or 'none'}; known {' '.join(known) or 'none'}"
        )
    return "\n".join([*lines, status(rules, game)])


def draw(rules: BarrageStratego, game: Game) -> Drawing:
    """Draw the board with the viewer below, or else Red; a piece and the squares that it reaches are its actions."""
    side = SIDE * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Barrage Stratego")
    pieces = pieces_on(rules, game)
    actions = actions_of(rules, game)
    for square in range(SQUARES):
        row, column = divmod(square_for(game.get("viewer", 0), square), SIDE)
        place = SIDE - 1 - row, column
        picture.polygon(grid.square(*place), WATER if square in LAKES else GROUND, INK, 0.5)
        if square in pieces:
            draw_piece(picture, grid.centre(*place), *pieces[square])
        if column == 0:
            picture.text((MARGIN - 14, grid.centre(*place)[1]), str(square // SIDE + 1), 12, INK)
        if row == 0:
            picture.text((grid.centre(*place)[0], MARGIN - 14), cell_name(square, SIDE)[0], 12, INK)
        if here := [action for action, squares in actions.items() if square in squares]:
            picture.area(grid.square(*place), *here, targets=[a for a in here if actions[a][1:] == [square]])
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game), 14, INK)
    return picture


def draw_piece(picture: Drawing, centre: Point, player: int, kind: int, moved: int, shown: int) -> None:
    """Draw a piece with its rank, a line below the rank if the opponent knows it, and a dot if it has moved."""
    x, y = centre
    picture.rect(x - 18, y - 18, 36, 36, COLOURS[player], INK)
    picture.text((x, y), RANKS[kind], 18, PAPER, bold=True)
    if shown:
        picture.line((x - 8, y + 12), (x + 8, y + 12), stroke=PAPER, width=2)
    if moved:
        picture.circle((x + 13, y - 13), 2.5, PAPER)


def tile(rules: BarrageStratego) -> Tile:
    """Return the board as a small picture, Red below."""
    order = [row * SIDE + column for row in range(SIDE)[::-1] for column in range(SIDE)]
    places = [tuple(order.index(square_for(player, square)) for square in range(SQUARES)) for player in (0, 1)]
    owners = [player for player in (0, 1) for _ in rules.kinds]
    marks = [Mark(COLOURS[player], StateBits("squares", k), places[player]) for k, player in enumerate(owners)]
    return Tile(SIDE, ([Pixel((WATER if square in LAKES else GROUND,)) for square in order],), tuple(marks))
