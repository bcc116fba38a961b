"""Dictionaries in SFEN and names of moves as in the Universal Shogi Interface."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tensor_envs._validate import instance, nested, shown
from tensor_envs.games.shogi.board import WAYS, ShogiBoard, placed, rows_of
from tensor_envs.games.shogi.rules import MAX_PLIES, Shogi, legal_moves
from tensor_envs.rules import unpack
from tensor_envs.rules.plain import ended, state_of

RANK_NAMES = "abcdefghi"
HAND_ORDER = "RBGSNLPEC"  # of letters in SFEN
MAX_DIGITS = 9  # of the number of a move
SIDES = "bw"  # of the players, Black and White


def name_of(board: ShogiBoard, cell: int) -> str:
    """Return the name of a square, "7f": the file counts from the right, the rank from White's side."""
    return f"{cell // board.ranks + 1}{RANK_NAMES[cell % board.ranks]}"


def cell_of(rules: Shogi, cell: int, player: int) -> int:
    """Return a cell that is numbered from a player's side as Black numbers it, or the reverse."""
    return rules.board.size - 1 - cell if player else cell


# *** states ***


def pieces_on(rules: Shogi, s: dict[str, Any]) -> dict[int, str]:
    """Return the pieces on the board as in SFEN by their cells, as Black numbers them."""
    board = rules.board
    own = set(unpack(s["own"], board.size))
    other = set(unpack(s["other"], board.size))
    promoted = set(unpack(s["promoted"], board.size))
    digits = [set(unpack(words, board.size)) for words in s["kinds"]]
    pieces = dict[int, str]()
    for cell in own | other:
        letter = board.kinds[sum((cell in digit) << k for k, digit in enumerate(digits))].letter
        piece = "+" * (cell in promoted) + letter
        is_black = (cell in own) != bool(s["current_player"])
        pieces[cell_of(rules, cell, s["current_player"])] = piece if is_black else piece.lower()
    return pieces


def to_dict(rules: Shogi, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"sfen": position, "earlier": hashes of earlier positions, "checks": checking moves in a row} (S13)."""
    board = rules.board
    player = s["current_player"]
    pieces = pieces_on(rules, s)
    ranks = []
    for y in range(board.ranks):
        row = "".join(pieces.get(board.ranks * x + y, "1") for x in reversed(range(board.files)))
        ranks.append(re.sub("1+", lambda ones: str(len(ones.group())), row))
    hands = ""
    for side, hand in enumerate(s["hands"] if not player else s["hands"][::-1]):
        held = {kind.letter: count for kind, count in zip(board.hand_kinds, hand, strict=True) if count}
        for letter in sorted(held, key=HAND_ORDER.index):
            hands += (str(held[letter]) if held[letter] > 1 else "") + (letter.lower() if side else letter)
    sfen = f"{'/'.join(ranks)} {SIDES[player]} {hands or '-'} {s['ply'] + 1}"
    earlier = [code for code in s["history"][1:] if code]
    return {"sfen": sfen, "earlier": earlier, "checks": [*s["checks"]]}


def from_string(rules: Shogi, text: str) -> dict[str, Any]:
    """Return the dictionary of a position in SFEN."""
    return {"sfen": text}


def from_dict(rules: Shogi, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a position in which the king of the player who is not to move is not attacked."""
    board = rules.board
    pieces, player, hands, ply = parse(rules, game["sfen"])
    # The letters are Black's view; the rules see the board from the side of the player to move.
    turned = {cell_of(rules, cell, player): piece.swapcase() if player else piece for cell, piece in pieces.items()}
    fields = board.sets(turned) | {"hands": hands[::-1] if player else hands, "current_player": player}
    s = state_of(rules, fields)
    # A king that could be captured is in check after the sides are exchanged.
    reverse = s.replace(
        own=board.turned(s.other),
        other=board.turned(s.own),
        kinds=[board.turned(words) for words in s.kinds],
        promoted=board.turned(s.promoted),
    )
    if board.variant.orthodox and legal_moves(board, reverse).check.value:
        raise ValueError("the king of the player who is not to move must not be attacked")
    moves = legal_moves(board, s)
    earlier = game.get("earlier", [])
    instance("earlier", earlier, list)
    if len(earlier) > rules.window - 1:
        raise ValueError(f"earlier must have at most {rules.window - 1} numbers, got {len(earlier)}")
    earlier = nested("earlier", earlier, (len(earlier),), 1, 2**32 - 1)
    check = int(moves.check.value)
    checks = nested("checks", game.get("checks", [0, check]), (2,), 0, rules.window)
    if (checks[1] > 0) != check:
        raise ValueError(f"checks must count the last move if it gives check, got {shown(checks)}")
    history = [int(rules.hashed(s).value), *earlier, *[0] * (rules.window - 1 - len(earlier))]
    repeats, plies = rules.earlier(history)
    after = s.replace(checks=checks, repeats=repeats)
    over = any(x.value for x in rules.ends(after, moves, plies))
    fields |= {"checks": checks, "repeats": int(repeats.value), "history": history, "ply": ply}
    return fields | ended(over)


