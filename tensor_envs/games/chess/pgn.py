"""Portable Game Notation: games of chess in files."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tensor_envs._validate import shortened, shown
from tensor_envs.files.records import Record
from tensor_envs.games.chess.notation import san
from tensor_envs.games.chess.rules import Chess, legal_moves
from tensor_envs.rules.plain import legal_actions, state_of

RESULT = "Result"
TAGS = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?", RESULT: "*"}
POSITION = ("FEN", "SetUp")  # tags of the first position
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
VARIANT = "Variant"
SPELLED = {name.lower(): name for name in (*TAGS, *POSITION, VARIANT)}  # whatever case a file has
VARIANTS = {"", "standard", "chess", "classical", "normal", "from position"}  # names of chess itself
GARDNER = "Gardner"  # name of the variant on 5x5, as Fairy-Stockfish calls it
WIDTH = 79
BRACKETS = {"(": 1, ")": -1}  # around variations
NAME = r"[\w+#=:-]+"
TAG = rf'\[\s*(?P<name>{NAME})\s*"(?P<value>(?:[^"\\]|\\.)*)"\s*\]'
COMMENTS = re.compile(r"\{[^}]*\}?|;[^\n]*|^%[^\n]*|\$\d+", re.MULTILINE)
PART = re.compile(rf"(?:{COMMENTS.pattern})|(?P<tag>{TAG})|(?P<word>[()]|[^\s();{{]+)", re.MULTILINE)
MOVE_NUMBERS = re.compile(r"\b\d+\.+")
SIGNS = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | {"×": "x", ":": "x", "½": "1/2"}
    | dict(zip("♔♕♖♗♘♚♛♜♝♞", "KQRBN" * 2, strict=True)) | dict.fromkeys("♙♟\ufe0e\ufe0f", ""))  # fmt: skip
ANNOTATION = re.compile(r"\d+|[.…!?+#=±∓⩲⩱∞□†‡/-]+|e\.?p\.?")  # a word beside the moves
MARKS = "+#!?=±∓⩲⩱∞□†‡"  # behind a move
EN_PASSANT = re.compile(r"(?<=[a-h][36])e\.?p\.?$")
CASTLING = re.compile(r"[oO0]-?[oO0](-?[oO0])?")
PROMOTION = re.compile(r"([a-h][158])[=/]?([QRBNqrbn])$")
IN_BRACKETS = re.compile(r"([a-h][158])=?\(([QRBN])\)")  # a promotion, not a variation
NULL_MOVES = {"--", "Z0", "@@@@", "0000", "null", "pass"}


def write(rules: Chess, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a game as PGN. positions: the fields before each action and after the last one."""
    tags = _all_tags(rules, game, positions[-1])
    words = []
    for k, (s, action) in enumerate(zip(positions[:-1], game.actions, strict=True)):
        number, black = divmod(s["ply"], 2)
        if not black or k == 0:
            words.append(f"{number + 1}.{'..' * black}")
        words.append(san(rules, action, s, legal_actions(rules, s)))
    lines = [""]
    for word in [*words, tags[RESULT]]:
        if len(lines[-1]) + len(word) + 1 > WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    head = "".join(f'[{name} "{_escaped(value)}"]\n' for name, value in tags.items())
    return head + "\n" + "\n".join(lines) + "\n"


def _all_tags(rules: Chess, game: Record, last: dict[str, Any]) -> dict[str, str]:
    """Return the tags of a game. last: the fields of its last position."""
    noted = _noted_tags(game)
    ended = result(rules, last)
    if ended == "*" and noted.get(RESULT) in RESULTS:
        ended = noted[RESULT]  # a player has resigned, for example
    tags = TAGS | noted | {RESULT: ended}
    tags |= {} if game.start is None else {"SetUp": "1", "FEN": game.start["fen"]}
    return tags if rules.board.orthodox else tags | {VARIANT: GARDNER}


def result(rules: Chess, last: dict[str, Any]) -> str:
    """Return the result of a game by the rules. last: the fields of its last position."""
    over = last["terminated"] or last["truncated"]
    return {1.0: "1-0", -1.0: "0-1"}.get(last["rewards"][0], "1/2-1/2") if over else "*"


def _noted_tags(game: Record) -> dict[str, str]:
    """Return the tags in the notes of a record, without the tags of the first position."""
    tags = game.notes.get("tags")
    return {
        name: value
        for name, value in (tags.items() if isinstance(tags, dict) else ())
        if re.fullmatch(NAME, name) and isinstance(value, str) and name not in POSITION
    }


def _escaped(value: str) -> str:
    return " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')


