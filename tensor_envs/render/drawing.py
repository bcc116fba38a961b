"""A picture as a list of shapes, written as SVG, or as PNG by Pillow (extra `draw`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

Point = tuple[float, float]
FONT = "DejaVu Sans, Verdana, sans-serif"
SMOOTH = 3  # samples a pixel and axis: Pillow's own edges are hard


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
        points = " ".join(f"{x:.2f},{y:.2f}" for x, y in self.points)
        paint = f'fill="{self.fill}" stroke="{self.stroke}" stroke-width="{self.width:g}" opacity="{self.opacity:g}"'
        if self.closed:
            return f'<polygon points="{points}" {paint} stroke-linejoin="round"/>'
        return f'<polyline points="{points}" {paint} stroke-linecap="round" stroke-linejoin="round"/>'

    def paint(self, pen: Any, scale: float) -> None:
        points = [(x * scale, y * scale) for x, y in self.points]
        if self.fill != "none":
            pen.polygon(points, fill=_colour(self.fill, self.opacity))
        if self.stroke == "none":
            return
        width, colour = max(1, round(self.width * scale)), _colour(self.stroke, self.opacity)
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
        x, y = self.centre
        paint = f'fill="{self.fill}" stroke="{self.stroke}" stroke-width="{self.width:g}" opacity="{self.opacity:g}"'
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{self.radius:.2f}" {paint}/>'

    def paint(self, pen: Any, scale: float) -> None:
        x, y = self.centre
        if self.fill != "none":
            pen.circle((x * scale, y * scale), self.radius * scale, fill=_colour(self.fill, self.opacity))
        if self.stroke != "none":  # Pillow draws the stroke inside the radius, SVG half of it outside
            outer, width = (self.radius + self.width / 2) * scale, max(1, round(self.width * scale))
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
        x, y = self.at
        weight = ' font-weight="bold"' if self.bold else ""
        return (
            f'<text x="{x:.2f}" y="{y:.2f}" font-family="{FONT}" font-size="{self.size:g}"{weight} fill="{self.fill}" '
            f'text-anchor="{self.anchor}" dominant-baseline="central">{escape(self.text)}</text>'
        )

    def paint(self, pen: Any, scale: float) -> None:
        from PIL import ImageFont

        font = ImageFont.load_default(
            self.size * scale
        )  # Pillow's own, so that every machine paints the same
        place, stroke = (self.at[0] * scale, self.at[1] * scale), self.size * scale / 40 if self.bold else 0
        anchor = {"start": "lm", "middle": "mm", "end": "rm"}[self.anchor]
        pen.text(place, self.text, _colour(self.fill, 1), font, anchor, stroke_width=stroke)


def _colour(colour: str, opacity: float) -> tuple[int, int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16), round(255 * opacity)


@dataclass
class Drawing:
    """Width and height in pixels; shapes are painted in the order in which they are added.

    Colours are "#rrggbb" or, for `fill` and `stroke`, "none". `opacity` is 0..1.
    """

    width: float
    height: float
    background: str = "#ffffff"
    shapes: list[Outline | Circle | Text] = field(default_factory=list)

    def polygon(
        self,
        points: Sequence[Point],
        fill: str = "none",
        stroke: str = "none",
        width: float = 1,
        opacity: float = 1,
    ) -> None:
        self.shapes.append(Outline(tuple(points), fill, stroke, width, opacity, closed=True))

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str = "none",
        stroke: str = "none",
        width: float = 1,
    ) -> None:
        self.polygon([(x, y), (x + w, y), (x + w, y + h), (x, y + h)], fill, stroke, width)

    def line(self, *points: Point, stroke: str = "#000000", width: float = 1, opacity: float = 1) -> None:
        """Straight from point to point."""
        self.shapes.append(Outline(points, "none", stroke, width, opacity, closed=False))

    def circle(
        self,
        centre: Point,
        radius: float,
        fill: str = "none",
        stroke: str = "none",
        width: float = 1,
        opacity: float = 1,
    ) -> None:
        self.shapes.append(Circle(centre, radius, fill, stroke, width, opacity))

    def text(
        self,
        at: Point,
        text: str,
        size: float = 14,
        fill: str = "#000000",
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """One line of text, centred on `at` in height; `anchor`: "start", "middle" or "end" of the text is there."""
        self.shapes.append(Text(at, text, size, fill, anchor, bold))

    def to_svg(self) -> str:
        """The picture as an SVG document."""
        size = f'width="{self.width:g}" height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        body = [f'<rect width="100%" height="100%" fill="{self.background}"/>']
        body += [shape.svg() for shape in self.shapes]
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n' + "\n".join(body) + "\n</svg>\n"

    def save_png(self, path: str | Path, scale: float = 2) -> None:
        """Write the picture as a PNG, `scale` pixels a unit. ImportError without Pillow; OSError as `open`."""
        try:
            from PIL import Image, ImageDraw
        except ImportError:
            raise ImportError("PNG needs Pillow: pip install 'tensor_envs[draw]'") from None
        width, height = round(self.width * scale), round(self.height * scale)
        image = Image.new("RGB", (width * SMOOTH, height * SMOOTH), self.background)
        pen = ImageDraw.Draw(
            image, "RGBA"
        )  # the mode in which translucent colours are blended with what is there
        for shape in self.shapes:
            shape.paint(pen, scale * SMOOTH)
        image.resize((width, height), Image.Resampling.LANCZOS).save(path, "PNG", optimize=True)
