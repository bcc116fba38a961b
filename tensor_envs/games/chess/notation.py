"""Dictionaries and action names of chess."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from tensor_envs._validate import instance, shown
from tensor_envs.games._kit.fen import PastPly, PieceBoard, PieceMap, counters
from tensor_envs.games.chess.board import FORWARD, UNDER
from tensor_envs.games.chess.rules import MOVE_BITS, MOVES_A_WORD, Chess, kinds_of, legal_moves, moved
from tensor_envs.rules import int32, scalar
from tensor_envs.rules.plain import ended, state_of

PIECES = "PNBRQK"
CORNERS = {"K": "h1", "Q": "a1", "k": "h8", "q": "a8"}
KINGS = {"K": "e1", "Q": "e1", "k": "e8", "q": "e8"}
PROMOTIONS = "rbn"  # pieces of the planes of underpromotions
# a move in UCI, or in standard or long algebraic notation
MOVE = "(?:[KQRBN]?[a-h]?[1-8]?[-x]?[a-h][1-8](?:=?[QRBNqrbn])?|O-O(?:-O)?|0-0(?:-0)?)"
Synonym = tuple[str, str | Callable[[re.Match[str]], str]]  # a pattern and what stands for it
_PIECE_WORDS = {
    "N": "knight horse springer cavalier caballo",
    "B": "bishop läufer fou alfil",
    "R": "rook turm tour torre",
    "Q": "queen dame dama reina",
    "K": "king könig roi rey",
    "": "pawn bauer pion peón",
}
_FIGURINES = {"N": "♘♞", "B": "♗♝", "R": "♖♜", "Q": "♕♛", "K": "♔♚", "": "♙♟"}
_LETTERS = {word: letter for letter, words in _PIECE_WORDS.items() for word in words.split()}
_LETTERS |= {sign: letter for letter, signs in _FIGURINES.items() for sign in signs}
_WORDS = "|".join(word for word in _LETTERS if word.isalpha())
_SIGNS = "".join(_FIGURINES.values())
_PIECE = rf"(?<!\w)(?:(?i:{_WORDS})(?!\w)|[{_SIGNS}]\ufe0e?)"
_GOES = r"(?:-|x|(?i:\b(?:moves\s+to|goes\s+to|to|takes|captures|on|at)\b))"
_ORIGIN = r"([a-h][1-8]|[a-h]|[1-8])?"
_TARGET = rf"(?:(?i:the\s+)?{_PIECE}\s*(?:(?i:on|at|in)\s+)?)?(?=[a-h][1-8]\b)"


def _piece_name(match: re.Match[str]) -> str:
    """Return the beginning of a name in algebraic notation for words such as "knight from g1 to"."""
    return _LETTERS[match[1].lower().rstrip("\ufe0e")] + (match[2] or "")


# what `te.text.parse` reads as parts of names: pieces in words and figurines, captures and castling in words
COMMENT_SIGNS = "+#!?"  # signs of check and of comments, which follow a name
SYNONYMS: tuple[Synonym, ...] = (
    (rf"({_PIECE})\s*(?:(?i:from|on|at)\s+)?{_ORIGIN}\s*{_GOES}?\s*{_TARGET}", _piece_name),
    (rf"\b([NBRQK]){_ORIGIN}\s*{_GOES}\s*{_TARGET}", r"\1\2"),
    (rf"\b([a-h][1-8]?)\s*(?::|(?i:takes|captures)\b)\s*{_TARGET}", r"\1x"),
    (r"\bP(?=[a-h][1-8]\b)", ""),
    (r"(?i:\bcastl\w*\s+(?:queen'?s?[\s-]*side|long)|\b(?:queen'?s?[\s-]*side|long)\s+castl\w*)", "O-O-O"),
    (r"(?i:\bcastl\w*\s+(?:king'?s?[\s-]*side|short)|\b(?:king'?s?[\s-]*side|short)\s+castl\w*)", "O-O"),
)
# no symmetries but the identity: castling excludes all others


# *** states ***


def to_dict(rules: Chess, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"fen": position, "moves": those since a position that cannot recur} for the fields of a game (C13)."""
    black = s["current_player"]
    board = rules.board
    kinds = [int(kind.value) for kind in kinds_of(state_of(rules, s))]
    letters = {
        square: letter
        for letter, kind in zip(PIECES, kinds, strict=True)
        for square in board.names
        if kind >> square & 1
    }
    placed = board.text_of(board.placed_by(black, letters, [square for square in letters if s["own"] >> square & 1]))
    # A small board has neither rights to castle nor captures en passant.
    castling, passing = (s.get(name, 0) for name in ("castling", "en_passant"))
    corners = {right: board.number_for(black, board.numbers[at]) for right, at in CORNERS.items() if castling}
    rights = "".join(right for right, at in corners.items() if castling >> at & 1)
    target = board.name_for(black, passing.bit_length() - 1) if passing else "-"
    text = f"{placed} {'wb'[black]} {rights or '-'} {target} {s['quiet']} {s['ply'] // 2 + 1}"
    moves = []
    for k in range(s["reversible"]):
        move = s["history"][k // MOVES_A_WORD] >> MOVE_BITS * (k % MOVES_A_WORD)
        # Squares are stored from the mover's side, and movers alternate.
        mover = int(black == k % 2)
        moves.append("".join(board.name_for(mover, square) for square in (move & 63, move >> 6 & 63)))
    return {"fen": text, "moves": moves[::-1]}


def from_string(rules: Chess, text: str) -> dict[str, Any]:
    """Return the dictionary of a FEN."""
    return {"fen": text}


def from_dict(rules: Chess, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a position in which the king of the player who is not to move is not attacked."""
    pieces, black, rights, target, quiet, number = parse(rules, game["fen"])
    board = rules.board
    plies = [*board.past_plies(pieces, black, game.get("moves", []), quiet, "NBRQK", "g1f3", partial(reaches, board))]
    still = {name for right in rights for name in (CORNERS[right], KINGS[right])}
    for move in game.get("moves", []):
        if still & {move[:2], move[2:]}:
            raise ValueError(f"moves must not be of a king or rook that may castle, got {move} with {rights}")

    def bit_of(name: str) -> int:
        """Return the bit of a square, which the rules see from the side of the player to move."""
        return 1 << board.number_for(black, board.numbers[name])

    sets = board.sets_of(board.seen_by(black, pieces))
    sets["castling"] = sum(bit_of(CORNERS[right]) for right in rights)
    sets["en_passant"] = bit_of(target) if target else 0
    s: dict[str, Any] = {"current_player": black, **{name: sets[name] for name in board.sets}}
    s |= {"quiet": quiet, "reversible": len(plies), "repeats": 0, "history": _history(rules, plies)}
    # A king that could be captured is in check if it is its owner's turn.
    if legal_moves(board, state_of(rules, board.sets_of(board.seen_by(1 - black, pieces)))).check.value:
        raise ValueError("the king of the player who is not to move must not be attacked")
    # One ply earlier, with the pawn moved back, the king must not have been in check either.
    if target:
        pawn = s["en_passant"]
        moved_back = {name: s[name] ^ pawn >> 1 ^ pawn << 1 for name in ("other", "pawns")}
        if legal_moves(board, state_of(rules, s | moved_back | {"en_passant": 0})).check.value:
            raise ValueError(f"no pawn can have passed {target}: the king was attacked")
    # A target that no pawn can take is dropped, so that equal positions are equal states.
    legal = legal_moves(board, state_of(rules, s))
    if target and not scalar(legal.en_passant).value:
        s["en_passant"] = 0
    elif target and plies:
        raise ValueError(f"moves must be empty if a pawn can be taken on {target}, got {shown(game['moves'])}")
    # Repetitions, mate and stalemate follow from the fields, so the dictionary need not have them.
    s["repeats"] = int(rules.repeats(state_of(rules, s)).value)
    lost, drawn = rules.ends(state_of(rules, s), legal)
    return {**s, "ply": 2 * number - 2 + black, **ended(bool(lost.value or drawn.value))}


def reaches(board: PieceBoard, kind: str, start: int, end: int, pieces: PieceMap) -> bool:
    """Return whether a piece other than a pawn goes from a square to a free one (C2). Castling is no such move."""
    up, right, within = board.way(start, end)
    shorter, longer = sorted((abs(up), abs(right)))
    if kind == "N":
        return (shorter, longer) == (1, 2)
    if kind == "K":
        return longer == 1
    goes = (shorter == 0 and kind in "RQ") or (shorter == longer and kind in "BQ")
    return goes and not any(square in pieces for square in within)


def _history(rules: Chess, plies: Sequence[PastPly]) -> list[int]:
    """Return the words of the last reversible moves, the latest move in the lowest bits."""
    words = [0] * rules.spec.fields[-1].size
    for k, ply in enumerate(plies):
        words[k // MOVES_A_WORD] |= (ply.start | ply.end << 6) << MOVE_BITS * (k % MOVES_A_WORD)
    return words


def parse(rules: Chess, text: Any) -> tuple[dict[int, str], int, str, str, int, int]:
    """Return the parts of a FEN: pieces, player, castling rights, en passant or "", quiet plies, move number."""
    instance("fen", text, str)
    words = text.split()
    if len(words) == 4:
        words += ["0", "1"]  # as in extended position descriptions
    if len(words) != 6:
        raise ValueError(f"fen must be six words, or four without the numbers, got {shown(text)}")
    placed, player, rights, target, quiet, number = words
    side = rules.side
    board = rules.board
    pieces = board.read("fen", placed, PIECES, PIECES)

    def piece_on(name: str) -> str:
        """Return the piece on a square."""
        return pieces.get(board.numbers[name], "")

    # The rules find checks and mates by the only king of a side.
    if sorted(letter for letter in pieces.values() if letter in "Kk") != ["K", "k"]:
        raise ValueError(f"fen must have one king of either colour, got {shown(placed)}")
    if any(letter in "Pp" and board.names[square][1] in f"1{side}" for square, letter in pieces.items()):
        raise ValueError(f"fen must not have pawns on the first or last rank, got {shown(placed)}")
    if player not in ("w", "b"):
        raise ValueError(f"fen must have w or b to move, got {shown(player)}")
    # A small board has no castling and no captures en passant.
    if not board.orthodox and (rights, target) != ("-", "-"):
        raise ValueError(f"fen must have - for castling and - for en passant on {side}x{side}, got {rights} {target}")
    rights = "" if rights == "-" else rights
    # A right needs its king and rook on their first squares, or castling would move other pieces.
    if not re.fullmatch("K?Q?k?q?", rights) or any(
        piece_on(CORNERS[right]) != "Rr"[right.islower()] or piece_on(KINGS[right]) != "Kk"[right.islower()]
        for right in rights
    ):
        raise ValueError(f"fen must have - or rights KQkq of kings and rooks in place, got {shown(rights)}")
    white = player == "w"
    target = "" if target == "-" else target
    # The pawn stands one square beyond the target; the target and the pawn's first square are empty.
    if target and not (
        re.fullmatch("[a-h]" + ("6" if white else "3"), target)
        and piece_on(target[0] + ("5" if white else "4")) == "Pp"[white]
        and not piece_on(target)
        and not piece_on(target[0] + ("7" if white else "2"))
    ):
        raise ValueError(f"fen must have - or a square that a pawn has just passed, got {shown(target)}")
    return pieces, int(not white), rights, target, *counters(quiet, number, rules.quiet_plies)


# *** actions ***


def ends_of(rules: Chess, action: int) -> tuple[int, int]:
    """Return the start and the end of a move, seen from the player to move; castling is the king's move."""
    board = rules.board
    if action in board.castles:
        return board.side * 4, board.side * (2 if action == board.castles[0] else 6)
    square, plane = divmod(action, len(board.planes))
    files, ranks = board.planes[plane]
    return square, square + board.side * files + ranks


def action_to_string(rules: Chess, action: int) -> str:
    """Return the name of a move, with ranks seen from the player to move: "e2e4", "e7e8n", "O-O" (C4).

    A move that leaves the board has its step for the second square.
    """
    board = rules.board
    if action in board.castles:
        return "O-O-O" if action == board.castles[0] else "O-O"
    square, plane = divmod(action, len(board.planes))
    files, ranks = board.planes[plane]
    to = board.names[ends_of(rules, action)[1]] if stays_on(rules, action) else f"{files:+d}{ranks:+d}"
    return board.names[square] + to + (PROMOTIONS[plane // len(FORWARD)] if plane < UNDER else "")


def stays_on(rules: Chess, action: int) -> bool:
    """Return whether a move, which is no castling, stays on the board."""
    square, plane = divmod(action, len(rules.board.planes))
    ends = zip(divmod(square, rules.side), rules.board.planes[plane], strict=True)
    return all(0 <= line + step < rules.side for line, step in ends)


def move_to_string(rules: Chess, action: int, s: dict[str, Any]) -> str:
    """Return a legal action of a position in the form of the Universal Chess Interface: "e7e5", "e1g1", "b2b1q"."""
    ends = (rules.board.name_for(s["current_player"], square) for square in ends_of(rules, action))
    return "".join(ends) + promoted(rules, action, s)


def spellings(rules: Chess, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return the legal actions by their names in standard and long algebraic notation, without signs of check.

    Long algebraic names are "Ng1-f3" and "Ng1f3", "e4xd5", "e7-e8=Q". Names may have more of the first square than
    they need, as "Ngf3" or "N1f3", and may lack "x" and "=", unless two actions would have such a name.
    """
    names = {name: action for action, name in zip(legal, _algebraic(rules, s, legal), strict=True)}
    longer = dict[str, set[int]]()
    for name, action in names.items():
        if action in rules.board.castles:
            longer[name.replace("O", "0")] = {action}
            continue
        start, end = (rules.board.name_for(s["current_player"], square) for square in ends_of(rules, action))
        standard, _, promotion = name.partition("=")
        piece = standard[0] if standard[0] in PIECES else ""
        takes = "x" in standard
        # Pawns that take name their file in any case; other pieces may leave out as much as stays unique.
        origins = ["", start[0], start[1], start] if piece else [start[0], start] if takes else ["", start]
        for origin in origins:
            signs = ("x", "") if takes else ("-", "") if origin == start else ("",)
            for sign in signs:
                for equals in ("=", "") if promotion else ("",):
                    longer.setdefault(piece + origin + sign + end + equals + promotion, set()).add(action)
    # A name of two actions is nobody's. Standard names come last: they win over long ones that look the same.
    unique = {name: min(actions) for name, actions in longer.items() if len(actions) == 1}
    return unique | names


def move_pattern(names: Iterable[str]) -> str:
    """Return a pattern of moves in any notation, legal or not.

    It leaves out names such as "Nd2" where `names`, those of the legal actions, have "Nbd2" and "Nfd2": the piece is
    open.
    """
    pieces = [name.replace("x", "") for name in names if name[0] in PIECES]
    open_names = "|".join(sorted({f"{name[0]}x?{name[-2:]}" for name in pieces if name[0] + name[-2:] not in pieces}))
    return (f"(?!(?:{open_names})(?!\\w))" if open_names else "") + MOVE


def san(rules: Chess, action: int, s: dict[str, Any], legal: Sequence[int]) -> str:
    """Return a legal action in standard algebraic notation: "Nbd7", "exd6", "e8=Q+", "O-O", "Qxf7#"."""
    after = moved(rules.board, state_of(rules, s), int32(action))[2]
    moves = legal_moves(rules.board, after)
    mates = rules.ends(after, moves)[0].value
    return _algebraic(rules, s, legal)[legal.index(action)] + ("#" if mates else "+" if moves.check.value else "")


def promoted(rules: Chess, action: int, s: dict[str, Any]) -> str:
    """Return the letter of the piece that a pawn becomes; "" for other moves."""
    start, end = ends_of(rules, action)
    if action in rules.board.castles or not s["pawns"] >> start & 1 or end % rules.side != rules.side - 1:
        return ""
    plane = action % len(rules.board.planes)
    return PROMOTIONS[plane // len(FORWARD)] if plane < UNDER else "q"


def _algebraic(rules: Chess, s: dict[str, Any], legal: Sequence[int]) -> list[str]:
    """Return the names of all legal actions in standard algebraic notation, without signs of check."""
    kinds = [int(kind.value) for kind in kinds_of(state_of(rules, s))]
    moves = [
        (*ends, next(k for k, kind in enumerate(kinds) if kind >> ends[0] & 1))
        for ends in (ends_of(rules, action) for action in legal)
    ]
    names = []
    for action, (start, end, kind) in zip(legal, moves, strict=True):
        if action in rules.board.castles:
            names.append(action_to_string(rules, action))
            continue
        square = rules.board.name_for(s["current_player"], start)
        target = rules.board.name_for(s["current_player"], end)
        # A pawn that changes its file takes, also en passant, where the end square is empty.
        takes = "x" * bool(s["other"] >> end & 1 or (kind == 0 and start // rules.side != end // rules.side))
        if kind == 0:
            piece = promoted(rules, action, s).upper()
            names.append(square[0] * bool(takes) + takes + target + f"={piece}" * bool(piece))
            continue
        # Other pieces of the kind that may go to the same square decide how much of the start is written.
        rivals = [a for a, b, other in moves if (b, other) == (end, kind) and a != start]
        # FIDE's order: the file if it is enough, else the rank, else both.
        if not rivals:
            origin = ""
        elif all(a // rules.side != start // rules.side for a in rivals):
            origin = square[0]
        else:
            origin = square[1] if all(a % rules.side != start % rules.side for a in rivals) else square
        names.append(PIECES[kind] + origin + takes + target)
    return names
