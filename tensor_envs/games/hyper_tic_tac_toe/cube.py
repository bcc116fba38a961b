"""Projected drawing of a board of rank 3: translucent layers, balls for marks, bars for lines."""

from math import cos, pi, sin

from tensor_envs.games.hyper_tic_tac_toe.paint import GOLD, GRID, INK, PALE, Coordinates, Lines, Marks, draw_ball
from tensor_envs.render.drawing import Drawing, Point

ACROSS = (62.0, 22.0)  # pixels of one step along the last axis
DOWN = (-34.0, 34.0)  # pixels of one step along the second axis
SHEET, EDGE = "#e3edf7", "#8fa3b8"
# pixels: radius of a ball, smallest gap between layers, margin around the cube
RADIUS = 17.0
GAP = 8.0
MARGIN = 48.0


class Projection:
    """Projection of points of the board (layer, row and column with fractions) to the page; layer 0 is on top."""

    def __init__(self, shape: Coordinates):
        layers, rows, columns = shape
        slope = rows * DOWN[1] + columns * ACROSS[1]  # height of a layer on the page
        sheet = rows * columns * (ACROSS[0] * DOWN[1] - ACROSS[1] * DOWN[0])  # its area
        self.layer = round(sheet / max(columns * ACROSS[0], -rows * DOWN[0])) + GAP  # so that no layer covers another
        self.left = MARGIN - rows * DOWN[0]
        self.width = 2 * MARGIN + columns * ACROSS[0] - rows * DOWN[0]
        self.height = 2 * MARGIN + slope + (layers - 1) * self.layer

    def __call__(self, layer: float, row: float, column: float) -> Point:
        """Return the point of the page."""
        x = self.left + column * ACROSS[0] + row * DOWN[0]
        return x, MARGIN + layer * self.layer + column * ACROSS[1] + row * DOWN[1]

    def centre(self, cell: Coordinates) -> Point:
        """Return the middle of a cell."""
        return self(cell[0], cell[1] + 0.5, cell[2] + 0.5)


def draw_cube(shape: Coordinates, marks: Marks, lines: Lines, caption: str, room: int) -> Drawing:
    """Draw a board [layers, rows, columns] from the bottom layer up; `room` is the letters that fit below it."""
    project = Projection(shape)
    picture = Drawing(max(project.width, 7.4 * room + MARGIN), project.height + 20, title="Tic-tac-toe")
    project.left += (picture.width - project.width) / 2
    for layer in reversed(range(shape[0])):
        if layer + 1 < shape[0]:
            _draw_posts(picture, project, layer, shape)
        _draw_sheet(picture, project, layer, shape)
        for cell in (p for p in marks if p[0] == layer and marks[p]):
            _draw_shadow(picture, project.centre(cell))
            draw_ball(picture, project.centre(cell), RADIUS, marks[cell])
    for _, cells in lines:
        for width, opacity in ((20, 0.22), (13, 0.3), (6, 1.0)):
            picture.line(project.centre(cells[0]), project.centre(cells[-1]), stroke=GOLD, width=width, opacity=opacity)
    for mark, cells in lines:
        for cell in reversed(cells):
            picture.circle(project.centre(cell), RADIUS + 3, GOLD)
            draw_ball(picture, project.centre(cell), RADIUS, mark)
    for action, cell in enumerate(marks):
        if not marks[cell]:
            layer, row, column = cell
            corners = ((row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column))
            picture.area([project(layer, *corner) for corner in corners], action)
    picture.text((picture.width / 2, picture.height - 26), caption, 15, INK)
    return picture


def _draw_sheet(picture: Drawing, project: Projection, layer: int, shape: Coordinates) -> None:
    """Draw a layer: a translucent pane with its grid and its number."""
    _, rows, columns = shape
    corners = [project(layer, *corner) for corner in ((0, 0), (0, columns), (rows, columns), (rows, 0))]
    picture.polygon(corners, SHEET, opacity=0.72)
    for row in range(1, rows):
        picture.line(project(layer, row, 0), project(layer, row, columns), stroke=GRID, width=1.4)
    for column in range(1, columns):
        picture.line(project(layer, 0, column), project(layer, rows, column), stroke=GRID, width=1.4)
    picture.polygon(corners, stroke=EDGE, width=2)
    x, y = project(layer, rows, 0)
    picture.text((x - 12, y), str(layer), 13, PALE, "end")


def _draw_posts(picture: Drawing, project: Projection, layer: int, shape: Coordinates) -> None:
    """Draw the edges of the cube from the corners of a layer to those of the layer below."""
    for corner in ((0, 0), (0, shape[2]), (shape[1], shape[2]), (shape[1], 0)):
        picture.line(project(layer, *corner), project(layer + 1, *corner), stroke=EDGE, width=1.2, opacity=0.55)


def _draw_shadow(picture: Drawing, centre: Point) -> None:
    """Draw an ellipse on the pane under a ball."""
    angles = [2 * pi * i / 36 for i in range(36)]
    points = [(centre[0] + 5 + 21 * cos(a), centre[1] + 11 + 9 * sin(a)) for a in angles]
    picture.polygon(points, INK, opacity=0.16)
