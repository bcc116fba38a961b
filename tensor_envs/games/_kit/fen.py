"""Boards in Forsyth-Edwards notation and its kin: rows of letters, with the numbers of empty squares between them."""

import re
from collections.abc import Iterable

DIGITS = "123456789"
MAX_DIGITS = 10  # of a number


def rows_of(placed: str) -> list[list[str]]:
    """Return the pieces of each row, "+" before the letter of a promoted one, "" for an empty square."""
    rows = list[list[str]]()
    for text in placed.split("/"):
        row = list[str]()
        promoted = ""  # the sign before a letter
        for sign in text:
            if sign == "+" and not promoted:
                promoted = sign
            elif sign in DIGITS and not promoted:
                row += [""] * int(sign)
            else:
                row.append(promoted + sign)
                promoted = ""
        rows.append([*row, promoted] if promoted else row)
    return rows


def text_of(rows: Iterable[Iterable[str]]) -> str:
    """Return rows of pieces as text: the inverse of `rows_of`."""
    placed = "/".join("".join(piece or "1" for piece in row) for row in rows)
    return re.sub("1+", lambda ones: str(len(ones.group())), placed)


def is_number(text: str, low: int = 0, high: int = 10**MAX_DIGITS) -> bool:
    """Return whether a text is a number within bounds."""
    return text.isdecimal() and len(text) <= MAX_DIGITS and low <= int(text) <= high


def of_opponent(piece: str) -> str:
    """Return the same piece of the other player: capitals are one player's, small letters the other one's."""
    return piece.lower() if piece.isupper() else piece.upper()
