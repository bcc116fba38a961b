"""Compositions of SVG documents: tables and animations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from xml.etree import ElementTree

from tensor_envs.render.drawing import FONT, written

NAMESPACE = "http://www.w3.org/2000/svg"
# pixels: around the pictures of a table; a line above each
MARGIN = 12
TITLE = 20
PAPER = "#ffffff"
INK = "#24303f"


@dataclass(frozen=True)
class Picture:
    """Parsed SVG document: the attributes of its root, and its elements as text, without areas for actions."""

    attributes: tuple[tuple[str, str], ...]
    elements: tuple[str, ...]

    @classmethod
    def of(cls, svg: str) -> Picture:
        """Parse a document. Raise ValueError unless it is an SVG with width and height in pixels."""
        try:
            root = ElementTree.fromstring(svg)
        except ElementTree.ParseError as error:
            raise ValueError(f"a picture is no XML: {error}") from None
        picture = cls(tuple(root.attrib.items()), tuple(_text(e) for e in root if e.get("data-actions") is None))
        if root.tag.rpartition("}")[2] != "svg" or min(picture.size) <= 0:
            raise ValueError(f"a picture must be an <svg> with width and height, got <{root.tag}> with {root.attrib}")
        return picture

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, or 0 if the root has none in pixels."""
        attributes = dict(self.attributes)
        try:
            return float(attributes.get("width", 0)), float(attributes.get("height", 0))
        except ValueError:  # such as "100%"
            return 0, 0

    def svg(self, x: float, y: float, width: float, height: float) -> str:
        """Return the picture as an element of another document, scaled into a box."""
        box = {"x": x, "y": y, "width": width, "height": height}
        own = {"viewBox": f"0 0 {written(self.size[0])} {written(self.size[1])}", **dict(self.attributes)}
        attributes = {**own, **{name: written(value) for name, value in box.items()}}
        return f"<svg{_written(attributes)}>\n" + "\n".join(self.elements) + "\n</svg>"


def _text(element: ElementTree.Element) -> str:
    """Return an element as text, without its namespace."""
    element.tail = None
    for part in element.iter():
        part.tag = part.tag.removeprefix(f"{{{NAMESPACE}}}")
    return ElementTree.tostring(element, "unicode")


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def _document(attributes: dict[str, str], elements: Sequence[str]) -> str:
    return f'<svg xmlns="{NAMESPACE}"{_written(attributes)}>\n' + "\n".join(elements) + "\n</svg>\n"


def table(documents: Sequence[str], titles: Sequence[str], columns: int = 4, width: float = 240) -> str:
    """Arrange SVG documents in rows, each below its title and scaled to a width in pixels."""
    pictures = [Picture.of(document) for document in documents]
    heights = [picture.size[1] * width / picture.size[0] for picture in pictures]
    row = max(heights) + TITLE + MARGIN
    columns = min(columns, len(pictures))
    size = written(MARGIN + columns * (width + MARGIN)), written(MARGIN + -(-len(pictures) // columns) * row)
    elements = ["<title>Games</title>", f'<rect width="100%" height="100%" fill="{PAPER}"/>']
    for i, (picture, title, height) in enumerate(zip(pictures, titles, heights, strict=True)):
        x = MARGIN + i % columns * (width + MARGIN)
        y = MARGIN + i // columns * row
        place = f'x="{written(x)}" y="{written(y + TITLE - 7)}"'
        elements.append(f'<text {place} font-size="13" fill="{INK}">{escape(title)}</text>')
        elements.append(picture.svg(x, y + TITLE, width, height))
    root = {"width": size[0], "height": size[1], "viewBox": f"0 0 {size[0]} {size[1]}", "font-family": FONT}
    return _document(root, elements)


def film(documents: Sequence[str], seconds: float, hold: float, loop: bool) -> str:
    """Animate SVG documents by SMIL, without scripts: each for `seconds`, the last for `hold` more.

    Elements that several pictures share are written once. A viewer without SMIL shows the last picture.
    """
    pictures = [Picture.of(document) for document in documents]
    # Pictures of one size share elements; others are nested documents in the largest frame.
    if len({picture.attributes for picture in pictures}) == 1:
        root = dict(pictures[0].attributes)
        frames = [picture.elements for picture in pictures]
    else:
        sizes = [picture.size for picture in pictures]
        width, height = (written(max(size[axis] for size in sizes)) for axis in (0, 1))
        root = {"width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
        frames = [(picture.svg(0, 0, *picture.size),) for picture in pictures]
    last = len(frames) - 1
    length = len(frames) * seconds + hold
    body = []
    # Neighbouring elements that are shown in the same frames form a group, which is animated as a whole.
    for shown, parts in groupby(merged(frames), key=lambda part: part[1]):
        texts = [text for text, _ in parts]
        if len(shown) == len(frames):
            body += texts
            continue
        turns = list(_turns(shown, len(frames)))
        times = ";".join(f"{round(frame * seconds / length, 6):g}" for frame, _ in turns)
        values = ";".join("visible" if visible else "hidden" for _, visible in turns)
        how = 'repeatCount="indefinite"' if loop else 'fill="freeze"'
        animate = (
            f'<animate attributeName="visibility" calcMode="discrete" values="{values}" keyTimes="{times}" '
            f'dur="{written(length)}s" {how}/>'
        )
        # The attribute without animation is what viewers without SMIL show: the last frame.
        group = "<g>" if last in shown else '<g visibility="hidden">'
        body += [group, *texts, animate, "</g>"]
    return _document(root, body)


def merged(frames: Sequence[Sequence[str]]) -> list[tuple[str, tuple[int, ...]]]:
    """Merge the elements of all frames into one list in their order, each with the frames that show it."""
    parts: list[tuple[str, tuple[int, ...]]] = []
    for number, frame in enumerate(frames):
        old = parts
        parts = []
        matcher = SequenceMatcher(None, [text for text, _ in old], frame, autojunk=False)
        for tag, i, j, first, end in matcher.get_opcodes():
            if tag == "equal":
                parts += [(text, (*shown, number)) for text, shown in old[i:j]]
            else:
                parts += [*old[i:j], *((text, (number,)) for text in frame[first:end])]
    return parts


def _turns(shown: Sequence[int], frames: int) -> Iterator[tuple[int, bool]]:
    """Yield the frames at which visibility changes, starting with frame 0, and the new visibility."""
    inside = set(shown)
    for frame in range(frames):
        if frame == 0 or (frame in inside) != (frame - 1 in inside):
            yield frame, frame in inside
