"""Pictures as lists of shapes, written as SVG or, with Pillow (extra `draw`), as pixels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from math import cos, isfinite, sin, tau
from pathlib import Path
from typing import Any

from tensor_envs._validate import number, one_of, shown

Point = tuple[float, float]
COLOUR = re.compile("#[0-9a-fA-F]{6}|none")
ANCHORS = ("start", "middle", "end")
FONT = "DejaVu Sans, Verdana, sans-serif"
SMOOTH = 3  # samples for each pixel and axis: Pillow does not smooth edges


@dataclass(frozen=True)
class Outline:
    """A polygon or, if open, a line with round ends; no stroke or fill is "none"."""

    points: tuple[Point, ...]
    fill: str
    stroke: str
    width: float
    opacity: float
    closed: bool

    def svg(self) -> str:
        points = " ".join(f"{written(x)},{written(y)}" for x, y in self.points)
        paint = _painted(self.fill, self.stroke, self.width, self.opacity)
        if self.closed:
            return f'<polygon points="{points}"{paint}/>'
        return f'<polyline points="{points}"{paint} stroke-linecap="round"/>'

    def paint(self, pen: Any, scale: float) -> None:
        points = [(x * scale, y * scale) for x, y in self.points]
        if self.fill != "none":
            pen.polygon(points, fill=_colour(self.fill, self.opacity))
        if self.stroke == "none":
            return
        width = max(1, round(self.width * scale))
        colour = _colour(self.stroke, self.opacity)
        pen.line(points + points[: self.closed], fill=colour, width=width, joint="curve")
        if self.opacity == 1:  # a translucent end would show twice where it overlaps its line
            for x, y in points:
                pen.circle((x, y), (width - 1) / 2, fill=colour)


@dataclass(frozen=True)
class Circle:
    """A disc, a ring or both; no stroke or fill is "none"."""

    centre: Point
    radius: float
    fill: str
    stroke: str
    width: float
    opacity: float

    def svg(self) -> str:
        x, y = map(written, self.centre)
        paint = _painted(self.fill, self.stroke, self.width, self.opacity)
        return f'<circle cx="{x}" cy="{y}" r="{written(self.radius)}"{paint}/>'

    def paint(self, pen: Any, scale: float) -> None:
        x, y = self.centre
        if self.fill != "none":
            pen.circle((x * scale, y * scale), self.radius * scale, fill=_colour(self.fill, self.opacity))
        if self.stroke != "none":  # Pillow draws the stroke inside the radius, SVG half of it outside
            outer = (self.radius + self.width / 2) * scale
            width = max(1, round(self.width * scale))
            pen.circle((x * scale, y * scale), outer, outline=_colour(self.stroke, self.opacity), width=width)


@dataclass(frozen=True)
class Text:
    """One line of text, centred on `at` in height."""

    at: Point
    text: str
    size: float
    fill: str
    anchor: str
    bold: bool

    def svg(self) -> str:
        x, y = map(written, self.at)
        weight = ' font-weight="bold"' if self.bold else ""
        anchor = "" if self.anchor == "start" else f' text-anchor="{self.anchor}"'
        return (
            f'<text x="{x}" y="{y}" font-size="{self.size:g}"{weight} fill="{self.fill}"{anchor} '
            f'dominant-baseline="central">{escape(self.text)}</text>'
        )

    def paint(self, pen: Any, scale: float) -> None:
        from PIL import ImageFont

        if self.fill == "none":
            return
        # Pillow's built-in font is the same on every machine
        font = ImageFont.load_default(self.size * scale)
        place = (self.at[0] * scale, self.at[1] * scale)
        stroke = self.size * scale / 40 if self.bold else 0
        anchor = {"start": "lm", "middle": "mm", "end": "rm"}[self.anchor]
        pen.text(place, self.text, _colour(self.fill, 1), font, anchor, stroke_width=stroke)


@dataclass(frozen=True)
class Area:
    """Invisible part of the picture that stands for actions; a page may make it clickable.

    Of some actions, `targets`, it is the place where a piece ends that another area stands for.
    """

    points: tuple[Point, ...]
    actions: tuple[int, ...]
    targets: tuple[int, ...] = ()
    label: str = ""
    held: bool = False
    mark: tuple[Point, ...] = ()

    def svg(self) -> str:
        actions = " ".join(map(str, self.actions))
        more = f' data-targets="{" ".join(map(str, self.targets))}"' if self.targets else ""
        more += f' data-label="{escape(self.label)}"' if self.label else ""
        more += ' data-toggle="1"' if self.held else ""
        more += f' data-mark="{_path(self.mark)}"' if self.mark else ""
        return f'<path d="{_path(self.points)}" fill="none" pointer-events="all" data-actions="{actions}"{more}/>'


def _path(points: Sequence[Point]) -> str:
    """Return a polygon as SVG writes a path."""
    return f"M{'L'.join(f'{written(x)} {written(y)}' for x, y in points)}Z"


def box(x: float, y: float, w: float, h: float) -> list[Point]:
    """Return the corners of a rectangle."""
    return [(x, y), (x + w, y), (x + w, y + h), (x, y + h)]


def disc(centre: Point, radius: float) -> list[Point]:
    """Return a polygon of sixteen corners around a disc's centre."""
    angles = [tau * i / 16 for i in range(16)]
    return [(centre[0] + radius * cos(angle), centre[1] + radius * sin(angle)) for angle in angles]


def written(number: float) -> str:
    """Return a number of pixels as text, to two decimals, without trailing zeros."""
    return f"{round(number, 2) + 0.0:g}"


