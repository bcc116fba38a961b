"""Dictionaries, action names and symmetries of dots and boxes."""

from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.games._kit.stones import STONES, words_of
from tensor_envs.games.dots_and_boxes.rules import DotsAndBoxes
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Grid, Symmetry, pack, unpack
from tensor_envs.rules.plain import ended

GridPoint = tuple[int, int]  # in a grid of half boxes: (2r, 2c) is a dot, (2r, 2c + 1) and (2r + 1, 2c) are lines


def to_dict(rules: DotsAndBoxes, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"lines": list of 0 and 1, "boxes": list of 1, -1 and 0, "current_player": 0 or 1} (B8)."""
    drawn = set(unpack(s["lines"], rules.lines))
    first = set(unpack(s["first"], rules.boxes))
    lines = [int(line in drawn) for line in range(rules.lines)]
    owned = complete(rules, lines)
    boxes = [STONES[box not in first] * (box in owned) for box in range(rules.boxes)]
    return {"lines": lines, "boxes": boxes, "current_player": s["current_player"]}


def from_dict(rules: DotsAndBoxes, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. ValueError unless exactly the complete boxes have owners."""
    lines = nested("lines", game["lines"], (rules.lines,), 0, 1)
    boxes = nested("boxes", game["boxes"], (rules.boxes,), -1, 1)
    player = integer("current_player", game["current_player"], 0, 1)
    owned = complete(rules, lines)
    if wrong := [box for box, owner in enumerate(boxes) if (owner != 0) != (box in owned)]:
        raise ValueError(f"boxes must have owners exactly where four sides are drawn, not so at {wrong[0]}")
    fields: dict[str, Any] = {"lines": pack((k for k, drawn in enumerate(lines) if drawn), rules.lines)}
    fields |= {"first": words_of(boxes, STONES[0]), "current_player": player, "ply": sum(lines)}
    return fields | ended(all(lines))


def complete(rules: DotsAndBoxes, lines: list[int]) -> set[int]:
    """Return the boxes with four sides."""
    n = rules.columns
    sides = {grid_point(rules, line) for line, drawn in enumerate(lines) if drawn}
    around = ((0, 1), (2, 1), (1, 0), (1, 2))
    return {b for b in range(rules.boxes) if all((2 * (b // n) + y, 2 * (b % n) + x) in sides for y, x in around)}


def grid_point(rules: DotsAndBoxes, line: int) -> GridPoint:
    """Return the row and the column of a line in the grid of dots and lines."""
    if line < rules.horizontal:
        return 2 * (line // rules.columns), 2 * (line % rules.columns) + 1
    row, column = divmod(line - rules.horizontal, rules.columns + 1)
    return 2 * row + 1, 2 * column


def ends_of(rules: DotsAndBoxes, line: int) -> tuple[GridPoint, GridPoint]:
    """Return the row and the column of each end of a line."""
    y, x = grid_point(rules, line)
    return (y // 2, x // 2), ((y + 1) // 2, (x + 1) // 2)


def action_to_string(rules: DotsAndBoxes, action: int) -> str:
    """Return the name of a line by its ends, "a1b1" (B9)."""
    return "".join(end_names(rules, action))


def spellings(rules: DotsAndBoxes, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return legal actions by the ends of their lines in the other order, "b1a1"."""
    return {"".join(reversed(end_names(rules, line))): line for line in legal}


def end_names(rules: DotsAndBoxes, line: int) -> list[str]:
    """Return the names of the dots at the ends of a line."""
    dots = rules.columns + 1  # in a row
    return [cell_name(y * dots + x, dots) for y, x in ends_of(rules, line)]


def symmetries(rules: DotsAndBoxes) -> Iterator[Symmetry]:
    """Yield the reflections of the grid, and for a square one also those that exchange rows with columns (B10)."""
    high = 2 * rules.rows + 1
    wide = 2 * rules.columns + 1
    lines = [wide * y + x for y, x in (grid_point(rules, line) for line in range(rules.lines))]
    boxes = [wide * y + x for y in range(1, high, 2) for x in range(1, wide, 2)]
    # Lines and boxes are places of one finer grid, so that its images move all of them at once.
    parities = ((0, 1), (1, 0), (1, 1), (1, 1))  # row and column parity of the places on each plane of an observation
    places = [
        (k, y, x) for k, (a, b) in enumerate(parities) for y in range(a, high + 1, 2) for x in range(b, wide + 1, 2)
    ]
    numbers = {(plane, wide * y + x): k for k, (plane, y, x) in enumerate(places) if y < high and x < wide}
    for image in Grid(high, wide).symmetries():
        seen = list(range(len(places)))  # entries beyond the board stay: they are 0
        for (plane, cell), k in numbers.items():
            # An image may turn horizontal lines into vertical ones, which have another plane; boxes stay on theirs.
            seen[k] = numbers[image[cell] // wide % 2 if plane < 2 else plane, image[cell]]
        moved = tuple(lines.index(image[cell]) for cell in lines)
        owners = tuple(boxes.index(image[cell]) for cell in boxes)
        yield Symmetry(moved, tuple(seen), {"lines": moved, "boxes": owners}, {"lines": moved, "first": owners})
