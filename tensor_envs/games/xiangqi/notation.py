"""Dictionaries and action names of xiangqi."""

import re
from collections.abc import Iterable
from typing import Any

from tensor_envs._validate import instance, shown, wrong_type
from tensor_envs.games._kit import fen
from tensor_envs.games._kit.past import num_changes
from tensor_envs.games.xiangqi.board import (
    DIAGONALS,
    FILES,
    LINES,
    PIECES,
    PLANES,
    RANKS,
    SQUARES,
    board_of,
    fields_of,
    turned_square,
)
from tensor_envs.games.xiangqi.rules import PAST, Xiangqi, ends, is_check, legal_moves, pieces_of
from tensor_envs.rules import unpack
from tensor_envs.rules.plain import ended, state_of

FILE_NAMES = "abcdefghi"
MOST = {"P": 5, "A": 2, "B": 2, "N": 2, "R": 2, "C": 2, "K": 1}  # pieces of a player
ADVISORS = ("d0", "f0", "e1", "d2", "f2")  # Red's squares of advisors and elephants, X3
ELEPHANTS = ("c0", "g0", "a2", "e2", "i2", "c4", "g4")
COMMENT_SIGNS = "+#!?"  # of check and comments, behind a name
SYNONYMS = ((r"\b([a-iA-I]\d)\s*(?i:takes|captures)\s*", r"\1x"),)

Board = dict[int, str]  # letters of pieces by the numbers of their squares, seen from Red's side; Red's are capitals