def goes_on(rules: Chess, s: dict[str, Any]) -> bool:
    """Return whether players may go on after an end of a game here: a draw that somebody has to claim elsewhere."""
    moves = legal_moves(rules.board, state_of(rules, s))
    return any(bool(squares.value) for squares in (*moves.planes, *moves.castles))


def games(text: str) -> list[str]:
    """Return the texts of the games, each of which begins with its tags or behind the result of the one before."""
    starts = [0]
    depth = 0
    last = "tag"
    for part in PART.finditer(text):
        word = part["word"]
        if part["tag"]:
            starts += [] if last == "tag" else [part.start()]
            last = "tag"
            depth = 0
        elif word:
            depth += BRACKETS.get(word, 0)
            if depth <= 0 and _is_result(word):
                last = "result"
            elif last != "result" or word[0].isalnum():
                starts += [part.start()] if last == "result" else []
                last = "move"
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _is_result(word: str) -> bool:
    """Return whether a word with plain signs ends a game."""
    return word.translate(SIGNS) in (*RESULTS, "1/2")


def read(rules: Chess, text: str) -> tuple[dict[str, Any] | None, Iterator[tuple[str, str]], dict[str, Any]]:
    """Return the first position, None for the usual one, names and places of the moves of the first game, and notes.

    Comments, annotations and variations are skipped.

    Raises:
        ValueError: a text without moves and tags, or one that breaks off; a variant of chess.
    """
    tags, position = _tags(text)
    variant = tags.get(VARIANT, "").strip()
    if variant.lower() not in (VARIANTS if rules.board.orthodox else {GARDNER.lower()}):
        wanted = "only chess can be read" if rules.board.orthodox else f"on 5x5 it must be {GARDNER!r}"
        raise ValueError(f"its variant is {shown(variant)}, and {wanted}")
    words, ended = _words(text[position:])
    if not (tags or words):
        raise ValueError("it has neither tags nor moves")
    if tags and not ended:
        raise ValueError(f"it breaks off: a result, one of {', '.join(RESULTS)}, must end the moves")
    # the result behind the moves stands for a missing tag
    if tags.get(RESULT, "*") == "*":
        tags[RESULT] = ended or "*"
    kept = {name: value for name, value in tags.items() if name not in POSITION and TAGS.get(name) != value}
    start = {"fen": tags["FEN"]} if "FEN" in tags else None
    return start, _named(words), {"notes": {"tags": kept}}


def rule_fields(text: str) -> dict[str, Any]:
    """Return the board's side of a text."""
    is_gardner = _tags(text)[0].get(VARIANT, "").strip().lower() == GARDNER.lower()
    return {"side": 5} if is_gardner else {}


def _tags(text: str) -> tuple[dict[str, str], int]:
    """Return the tags at the beginning of a text and the place of what follows them."""
    tags = dict[str, str]()
    position = 0
    for part in PART.finditer(text):
        if part["word"]:
            break
        if part["tag"]:
            tags[SPELLED.get(part["name"].lower(), part["name"])] = re.sub(r"\\(.)", r"\1", part["value"])
            position = part.end()
    return tags, position


def _words(text: str) -> tuple[list[str], str]:
    """Return the moves of a game and the result that ends them, "" without one."""
    body = IN_BRACKETS.sub(r"\1=\2", COMMENTS.sub(_blank, text.translate(SIGNS)))
    depth = 0
    line = list[str]()
    for part in re.split(r"([()])", body):  # variations in brackets
        depth += BRACKETS.get(part, 0)
        if depth < 0:
            raise ValueError("a variation has no beginning")
        line.append(" " if depth or part in BRACKETS else part)
    if depth > 0:
        raise ValueError("a variation has no end")
    words = list[str]()
    for word in MOVE_NUMBERS.sub(" ", "".join(line)).split():
        if _is_result(word):
            return words, RESULTS[2] if word == "1/2" else word
        if word in NULL_MOVES or not ANNOTATION.fullmatch(word):
            words.append(word)
    return words, ""


def _blank(comment: re.Match[str]) -> str:
    """Return a blank for a comment. ValueError for one without an end."""
    if comment[0].startswith("{") and not comment[0].endswith("}"):
        raise ValueError("a comment has no end")
    return " "


def _named(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves. ValueError for a null move."""
    for number, word in enumerate(words, 1):
        place = shortened(f"move {number}, {word}")
        if word in NULL_MOVES:
            raise ValueError(f"{place}: it is a null move, which chess does not have")
        name = EN_PASSANT.sub("", word).rstrip(MARKS)
        if castling := CASTLING.fullmatch(name):
            name = "O-O-O" if castling[1] else "O-O"
        name = PROMOTION.sub(lambda match: f"{match[1]}={match[2].upper()}", name)
        yield name, place