def parse(rules: Shogi, sfen: Any) -> tuple[dict[int, str], int, list[list[int]], int]:
    """Return the parts of a position in SFEN: pieces by cells, player to move, hands by player, plies before."""
    instance("sfen", sfen, str)
    words = sfen.split()
    if len(words) == 3:
        words.append("1")  # the number may be missing
    if len(words) != 4:
        raise ValueError(f"sfen must be four words, or three without the number, got {shown(sfen)}")
    text, side, in_hand, number = words
    if side not in SIDES:
        raise ValueError(f"sfen must have b or w to move, got {shown(side)}")
    player = SIDES.index(side)
    pieces = parse_board(rules, text, player)
    hands = parse_hands(rules, in_hand)
    # More pieces than at the start would not fit into the fields.
    for k, (kind, most) in enumerate(zip(rules.board.hand_kinds, rules.board.counts, strict=True)):
        count = hands[0][k] + hands[1][k] + sum(piece[-1].upper() == kind.letter for piece in pieces.values())
        if count > most:
            raise ValueError(f"sfen must have at most {most} of {kind.letter}, got {count}")
    last = (rules.spec.max_plies or MAX_PLIES) + 1
    if not (number.isdecimal() and len(number) <= MAX_DIGITS and 1 <= int(number) <= last):
        raise ValueError(f"sfen must have a move's number in 1..{last}, got {shown(number)}")
    return pieces, player, hands, int(number) - 1


def parse_board(rules: Shogi, text: str, player: int) -> dict[int, str]:
    """Return the pieces on the board by their cells."""
    board = rules.board
    letters = "".join(kind.letter for kind in board.kinds)
    raised = "".join(kind.letter for kind in board.kinds if kind.raised)
    rank = f"(?:[1-{board.files}]|[{letters}{letters.lower()}]|\\+[{raised}{raised.lower()}])+"
    rows = rows_of(text) if re.fullmatch(f"{rank}(?:/{rank})*", text) else []
    if [len(row) for row in rows] != [board.files] * board.ranks:
        size = f"{board.ranks} ranks of {board.files} squares"
        raise ValueError(f"sfen must have {size}, of pieces {letters}, got {shown(text)}")
    pieces = placed(text)
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
    letters = "".join(kind.letter for kind in rules.board.hand_kinds)
    if text != "-" and not re.fullmatch(f"(?:[1-9]?[0-9]?[{letters}{letters.lower()}])+", text):
        raise ValueError(f"sfen must have - or pieces {letters} in hand, got {shown(text)}")
    hands = [[0] * len(letters) for _ in SIDES]
    for count, letter in re.findall(r"(\d*)([A-Za-z])", text):
        hands[letter.islower()][letters.index(letter.upper())] += int(count or 1)
    return hands


def check_places(rules: Shogi, pieces: dict[int, str]) -> None:
    """Raise ValueError for a piece that can never move, or two pawns of a player on a file (S5, S6)."""
    board = rules.board
    for kind in board.kinds:
        for letter, far in ((kind.letter, 0), (kind.letter.lower(), 1)):
            cells = [cell_of(rules, cell, far) for cell, piece in pieces.items() if piece == letter]
            if any(cell % board.ranks < kind.dead for cell in cells):
                raise ValueError(f"sfen must have no {letter} on its last {kind.dead} ranks")
            files = [cell // board.ranks for cell in cells]
            if kind is board.kinds[0] and len(set(files)) < len(files):
                raise ValueError(f"sfen must have at most one {letter} on a file")


# *** actions ***


def start_of(rules: Shogi, action: int, occupied: set[int]) -> int | None:
    """Return the cell where a legal move begins, None for a drop; cells are numbered from the player's side."""
    board = rules.board
    plane, cell = divmod(action, board.size)
    if plane >= board.drops:
        return None
    files, ranks = WAYS[plane % board.ways]
    cell -= board.ranks * files + ranks
    while cell not in occupied:
        cell -= board.ranks * files + ranks
    return cell


def action_to_string(rules: Shogi, action: int) -> str:
    """Return the end and the way of a move as its player sees the board: "7f up", "P*5e", "3c promote up" (S4)."""
    board = rules.board
    plane, cell = divmod(action, board.size)
    square = name_of(board, cell)
    if plane >= board.drops:
        return f"{board.hand_kinds[plane - board.drops].letter}*{square}"
    return f"{square} {board.planes[plane].replace('_', ' ')}"


def move_to_string(rules: Shogi, action: int, s: dict[str, Any]) -> str:
    """Return a legal action of a position as in the Universal Shogi Interface: "7g7f", "8h2b+", "P*5e" (S15)."""
    board = rules.board
    plane, end = divmod(action, board.size)
    player = s["current_player"]
    to = name_of(board, cell_of(rules, end, player))
    start = start_of(rules, action, {*unpack(s["own"], board.size), *unpack(s["other"], board.size)})
    if start is None:
        return f"{board.hand_kinds[plane - board.drops].letter}*{to}"
    return name_of(board, cell_of(rules, start, player)) + to + "+" * (plane >= board.ways)


def spellings(rules: Shogi, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return the legal actions by "7g-7f" and by Western names, "P-7f", "Bx2b+", "G4i-5h", without ambiguous ones."""
    board = rules.board
    pieces = pieces_on(rules, s)
    cells = {name_of(board, cell): cell for cell in range(board.size)}
    named = dict[str, set[int]]()
    for action in legal:
        name = move_to_string(rules, action, s)
        if "*" in name:
            continue
        start, end = name[:2], name[2:]
        piece = pieces[cells[start]].upper()
        sign = "x" if cells[end[:2]] in pieces else "-"
        for text in (f"{start}-{end}", f"{start}x{end}", piece + sign + end, piece + start + sign + end):
            named.setdefault(text, set()).add(action)
    return {text: min(actions) for text, actions in named.items() if len(actions) == 1}


def move_pattern(names: Iterable[str]) -> str:
    """Return a pattern of moves in any notation, legal or not."""
    square = f"[1-9][{RANK_NAMES}]"
    return rf"(?:{square}[-x]?{square}\+?|\+?[{HAND_ORDER}K](?:{square})?[-x*]{square}[+=]?)"
