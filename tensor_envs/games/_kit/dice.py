"""Pictures of dice."""

from tensor_envs.render.drawing import Drawing, Point

FACE, INK = "#fffdf5", "#23262d"
# places of the pips of each number, in quarters of a side from the middle
PIPS = {
    1: [(0, 0)],
    2: [(-1, -1), (1, 1)],
    3: [(-1, -1), (0, 0), (1, 1)],
    4: [(-1, -1), (-1, 1), (1, -1), (1, 1)],
    5: [(-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)],
    6: [(-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)],
}


def draw_die(picture: Drawing, centre: Point, face: int, side: float = 52) -> None:
    """Draw a die that shows a number."""
    x, y = centre
    picture.rect(x - side / 2, y - side / 2, side, side, FACE, INK, 1.5)
    for column, row in PIPS[face]:
        picture.circle((x + side * column / 4, y + side * row / 4), side / 10, INK)
