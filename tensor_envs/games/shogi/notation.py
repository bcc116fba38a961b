"""Dictionaries in SFEN and names of moves as in the Universal Shogi Interface."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tensor_envs._validate import instance, nested, shown
from tensor_envs.games._kit import fen
from tensor_envs.games._kit.past import num_changes
from tensor_envs.games.shogi.board import WAYS, ShogiBoard
from tensor_envs.games.shogi.rules import MAX_PLIES, Shogi, legal_moves
from tensor_envs.rules import unpack
from tensor_envs.rules.plain import ended, state_of

HAND_ORDER = "RBGSNLPEC"  # order of letters in SFEN
SIDES = "bw"  # Black and White
COMMENT_SIGNS = "=!?"  # signs that follow a name: "=" declines a promotion
# promotions in words, as "2d2c promotes" and "promote 2d2c"
SYNONYMS = (
    (r"(?i)(?<=[1-9][a-i])[\s,]*(?:and\s+)?promot\w*", "+"),
    (r"(?i)\bpromot\w*\s+(?:by\s+|with\s+)?((?:[1-9][a-i]){2})(?![+\w])", r"\1+"),
)


# *** states ***


class ShogiPosition(NamedTuple):
    """Position as Black sees it.

    Attributes:
        pieces: pieces by their places, on the board and in hand, named as in SFEN.
        player: the player to move.
    """

    pieces: dict[int, str]
    player: int


def position_of(rules: Shogi, s: dict[str, Any]) -> ShogiPosition:
    """Return the position of a game's fields."""
    board = rules.board
    own = unpack(s["own"], board.size)
    codes = board.numbers_of(s["pieces"])
    letters = {cell: board.piece_of(codes[cell]) for cell in [*own, *unpack(s["other"], board.size)]}
    player = s["current_player"]
    held = board.seen_by(player, dict(board.held(s["hands"])))
    return ShogiPosition(board.placed_by(player, letters, own) | held, player)