def _painted(fill: str, stroke: str, width: float, opacity: float) -> str:
    """Return the SVG attributes of a shape, without defaults."""
    line = "" if stroke == "none" else f' stroke="{stroke}"' + (f' stroke-width="{width:g}"' if width != 1 else "")
    return f' fill="{fill}"{line}' + (f' opacity="{opacity:g}"' if opacity != 1 else "")


def _colour(colour: str, opacity: float) -> tuple[int, int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16), round(255 * opacity)


@dataclass
class Drawing:
    """Picture of a width and a height in pixels. Shapes are painted in the order in which they are added.

    Colours are "#rrggbb" or, for `fill` and `stroke`, "none". `opacity` is 0..1. Areas lie above all shapes. The title
    of an SVG says what it shows to those who do not see it. A page scrolls a picture that would have less than `least`
    pixels of its screen for each of its own.

    Raises:
        ValueError, TypeError: a shape has another colour or anchor, or a coordinate or size that is not finite.
    """

    width: float
    height: float
    background: str = "#ffffff"
    shapes: list[Outline | Circle | Text] = field(default_factory=list)
    areas: list[Area] = field(default_factory=list)
    title: str = ""
    least: float = 0

    def polygon(
        self, points: Sequence[Point], fill: str = "none", stroke: str = "none", width: float = 1, opacity: float = 1
    ) -> None:
        self._add(Outline(tuple(points), fill, stroke, width, opacity, closed=True), (width, *chain(*points)))

    def rect(
        self, x: float, y: float, w: float, h: float, fill: str = "none", stroke: str = "none", width: float = 1
    ) -> None:
        self.polygon(box(x, y, w, h), fill, stroke, width)

    def line(self, *points: Point, stroke: str = "#000000", width: float = 1, opacity: float = 1) -> None:
        """Add a line through these points."""
        self._add(Outline(points, "none", stroke, width, opacity, closed=False), (width, *chain(*points)))

    def circle(
        self,
        centre: Point,
        radius: float,
        fill: str = "none",
        stroke: str = "none",
        width: float = 1,
        opacity: float = 1,
    ) -> None:
        self._add(Circle(centre, radius, fill, stroke, width, opacity), (radius, width, *centre))

    def text(
        self, at: Point, text: str, size: float = 14, fill: str = "#000000", anchor: str = "middle", bold: bool = False
    ) -> None:
        """Add one line of text, centred on `at` in height; `anchor` ("start", "middle", "end") is the part at `at`."""
        one_of("anchor", anchor, ANCHORS)
        self._add(Text(at, text, size, fill, anchor, bold), (size, *at))

    def _add(self, shape: Outline | Circle | Text, numbers: Sequence[float]) -> None:
        """Add a shape with these coordinates and sizes. ValueError if they or its colours have no picture."""
        if not all(map(isfinite, numbers)):
            raise ValueError(f"a shape's coordinates and sizes must be finite, got {shown(shape)}")
        for name in ("fill", "stroke"):
            colour = getattr(shape, name, "none")  # texts have no stroke
            if not COLOUR.fullmatch(str(colour)):
                raise ValueError(f"{name} must be '#rrggbb' or 'none', got {shown(colour)}")
        self.shapes.append(shape)

    def area(
        self,
        points: Sequence[Point],
        *actions: int,
        targets: Sequence[int] = (),
        label: str = "",
        held: bool = False,
        mark: Sequence[Point] = (),
    ) -> None:
        """Add a polygon that stands for these actions, as `data-actions` in the SVG, separated by spaces.

        Args:
            points: corners of the polygon.
            actions: numbers of the actions.
            targets: actions of these that end here and have another area for their start, as `data-targets`. Such an
                action takes two clicks.
            label: what the area is called, as `data-label`; "": names of the actions.
            held: whether a click holds the area or releases it, as `data-toggle`. An area of several actions then
                stands for the action that exactly the held areas have.
            mark: corners of what is marked in place of the area while a pointer is on it, as `data-mark`.
        """
        self.areas.append(Area(tuple(points), actions, tuple(targets), label, held, tuple(mark)))

    def to_svg(self) -> str:
        """Return the picture as an SVG document."""
        width = written(self.width)
        height = written(self.height)
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        style = f'font-family="{FONT}" stroke-linejoin="round"' + (
            f' data-least="{self.least:g}"' if self.least else ""
        )
        body = [f"<title>{escape(self.title)}</title>"] if self.title else []
        body += [f'<rect width="100%" height="100%" fill="{self.background}"/>']
        body += [part.svg() for part in (*self.shapes, *self.areas)]
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(body) + "\n</svg>\n"

    def image(self, scale: float = 2) -> Any:
        """Return a PIL.Image.Image of mode "RGB" with `scale` pixels a unit. Raise ImportError without Pillow."""
        try:
            from PIL import Image, ImageDraw
        except ImportError:
            raise ImportError("pixels need Pillow: pip install 'tensor_envs[draw]'") from None
        scale = number("scale", scale, 0.1, 100)
        width = round(self.width * scale)
        height = round(self.height * scale)
        image = Image.new("RGB", (width * SMOOTH, height * SMOOTH), self.background)
        pen = ImageDraw.Draw(image, "RGBA")  # the mode in which translucent colours are blended with what is there
        for shape in self.shapes:
            shape.paint(pen, scale * SMOOTH)
        return image.resize((width, height), Image.Resampling.LANCZOS)

    def save_png(self, path: str | Path, scale: float = 2) -> None:
        """Write the picture as a PNG, `scale` pixels a unit. ImportError without Pillow; OSError as `open`."""
        self.image(scale).save(path, "PNG", optimize=True)
