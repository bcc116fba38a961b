"""Boards in Forsyth-Edwards notation and its kin: rows of letters, with the numbers of empty squares between them."""

import re
from collections.abc import Iterable

MAX_DIGITS = 10  # of a number


def rows_of(placed: str) -> list[list[str]]:
    """Return the pieces of each row, "+" before the letter of a promoted one, "" for an empty square."""
    rows = list[list[str]]()
    for text in placed.split("/"):
        row = list[str]()
        for sign in re.findall(r"\+?.", text):
            row += [""] * int(sign) if re.fullmatch("[1-9]", sign) else [sign]
        rows.append(row)
    return rows


def text_of(rows: Iterable[Iterable[str]]) -> str:
    """Return rows of pieces as text: the inverse of `rows_of`."""
    placed = "/".join("".join(piece or "1" for piece in row) for row in rows)
    return re.sub("1+", lambda ones: str(len(ones.group())), placed)


def is_number(text: str, low: int = 0, high: int = 10**MAX_DIGITS) -> bool:
    """Return whether a text is a number within bounds."""
    return text.isdecimal() and len(text) <= MAX_DIGITS and low <= int(text) <= high