def to_dict(rules: Shogi, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"sfen": position, "earlier": earlier positions, "checks": checking moves in a row} (S13)."""
    position = position_of(rules, s)
    before = position
    earlier = []
    for numbers in rules.past.numbers_of(s):
        before = taken_back(rules, before, numbers)
        earlier.append(sfen_of(rules, before))
    return {"sfen": f"{sfen_of(rules, position)} {s['ply'] + 1}", "earlier": earlier, "checks": [*s["checks"]]}


def sfen_of(rules: Shogi, position: ShogiPosition) -> str:
    """Return a position in SFEN without the number of the move."""
    board = rules.board
    held = "".join(piece for place, piece in position.pieces.items() if place not in board.names)
    hands = ""
    for letter in HAND_ORDER + HAND_ORDER.lower():
        count = held.count(letter)
        hands += (str(count) if count > 1 else "") + letter * bool(count)
    return f"{board.text_of(position.pieces)} {SIDES[position.player]} {hands or '-'}"


def taken_back(rules: Shogi, position: ShogiPosition, numbers: Mapping[str, int]) -> ShogiPosition:
    """Return the position before a ply, which the log of plies describes by its numbers."""
    board = rules.board
    player = 1 - position.player
    pieces = board.seen_by(player, position.pieces)
    del pieces[numbers["ends"]]
    pieces[numbers["starts"]] = board.piece_of(numbers["before"])
    if numbers["captured"] != board.no_piece:
        pieces[numbers["ends"]] = board.piece_of(numbers["captured"]).lower()
        pieces.pop(numbers["held"], None)  # a lion is not in hand
    return ShogiPosition(board.seen_by(player, pieces), player)


def numbers_between(rules: Shogi, before: ShogiPosition, position: ShogiPosition) -> dict[str, int]:
    """Return the numbers of the ply between two positions, for the log of plies. ValueError if there is none."""
    board = rules.board
    old, new = (board.seen_by(before.player, pieces) for pieces in (before.pieces, position.pieces))
    starts = min((place for place in old if place not in new), default=0)
    held = max((place for place in new if place not in old), default=board.slots[-1])
    for end in [cell for cell in range(board.size) if cell in new and old.get(cell) != new[cell]]:
        taken = old.get(end)
        numbers = {
            "starts": starts,
            "ends": end,
            "before": board.code_of(old.get(starts, new[end])),
            "after": board.code_of(new[end]),
            "captured": board.code_of(taken) if taken else board.no_piece,
            "held": held if taken else board.no_place,
        }
        if taken_back(rules, position, numbers) == before and reaches(rules, old, starts, end, new[end]):
            return numbers
    raise ValueError(f"earlier must have the positions before each move, but none follows on {sfen_of(rules, before)}")


def reaches(rules: Shogi, pieces: Mapping[int, str], start: int, end: int, after: str) -> bool:
    """Return whether a piece goes from a place to a cell and becomes `after`, as its player sees the pieces."""
    board = rules.board
    piece = pieces.get(start, "")
    if start >= board.size:  # a drop
        return after == piece and end not in pieces
    (kind,) = (kind for kind in board.forms if kind.letter == piece)
    # Cells are numbered file by file.
    (file, rank), (to_file, to_rank) = (divmod(cell, board.ranks) for cell in (start, end))
    raised = kind.raised.letter if kind.raised and min(rank, to_rank) < board.variant.zone else piece
    if after not in (piece, raised):
        return False
    way = to_file - file, to_rank - rank
    if way in [WAYS[step] for step in kind.steps]:
        return True
    return any(slides(board, pieces, start, way, WAYS[slide]) for slide in kind.slides)


def slides(
    board: ShogiBoard, pieces: Mapping[int, str], start: int, way: tuple[int, int], step: tuple[int, int]
) -> bool:
    """Return whether a way consists of steps over empty cells."""
    count = max(map(abs, way))
    across = board.ranks * step[0] + step[1]  # from a cell to the next one
    is_line = way == (count * step[0], count * step[1])
    return is_line and not any(start + k * across in pieces for k in range(1, count))


def history(rules: Shogi, position: ShogiPosition, earlier: Any) -> dict[str, Any]:
    """Return the log of the plies since earlier positions, the last one first."""
    instance("earlier", earlier, list)
    if len(earlier) > 2 * rules.past.plies:
        raise ValueError(f"earlier must have at most {2 * rules.past.plies} positions, got {len(earlier)}")
    positions = [position, *(parse(rules, sfen)[0] for sfen in earlier)]
    return rules.past.fields_of(
        {**numbers_between(rules, before, after), "changes": num_changes(before.pieces, position.pieces)}
        for after, before in pairwise(positions)
    )


def from_string(rules: Shogi, text: str) -> dict[str, Any]:
    """Return the dictionary of a position in SFEN."""
    return {"sfen": text}


def from_dict(rules: Shogi, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a position in which the king of the player who is not to move is not attacked."""
    board = rules.board
    position, ply = parse(rules, game["sfen"])
    player = position.player

    def fields_for(player: int) -> dict[str, Any]:
        """Return the fields of the pieces if it were a player's turn."""
        return board.fields_of(board.seen_by(player, position.pieces))

    if board.variant.orthodox and legal_moves(board, state_of(rules, fields_for(1 - player))).check.value:
        raise ValueError("the king of the player who is not to move must not be attacked")
    fields = fields_for(player) | {"current_player": player, "ply": ply}
    moves = legal_moves(board, state_of(rules, fields))
    check = int(moves.check.value)
    checks = nested("checks", game.get("checks", [0, check]), (2,), 0, rules.window)
    if (checks[1] > 0) != check:
        raise ValueError(f"checks must count the last move if it gives check, got {shown(checks)}")
    fields |= {"checks": checks, **history(rules, position, game.get("earlier", []))}
    fields["repeats"] = int(rules.repeats(state_of(rules, fields)).value)
    over = any(x.value for x in rules.ends(state_of(rules, fields), moves))
    return fields | ended(over)


def parse(rules: Shogi, sfen: Any) -> tuple[ShogiPosition, int]:
    """Return a position in SFEN and the number of plies before it."""
    instance("sfen", sfen, str)
    words = sfen.split()
    if len(words) == 3:
        words.append("1")  # the number may be missing
    if len(words) != 4:
        raise ValueError(f"sfen must be four words, or three without the number, got {shown(sfen)}")
    text, side, in_hand, number = words
    if side not in [*SIDES]:
        raise ValueError(f"sfen must have b or w to move, got {shown(side)}")
    last = (rules.spec.max_plies or MAX_PLIES) + 1
    if not fen.is_number(number, 1, last):
        raise ValueError(f"sfen must have a move's number in 1..{last}, got {shown(number)}")
    player = SIDES.index(side)
    hands = parse_hands(rules, in_hand)
    pieces = parse_board(rules, text, player) | dict(rules.board.held(hands))
    # More pieces than at the start would not fit into the fields.
    for k, (letter, most) in enumerate(zip(rules.board.letters, rules.board.counts, strict=False)):
        count = hands[0][k] + hands[1][k] + text.upper().count(letter)
        if count > most:
            raise ValueError(f"sfen must have at most {most} of {letter}, got {count}")
    return ShogiPosition(pieces, player), int(number) - 1


