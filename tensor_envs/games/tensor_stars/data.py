"""Board, deck and rule fields of Tensor (stars), in Python or from a TOML file.

Numbers such as F8 and G4 are those of RULES.md beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from tensor_envs._validate import shown
from tensor_envs.games._kit.rule_files import check_names, read_rules

Space = tuple[int, int]  # (x, y): x from Black to White, y downwards
Line = tuple[Space, Space]

BLACK, WHITE = 0, 1  # sides
# F2, F1, F4
PIECES = 3
CARDS = 10
TURNS = 3
MAX_SIDE = 64  # spaces along a side of a board
MAX_NUMBER = 999  # absolute number of a card
COLOURS = ("red", "blue", "yellow")

# F19: directions are the owner's. Number d of DIRECTIONS is number d XOR side of COMPASS. For Black, toward is west and
# left is north; for White, who sits opposite, toward is east and left is south.
DIRECTIONS = "TALR"  # toward, away, left, right
COMPASS: tuple[Space, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))  # west, east, north, south

DEFAULT_LINES: tuple[Line, ...] = (
    *(((0, y), (6, y)) for y in range(5)),
    *(((x, 0), (x, 4)) for x in (0, 2, 3, 4, 6)),
    ((1, 0), (1, 3)),  # G4: no line to (1, 4)
    ((5, 1), (5, 4)),  # G4: no line to (5, 0)
)


def _typed(what: str, kind: type, value: Any) -> Any:
    """Return a value as an instance of a dataclass, built from a mapping of its fields if it is one."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be a {kind.__name__} or a table of its fields, got {shown(value)}")
    check_names(what, kind, value)
    missing = {"number", "parts"} - value.keys() if kind is Card else set()
    if missing:
        raise ValueError(f"{what} lacks {' and '.join(sorted(missing))}: {shown(dict(value))}")
    return kind(**value)


