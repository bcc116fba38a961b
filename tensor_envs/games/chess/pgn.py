"""Portable Game Notation: games of chess in files."""

import re
from collections.abc import Sequence
from typing import Any

from tensor_envs.games.chess.notation import san
from tensor_envs.games.chess.rules import Chess
from tensor_envs.ops.fields import legal_actions
from tensor_envs.record import Record

TAGS = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?"}
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
WIDTH = 79
TAG = re.compile(r'^\s*\[(\w+)\s+"((?:[^"\\]|\\.)*)"\]\s*$', re.MULTILINE)
COMMENTS = re.compile(r"\{[^}]*\}|;[^\n]*|^%[^\n]*|\$\d+", re.MULTILINE)
MOVE_NUMBERS = re.compile(r"\b\d+\.+")


def write(rules: Chess, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a game as PGN. positions: the fields before each action and after the last one."""
    last = positions[-1]
    result = "*"
    if last["terminated"] or last["truncated"]:
        result = {1.0: "1-0", -1.0: "0-1"}.get(last["rewards"][0], "1/2-1/2")
    tags = TAGS | {"Result": result} | ({} if game.start is None else {"SetUp": "1", "FEN": game.start["fen"]})
    words = []
    for k, (s, action) in enumerate(zip(positions[:-1], game.actions, strict=True)):
        number, black = divmod(s["ply"], 2)
        if not black or k == 0:
            words.append(f"{number + 1}.{'..' * black}")
        words.append(san(rules, action, s, legal_actions(rules, s)))
    lines = [""]
    for word in [*words, result]:
        if len(lines[-1]) + len(word) + 1 > WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + "\n" + "\n".join(lines) + "\n"


def read(rules: Chess, text: str) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    """Return the first position, None for the usual one, and the names and places of the moves of the first game.

    Comments, annotations and variations are skipped. ValueError for a text without moves and tags.
    """
    tags, position = dict[str, str](), 0
    while tag := TAG.search(text, position):
        if text[position : tag.start()].strip():
            break  # tags of the next game
        tags[tag[1]], position = tag[2], tag.end()
    body = COMMENTS.sub(" ", text[position:])
    while "(" in body:
        shorter = re.sub(r"\([^()]*\)", " ", body)
        if shorter == body:
            raise ValueError("a variation has no end")
        body = shorter
    moves = list[tuple[str, str]]()
    for word in MOVE_NUMBERS.sub(" ", body).split():
        if word in RESULTS:
            break
        moves.append((word, f"move {len(moves) + 1}, {word}"))
    if not (tags or moves):
        raise ValueError("it has neither tags nor moves")
    return ({"fen": tags["FEN"]} if "FEN" in tags else None), moves
