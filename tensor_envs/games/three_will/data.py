"""Constants and rule fields of Three Will, in plain Python. F and G numbers are those of RULES.md."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import Any

from tensor_envs._validate import shown

# F1; agent 8 * player + slot
PLAYERS = 2
SLOTS = 8
AGENTS = 16
SIDE, SQUARES = 8, 64  # square 8 * row + column
FACES, CES_CARDS = 6, 9  # F2

SET_UP = range(8, 16)  # F3, G3: the slots' squares, on the row next to the base, as their player sees them

MOVE, FREE, FMOVE, CHALLENGE, OVER = range(5)  # phases

OPTIONS = 3  # upper bound of the ways to follow a directive; action OPTIONS * slot + option
PASS = OPTIONS * SLOTS
USE_FREE = PASS + 1
EXAMINE = USE_FREE + 1  # + slot of the declarer's agent
ACTIONS = EXAMINE + SLOTS

# Directives of the die by face 1..6: options (forward, right) as the player sees the board.
Chart = tuple[tuple[tuple[int, int], ...], ...]
CHART: Chart = (  # F13, G1, G2
    ((1, 0),),  # 1 straight forward
    ((0, 1),),  # 2 straight right
    ((0, -1),),  # 3 straight left
    ((1, 1),),  # 4 diagonal right
    ((1, -1),),  # 5 diagonal left
    ((-1, 0), (-1, -1), (-1, 1)),  # 6 straight or diagonal back: the player chooses
)
STEPS = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]

# Counters of chance events (section 5).
NUMBER_KEYS = 0  # + agent: sort keys of the numbers
TOP_CARD, STARTER = 16, 17
DIRECTIVE, EXTRA_THROW = 64, 65  # + 2t: rolled in step t

NOBODY = -1
MAX_CARDS = 127
MAX_TURNS = 2**30


@dataclass(frozen=True)
class ThreeWillFields:
    """Rule fields, one for every ruling that is a matter of choice.

    Raises:
        ValueError: a value that makes no game; the message names the field.
    """

    chart: Chart = CHART  # G1, G2: by face 1..6 one to three options (forward, right)
    first_player: int = -1  # G4: 0, 1, or -1 to draw
    fail_ends_turn: bool = True  # G9
    loan: bool = True  # G10
    cards_each: int = 4
    cards_total: int = 8
    leap_diagonals: bool = True  # G15
    held_under_locked: str = "released"  # G17: or "held"
    supplementary: bool = True  # G23
    challenge: bool = True  # G24
    challenge_ends_turn: bool = True  # G26
    ids_visible: bool = False  # G27
    max_turns: int = 600  # G28
    to_win: int = 3  # G29

    def __post_init__(self) -> None:
        object.__setattr__(self, "chart", _checked_chart(self.chart))
        for f in fields(self):
            if type(f.default) is bool and type(getattr(self, f.name)) is not bool:
                raise ValueError(f"{f.name} must be True or False, got {shown(getattr(self, f.name))}")
        if self.held_under_locked not in ("released", "held"):
            raise ValueError(f"held_under_locked: 'released' or 'held', got {shown(self.held_under_locked)}")
        self._check("first_player", -1, PLAYERS - 1)
        self._check("cards_total", 0, MAX_CARDS)
        self._check("cards_each", 0, self.cards_total // PLAYERS)
        self._check("max_turns", 1, MAX_TURNS)
        self._check("to_win", 1, SLOTS)

    def _check(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{name} must be an int in {low}..{high}, got {shown(value)}")


def _checked_chart(chart: Any) -> Chart:
    """Return a chart as tuples. Raise ValueError if it is none."""
    if not isinstance(chart, (list, tuple)) or len(chart) != FACES or not all(map(_is_face, chart)):
        raise ValueError(
            f"chart must give each of {FACES} faces 1 to {OPTIONS} different steps (forward, right) of -1, 0, 1, not "
            f"both 0, got {shown(chart)}"
        )
    return tuple(tuple((forward, right) for forward, right in steps) for steps in chart)


def _is_face(steps: Any) -> bool:
    """Return whether these are one to three different steps."""
    is_list = isinstance(steps, (list, tuple)) and 1 <= len(steps) <= OPTIONS
    return is_list and all(map(_is_step, steps)) and len(set(map(tuple, steps))) == len(steps)


def _is_step(step: Any) -> bool:
    return isinstance(step, (list, tuple)) and all(type(x) is int for x in step) and tuple(step) in STEPS
