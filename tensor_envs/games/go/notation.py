"""Dictionaries, action names and symmetries of go."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from tensor_envs._validate import instance, nested
from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games.go.rules import Go
from tensor_envs.render.grids import cell_name, rows_of
from tensor_envs.rules import Symmetry, pack, plain
from tensor_envs.rules.scalar import WORD_BITS

KO = 2  # in `board`: an empty point that a ko closes
COLUMNS = "ABCDEFGHJKLMNOPQRST"
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def to_dict(rules: Go, s: dict[str, Any]) -> dict[str, Any]:
    """Return the dictionary of G11; boards are flat lists of 1, -1, 0 and 2, from A1 row by row."""
    player, n = s["current_player"], rules.words
    board = stones.to_board(s["own"], s["other"], player, rules.points)
    game = {"board": board, "current_player": player, "passed": s["passed"]}
    if rules.superko:
        boards = (stones.to_board(words[:n], words[n:], player, rules.points) for words in s["history"])
        return game | {"history": [*chain.from_iterable(boards)]}
    if s["ko"] < rules.points:
        board[s["ko"]] = KO
    return game


def from_dict(rules: Go, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary in which every group has a liberty; the game goes on."""
    board, player = stones.board_and_player(game, rules.points, 1 if rules.superko else KO)
    instance("passed", game["passed"], bool)
    if board.count(KO) > 1:
        raise ValueError(f"board must have a {KO} at most once, got {board.count(KO)} of them")
    past: dict[str, Any] = {"ko": board.index(KO) if KO in board else rules.points}
    if rules.superko:
        history = nested("history", game["history"], (rules.superko * rules.points,), -1, 1)
        sets = (stones.to_sets(old, player) for old in rows_of(history, rules.points))
        past = {"history": [own + other for own, other in sets]}
    groups = list(groups_of(rules, board))
    for group, liberties in groups:
        if not liberties:
            name = action_to_string(rules, min(group))
            raise ValueError(f"every group must have a liberty, not so at {name}")
    own, other = stones.to_sets(board, player)
    atari = (group for group, liberties in groups if len(liberties) == 1)
    return {
        "own": own,
        "other": other,
        "atari": pack(chain.from_iterable(atari), rules.points),
        "groups": stones.group_planes((group for group, _ in groups), rules.planes, rules.points),
        **past,
        "passed": game["passed"],
        "current_player": player,
        **plain.ended(False),
    }


def regions(rules: Go, board: list[int], empty: bool) -> Iterator[tuple[set[int], set[int]]]:
    """Yield the groups of stones, or the regions of empty points, each with the adjacent points of other kinds."""
    board = [0 if stone == KO else stone for stone in board]
    points = (point for point, stone in enumerate(board) if (stone == 0) == empty)
    return stones.regions(board, points, stones.adjacent(rules.size, STEPS))


def groups_of(rules: Go, board: list[int]) -> Iterator[tuple[set[int], set[int]]]:
    """Yield every group of stones with its liberties."""
    for group, border in regions(rules, board, empty=False):
        yield group, {point for point in border if board[point] in (0, KO)}


def areas(rules: Go, board: list[int]) -> list[int]:
    """Return the area of each colour: its stones, and the empty regions that are adjacent to it alone (G7)."""
    counts = [board.count(stone) for stone in stones.STONES]
    for region, border in regions(rules, board, empty=True):
        colours = {board[point] for point in border}
        if len(colours) == 1:
            counts[stones.STONES.index(colours.pop())] += len(region)
    return counts


def legal(rules: Go, game: dict[str, Any]) -> list[int]:
    """Return the legal actions of a game that goes on."""
    return plain.legal_actions(rules, from_dict(rules, game))


def action_to_string(rules: Go, action: int) -> str:
    """Return a column's letter without I and a row's number from below, "D4", or "pass" (G12)."""
    return "pass" if action == rules.points else cell_name(action, rules.size, COLUMNS)


def symmetries(rules: Go) -> Iterator[Symmetry]:
    """Yield the eight of the square (G13)."""
    for points in rules.grid.symmetries():
        derived = ("atari", "groups")
        if not rules.superko:
            ko = {"ko": (*points, rules.points)}
            yield kit.of_cells(points, 5, fixed=1, values=ko, derived=derived)
            continue
        symmetry = kit.of_cells(points, 5, fixed=1, derived=derived, history=kit.planes(points, rules.superko))
        size = WORD_BITS * rules.words  # a past board is a row of two sets of whole words
        boards = (*points, *range(rules.points, size), *(size + point for point in points))
        yield replace(symmetry, fields={"own": points, "other": points, "history": boards})
