"""Smart Game Format: games of Hex in files."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs._validate import errors_at
from tensor_envs.files.records import Record
from tensor_envs.games._kit import sgf
from tensor_envs.games.hex.notation import action_to_string
from tensor_envs.games.hex.rules import Hex

NUMBER = "11"
SWAP, SWAP_SIDES = "swap-pieces", "swap-sides"
RESULT = sgf.RESULT
games = sgf.games
ENDS = ("resign", "forfeit")  # instead of a move


def rule_fields(text: str) -> dict[str, Any] | None:
    """Return the board's size of a text; None for a text of another game."""
    root = sgf.root_of(text, NUMBER)
    return None if root is None else {"size": sgf.size_of(root, "11")}


def write(rules: Hex, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a game as SGF. positions: the fields before each action and after the last one."""
    root = {"GM": NUMBER, "SZ": str(rules.size)}
    if won := result(rules, positions[-1]):
        root[RESULT] = won
    moves = [SWAP if action == rules.cells else action_to_string(rules, action) for action in game.actions]
    return sgf.write(root, moves, game.start, lambda cell: action_to_string(rules, cell), game.notes)


def result(rules: Hex, last: dict[str, Any]) -> str | None:
    """Return the result of a game by the rules. last: the fields of its last position."""
    return sgf.winner(last)


def read(rules: Hex, text: str) -> tuple[dict[str, Any] | None, Iterator[tuple[str, str]], dict[str, Any]]:
    """Return the first position, None for the usual one, names and places of the moves in the main line, and notes."""
    fields = rule_fields(text)
    nodes = sgf.main_line(text)
    if fields is None:
        raise ValueError(f"node 0: GM must be {NUMBER}, got {sgf.one(nodes[0], 'GM', '1')}")
    sgf.check_same(rules, fields, "size")
    board, player = sgf.setup_of(nodes, lambda value: [cell_of(rules, value)], rules.cells)
    start = {"board": board or [0] * rules.cells, "current_player": player} if board or player else None
    swapped, is_mirrored = _with_swapped_sides(nodes)
    moves = _named(rules, sgf.moves_of(swapped, player), is_mirrored)
    notes = sgf.noted_of(nodes)
    for name, value in ((name, node[name][0]) for node in nodes for name in sgf.COLOURS if name in node):
        if (end := value.strip().lower()) in ENDS:
            winner = sgf.COLOURS[1 - sgf.COLOURS.index(name)]
            notes.setdefault("tags", {}).setdefault(RESULT, f"{winner}+{end[0].upper()}")
    return start, moves, {"notes": notes}


def _with_swapped_sides(nodes: Sequence[sgf.Node]) -> tuple[Sequence[sgf.Node], bool]:
    """Return nodes in which a swap of sides is one of pieces, and whether there is one.

    After a swap of sides the first player goes on with the other colour. The same game with a swap of pieces is its
    mirror image, in which the players keep their colours. A plain "swap" is told apart by the colour of the next move.
    """
    moves = [(k, colour, node[colour][0]) for k, node in enumerate(nodes) for colour in sgf.COLOURS if colour in node]
    if len(moves) < 2 or moves[1][2].strip().lower() not in (SWAP_SIDES, "swap"):
        return nodes, False
    swap, colour, text = moves[1]
    sides = text.strip().lower() == SWAP_SIDES or (len(moves) > 2 and moves[2][1] == colour)
    exchanged = dict(zip(sgf.COLOURS, reversed(sgf.COLOURS), strict=True)) if sides else {}
    return [
        node if k < swap
        else {**node, colour: [SWAP]} if k == swap
        else {exchanged.get(name, name): values for name, values in node.items()}
        for k, node in enumerate(nodes)
    ], sides  # fmt: skip


def _named(rules: Hex, moves: Iterator[tuple[str, str]], is_mirrored: bool) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves, until a player gives up. ValueError for one that is no cell or follows.

    Cells after the swap are mirrored at the diagonal of the board if so asked.
    """
    swapped = False
    for value, place in moves:
        move = value.strip().lower()
        if move in ENDS:
            for _, place in moves:
                raise ValueError(f"{place}: no move may follow {move}")
            return
        with errors_at(place):
            action = rules.cells if move == SWAP else cell_of(rules, value)
            if swapped and is_mirrored:
                action = action % rules.size * rules.size + action // rules.size
            swapped |= move == SWAP
        yield action_to_string(rules, action), place


def cell_of(rules: Hex, value: str) -> int:
    """Return the cell of a column's letter and a row's number. ValueError for any other name."""
    match = re.fullmatch(r"([a-z])(\d+)", value.strip().lower())
    column, row = (ord(match[1]) - ord("a"), int(match[2]) - 1) if match else (-1, -1)
    if not (0 <= column < rules.size and 0 <= row < rules.size):
        last = action_to_string(rules, rules.cells - 1)
        raise ValueError(f"a move must be a cell of a1..{last}, {SWAP}, {' or '.join(ENDS)}")
    return row * rules.size + column
