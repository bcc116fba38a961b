"""Dictionaries and action names of xiangqi."""

from collections.abc import Iterable
from typing import Any

from tensor_envs._validate import instance, shown
from tensor_envs.games._kit.fen import PieceMap, counters
from tensor_envs.games._kit.past import num_changes
from tensor_envs.games.xiangqi.moves import (
    BOARD,
    DIAGONALS,
    FILES,
    LINES,
    PIECES,
    PLANES,
    RANKS,
    SQUARES,
    danger,
    fields_of,
    legal_moves,
    pieces_of,
)
from tensor_envs.games.xiangqi.rules import PAST, START, Xiangqi, ends
from tensor_envs.rules import unpack
from tensor_envs.rules.plain import ended, state_of

# Red's squares of pieces that cannot go everywhere (X2, X3)
STANDS = {
    "A": "d0 f0 e1 d2 f2",
    "B": "c0 g0 a2 e2 i2 c4 g4",
    "K": "d0 e0 f0 d1 e1 f1 d2 e2 f2",
    "P": "a3 c3 e3 g3 i3 a4 c4 e4 g4 i4",
}
COMMENT_SIGNS = "+#!?"  # signs of check and of comments, which follow a name
SYNONYMS = ((r"\b([a-iA-I]\d)\s*(?i:takes|captures)\s*", r"\1x"),)


# *** states ***


def pieces_on(s: dict[str, Any]) -> dict[int, str]:
    """Return the pieces of a game's fields, as Red sees them."""
    letters = {square: PIECES[kind] for square, kind in enumerate(BOARD.numbers_of(s["pieces"])) if kind}
    return BOARD.placed_by(s["current_player"], letters, unpack(s["own"], SQUARES))


def to_dict(rules: Xiangqi, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"fen": position, "moves": those since the last capture} for the fields of a game (X14)."""
    black = s["current_player"]
    moves = list[str]()
    for numbers in PAST.numbers_of(s):
        mover = (black + len(moves) + 1) % 2
        moves.append(BOARD.name_for(mover, numbers["starts"]) + BOARD.name_for(mover, numbers["ends"]))
    placed = BOARD.text_of(pieces_on(s))
    return {"fen": f"{placed} {'wb'[black]} - - {s['quiet']} {s['ply'] // 2 + 1}", "moves": moves[::-1]}


def from_string(rules: Xiangqi, text: str) -> dict[str, Any]:
    """Return the dictionary of a FEN."""
    return {"fen": text}


def from_dict(rules: Xiangqi, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a position in which the general of the player who is not to move is not attacked."""
    pieces, black, quiet, number = parse(rules, game["fen"])
    if is_attacked(rules, pieces, 1 - black):
        raise ValueError("the general of the player who is not to move must not be attacked")
    fields = {"current_player": black, "quiet": quiet, **fields_of(BOARD.seen_by(black, pieces))}
    fields |= history(rules, pieces, black, quiet, game.get("moves", []))
    # Mate, a lack of moves and repetitions follow from the fields, so the dictionary need not have them.
    s = state_of(rules, fields)
    stuck, repeated, _ = ends(s, legal_moves(pieces_of(s)))
    over = bool(stuck.value or repeated.value) or quiet >= rules.quiet_plies
    return {**fields, "ply": 2 * number - 2 + black, **ended(over)}


def is_attacked(rules: Xiangqi, pieces: PieceMap, player: int) -> bool:
    """Return whether a player's general is attacked, or faces the other one (X6)."""
    sets = pieces_of(state_of(rules, fields_of(BOARD.seen_by(player, pieces))))
    return bool((danger(sets) & sets.own & sets.generals).any().value)


def history(rules: Xiangqi, pieces: PieceMap, black: int, quiet: int, moves: Any) -> dict[str, Any]:
    """Return the fields of the moves since the last capture. ValueError unless they lead to the position."""
    plies = list[dict[str, int]]()
    checks = [0, 0]
    for back, ply in enumerate(BOARD.past_plies(pieces, black, moves, quiet, PIECES[1:], "h2e2", reaches)):
        player = 1 - back % 2  # 0 for the player to move
        if checks[player] == back // 2:  # the player's later plies have all given check
            checks[player] += is_attacked(rules, ply.after, 1 - ply.mover)
        kind = PIECES.index(ply.piece.upper())
        plies.append({"starts": ply.start, "ends": ply.end, "kinds": kind, "changes": num_changes(ply.before, pieces)})
    return {**PAST.fields_of(plies), "checks": checks}


