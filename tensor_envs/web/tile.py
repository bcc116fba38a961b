"""A game's picture in a few pixels, and how each of them follows from a state: found out from the game's own drawings.

Of positions of uniform play both the drawing and the state's bits are known. For every pixel of a small picture a tree
of questions for bits is grown until its answers are the colours seen, so that a page can paint thousands of games
without their Python. It is exact on the positions that it was grown from, and a guess of the same form elsewhere.

Sets of positions are ints, a bit for each: that takes no NumPy, which a page does not have, and is as fast.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from tensor_envs._engine.layout import Slot
from tensor_envs.env import Env
from tensor_envs.render.drawing import Circle, Drawing, Text
from tensor_envs.vector import VectorEnv

GAMES, STEPS, KEPT = 512, 240, 4  # played at once; how long; positions taken of each step
CELL = 6  # pixels that the smallest place for an action should take
SMALLEST, LARGEST = 24, 48  # pixels of the longer side
DEEPEST = 20  # questions
MOST_VALUES = 128  # of a byte that is asked for as a whole
MOST_ASKED = 150  # questions, those that tell most in the beginning
FEWEST = 2  # positions of another colour that are asked for


def positions(env: Env, seed: int = 0) -> tuple[list[list[int]], list[Drawing]]:
    """States of uniform play and their drawings; finished games are among them. NotImplementedError without `draw`."""
    draw = getattr(env.entry.load("render"), "draw", None)
    if draw is None:
        raise NotImplementedError(f"{env.id!r} has no draw, which small pictures are made from")
    words: list[list[int]] = []
    drawings: list[Drawing] = []
    vector, chance = VectorEnv(env, GAMES, seed, autoreset="next_step"), np.random.default_rng(seed)
    for _ in range(STEPS):
        vector.step_uniform()
        state = vector.state
        rows = np.sort(chance.choice(GAMES, KEPT, replace=False))
        words += state.buffers.layout.table(state.tensors[0])[rows].tolist()
        drawings += [draw(env.rules, env.state_to_dict(state, int(row))) for row in rows]
    return words, drawings


class Raster:
    """Where shapes cover the middles of a small picture's pixels."""

    def __init__(self, drawings: list[Drawing]):
        """The picture has room for all shapes of the drawings, and none around them."""
        shapes = {shape for drawing in drawings for shape in drawing.shapes if not isinstance(shape, Text)}
        lefts, tops, rights, bottoms = zip(*map(_ends, shapes), strict=True)
        left, top = max(min(lefts), 0), max(min(tops), 0)
        wide, high = min(max(rights), drawings[0].width) - left, min(max(bottoms), drawings[0].height) - top
        areas = {tuple(area.points) for drawing in drawings for area in drawing.areas}
        cells = [min(max(line) - min(line) for line in zip(*points, strict=True)) for points in areas]
        longest = CELL / min(cells, default=math.inf) * max(wide, high)
        self.scale = min(max(longest, SMALLEST), LARGEST) / max(wide, high)
        self.width, self.height = (max(1, round(size * self.scale)) for size in (wide, high))
        self.x = [left + (x + 0.5) / self.scale for x in range(self.width)]
        self.y = [top + (y + 0.5) / self.scale for y in range(self.height)]
        self.covered = cache(self._covered)

    def _covered(self, shape: Any) -> list[tuple[list[int], str, float]]:
        """Pixels, colour and opacity: of a shape's fill, then of its stroke, which is the paler the finer it is."""
        reach = max(shape.width / 2, 0.5 / self.scale)
        left, top, right, bottom = _ends(shape)
        inside, drawn = list[int](), list[int]()
        corners = (
            []
            if isinstance(shape, Circle)
            else [*zip(shape.points, (*shape.points[1:], shape.points[0]), strict=True)]
        )
        sides = corners if isinstance(shape, Circle) or shape.closed else corners[:-1]
        for row, y in enumerate(self.y):
            if not top - reach <= y <= bottom + reach:
                continue
            for column, x in enumerate(self.x):
                if not left - reach <= x <= right + reach:
                    continue
                if isinstance(shape, Circle):
                    far = math.hypot(x - shape.centre[0], y - shape.centre[1])
                    within, edge = far <= shape.radius, abs(far - shape.radius)
                else:
                    crossed = (
                        (y < y0) != (y < y1) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0)
                        for (x0, y0), (x1, y1) in corners
                    )
                    within, edge = sum(crossed) % 2 == 1, min(_distance(x, y, *side) for side in sides)
                pixel = row * self.width + column
                if within:
                    inside.append(pixel)
                if edge <= reach:
                    drawn.append(pixel)
        parts = (inside, shape.fill, 1.0), (drawn, shape.stroke, min(1.0, shape.width * self.scale))
        return [(where, colour, shape.opacity * part) for where, colour, part in parts if colour != "none"]

    def pixels(self, drawing: Drawing) -> list[int]:
        """Colours of all pixels as integers 0xrrggbb; text is left out."""
        found = [int(drawing.background[1:], 16)] * (self.width * self.height)
        for shape in drawing.shapes:
            if not isinstance(shape, Text):
                for where, colour, opacity in self.covered(shape):
                    number = int(colour[1:], 16)
                    for pixel in where:
                        found[pixel] = number if opacity == 1 else _over(found[pixel], number, opacity)
        return found


