"""Transcripts: whole games as the names of their moves, one after the other."""

import re
from collections.abc import Iterator

from tensor_envs._validate import shortened, shown
from tensor_envs.files.records import Record


def check_start(game: Record, format: str) -> None:
    """Raise ValueError unless a game begins with the usual position."""
    if game.start is not None:
        raise ValueError(f"game must begin with the usual position, since {format} has no other")


def words_of(text: str, pattern: str, example: str) -> Iterator[tuple[str, str]]:
    """Yield the moves of a text and their places.

    Args:
        text: moves with or without spaces between them.
        pattern: regular expression of a move.
        example: a move, for the error.

    Raises:
        ValueError: something else stands in the text; the error names the character, from 1.
    """
    text = text.rstrip()
    position = 0
    move = re.compile(rf"\s*({pattern})\s*", re.IGNORECASE)
    while position < len(text):
        match = move.match(text, position)
        if match is None:
            rest = shown(text[position : position + 20])
            raise ValueError(f"character {position + 1}: a move such as {example} must follow, got {rest}")
        yield match[1], shortened(f"character {match.start(1) + 1}, {match[1]}")
        position = match.end()
