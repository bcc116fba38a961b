"""Colours and marks that the flat drawings and the cube share."""

from tensor_envs.render.drawing import Drawing, Point

Coordinates = tuple[int, ...]  # coordinates of a cell
Marks = dict[Coordinates, int]  # 1, -1 or 0
Lines = list[tuple[int, list[Coordinates]]]  # completed: whose, and the cells in order
COLOURS = {1: "#e8590c", -1: "#1971c2"}  # distinct for all colour vision
INK = "#24303f"
PALE = "#6b7a8c"
GRID = "#b9c5d2"
GOLD = "#f2b705"

# a ball, lit from the upper left: discs from its rim to the light (share of the radius, offset to the light, colour)
BALLS = {
    1: ((1.0, 0.0, "#c2410c"), (0.9, 0.06, "#e8590c"), (0.68, 0.18, "#f97316"), (0.42, 0.30, "#fb9a4b")),
    -1: ((1.0, 0.0, "#0f4c8a"), (0.9, 0.06, "#1971c2"), (0.68, 0.18, "#3391e0"), (0.42, 0.30, "#6db8f5")),
}
HIGHLIGHT = (0.16, 0.38, "#ffffff")


def draw_mark(picture: Drawing, centre: Point, cell: float, mark: int) -> None:
    """Draw a cross for the first player's mark, a ring for the second's, nothing for an empty cell."""
    x, y = centre
    arm = 0.28 * cell
    if mark == 1:
        for rise in (arm, -arm):
            picture.line((x - arm, y - rise), (x + arm, y + rise), stroke=COLOURS[1], width=0.13 * cell)
    elif mark == -1:
        picture.circle(centre, 0.29 * cell, stroke=COLOURS[-1], width=0.12 * cell)


def draw_ball(picture: Drawing, centre: Point, radius: float, mark: int) -> None:
    """Draw a ball with a highlight."""
    for share, offset, colour in (*BALLS[mark], HIGHLIGHT):
        shift = offset * radius
        opacity = 0.75 if colour == HIGHLIGHT[-1] else 1
        picture.circle((centre[0] - shift, centre[1] - shift), share * radius, colour, opacity=opacity)