def _sequence(what: str, value: Any, length: int | None = None) -> Sequence[Any]:
    """Return a list or tuple. Raise ValueError for other values and other lengths."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{what} must be a list, got {shown(value)}")
    if length is not None and len(value) != length:
        raise ValueError(f"{what} must have {length} entries, got {len(value)}: {shown(value)}")
    return value


def _space(value: Any) -> Space:
    """Return a space as a tuple. Raise ValueError for other values."""
    x, y = _sequence("a space of the board", value, 2)
    if type(x) is not int or type(y) is not int or not 0 <= min(x, y) <= max(x, y) < MAX_SIDE:
        raise ValueError(f"a space of the board must be two ints in 0..{MAX_SIDE - 1}, x and y, got {shown(value)}")
    return x, y


def _is_part(part: Any) -> bool:
    """Return whether a value is a part of a card, such as "T3"."""
    return isinstance(part, str) and bool(re.fullmatch(f"[{DIRECTIONS}][1-9][0-9]?", part))


@dataclass(frozen=True)
class Board:
    """Board of at most 64 x 64 spaces (G1 to G4, G25).

    Space (x, y) has the index width * y + x in the smallest box that holds (0, 0) and every line.

    Attributes:
        lines: pairs of spaces. A line through several spaces joins all neighbours on it.
        stars: pairs of a space and a side.
        starts: spaces of red, blue and yellow.

    Raises:
        ValueError: an impossible board. Lists are accepted for tuples.

    Examples:
        >>> board = Board(lines=(((0, 0), (3, 0)),), stars=(((3, 0), WHITE),), starts=((0, 0), (1, 0), (2, 0)))
        >>> board.width, board.start_indices
        (4, (0, 1, 2))
    """

    lines: tuple[Line, ...] = DEFAULT_LINES
    stars: tuple[tuple[Space, int], ...] = (((0, 1), BLACK), ((6, 3), WHITE))
    starts: tuple[Space, ...] = ((4, 0), (3, 2), (2, 4))

    def __post_init__(self) -> None:
        lines = (_sequence("a line of the board", line, 2) for line in _sequence("board.lines", self.lines))
        stars = (_sequence("a Star of the board", star, 2) for star in _sequence("board.stars", self.stars))
        starts = _sequence("board.starts", self.starts, PIECES)
        # Lists become tuples, since the board is part of frozen rules and must have a hash.
        object.__setattr__(self, "lines", tuple((_space(a), _space(b)) for a, b in lines))
        object.__setattr__(self, "stars", tuple((_space(space), side) for space, side in stars))
        object.__setattr__(self, "starts", tuple(map(_space, starts)))
        for (x0, y0), (x1, y1) in self.lines:
            if (x0 == x1) == (y0 == y1):
                raise ValueError(f"a line of the board must run straight along x or y, got {((x0, y0), (x1, y1))}")
        if not all(side in (BLACK, WHITE) and type(side) is int for _, side in self.stars):
            raise ValueError(f"a Star of the board must be (space, side) with side 0 or 1, got {shown(self.stars)}")
        # Pieces move along lines only, so whatever is marked must be on one.
        ends = {space for join in self.joins for space in join}
        for name, marked in (("starts", self.starts), ("stars", tuple(space for space, _ in self.stars))):
            if off := [space for space in marked if space not in ends]:
                raise ValueError(f"board.{name} must be spaces on a line, but there is none at {off[0]}")
            if len(set(marked)) < len(marked):
                raise ValueError(f"board.{name} must be different spaces, got {shown(marked)}")

    @cached_property
    def joins(self) -> frozenset[Line]:
        """Lines between neighbours, the space of smaller coordinates first."""
        joins: set[Line] = set()
        for line in self.lines:
            (x0, y0), (x1, y1) = sorted(line)
            joins |= set(pairwise((x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1)))
        return frozenset(joins)

    @cached_property
    def width(self) -> int:
        """Number of columns."""
        return 1 + max((x for line in self.lines for x, _ in line), default=0)

    @cached_property
    def height(self) -> int:
        """Number of rows."""
        return 1 + max((y for line in self.lines for _, y in line), default=0)

    @property
    def size(self) -> int:
        """Number of indices S."""
        return self.width * self.height

    @cached_property
    def spaces(self) -> frozenset[int]:
        """Indices that are spaces, which are the ends of lines."""
        return frozenset(self.index(space) for join in self.joins for space in join)

    def index(self, space: Space) -> int:
        """Return the index of a space."""
        return self.width * space[1] + space[0]

    def space(self, index: int) -> Space:
        """Return the space of an index."""
        return index % self.width, index // self.width

    @cached_property
    def start_indices(self) -> tuple[int, ...]:
        """Indices of the pieces' starts."""
        return tuple(map(self.index, self.starts))

    def star_indices(self, *sides: int) -> list[int]:
        """Return the indices of the Stars of some sides."""
        return [self.index(space) for space, side in self.stars if side in sides]

    def entered(self, direction: int) -> list[int]:
        """Return the indices that a line leads into in a direction of the compass (F8)."""
        ends = (
            (a, b) if (b[0] - a[0], b[1] - a[1]) == COMPASS[direction] else (b, a)
            for a, b in self.joins
            if (b[0] - a[0], b[1] - a[1]) in (COMPASS[direction], COMPASS[direction ^ 1])
        )
        return [self.index(there) for _, there in ends]

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether a half turn of the board swaps the sides' views of lines and Stars (section 6)."""
        turned = {tuple(sorted(map(self._turned, join))) for join in self.joins}
        stars = {(self._turned(space), 1 - side) for space, side in self.stars}
        return turned == self.joins and stars == set(self.stars)

    def _turned(self, space: Space) -> Space:
        return self.width - 1 - space[0], self.height - 1 - space[1]


@dataclass(frozen=True)
class Card:
    """Card of a deck (G5, G6).

    Attributes:
        number: decides which card acts first, in -999..999.
        parts: one or two parts such as "T3", a direction (toward, left, right, away) and 1..99 spaces.
        either: whether the player chooses the order of the two parts (F10).

    Raises:
        ValueError: an impossible card.

    Examples:
        >>> Card(2, ("T1", "R1"), either=True).moves
        ((0, 1), (3, 1))
    """

    number: int
    parts: tuple[str, ...]
    either: bool = False

    def __post_init__(self) -> None:
        if type(self.number) is not int or abs(self.number) > MAX_NUMBER:
            raise ValueError(f"a card's number must be an int in {-MAX_NUMBER}..{MAX_NUMBER}, got {shown(self.number)}")
        if type(self.either) is not bool:
            raise ValueError(f"either of card {self.number} must be true or false, got {shown(self.either)}")
        parts = tuple(_sequence(f"parts of card {self.number}", self.parts))
        object.__setattr__(self, "parts", parts)
        wrong = [part for part in parts if not _is_part(part)]
        if wrong:
            raise ValueError(
                f"a part of card {self.number} must be one of T, L, R, A and 1..99 spaces, got {shown(wrong[0])}"
            )
        if not 1 + self.either <= len(parts) <= 2:
            many = "two parts, being an either-card," if self.either else "one or two parts"
            raise ValueError(f"card {self.number} must have {many}, got {shown(parts)}")

    @cached_property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """Number in DIRECTIONS and number of spaces of every part."""
        return tuple((DIRECTIONS.index(part[0]), int(part[1:])) for part in self.parts)