@cache
def _over(below: int, colour: int, opacity: float) -> int:
    mixed = 0
    for shift in (16, 8, 0):
        part = (below >> shift & 255) * (1 - opacity) + (colour >> shift & 255) * opacity
        mixed |= round(part) << shift
    return mixed


def _distance(x: float, y: float, start: tuple[float, float], end: tuple[float, float]) -> float:
    """From a point to a line."""
    (x0, y0), (x1, y1) = start, end
    dx, dy = x1 - x0, y1 - y0
    along = min(max(((x - x0) * dx + (y - y0) * dy) / max(dx * dx + dy * dy, 1e-9), 0), 1)
    return math.hypot(x - x0 - along * dx, y - y0 - along * dy)


def _ends(shape: Any) -> tuple[float, float, float, float]:
    """The least x and y, and the greatest."""
    points = [shape.centre] if isinstance(shape, Circle) else shape.points
    reach = getattr(shape, "radius", 0)
    x, y = zip(*points, strict=True)
    return min(x) - reach, min(y) - reach, max(x) + reach, max(y) + reach


class Trees:
    """Trees of questions for a state's words: whether some bits of one are a value."""

    def __init__(self, words: Sequence[Sequence[int]], first: Sequence[Slot] = ()):
        """first: numbers that are asked for first of all: with others they say what none of them says alone."""
        self.all = (1 << len(words)) - 1
        columns = list(zip(*words, strict=True))
        bits = [[_set(x >> k & 1 for x in column) for k in range(32)] for column in columns]
        questions = {(w, k, 1, 1): yes for w, column in enumerate(bits) for k, yes in enumerate(column)}
        for w, column in enumerate(columns):
            for k in range(0, 32, 8):
                values = sorted({x >> k & 255 for x in column})
                if len(values) <= MOST_VALUES:  # a number in a byte, or a piece of one of few sets
                    questions |= {(w, k, 255, v): _set(x >> k & 255 == v for x in column) for v in values}
        different = {yes: question for question, yes in reversed(questions.items()) if 0 < yes < self.all}
        kept = {question: yes for question, yes in questions.items() if different.get(yes) == question}
        self.questions, self.answers = list(kept), list(kept.values())
        asked = {(slot.word, slot.shift + k) for slot in first for k in range(slot.width)}
        self.first = [
            k for k, (w, shift, mask, _) in enumerate(self.questions) if mask == 1 and (w, shift) in asked
        ]
        self.nodes: list[
            int
        ] = []  # three a node: the question, where no leads to and where yes; ~number at an end
        self._known: dict[tuple[int, int, int], int] = {}
        self._weights = [_weight(count) for count in range(len(words) + 1)]

    def grow(self, seen: Sequence[int]) -> int:
        """The tree of which of some sets a position is in -> its root."""
        parts = [self.all]
        for question in self.first:
            yes = self.answers[question]
            parts = [half for part in parts for half in (part & yes, part & ~yes) if half]
        gains = [self._gain(self.answers, [kind & part for kind in seen]) for part in parts]
        prior = [sum(told) for told in zip(*gains, strict=True)]
        asked = sorted(range(len(prior)), key=lambda k: -prior[k])[:MOST_ASKED]
        answers = [self.answers[k] for k in asked]

        def tree(rows: int, deep: int) -> int:
            kinds = [kind & rows for kind in seen]
            counts = [kind.bit_count() for kind in kinds]
            most = counts.index(max(counts))
            if sum(counts) - counts[most] < FEWEST or deep == DEEPEST or not answers:
                return ~most
            gain = self._gain(answers, [kind for kind in kinds if kind])
            # of those that tell equally much, as by chance of few rows, the one that tells most of all rows
            least = max(gain) - 1e-3
            question = next(k for k, told in enumerate(gain) if told >= least)  # they stand in that order
            yes = answers[question] & rows
            if yes in (0, rows):
                return ~most
            return self._node(asked[question], tree(rows & ~yes, deep + 1), tree(yes, deep + 1))

        def begin(rows: int, first: list[int]) -> int:
            if not first:
                return tree(rows, 0)
            yes = self.answers[first[0]] & rows
            parts = [begin(part, first[1:]) for part in (rows & ~yes, yes) if part]
            return self._node(first[0], parts[0], parts[-1])

        return begin(self.all, self.first)

    def _gain(self, answers: Sequence[int], kinds: Sequence[int]) -> list[float]:
        """How much each question tells about some positions, in nats, but for what is the same of all questions."""
        weights, told = self._weights, []
        counted = [(kind, kind.bit_count()) for kind in kinds]
        every = sum(count for _, count in counted)
        for answer in answers:
            gain, yes = 0.0, 0
            for kind, count in counted:
                members = (answer & kind).bit_count()
                yes += members
                gain += weights[members] + weights[count - members]
            told.append(gain - weights[yes] - weights[every - yes])
        return told

    def _node(self, question: int, no: int, yes: int) -> int:
        """What is asked; nothing where both answers lead to the same."""
        if no == yes:
            return no
        key = question, no, yes
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes += key
        return self._known[key]


