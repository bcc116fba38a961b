"""Dictionaries and action names of xiangqi."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tensor_envs._validate import instance, shown, wrong_type
from tensor_envs.games.xiangqi.board import (
    DIAGONALS,
    FILES,
    LINES,
    PIECES,
    PLANES,
    RANKS,
    SIDES,
    SQUARES,
    read_rows,
    turned_square,
)
from tensor_envs.games.xiangqi.rules import DIGITS, Xiangqi, ends, legal_moves, pieces_of
from tensor_envs.rules.plain import ended, state_of

FILE_NAMES = "abcdefghi"
WORD_BITS = 64
MAX_DIGITS = 10  # of a number in a FEN
MOST = {"P": 5, "A": 2, "B": 2, "N": 2, "R": 2, "C": 2, "K": 1}  # pieces of a player
ADVISORS = ("d0", "f0", "e1", "d2", "f2")  # Red's squares of advisors and elephants, X3
ELEPHANTS = ("c0", "g0", "a2", "e2", "i2", "c4", "g4")
UNKNOWN = 31  # pieces that have moved since a ply that is not in the dictionary: never 0, whatever follows
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


def to_dict(rules: Xiangqi, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"fen": position, "moves": those since the last capture} for the fields of a game (X14)."""
    black = s["current_player"]
    rows = [["1"] * FILES for _ in range(RANKS)]
    for square in range(SQUARES):
        kind = number_at(s["pieces"], square)
        if kind:
            rank, file = divmod(square_for(black, square), FILES)
            red = bit_at(s["own"], square) != black
            rows[rank][file] = PIECES[kind] if red else PIECES[kind].lower()
    # A run of empty squares is its length in a FEN.
    placed = re.sub("1+", lambda ones: str(len(ones.group())), "/".join(map("".join, reversed(rows))))
    moves = []
    for ply in range(s["quiet"]):
        # Plies of both players alternate; the last one is the opponent's, who comes second.
        player = 1 - ply % 2
        squares = [number_at([[digit] for digit in s[name][player]], ply // 2) for name in ("starts", "ends")]
        if squares[0] == squares[1]:
            break  # a ply that is not known
        moves.append("".join(name_of(square_for(black ^ player, square)) for square in squares))
    return {"fen": f"{placed} {'wb'[black]} - - {s['quiet']} {s['ply'] // 2 + 1}", "moves": moves[::-1]}


def bit_at(words: list[int], member: int) -> int:
    """Return 1 if a member is in a set of words, else 0."""
    return words[member // WORD_BITS] >> member % WORD_BITS & 1


def number_at(digits: list[list[int]], member: int) -> int:
    """Return the number of a member, whose binary digits are in sets."""
    return sum(bit_at(words, member) << k for k, words in enumerate(digits))


def from_string(rules: Xiangqi, text: str) -> dict[str, Any]:
    """Return the dictionary of a FEN."""
    return {"fen": text}


def from_dict(rules: Xiangqi, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a position in which the general of the player who is not to move is not attacked."""
    board, black, quiet, number = parse(rules, game["fen"])
    if is_attacked(board, 1 - black):
        raise ValueError("the general of the player who is not to move must not be attacked")
    kinds = {square_for(black, square): PIECES.index(letter.upper()) for square, letter in board.items()}
    own = [square_for(black, square) for square, letter in board.items() if letter.islower() == bool(black)]
    fields: dict[str, Any] = {"current_player": black, "quiet": quiet}
    digits = range(DIGITS["kinds"])
    fields["own"] = packed(own)
    fields["pieces"] = [packed(square for square, kind in kinds.items() if kind >> k & 1) for k in digits]
    fields |= history(rules, board, black, quiet, game.get("moves", []))
    # Mate, a lack of moves and repetitions follow from the fields, so the dictionary need not have them.
    s = state_of(rules, fields)
    stuck, repeated, _ = ends(s, legal_moves(pieces_of(s)))
    over = bool(stuck.value or repeated.value) or quiet >= rules.quiet_plies
    return {**fields, "ply": 2 * number - 2 + black, **ended(over)}


def packed(members: Iterable[int], words: int = 2) -> list[int]:
    """Return a set as words of 64 bits."""
    whole = sum(1 << member for member in members)
    return [whole >> WORD_BITS * w & 2**WORD_BITS - 1 for w in range(words)]


def history(rules: Xiangqi, board: Board, black: int, quiet: int, moves: Any) -> dict[str, Any]:
    """Return the fields of the moves since the last capture. ValueError unless they lead to the position."""
    if not isinstance(moves, (list, tuple)):
        raise wrong_type("moves", "a list", moves)
    if len(moves) > quiet:
        raise ValueError(f"moves must be at most {quiet}, as many as quiet plies, got {len(moves)}")
    fields: dict[str, Any] = {name: [[0] * count for _ in range(2)] for name, count in DIGITS.items()}
    fields["checks"] = [0, 0]
    plies = taken_back(board, black, moves)
    for ply in range(quiet):
        player = 1 - ply % 2
        numbers = {"changes": UNKNOWN}
        if ply < len(moves):
            before, after, *squares = next(plies)
            start, end = (square_for(black ^ player, square) for square in squares)
            kind = PIECES.index(before[squares[0]].upper())
            numbers = {"starts": start, "ends": end, "kinds": kind, "changes": len(before.items() - board.items())}
            fields["checks"][player] |= is_attacked(after, black ^ 1 - player) << ply // 2
        for name, number in numbers.items():
            for k in range(DIGITS[name]):
                fields[name][player][k] |= (number >> k & 1) << ply // 2
    return fields


def taken_back(board: Board, black: int, moves: Sequence[Any]) -> Iterator[tuple[Board, Board, int, int]]:
    """Yield the board before and after each move, with its squares, the last move first."""
    for ply, move in enumerate(reversed(moves)):
        if not isinstance(move, str) or not re.fullmatch("([a-i][0-9]){2}", move):
            raise ValueError(f"moves must be pairs of squares such as h2e2, got {shown(move)}")
        start, end = number_of(move[:2]), number_of(move[2:])
        # The last move is that of the player who is not to move.
        mover = (black + ply + 1) % 2
        if start in board or end not in board or board[end].islower() != bool(mover):
            raise ValueError(f"moves must lead to the position, not so {move}")
        before = {at: letter for at, letter in board.items() if at != end} | {start: board[end]}
        yield before, board, start, end
        board = before


def is_attacked(board: Board, player: int) -> bool:
    """Return whether a player's general is attacked, or faces the other one (X6)."""
    own = str.lower if player else str.upper
    general = next(square for square, letter in board.items() if letter == own("K"))
    enemy = {kind: kind.swapcase() for kind in map(own, "PNRCK")}
    soldier, horse, chariot, cannon, facing = enemy.values()
    place = divmod(general, FILES)
    ahead = -1 if player else 1
    for step in SIDES:
        met = [board[square] for square in squares_along(place, step) if square in board][:2]
        if met[:1] in ([chariot], [facing]) or met[1:] == [cannon]:
            return True
        # A soldier attacks ahead and, since it is beyond the river, to both sides.
        if step != (-ahead, 0) and any(board.get(square) == soldier for square in [*squares_along(place, step)][:1]):
            return True
    for ranks, files in DIAGONALS:
        leg = place[0] + ranks, place[1] + files
        # The leg of a horse stands diagonally beside the general.
        if 0 <= leg[0] < RANKS and FILES * leg[0] + leg[1] not in board:
            ends = ((leg[0] + ranks, leg[1]), (leg[0], leg[1] + files))
            if any(0 <= r < RANKS and 0 <= f < FILES and board.get(FILES * r + f) == horse for r, f in ends):
                return True
    return False


def squares_along(place: tuple[int, int], step: tuple[int, int]) -> Iterator[int]:
    """Yield the squares from a place on, in steps (ranks, files)."""
    rank, file = place[0] + step[0], place[1] + step[1]
    while 0 <= rank < RANKS and 0 <= file < FILES:
        yield FILES * rank + file
        rank, file = rank + step[0], file + step[1]


def parse(rules: Xiangqi, fen: Any) -> tuple[Board, int, int, int]:
    """Return the parts of a FEN: pieces, player, quiet plies, move number."""
    instance("fen", fen, str)
    words = fen.split()
    if len(words) in (2, 4):
        words = [*words[:2], "-", "-", "0", "1"]
    if len(words) != 6:
        raise ValueError(f"fen must be six words, or two or four without the numbers, got {shown(fen)}")
    placed, player, *_, quiet, number = words
    # Horses and elephants have two letters each in use.
    rows = read_rows(placed.translate(str.maketrans("HhEe", "NnBb")))
    if len(rows) != RANKS or any(not re.fullmatch("[.PABNRCKpabnrck]{9}", row) for row in rows):
        raise ValueError(f"fen must have 10 ranks of 9 squares, of pieces KABNRCP, got {shown(placed)}")
    board = {square: letter for square, letter in enumerate("".join(rows)) if letter != "."}
    check_pieces(board, placed)
    if player not in ("w", "b", "r"):
        raise ValueError(f"fen must have w or b to move, got {shown(player)}")
    if words[2:4] != ["-", "-"]:
        raise ValueError(f"fen must have - - after the player, got {shown(' '.join(words[2:4]))}")
    if not (quiet.isdecimal() and len(quiet) <= MAX_DIGITS):
        raise ValueError(f"fen must have a number of quiet plies, got {shown(quiet)}")
    if not (number.isdecimal() and len(number) <= MAX_DIGITS and 1 <= int(number) < 2**30):
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