def parse_board(rules: Shogi, text: str, player: int) -> dict[int, str]:
    """Return the pieces on the board by their cells."""
    board = rules.board
    letters = board.letters
    known = {*letters, *("+" + kind.letter for kind in board.kinds if kind.raised)}
    pieces = board.read("sfen", text, letters, known)
    king = letters[-1]
    kings = sorted(piece for piece in pieces.values() if piece in (king, king.lower()))
    # The lion of the player to move may have been caught.
    caught = not board.variant.orthodox and kings == [king if player else king.lower()]
    if kings != [king, king.lower()] and not caught:
        raise ValueError(f"sfen must have one {board.kinds[-1].name} of either side, got {shown(text)}")
    if board.variant.orthodox:
        check_places(rules, pieces)
    return pieces


def parse_hands(rules: Shogi, text: str) -> list[list[int]]:
    """Return the numbers of pieces in hand, by player."""
    letters = rules.board.letters[:-1]
    if text != "-" and not re.fullmatch(f"(?:(?:[1-9][0-9]?)?[{letters}{letters.lower()}])+", text):
        raise ValueError(f"sfen must have - or pieces {letters} in hand, got {shown(text)}")
    # "3P" becomes "PPP".
    held = re.sub("[0-9]+.", lambda part: part.group()[-1] * int(part.group()[:-1]), text)
    return [[held.count(letter) for letter in side] for side in (letters, letters.lower())]


def check_places(rules: Shogi, pieces: dict[int, str]) -> None:
    """Raise ValueError for a piece that can never move, or two pawns of a player on a file (S5, S6)."""
    board = rules.board
    for kind in board.kinds:
        for letter, far in ((kind.letter, 0), (kind.letter.lower(), 1)):
            cells = [board.number_for(far, cell) for cell, piece in pieces.items() if piece == letter]
            if any(cell % board.ranks < kind.dead for cell in cells):
                raise ValueError(f"sfen must have no {letter} on its last {kind.dead} ranks")
            files = [cell // board.ranks for cell in cells]
            if kind is board.kinds[0] and len(set(files)) < len(files):
                raise ValueError(f"sfen must have at most one {letter} on a file")


# *** actions ***


def ends_of(rules: Shogi, s: dict[str, Any], action: int) -> tuple[int, int]:
    """Return the places where a legal action begins and ends, as Black numbers them; a drop begins in the hand."""
    board = rules.board
    plane, end = divmod(action, board.size)
    if plane >= board.drops:
        start = board.slots[plane - board.drops]
    else:
        files, ranks = WAYS[plane % board.ways]
        step = board.ranks * files + ranks
        occupied = {*unpack(s["own"], board.size), *unpack(s["other"], board.size)}
        start = end - step
        while start not in occupied:
            start -= step
    return board.number_for(s["current_player"], start), board.number_for(s["current_player"], end)


def action_to_string(rules: Shogi, action: int) -> str:
    """Return the end and the way of a move as its player sees the board: "7f up", "P*5e", "3c promote up" (S4)."""
    board = rules.board
    plane, cell = divmod(action, board.size)
    square = board.names[cell]
    if plane >= board.drops:
        return f"{board.letters[plane - board.drops]}*{square}"
    return f"{square} {board.planes[plane].replace('_', ' ')}"


def move_to_string(rules: Shogi, action: int, s: dict[str, Any]) -> str:
    """Return a legal action of a position as in the Universal Shogi Interface: "7g7f", "8h2b+", "P*5e" (S15)."""
    board = rules.board
    plane = action // board.size
    start, end = ends_of(rules, s, action)
    if plane >= board.drops:
        return f"{board.letters[plane - board.drops]}*{board.names[end]}"
    return board.names[start] + board.names[end] + "+" * (plane >= board.ways)


def spellings(rules: Shogi, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return the legal actions by "7g-7f" and by Western names, "P-7f", "Bx2b+", "G4i-5h", without ambiguous ones."""
    board = rules.board
    pieces = position_of(rules, s).pieces
    named = dict[str, set[int]]()
    for action in legal:
        name = move_to_string(rules, action, s)
        if "*" in name:
            continue
        start, end = name[:2], name[2:]
        piece = pieces[board.numbers[start]].upper()
        sign = "x" if board.numbers[end[:2]] in pieces else "-"
        for text in (f"{start}-{end}", f"{start}x{end}", piece + sign + end, piece + start + sign + end):
            named.setdefault(text, set()).add(action)
    return {text: min(actions) for text, actions in named.items() if len(actions) == 1}


def move_pattern(names: Iterable[str]) -> str:
    """Return a pattern of moves in any notation, legal or not."""
    square = "[1-9][a-i]"
    return rf"(?:{square}[-x]?{square}\+?|\+?[{HAND_ORDER}K](?:{square})?[-x*]{square}[+=]?)"
