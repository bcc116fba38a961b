"""A game's picture in a few pixels, and how each of them follows from a state: found out from the game's own drawings.

Of positions of uniform play both the drawing and the state's bits are known. For every pixel of a small picture a tree
of questions for bits is grown until its answers are the colours seen, so that a page can paint thousands of games
without their Python. It is exact on the positions that it was grown from, and a guess of the same form elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tensor_envs.core.env import Env
from tensor_envs.core.layout import Slot
from tensor_envs.core.vector import VectorEnv
from tensor_envs.render.drawing import Circle, Drawing, Text

GAMES, STEPS, KEPT = 512, 240, 4  # played at once; how long; positions taken of each step
CELL = 6  # pixels that the smallest place for an action should take
SMALLEST, LARGEST = 24, 48  # pixels of the longer side
DEEPEST = 20  # questions
MOST_VALUES = 128  # of a byte that is asked for as a whole
MOST_ASKED = 150  # questions, those that tell most in the beginning
FEWEST = 2  # positions of another colour that are asked for


def positions(env: Env, seed: int = 0) -> tuple[np.ndarray, list[Drawing]]:
    """States of uniform play and their drawings; finished games are among them. NotImplementedError without `draw`."""
    draw = getattr(env._entry.load("render"), "draw", None)
    if draw is None:
        raise NotImplementedError(f"{env.id!r} has no draw, which small pictures are made from")
    vector, chance = VectorEnv(env, GAMES, seed, autoreset="next_step"), np.random.default_rng(seed)
    words, drawings = [], []
    for _ in range(STEPS):
        vector.step_uniform()
        state = vector.state
        rows = np.sort(chance.choice(GAMES, KEPT, replace=False))
        words.append(state._games.cut.table(state.tensors[0])[rows])
        drawings += [draw(env.rules, env.state_to_dict(state, int(row))) for row in rows]
    return np.concatenate(words), drawings


class Raster:
    """Where shapes cover the middles of a small picture's pixels."""

    def __init__(self, drawings: list[Drawing]):
        """The picture has room for all shapes of the drawings, and none around them."""
        shapes = {shape for drawing in drawings for shape in drawing.shapes if not isinstance(shape, Text)}
        ends = np.array([_ends(shape) for shape in shapes])
        (left, top), (right, bottom) = ends[:, 0].min(0), ends[:, 1].max(0)
        left, top = max(left, 0), max(top, 0)
        wide, high = min(right, drawings[0].width) - left, min(bottom, drawings[0].height) - top
        cells = [np.ptp(np.array(area.points), axis=0).min() for d in drawings for area in d.areas]
        longest = np.clip(CELL / min(cells, default=np.inf) * max(wide, high), SMALLEST, LARGEST)
        self.scale = float(longest) / max(wide, high)
        self.width, self.height = (max(1, round(size * self.scale)) for size in (wide, high))
        y, x = np.mgrid[: self.height, : self.width]
        self.x, self.y = left + (x.ravel() + 0.5) / self.scale, top + (y.ravel() + 0.5) / self.scale
        self.covered = cache(self._covered)

    def _covered(self, shape: Any) -> list[tuple[np.ndarray, str, float]]:
        """Pixels, colour and opacity: of a shape's fill, then of its stroke, which is the paler the finer it is."""
        if isinstance(shape, Circle):
            far = np.hypot(self.x - shape.centre[0], self.y - shape.centre[1])
            inside, edge = far <= shape.radius, abs(far - shape.radius)
        else:
            corners = list(zip(shape.points, (*shape.points[1:], shape.points[0]), strict=True))
            inside = np.zeros(self.x.shape, bool)
            edge = np.full(self.x.shape, np.inf)
            for (x0, y0), (x1, y1) in corners:
                if y0 != y1:
                    across = (self.y < y0) != (self.y < y1)
                    inside ^= across & (self.x < x0 + (self.y - y0) * (x1 - x0) / (y1 - y0))
            for (x0, y0), (x1, y1) in corners if shape.closed else corners[:-1]:
                dx, dy = x1 - x0, y1 - y0
                along = ((self.x - x0) * dx + (self.y - y0) * dy) / max(dx * dx + dy * dy, 1e-9)
                along = along.clip(0, 1)
                edge = np.minimum(edge, np.hypot(self.x - x0 - along * dx, self.y - y0 - along * dy))
        drawn = np.flatnonzero(edge <= max(shape.width / 2, 0.5 / self.scale))
        solid = min(1.0, shape.width * self.scale)
        parts = (np.flatnonzero(inside), shape.fill, 1.0), (drawn, shape.stroke, solid)
        return [(where, colour, shape.opacity * part) for where, colour, part in parts if colour != "none"]

    def pixels(self, drawing: Drawing) -> np.ndarray:
        """Colours of all pixels as integers 0xrrggbb; text is left out."""
        found = np.full(self.width * self.height, int(drawing.background[1:], 16), np.int64)
        for shape in drawing.shapes:
            if not isinstance(shape, Text):
                for where, colour, opacity in self.covered(shape):
                    found[where] = _over(found[where], int(colour[1:], 16), opacity)
        return found


