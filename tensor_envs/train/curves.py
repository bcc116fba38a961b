"""Learning curves as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensor_envs.render.drawing import Drawing

# sizes of a panel and its margins, in pixels
WIDTH = 560.0
HEIGHT = 150.0
LEFT = 64.0
TOP = 40.0
GAP = 40.0
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
# metrics of each panel, by its title
PANELS = {
    "score": ("score", "network_score"),
    "mean return": ("mean_return", "network_mean_return"),
    "exact regret": ("regret", "network_regret"),
    "exploitability": ("exploitability", "network_exploitability"),
    "loss of the policy": ("policy_loss",),
    "loss of the value": ("value_loss",),
    "staleness, steps": ("staleness",),
}


def curves(lines: Sequence[Mapping[str, float]], title: str) -> str:
    """Draw metrics against positions learned from, a panel for each of `PANELS` that has numbers.

    Args:
        lines: metrics of steps, in order.
        title: title of the picture.

    Returns:
        An SVG document.
    """
    panels = []
    for heading, names in PANELS.items():
        curves = {n: [(line["positions"], line[n]) for line in lines if n in line] for n in names}
        if curves := {name: points for name, points in curves.items() if points}:
            panels.append((heading, curves))
    picture = Drawing(LEFT + WIDTH + 20, TOP + len(panels) * (HEIGHT + GAP))
    picture.text((LEFT, TOP / 2), title, anchor="start", bold=True)
    right = max((line["positions"] for line in lines), default=1)
    for i, (heading, curves) in enumerate(panels):
        _panel(picture, TOP + i * (HEIGHT + GAP), heading, curves, right)
    if panels:
        bottom = TOP + len(panels) * (HEIGHT + GAP) - GAP / 2
        picture.text((LEFT + WIDTH, bottom), f"{right:,} positions", 11, anchor="end")
    return picture.to_svg()


def _panel(
    picture: Drawing, top: float, heading: str, curves: Mapping[str, Sequence[tuple[float, float]]], right: float
) -> None:
    """Draw the curves of one panel in a frame, with the least and the greatest value at its left."""
    values = [value for points in curves.values() for _, value in points]
    low = min(values)
    high = max(values)
    span = (high - low) or 1.0
    picture.rect(LEFT, top, WIDTH, HEIGHT, stroke="#999999")
    picture.text((LEFT - 6, top + HEIGHT), f"{low:.3g}", 11, anchor="end")
    picture.text((LEFT - 6, top), f"{high:.3g}", 11, anchor="end")
    for k, (name, points) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        path = [(LEFT + WIDTH * x / right, top + HEIGHT * (high - y) / span) for x, y in points]
        picture.line(*path, stroke=colour, width=1.5)
        for point in path if len(path) <= 50 else ():
            picture.circle(point, 2, fill=colour)
        label = heading if k == 0 else name.replace("_", " ")
        picture.text((LEFT + 8, top + 14 + 16 * k), label, 12, fill=colour, anchor="start")
