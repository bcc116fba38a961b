"""Picture of `shed.py plot`: for each number of cards, a neuron's weights beside the draws by pattern."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shed.neuron import Array, Neuron, draws_by_pattern, endgames
from tensor_envs.games.shed.tablebase import Tablebase
from tensor_envs.render.drawing import Drawing

MARGIN, GAP, HEAD, FOOT = 32, 64, 84, 26
MAX_SIDE, MAX_CELL = 560, 46  # of a panel, and of a cell of the draws
BARS = (340, 580)  # minimum and maximum width of the weights
INK, PALE, GRID = "#1f2933", "#66717d", "#c9d1d9"
OWN, OTHER, BIAS = "#2b6cb0", "#c05621", "#7b8794"
NONE, LIGHT, DARK = "#f1f3f5", (219, 231, 247), (11, 53, 120)


@dataclass(frozen=True)
class PlotRow:
    """Data of one row of the picture, for one number of cards."""

    cards: int
    epochs: int
    weights: list[float]  # the bias last
    endgames: int  # that are not drawn
    right: int
    drawn: Array  # [cards of who has just moved, cards of the other]
    positions: Array

    @property
    def shares(self) -> Array:
        return self.drawn / np.maximum(self.positions, 1)

    def summary(self) -> str:
        text = f"{self.cards} {plural('card', self.cards)}: after {self.epochs:,} {plural('epoch', self.epochs)} "
        text += f"right in {self.right:,} of {self.endgames:,} endgames; "
        text += f"{self.drawn.sum():,} of {self.positions.sum():,} quiet positions drawn"
        if self.drawn.any():
            own, other = np.unravel_index(self.shares.argmax(), self.shares.shape)
            text += f", the largest share in {own}-{other}: "
            text += f"{self.drawn[own, other]:,} of {self.positions[own, other]:,}"
        return text


def measure(table: Tablebase, epochs: int) -> PlotRow:
    data = endgames(table)
    neuron = Neuron(data, device="CPU").train(epochs)
    right, weights = len(data) - len(neuron.wrong()), neuron.weights.tolist()
    return PlotRow(table.cards, epochs, weights, len(data), right, *draws_by_pattern(table))


def draw(rows: list[PlotRow]) -> Drawing:
    max_share = max(row.shares.max() for row in rows)
    cells = [min(MAX_CELL, MAX_SIDE / (row.cards + 1)) for row in rows]
    heights = [cell * (row.cards + 1) for cell, row in zip(cells, rows, strict=True)]
    bars = min(BARS[1], max(BARS[0], 50 * (max(row.cards for row in rows) + 2)))
    right = MARGIN + bars + GAP
    total = sum(HEAD + max(height, 240) + FOOT for height in heights)
    picture = Drawing(right + max(380, *heights) + MARGIN, total + MARGIN / 2, title="Shed")
    top = 0.0
    for row, cell, height in zip(rows, cells, heights, strict=True):
        draw_weights(picture, row, MARGIN, top, bars, max(height, 240))
        draw_draws(picture, row, right, top, cell, max_share)
        top += HEAD + max(height, 240) + FOOT
        if row is not rows[-1]:
            picture.line((MARGIN, top), (picture.width - MARGIN, top), stroke=GRID)
    return picture


def title(picture: Drawing, x: float, y: float, head: str, note: str) -> None:
    picture.text((x, y + 28), head, 18, INK, "start", bold=True)
    picture.text((x, y + 50), note, 13, PALE, "start")


def draw_weights(picture: Drawing, row: PlotRow, x: float, y: float, width: float, height: float) -> None:
    head = f"{row.cards} {plural('card', row.cards)}: weights after {row.epochs:,} {plural('epoch', row.epochs)}"
    note = f"one neuron for all {row.endgames:,} endgames that are not drawn, right in {row.right:,}"
    title(picture, x, y, head, note)
    y, height = y + HEAD, height - 24
    pitch = min(80.0, width / (row.cards + 1.4))
    low, high = min(0.0, *row.weights), max(0.0, *row.weights)
    scale = (height - 44) / ((high - low) or 1)  # room for a figure above and below
    zero = y + 22 + high * scale
    size = min(13, pitch * 0.34)
    for i, weight in enumerate(row.weights):
        is_bias = i == row.cards
        left = x + (i + 0.4 * is_bias) * pitch
        end = zero - weight * scale
        colour = BIAS if is_bias else OWN if weight > 0 else OTHER
        picture.rect(left + 0.14 * pitch, min(zero, end), 0.72 * pitch, abs(end - zero), colour)
        beyond = end - 10 if weight >= 0 else end + 10
        picture.text((left + pitch / 2, beyond), figure(weight), size, INK)
        name = "bias" if is_bias else str(i + 1)
        picture.text((left + pitch / 2, y + height + 14), name, min(14, pitch * 0.42), INK)
    picture.line((x, zero), (x + row.cards * pitch, zero), stroke=INK)
    picture.line((x + (row.cards + 0.4) * pitch, zero), (x + (row.cards + 1.4) * pitch, zero), stroke=INK)


def draw_draws(picture: Drawing, row: PlotRow, x: float, y: float, cell: float, max_share: float) -> None:
    drawn, total = int(row.drawn.sum()), int(row.positions.sum())
    title(
        picture, x, y, "Drawn positions by pattern",
        f"{drawn:,} of {total:,} quiet positions, {percent(drawn / total)}" if drawn
        else f"none of {total:,} quiet positions",
    )  # fmt: skip
    y, n = y + HEAD, row.cards
    small, large = min(14, cell * 0.36), min(15, cell * 0.34)
    for k in range(n + 1):
        picture.text((x - 8, y + (k + 0.5) * cell), str(k), small, INK, "end")
        picture.text((x + (k + 0.5) * cell, y - 11), str(k), small, INK)
    for own in range(n + 1):
        for other in range(n + 1 - own):
            count, share = int(row.drawn[own, other]), float(row.shares[own, other])
            left, up = x + other * cell, y + own * cell
            depth = share / max_share if max_share else 0.0
            picture.rect(left, up, cell, cell, mix(depth) if count else NONE, "#ffffff", 1.5)
            if count:
                ink = "#ffffff" if depth > 0.45 else INK
                digits = min(large, 1.5 * cell / len(str(count)))
                picture.text((left + cell / 2, up + 0.36 * cell), str(count), digits, ink, bold=True)
                picture.text((left + cell / 2, up + 0.71 * cell), percent(share), min(11, cell * 0.26), ink)
    stairs = [(x + (n + 1) * cell, y)]  # around the endgames: down the outer side, up the inner one
    for k in range(1, n + 1):
        stairs += [(x + (n + 2 - k) * cell, y + k * cell), (x + (n + 1 - k) * cell, y + k * cell)]
    stairs += [(x + cell, y + (n + 1) * cell), (x, y + (n + 1) * cell), (x, y + n * cell)]
    for k in range(n, 0, -1):
        stairs += [(x + (n + 1 - k) * cell, y + k * cell), (x + (n + 1 - k) * cell, y + (k - 1) * cell)]
    picture.polygon(stairs, stroke=INK, width=1.5)
    notes = [
        "down: cards of who has just moved", "across: cards of who is to move",
        "outlined: endgames (empty talon)", "figures: drawn, share of the pattern",
    ]  # fmt: skip
    foot = y + (n + 1) * cell
    end = picture.width - MARGIN
    for i, note in enumerate(reversed(notes)):
        picture.text((end, foot - 10 - 17 * i), note, 12, PALE, "end")


def mix(depth: float) -> str:
    """Return the colour of a depth from 0, light, to 1, dark."""
    return "#" + "".join(f"{round(a + (b - a) * depth):02x}" for a, b in zip(LIGHT, DARK, strict=True))


def figure(weight: float) -> str:
    """Format a weight with two or three digits."""
    decimals = 0 if abs(weight) >= 100 else 1
    return f"{round(weight, decimals) + 0.0:.{decimals}f}"


def percent(share: float) -> str:
    if share < 0.000005:
        return "<0.001%"
    return f"{100 * share:.{1 if share >= 0.0005 else 3}f}%"


def plural(word: str, count: int) -> str:
    return word if count == 1 else word + "s"
