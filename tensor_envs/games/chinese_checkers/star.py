"""The star of Chinese checkers: its cells, rows, directions and points (S1, S2, S5).

Sets of cells are bits of a grid of 13 columns, in which a step is a fixed distance for all cells. Rows lean to the left
there. They do not touch each other: the bit beside the end of a row, or a step up or down from it, is no other cell.
"""

from tensor_envs.rules import Grid

WIDTHS = (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1)  # cells of each row, from the top
SIDE = len(WIDTHS)
WIDEST = max(WIDTHS)
GRID = Grid(SIDE, WIDEST)
# row and column of each cell, from the left
PLACES = [(row, column) for row, width in enumerate(WIDTHS) for column in range(width)]
CELLS = len(PLACES)
FIRSTS = [PLACES.index((row, 0)) for row in range(SIDE)]  # first cell of each row
# column on the grid of each cell, with negative ones for columns that continue the row above
COLUMNS = [column + (row - WIDTHS[row] + 1) // 2 for row, column in PLACES]
BITS = [WIDEST * row + column for (row, _), column in zip(PLACES, COLUMNS, strict=True)]
# place of each cell on the square grid of observations, which has all columns (S11)
PIXELS = [SIDE * row + column - min(COLUMNS) for (row, _), column in zip(PLACES, COLUMNS, strict=True)]
CELL_AT = {bit: cell for cell, bit in enumerate(BITS)}
WAYS = (-14, -13, -1, 1, 13, 14)  # bits to the neighbours: up left, up right, left, right, down left, down right
NUM_WAYS = len(WAYS)
PIECES = 10
# cells of the points, clockwise from the top
POINTS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (19, 20, 21, 22, 32, 33, 34, 44, 45, 55),
    (74, 84, 85, 95, 96, 97, 107, 108, 109, 110),
    (111, 112, 113, 114, 115, 116, 117, 118, 119, 120),
    (65, 75, 76, 86, 87, 88, 98, 99, 100, 101),
    (10, 11, 12, 13, 23, 24, 25, 35, 36, 46),
)
SEATS = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}  # points of the players, by their number
