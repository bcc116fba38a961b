"""Dictionaries, boards and pictures of games without modules of their own, from the fields that their Spec declares.

A set of cells and a list with a number for each cell are shown as a board, other sets and lists in a line. The board is
the rules' `Grid`, an attribute `board` or `grid`, or else the last two axes of the observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod
from typing import Any, NamedTuple

from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import INK, LIGHT, MARGIN, MIN_WIDTH, SquareGrid, labelled, rows_of

BITS = {"uint32": 32, "uint64": 64}  # bits of a word by the kind of its field
SIGNS = "XO3456789"  # signs of a field's sets, in order
EMPTY = "."
SEVERAL = "*"
MAX_SIDE = 26  # rows or columns of a board that is shown
CELL = 32  # pixels of a cell
LINE = 18  # pixels from a line of text to the next
LETTER = 7  # pixels of a letter


class FieldBoard(NamedTuple):
    """Field that is shown as a board, a sign for each cell."""

    name: str
    columns: int
    signs: list[str]


# *** notation ***


def to_dict(rules: Any, s: dict[str, Any]) -> dict[str, Any]:
    """Return all fields of a game and the player to move."""
    return {**{field.name: s[field.name] for field in rules.spec.fields}, "current_player": s["current_player"]}


def from_dict(rules: Any, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. KeyError for a missing one."""
    names = [field.name for field in rules.spec.fields]
    return {name: game[name] for name in (*names, "current_player")} | {"terminated": False, "truncated": False}


# *** boards ***


def to_string(rules: Any, game: dict[str, Any]) -> str:
    """Return the fields of a game: boards first, then sets, lists and numbers."""
    boards, lines = shown_fields(rules, game)
    parts = [
        "\n".join([board.name, *labelled(_aligned(board.signs), board.columns), *_legend(board)]) for board in boards
    ]
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def draw(rules: Any, game: dict[str, Any]) -> Drawing:
    """Draw the boards side by side, and the other fields below."""
    boards, lines = shown_fields(rules, game)
    widths = [board.columns * CELL + 2 * MARGIN for board in boards]
    below = max((len(board.signs) // board.columns * CELL + 3 * MARGIN for board in boards), default=MARGIN / 2)
    width = max([MIN_WIDTH, sum(widths), *(len(line) * LETTER + 2 * MARGIN for line in lines)])
    picture = Drawing(width, below + (len(lines) + 1) * LINE, title=type(rules).__name__)
    left = 0
    for board, wide in zip(boards, widths, strict=True):
        grid = SquareGrid(left + MARGIN, 2 * MARGIN, CELL)
        picture.text((left + wide / 2, MARGIN / 2), " ".join([board.name, *_legend(board)]), 14, INK)
        for row, signs in enumerate(rows_of(board.signs, board.columns)):
            for column, sign in enumerate(signs):
                picture.polygon(grid.square(row, column), LIGHT, INK)
                if sign != EMPTY:
                    picture.text(grid.centre(row, column), sign, 16, INK, bold=True)
        grid.draw_labels(picture, len(board.signs) // board.columns, board.columns)
        left += wide
    for number, line in enumerate(lines):
        picture.text((MARGIN, below + number * LINE), line, 14, INK, "start")
    return picture


def shown_fields(rules: Any, game: dict[str, Any]) -> tuple[list[FieldBoard], list[str]]:
    """Return the fields that are boards, and a line for each of the others."""
    sides = _sides(rules)
    boards = list[FieldBoard]()
    lines = list[str]()
    for field in rules.spec.fields:
        value = game[field.name]
        signs = None if sides is None else _signs(field, value, prod(sides))
        if sides is not None and signs is not None:
            boards.append(FieldBoard(field.name, sides[1], signs))
        elif field.kind in BITS and not field.memory:
            lines.append(f"{field.name}: {_listed(_elements(field, value))}")
        else:
            lines.append(f"{field.name}: {value}")
    return boards, [*lines, f"current_player: {game['current_player']}"]


def _sides(rules: Any) -> tuple[int, int] | None:
    """Return the rows and columns of a game's board; None if it has none that can be shown."""
    for name in ("board", "grid"):
        grid = getattr(rules, name, None)
        if isinstance(rows := getattr(grid, "rows", None), int):
            sides = rows, int(getattr(grid, "columns", 1))
            break
    else:
        shape = rules.spec.observation_shape
        sides = (shape[-2], shape[-1]) if len(shape) > 1 else (0, 0)
    return sides if 1 < sides[0] <= MAX_SIDE and 1 < sides[1] <= MAX_SIDE else None


def _signs(field: Any, value: Any, cells: int) -> list[str] | None:
    """Return the sign of each cell, or None if the field is neither sets of cells nor a list of them."""
    if field.kind not in BITS:
        if field.size != cells:
            return None
        return [EMPTY if entry == 0 else str(int(entry)) for entry in _flat(value)]
    sets = _sets(field, value, cells)
    if sets is None or len(sets) > len(SIGNS) or any(cell >= cells for chosen in sets for cell in chosen):
        return None
    signs = [EMPTY] * cells
    for sign, chosen in zip(SIGNS, sets, strict=False):
        for cell in chosen:
            signs[cell] = sign if signs[cell] == EMPTY else SEVERAL
    return signs


def _sets(field: Any, value: Any, cells: int) -> list[set[int]] | None:
    """Return the sets of a field whose words, or whose rows of words, have a bit for each cell."""
    bits = BITS[field.kind]
    words = -(-cells // bits)
    if field.memory or not (words == 1 or field.shape[-1:] == (words,)):
        return None
    return [_members(row, bits) for row in rows_of(list(_flat(value)), words)]


def _members(words: Sequence[int], bits: int) -> set[int]:
    """Return the numbers of the bits that are set in words."""
    return {bits * k + bit for k, word in enumerate(words) for bit in range(bits) if int(word) >> bit & 1}


def _elements(field: Any, value: Any) -> Any:
    """Return a set of bits for each word, in the lists of the field."""
    if isinstance(value, (list, tuple)):
        return [_elements(field, entry) for entry in value]
    return _members([value], BITS[field.kind])


def _listed(value: Any) -> str:
    """Return sets and lists of sets as text."""
    if isinstance(value, set):
        return "{" + ", ".join(map(str, sorted(value))) + "}"
    return "[" + ", ".join(map(_listed, value)) + "]"


def _flat(value: Any) -> Iterator[Any]:
    """Yield the numbers of nested lists."""
    return chain.from_iterable(map(_flat, value)) if isinstance(value, (list, tuple)) else iter([value])


def _aligned(signs: Sequence[str]) -> list[str]:
    """Return signs of one width."""
    width = max(map(len, signs))
    return [sign.rjust(width) for sign in signs]


def _legend(board: FieldBoard) -> list[str]:
    """Return a line that explains signs for several sets, if a cell is in more than one."""
    return [f"({SEVERAL} is in several sets)"] if SEVERAL in board.signs else []