def parse(rules: Xiangqi, text: Any) -> tuple[dict[int, str], int, int, int]:
    """Return the parts of a FEN: pieces, player, quiet plies, move number."""
    instance("fen", text, str)
    words = text.split()
    if len(words) in (2, 4):
        words = [*words[:2], "-", "-", "0", "1"]
    if len(words) != 6:
        raise ValueError(f"fen must be six words, or two or four without the numbers, got {shown(text)}")
    placed, player, *_, quiet, number = words
    # Horses and elephants have two letters each in use.
    for other, letter in zip("HhEe", "NnBb", strict=True):
        placed = placed.replace(other, letter)
    pieces = BOARD.read("fen", placed, "KABNRCP", PIECES)
    check_pieces(pieces, placed)
    if player not in ("w", "b", "r"):
        raise ValueError(f"fen must have w or b to move, got {shown(player)}")
    if words[2:4] != ["-", "-"]:
        raise ValueError(f"fen must have - - after the player, got {shown(' '.join(words[2:4]))}")
    return pieces, int(player == "b"), *counters(quiet, number, rules.quiet_plies)


def check_pieces(pieces: PieceMap, placed: str) -> None:
    """Raise ValueError unless there are no more pieces than at the start, each where it can come to."""
    letters = [*pieces.values()]
    for kind in PIECES[1:]:
        most = START.count(kind)
        for letter in (kind, kind.lower()):
            if letters.count(letter) > most or (kind == "K" and letter not in letters):
                wanted = "one general" if kind == "K" else f"at most {most} {kind}"
                raise ValueError(f"fen must have {wanted} of either colour, got {shown(placed)}")
    for square, letter in pieces.items():
        if not may_stand(letter.upper(), BOARD.number_for(letter.islower(), square)):
            name = BOARD.names[square]
            raise ValueError(f"fen must not have {letter} on {name}, where none can come, got {shown(placed)}")


def reaches(kind: str, start: int, end: int, pieces: PieceMap) -> bool:
    """Return whether a piece goes from a square to a free one, as its player sees the pieces (X2 to X8)."""
    up, right, within = BOARD.way(start, end)
    steps = sorted((abs(up), abs(right)))
    blocked = any(square in pieces for square in within)
    if not may_stand(kind, start):
        return False
    if kind == "N":
        leg = start + FILES * int(up / 2) + int(right / 2)  # the square beside the horse on its way
        return steps == [1, 2] and leg not in pieces
    if kind == "P":
        beyond_the_river = start >= SQUARES // 2
        return (up, right) == (1, 0) or (beyond_the_river and (up, abs(right)) == (0, 1))
    if kind in "RC":
        return steps[0] == 0 and not blocked
    return steps == {"A": [1, 1], "B": [2, 2], "K": [0, 1]}[kind] and not blocked


def may_stand(kind: str, square: int) -> bool:
    """Return whether a piece of Red can stand on a square (X2, X3)."""
    beyond_the_river = kind == "P" and square >= SQUARES // 2
    return beyond_the_river or BOARD.names[square] in STANDS.get(kind, BOARD.names[square])


# *** actions ***


def ends_of(action: int) -> tuple[int, int | None]:
    """Return the start and the end of a move, seen from the player to move; None for an end beyond the edge."""
    plane, square = divmod(action, SQUARES)
    rank, file = divmod(square, FILES)
    ranks, files = PLANES[plane]
    if plane < len(LINES):
        return square, (rank + ranks) % RANKS * FILES + (file + files) % FILES
    if PLANES[plane] in DIAGONALS and not may_stand("A", square):
        ranks, files = 2 * ranks, 2 * files  # an elephant
    inside = 0 <= rank + ranks < RANKS and 0 <= file + files < FILES
    return square, square + FILES * ranks + files if inside else None


def action_to_string(rules: Xiangqi, action: int) -> str:
    """Return the name of a move, with ranks seen from the player to move: "h2e2" (X9).

    A move that leaves the board has its step for the second square.
    """
    start, end = ends_of(action)
    ranks, files = PLANES[action // SQUARES]
    return BOARD.names[start] + (f"{files:+d}{ranks:+d}" if end is None else BOARD.names[end])


def move_to_string(rules: Xiangqi, action: int, s: dict[str, Any]) -> str:
    """Return a legal action of a position in the form of the Universal Chinese Chess Protocol: "h2e2", "h7e7"."""
    ends = [square for square in ends_of(action) if square is not None]
    return "".join(BOARD.name_for(s["current_player"], square) for square in ends)


def move_pattern(names: Iterable[str]) -> str:
    """Return a pattern of moves, legal or not."""
    return "[a-i][0-9][-x]?[a-i][0-9]"


# no symmetries but the identity (X16)
