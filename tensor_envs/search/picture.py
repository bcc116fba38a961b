"""A search tree as a picture."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np

from tensor_envs.render.drawing import Drawing

STEP, LEVEL, MARGIN = 58, 84, 40
GOOD, BAD, NEITHER = (44, 105, 176), (196, 57, 50), (230, 230, 230)


def tree_svg(
    visits: np.ndarray, values: np.ndarray, children: np.ndarray, count: int, names: Sequence[str]
) -> str:
    """The `count` actions visited most of [slots, A]: each below its node, with its name, visits and mean return."""
    below: dict[int, list[int]] = {0: []}
    about: list[tuple[int, int, int, float]] = [
        (0, 0, int(visits[0].sum()), 0.0)
    ]  # depth, action, visits, value
    waiting: list[tuple[int, int, int, int, int]] = []

    def look(slot: int, item: int, depth: int) -> None:
        for action in np.flatnonzero(visits[slot]):
            heapq.heappush(waiting, (-int(visits[slot, action]), depth, item, int(action), slot))

    look(0, 0, 1)
    while waiting and len(about) <= count:
        many, depth, parent, action, slot = heapq.heappop(waiting)
        item = len(about)
        below[item] = []
        below[parent].append(item)
        about.append((depth, action, -many, float(values[slot, action])))
        if child := int(children[slot, action]):
            look(child, item, depth + 1)
    x, order = [0.0] * len(about), 0
    stack = [(0, False)]
    while stack:  # a node is above the middle of what is below it
        item, done = stack.pop()
        if done:
            x[item] = (x[below[item][0]] + x[below[item][-1]]) / 2
        elif below[item]:
            stack += [(item, True), *((k, False) for k in reversed(below[item]))]
        else:
            x[item], order = order * STEP + MARGIN, order + 1
    width = max(order - 1, 1) * STEP + 2 * MARGIN
    drawing = Drawing(width, max(item[0] for item in about) * LEVEL + 2 * MARGIN)
    largest = max((abs(item[3]) for item in about), default=0) or 1.0
    places = [(x[k], item[0] * LEVEL + MARGIN) for k, item in enumerate(about)]
    for item, children_here in below.items():
        for child in children_here:
            share = about[child][2] / max(about[0][2], 1)
            drawing.line(places[item], places[child], stroke="#8a8a8a", width=1 + 7 * share)
    for place, (depth, action, many, value) in zip(places, about, strict=True):
        part = value / largest
        ends = zip(NEITHER, GOOD if part > 0 else BAD, strict=True)
        colour = "#" + "".join(f"{round(a + (b - a) * abs(part)):02x}" for a, b in ends)
        radius = 8 + 10 * math.sqrt(many / max(about[0][2], 1))
        drawing.circle(place, radius, fill=colour, stroke="#444444")
        drawing.text((place[0], place[1] + radius + 8), f"{many}", 10)
        if depth:
            drawing.text((place[0], place[1] - radius - 18), names[action][:10], 10, bold=True)
            drawing.text((place[0], place[1] - radius - 7), f"{value:+.2f}", 9, "#444444")
    return drawing.to_svg()