# F15 to F18 define 9, 8, 5 and 2, and G5 the others.
DECK: tuple[Card, ...] = (
    Card(0, ("A1",)),
    Card(1, ("T3",)),
    Card(2, ("T1", "R1"), either=True),
    Card(3, ("T1", "L1"), either=True),
    Card(4, ("T2",)),
    Card(5, ("R2",)),
    Card(6, ("L2",)),
    Card(7, ("R1",)),
    Card(8, ("L1",)),
    Card(9, ("T1",)),
)

CHOICES = {
    "win_check": ("card", "piece"),
    "star_rule": ("any", "own", "opposite"),
    "star_credit": ("mover", "side"),
    "ask_order": ("differs", "always"),
    "reset": ("piece", "all"),
}
COUNTS = ("points_to_win", "max_hands")


@dataclass(frozen=True)
class StarsFields:
    """Rule fields, as RULES.md describes them.

    Attributes:
        board: a Board, or a mapping of the fields that differ from the default board.
        deck: ten Cards, or mappings of their fields.

    Raises:
        TypeError: a field that a board or a card does not have.
        ValueError: an impossible value.
    """

    board: Board = Board()
    deck: tuple[Card, ...] = DECK
    win_check: str = "card"  # G8
    star_rule: str = "any"  # G12
    star_credit: str = "mover"  # G13
    ask_order: str = "differs"  # G14
    score_stops_piece: bool = True  # G17
    reset_at_once: bool = False  # G18
    reset: str = "piece"  # G19
    points_to_win: int = 1  # G21; 3 is Variant 2
    random_colours: bool = False  # G23
    max_hands: int = 50  # G24

    def __post_init__(self) -> None:
        cards = _sequence("deck", self.deck, CARDS)
        object.__setattr__(self, "board", _typed("board", Board, self.board))
        object.__setattr__(self, "deck", tuple(_typed("a card of the deck", Card, card) for card in cards))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                options = " or ".join(map(repr, allowed))
                raise ValueError(f"{name} must be {options}, got {shown(getattr(self, name))}")
        for f in fields(self):
            if type(f.default) is bool and type(getattr(self, f.name)) is not bool:
                raise ValueError(f"{f.name} must be true or false, got {shown(getattr(self, f.name))}")
        for name in COUNTS:
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value < 2**31:
                raise ValueError(f"{name} must be an int in 1..{2**31 - 1}, got {shown(value)}")

    @property
    def pieces_leave(self) -> bool:
        """Whether a piece that has scored leaves the board until it returns to its start (F14)."""
        return self.points_to_win > 1 and self.reset == "piece"

    def __repr__(self) -> str:
        """Return the class name and the fields that differ from their defaults."""
        values = [(field, getattr(self, field.name)) for field in fields(self)]
        changed = ", ".join(f"{field.name}={value!r}" for field, value in values if value != field.default)
        return f"{type(self).__name__}({changed})"


def load_rules(path: str | Path) -> dict[str, Any]:
    """Read the rule fields from a TOML file, for `make("tensor_stars", **load_rules(path))`.

    Args:
        path: file with fields of `StarsFields`. `[board]` has lines, stars and starts; every `[[deck]]` is a card.

    Returns:
        Values by rule field.

    Raises:
        ValueError: a wrong field; the message names the file, the field and what is allowed.
        OSError: the file cannot be read.

    Examples:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rules.toml"
        >>> _ = path.write_text("points_to_win = 3")
        >>> load_rules(path)
        {'points_to_win': 3}
    """
    return read_rules(path, StarsFields)