def _set(members: Iterable[int]) -> int:
    """Those for which it is 1 or true."""
    return int("".join("01"[x] for x in members)[::-1], 2)


def _weight(count: int) -> float:
    return count * math.log(count) if count else 0.0


def _entropy(counts: Sequence[int]) -> float:
    """Of what there is of each kind, times how many there are."""
    return _weight(sum(counts)) - sum(map(_weight, counts))


def tile(env: Env) -> dict[str, Any]:
    """What a page needs to paint a small picture of any state.

    Returns:
        width, height: pixels; questions: word, shift, mask and value; nodes: see `Trees`, which end at ~number; roots:
        a tree for each of the `contents`; looks: which of them, and colours for its numbers; pixels: a look for each,
        row by row.
    """
    *_, found = growing(env, *positions(env))
    return found


def growing(env: Env, words: list[list[int]], drawings: list[Drawing]) -> Iterator[dict[str, Any]]:
    """The same from some positions, at last; nothing while it is found out."""
    layout = env.engine.layout
    paid = [0] * (layout.mask - layout.rewards)  # no part of a picture
    words = [[*game[: layout.rewards], *paid, *game[layout.mask :]] for game in words]
    raster = Raster(drawings)
    images = []
    for drawing in drawings:
        yield {}
        images.append(raster.pixels(drawing))
    columns = list(zip(*images, strict=True))
    places = {column: k for k, column in enumerate(dict.fromkeys(columns))}
    told, looks = contents(list(places))
    trees = Trees(words, layout.slots["current_player"])
    roots = []
    for sets in told:
        yield {}
        roots.append(trees.grow(sets))
    asked = sorted(set(trees.nodes[::3]))
    nodes = [asked.index(x) if k % 3 == 0 else x for k, x in enumerate(trees.nodes)]
    yield {
        "width": raster.width,
        "height": raster.height,
        "questions": [trees.questions[k] for k in asked],
        "nodes": nodes,
        "roots": roots,
        "looks": [[content, *(f"#{colour:06x}" for colour in colours)] for content, colours in looks],
        "pixels": [places[column] for column in columns],
    }


def contents(columns: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[tuple[int, list[int]]]]:
    """What pixels show, such as what stands on a square, of which each is a look.

    Args:
        columns: colours [pixels, positions].

    Returns:
        Of each content the sets of positions that show the same; for every pixel which content it shows, and the
        colours for these.
    """
    told: list[list[int]] = []
    looks: dict[int, tuple[int, list[int]]] = {}

    def surprise(k: int) -> float:
        return _entropy([*Counter(columns[k]).values()])

    for k in sorted(range(len(columns)), key=surprise, reverse=True):
        colours = classes(columns[k])
        for number, sets in enumerate(told):
            if (found := _follows(colours, sets)) is not None:
                looks[k] = number, found
                break
        else:
            looks[k] = len(told), list(colours)
            told.append(list(colours.values()))
    return told, [looks[k] for k in range(len(columns))]


def classes(column: Sequence[int]) -> dict[int, int]:
    """For each number of a column, the set of positions that have it."""
    return {number: _set(x == number for x in column) for number in sorted({*column})}


def _follows(colours: dict[int, int], sets: Sequence[int]) -> list[int] | None:
    """The colour of each set, if all of it has the same."""
    found = []
    for same in sets:
        colour = next((colour for colour, of in colours.items() if same & of == same), None)
        if colour is None:
            return None
        found.append(colour)
    return found


def painted(about: dict[str, Any], words: Sequence[int]) -> list[list[str]]:
    """Colours "#rrggbb" of all pixels of one state's picture."""
    questions, nodes, ends = about["questions"], about["nodes"], []
    for at in about["roots"]:
        while at >= 0:
            word, shift, mask, value = questions[nodes[at]]
            at = nodes[at + 1 + (words[word] >> shift & mask == value)]
        ends.append(~at)
    colours = [look[1 + ends[look[0]]] for look in about["looks"]]
    wide, pixels = about["width"], about["pixels"]
    return [[colours[k] for k in pixels[row : row + wide]] for row in range(0, len(pixels), wide)]