def _over(below: np.ndarray, colour: int, opacity: float) -> np.ndarray | int:
    if opacity == 1:
        return colour
    mixed = np.zeros_like(below)
    for shift in (16, 8, 0):
        part = (below >> shift & 255) * (1 - opacity) + (colour >> shift & 255) * opacity
        mixed |= part.round().astype(np.int64) << shift
    return mixed


def _ends(shape: Any) -> np.ndarray:
    """The least and greatest x and y."""
    points = np.array([shape.centre] if isinstance(shape, Circle) else shape.points)
    reach = getattr(shape, "radius", 0)
    return np.stack([points.min(0) - reach, points.max(0) + reach])


class Trees:
    """Trees of questions for a state's words: whether some bits of one are a value."""

    def __init__(self, words: np.ndarray, first: Sequence[Slot] = ()):
        """first: numbers that are asked for first of all: with others they say what none of them says alone."""
        questions = [(w, k, 1, 1) for w in range(words.shape[1]) for k in range(32)]
        for w, k in ((w, k) for w in range(words.shape[1]) for k in range(0, 32, 8)):
            values = np.unique(words[:, w] >> k & 255)
            if len(values) <= MOST_VALUES:  # a number in a byte, or a piece of one of few sets
                questions += [(w, k, 255, int(value)) for value in values]
        answers = np.stack([words[:, w] >> k & mask == value for w, k, mask, value in questions], axis=1)
        _, different = np.unique(answers, axis=1, return_index=True)
        kept = [k for k in np.sort(different) if 0 < answers[:, k].sum() < len(words)]
        self.questions = [questions[k] for k in kept]
        self.answers = answers[:, kept].astype(np.float32)
        bits = {(slot.word, slot.shift + k) for slot in first for k in range(slot.width)}
        self.first = [
            k for k, (w, shift, mask, _) in enumerate(self.questions) if mask == 1 and (w, shift) in bits
        ]
        self.nodes: list[
            int
        ] = []  # three a node: the question, where no leads to and where yes; ~number at an end
        self._known: dict[tuple[int, int, int], int] = {}

    def grow(self, numbers: np.ndarray) -> int:
        """The tree of what is numbered in every position -> its root."""
        seen = np.eye(numbers.max() + 1, dtype=np.float32)[numbers]
        groups = np.unique(
            self.answers[:, self.first] @ 2.0 ** np.arange(len(self.first)), return_inverse=True
        )[1]
        parts = [np.flatnonzero(groups == k) for k in range(groups.max() + 1)]
        prior = np.sum([_gain(self.answers[rows], seen[rows]) for rows in parts], axis=0)
        asked = np.argsort(-prior, kind="stable")[:MOST_ASKED]
        answers, prior = self.answers[:, asked], prior[asked]

        def tree(rows: np.ndarray, deep: int) -> int:
            counts = seen[rows].sum(0)
            if counts.sum() - counts.max() < FEWEST or deep == DEEPEST:
                return ~int(counts.argmax())
            gain = _gain(answers[rows], seen[rows])
            # of those that tell equally much, as by chance of few rows, the one that tells most of all rows
            best = np.flatnonzero(gain >= gain.max() - 1e-3)
            question = best[prior[best].argmax()]
            yes = answers[rows, question] > 0
            if yes.all() or not yes.any():
                return ~int(counts.argmax())
            return self._node(int(asked[question]), tree(rows[~yes], deep + 1), tree(rows[yes], deep + 1))

        def begin(rows: np.ndarray, first: list[int]) -> int:
            if not first:
                return tree(rows, 0)
            yes = self.answers[rows, first[0]] > 0
            parts = [begin(part, first[1:]) for part in (rows[~yes], rows[yes]) if len(part)]
            return self._node(first[0], parts[0], parts[-1])

        return begin(np.arange(len(seen)), self.first)

    def _node(self, question: int, no: int, yes: int) -> int:
        """What is asked; nothing where both answers lead to the same."""
        if no == yes:
            return no
        key = question, no, yes
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes += key
        return self._known[key]


