"""Symmetries of games: permutations of a board's cells."""

from collections.abc import Mapping, Sequence

from tensor_envs.rules import Symmetry

Permutation = tuple[int, ...]


def planes(cells: Permutation, count: int) -> Permutation:
    """Return a permutation of cells, repeated on each of some planes."""
    return tuple(plane * len(cells) + cell for plane in range(count) for cell in cells)


def of_cells(
    cells: Permutation,
    num_planes: int,
    fixed: int = 0,
    sets: Sequence[str] = ("own", "other"),
    values: Mapping[str, Permutation] | None = None,
    derived: Sequence[str] = (),
    **state: Permutation,
) -> Symmetry:
    """Return the symmetry of a board whose actions are its cells.

    Args:
        cells: for each cell the one that moves to it.
        num_planes: planes of cells in an observation.
        fixed: further actions, which stay as they are.
        sets: fields that are sets of cells.
        values: maps of fields whose values are cells.
        derived: fields that follow from the others.
        **state: maps of state entries beside `board`.
    """
    actions = (*cells, *range(len(cells), len(cells) + fixed))
    fields = dict.fromkeys(sets, cells)
    return Symmetry(actions, planes(cells, num_planes), {"board": cells, **state}, fields, values or {}, tuple(derived))


def rearranged(rows: Sequence[int], columns: Sequence[int], transposed: bool = False) -> Permutation:
    """Return the cells of a board, row by row, with its rows and columns in these orders."""
    down, right = (1, len(rows)) if transposed else (len(columns), 1)
    return tuple(down * row + right * column for row in rows for column in columns)