def name_of(square: int) -> str:
    """Return the name of a square."""
    return FILE_NAMES[square % FILES] + str(square // FILES)


def number_of(name: str) -> int:
    """Return the number of a square."""
    return FILES * int(name[1]) + FILE_NAMES.index(name[0])


def square_for(player: int, square: int) -> int:
    """Return the number of a square of Red's board from the side of a player, or the other way round."""
    return turned_square(square) if player else square


# *** states ***


def seen_by(board: Board, player: int) -> Board:
    """Return the pieces of Red's board as a player sees them, the own ones in capitals, or the reverse."""
    return {turned_square(square): fen.of_opponent(piece) for square, piece in board.items()} if player else board


def pieces_on(s: dict[str, Any]) -> Board:
    """Return the pieces of a game's fields, as Red sees them."""
    own = set(unpack(s["own"], SQUARES))
    digits = [set(unpack(words, SQUARES)) for words in s["pieces"]]
    board: Board = {}
    for square in range(SQUARES):
        kind = sum((square in digit) << k for k, digit in enumerate(digits))
        if kind:
            board[square] = PIECES[kind] if square in own else PIECES[kind].lower()
    return seen_by(board, s["current_player"])


def to_dict(rules: Xiangqi, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"fen": position, "moves": those since the last capture} for the fields of a game (X14)."""
    black = s["current_player"]
    board = pieces_on(s)
    placed = fen.text_of([board.get(FILES * y + x, "") for x in range(FILES)] for y in reversed(range(RANKS)))
    moves = list[str]()
    for numbers in PAST.numbers_of(s):
        mover = (black + len(moves) + 1) % 2
        moves.append("".join(name_of(square_for(mover, numbers[end])) for end in ("starts", "ends")))
    return {"fen": f"{placed} {'wb'[black]} - - {s['quiet']} {s['ply'] // 2 + 1}", "moves": moves[::-1]}


def from_string(rules: Xiangqi, text: str) -> dict[str, Any]:
    """Return the dictionary of a FEN."""
    return {"fen": text}


def from_dict(rules: Xiangqi, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a position in which the general of the player who is not to move is not attacked."""
    board, black, quiet, number = parse(rules, game["fen"])
    if is_attacked(rules, board, 1 - black):
        raise ValueError("the general of the player who is not to move must not be attacked")
    fields = {"current_player": black, "quiet": quiet, **fields_of(seen_by(board, black))}
    fields |= history(rules, board, black, quiet, game.get("moves", []))
    # Mate, a lack of moves and repetitions follow from the fields, so the dictionary need not have them.
    s = state_of(rules, fields)
    stuck, repeated, _ = ends(s, legal_moves(pieces_of(s)))
    over = bool(stuck.value or repeated.value) or quiet >= rules.quiet_plies
    return {**fields, "ply": 2 * number - 2 + black, **ended(over)}


def is_attacked(rules: Xiangqi, board: Board, player: int) -> bool:
    """Return whether a player's general is attacked, or faces the other one (X6)."""
    return bool(is_check(pieces_of(state_of(rules, fields_of(seen_by(board, player))))).value)


def history(rules: Xiangqi, board: Board, black: int, quiet: int, moves: Any) -> dict[str, Any]:
    """Return the fields of the moves since the last capture. ValueError unless they lead to the position."""
    if not isinstance(moves, (list, tuple)):
        raise wrong_type("moves", "a list", moves)
    if len(moves) > quiet:
        raise ValueError(f"moves must be at most {quiet}, as many as quiet plies, got {len(moves)}")
    plies = list[dict[str, int]]()
    checks = [0, 0]
    after = board
    for back, move in enumerate(reversed(moves)):
        if not isinstance(move, str) or not re.fullmatch("([a-i][0-9]){2}", move):
            raise ValueError(f"moves must be pairs of squares such as h2e2, got {shown(move)}")
        start, end = number_of(move[:2]), number_of(move[2:])
        # The last ply is that of the opponent of the player to move.
        player = 1 - back % 2
        mover = black ^ player
        if start in after or end not in after or after[end].islower() != bool(mover):
            raise ValueError(f"moves must lead to the position, not so {move}")
        if checks[player] == back // 2:  # the player's later plies have all given check
            checks[player] += is_attacked(rules, after, 1 - mover)
        after = {at: letter for at, letter in after.items() if at != end} | {start: after[end]}
        numbers = {"starts": square_for(mover, start), "ends": square_for(mover, end)}
        numbers |= {"kinds": PIECES.index(after[start].upper()), "changes": num_changes(after, board)}
        plies.append(numbers)
    return {**PAST.fields_of(plies), "checks": checks}


def parse(rules: Xiangqi, fen_text: Any) -> tuple[Board, int, int, int]:
    """Return the parts of a FEN: pieces, player, quiet plies, move number."""
    instance("fen", fen_text, str)
    words = fen_text.split()
    if len(words) in (2, 4):
        words = [*words[:2], "-", "-", "0", "1"]
    if len(words) != 6:
        raise ValueError(f"fen must be six words, or two or four without the numbers, got {shown(fen_text)}")
    placed, player, *_, quiet, number = words
    # Horses and elephants have two letters each in use.
    for other, letter in zip("HhEe", "NnBb", strict=True):
        placed = placed.replace(other, letter)
    rows = fen.rows_of(placed)
    if [len(row) for row in rows] != [FILES] * RANKS or not {p.upper() for row in rows for p in row} <= {"", *PIECES}:
        raise ValueError(f"fen must have 10 ranks of 9 squares, of pieces KABNRCP, got {shown(placed)}")
    board = board_of(placed)
    check_pieces(board, placed)
    if player not in ("w", "b", "r"):
        raise ValueError(f"fen must have w or b to move, got {shown(player)}")
    if words[2:4] != ["-", "-"]:
        raise ValueError(f"fen must have - - after the player, got {shown(' '.join(words[2:4]))}")
    if not fen.is_number(quiet):
        raise ValueError(f"fen must have a number of quiet plies, got {shown(quiet)}")
    if not fen.is_number(number, 1, 2**30 - 1):
        raise ValueError(f"fen must have a move's number from 1 on, got {shown(number)}")
    # players of other rules go on where a game is drawn here
    return board, int(player == "b"), min(int(quiet), rules.quiet_plies), int(number)


def check_pieces(board: Board, placed: str) -> None:
    """Raise ValueError unless there are no more pieces than at the start, each where it can come to."""
    letters = [*board.values()]
    for kind, most in MOST.items():
        for letter in (kind, kind.lower()):
            if letters.count(letter) > most or (kind == "K" and letter not in letters):
                wanted = "one general" if kind == "K" else f"at most {most} {kind}"
                raise ValueError(f"fen must have {wanted} of either colour, got {shown(placed)}")
    for square, letter in board.items():
        if not may_stand(letter.upper(), square_for(letter.islower(), square)):
            raise ValueError(
                f"fen must not have {letter} on {name_of(square)}, where none can come, got {shown(placed)}"
            )


def may_stand(kind: str, square: int) -> bool:
    """Return whether a piece of Red can stand on a square (X2, X3)."""
    rank, file = divmod(square, FILES)
    if kind == "K":
        return rank < 3 and 3 <= file <= 5
    if kind in "AB":
        return name_of(square) in (ADVISORS if kind == "A" else ELEPHANTS)
    return kind != "P" or rank > 4 or (rank > 2 and file % 2 == 0)


# *** actions ***


def ends_of(action: int) -> tuple[int, int | None]:
    """Return the start and the end of a move, seen from the player to move; None for an end beyond the edge."""
    plane, square = divmod(action, SQUARES)
    rank, file = divmod(square, FILES)
    ranks, files = PLANES[plane]
    if plane < len(LINES):
        return square, (rank + ranks) % RANKS * FILES + (file + files) % FILES
    if PLANES[plane] in DIAGONALS and name_of(square) not in ADVISORS:
        ranks, files = 2 * ranks, 2 * files  # an elephant
    inside = 0 <= rank + ranks < RANKS and 0 <= file + files < FILES
    return square, square + FILES * ranks + files if inside else None


def action_to_string(rules: Xiangqi, action: int) -> str:
    """Return the name of a move, with ranks seen from the player to move: "h2e2" (X9).

    A move that leaves the board has its step for the second square.
    """
    start, end = ends_of(action)
    ranks, files = PLANES[action // SQUARES]
    return name_of(start) + (f"{files:+d}{ranks:+d}" if end is None else name_of(end))


def move_to_string(rules: Xiangqi, action: int, s: dict[str, Any]) -> str:
    """Return a legal action of a position in the form of the Universal Chinese Chess Protocol: "h2e2", "h7e7"."""
    return "".join(name_of(square_for(s["current_player"], square)) for square in ends_of(action) if square is not None)


def move_pattern(names: Iterable[str]) -> str:
    """Return a pattern of moves, legal or not."""
    return "[a-i][0-9][-x]?[a-i][0-9]"


# no symmetries but the identity (X16)
