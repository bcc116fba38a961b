"""Picture of measurements: a panel for each measure, with a line for each variant and a colour for each player."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from tensor_envs.lab.estimates import Measurement
from tensor_envs.render import Drawing

COLOURS = ("#7a8793", "#e69f00", "#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000")
INK = "#24303f"
PALE = "#d5dbe1"
MARKED = "#ffe9a8"
COLUMNS = 3
GAP = 16
HEAD = 34
LEGEND = 26
# pixels: names of variants, numbers, radius of a dot
NAMES = 118
PLOT = 170
DOT = 2.5
LINE = 6  # height of a player's line
NAME_LENGTH = 20
Measurements = Mapping[tuple[str, str], Measurement]
QUANTILE = re.compile(r"plies, ([\d.]+) % quantile")


def multiples(variants: Sequence[tuple[str, Measurements]], marked: Collection[tuple[str, tuple[str, str]]]) -> str:
    """Return an SVG with a panel for each measure.

    Args:
        variants: name of each variant, and its measurements by player and measure.
        marked: names of variants with players and measures that are highlighted.
    """
    keys = list(dict.fromkeys(key for _, numbers in variants for key in numbers))
    players = list(dict.fromkeys(who for who, _ in keys))
    measures = [what for what in dict.fromkeys(what for _, what in keys) if not QUANTILE.fullmatch(what)]
    height = HEAD + 14 + sum(max(LINE * len(players), 12) + 4 for _ in variants)
    width = NAMES + PLOT + GAP
    rows = -(-len(measures) // COLUMNS)
    drawing = Drawing(GAP + COLUMNS * width, LEGEND + rows * height, title="Measures of each variant and player")
    x = float(GAP)
    for number, player in enumerate(players):
        drawing.circle((x + 5, LEGEND / 2), 4, fill=colour(number))
        drawing.text((x + 13, LEGEND / 2), player, 11, INK, "start")
        x += 30 + 6.5 * len(player)
    for number, measure in enumerate(measures):
        x = GAP + number % COLUMNS * width
        y = LEGEND + number // COLUMNS * height
        _panel(drawing, (x, y), measure, players, variants, marked)
    return drawing.to_svg()


def colour(number: int) -> str:
    """Return the colour of a player, by its number."""
    return COLOURS[number % len(COLOURS)]


def _panel(
    drawing: Drawing,
    origin: tuple[float, float],
    measure: str,
    players: Sequence[str],
    variants: Sequence[tuple[str, Measurements]],
    marked: Collection[tuple[str, tuple[str, str]]],
) -> None:
    """Draw the measurements of a measure with their intervals; for plies also the middle 90 % and 50 % of the games.

    Args:
        drawing: the drawing.
        origin: left and upper edge.
        measure: name of the measure.
        players, variants, marked: as in `multiples`.
    """
    left, y = origin
    drawing.text((left, y + 12), measure, 12, INK, "start", bold=True)
    # All variants share one scale, from the lowest to the highest end of any interval.
    shown = [measure] + [f"plies, {q} % quantile" for q in ("5", "95") if measure == "plies"]
    ends = [x for _, numbers in variants for who in players for what in shown for x in _ends(numbers, who, what)]
    low = min(ends)
    high = max(ends)
    # If all ends are equal, draw them in the middle rather than divide by zero.
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    scale = PLOT / (high - low)

    def to_pixels(value: float) -> float:
        return left + NAMES + (value - low) * scale

    for end, anchor in ((low, "start"), (high, "end")):
        drawing.text((to_pixels(end), y + 25), f"{end:.3g}", 9, INK, anchor)
    y += HEAD
    for name, numbers in variants:
        height = max(LINE * len(players), 12)
        if any((name, (who, measure)) in marked for who in players):
            drawing.rect(left, y - 1, NAMES + PLOT, height + 2, fill=MARKED)
        drawing.line((left + NAMES, y), (left + NAMES, y + height), stroke=PALE)
        text = name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"
        drawing.text((left, y + height / 2), text, 10, INK, "start")
        # Each player has a line, which is empty if a variant lacks the player, so that colours stay aligned.
        for k, who in enumerate(players):
            if (number := numbers.get((who, measure))) is None or math.isnan(number.value):
                continue
            middle = y + LINE * k + LINE / 2
            # Pale lines show the spread of single games; the dark line is the interval of their mean.
            if measure == "plies":
                for ends_of, thick in ((("5", "95"), 1.0), (("25", "75"), 3.0)):
                    values = [numbers[who, f"plies, {q} % quantile"].value for q in ends_of]
                    drawing.line(*((to_pixels(v), middle) for v in values), stroke=colour(k), width=thick, opacity=0.4)
            drawing.line((to_pixels(number.low), middle), (to_pixels(number.high), middle), stroke=colour(k), width=1.5)
            drawing.circle((to_pixels(number.value), middle), DOT, fill=colour(k))
        y += height + 4


def _ends(numbers: Measurements, who: str, what: str) -> list[float]:
    """Return the ends of the interval of a player's measure; nothing if it is missing or NaN."""
    number = numbers.get((who, what))
    return [] if number is None or math.isnan(number.value) else [number.low, number.high]