def _gain(answers: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """How much each question tells about some positions, in nats."""
    yes = answers.T @ seen
    return -_entropy(yes) - _entropy(seen.sum(0) - yes)


def _entropy(counts: np.ndarray) -> np.ndarray:
    """Of what there is of each kind, times how many there are."""
    total = counts.sum(-1, keepdims=True)
    share = np.where(counts > 0, counts / np.maximum(total, 1), 1)
    return -(counts * np.log(share)).sum(-1)


def tile(env: Env) -> dict[str, Any]:
    """What a page needs to paint a small picture of any state.

    Returns:
        width, height: pixels; questions: word, shift, mask and value; nodes: see `Trees`, which end at ~number; roots:
        a tree for each of the `contents`; looks: which of them, and colours for its numbers; pixels: a look for each,
        row by row.
    """
    words, drawings = positions(env)
    layout = env._engine.layout
    words[:, layout.rewards : layout.mask] = 0  # no part of a picture
    raster = Raster(drawings)
    images = np.stack([raster.pixels(drawing) for drawing in drawings])
    columns, pixels = np.unique(images, axis=1, return_inverse=True)
    told, looks = contents(columns.T)
    trees = Trees(words, layout.slots["current_player"])
    roots = [trees.grow(labels) for labels in told]
    asked = sorted(set(trees.nodes[::3]))
    nodes = [asked.index(x) if k % 3 == 0 else x for k, x in enumerate(trees.nodes)]
    return {
        "width": raster.width,
        "height": raster.height,
        "questions": [trees.questions[k] for k in asked],
        "nodes": nodes,
        "roots": roots,
        "looks": [[content, *(f"#{colour:06x}" for colour in colours)] for content, colours in looks],
        "pixels": pixels.ravel().tolist(),
    }


def contents(columns: np.ndarray) -> tuple[list[np.ndarray], list[tuple[int, list[int]]]]:
    """What pixels show, such as what stands on a square, of which each is a look.

    Args:
        columns: colours [pixels, positions].

    Returns:
        Numbers of the contents [positions], one array each; for every pixel which content it shows, and the colours for
        its numbers.
    """
    told: list[np.ndarray] = []
    looks: dict[int, tuple[int, list[int]]] = {}

    def surprise(k: int) -> float:
        return float(_entropy(np.unique(columns[k], return_counts=True)[1]))

    for k in sorted(range(len(columns)), key=surprise, reverse=True):
        for number, labels in enumerate(told):
            colours = np.zeros(labels.max() + 1, np.int64)
            colours[labels] = columns[k]
            if (colours[labels] == columns[k]).all():  # it follows from the other
                looks[k] = number, colours.tolist()
                break
        else:
            colours, labels = np.unique(columns[k], return_inverse=True)
            looks[k] = len(told), colours.tolist()
            told.append(labels)
    return told, [looks[k] for k in range(len(columns))]


def painted(about: dict[str, Any], words: np.ndarray) -> np.ndarray:
    """Colours "#rrggbb" of all pixels of one state's picture."""
    questions, nodes, ends = about["questions"], about["nodes"], []
    for at in about["roots"]:
        while at >= 0:
            word, shift, mask, value = questions[nodes[at]]
            at = nodes[at + 1 + (int(words[word]) >> shift & mask == value)]
        ends.append(~at)
    colours = [look[1 + ends[look[0]]] for look in about["looks"]]
    return np.array(colours)[about["pixels"]].reshape(about["height"], about["width"])
