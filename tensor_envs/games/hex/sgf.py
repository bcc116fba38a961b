"""Smart Game Format: games of Hex in files."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs.games._kit import sgf
from tensor_envs.games.hex.notation import action_to_string
from tensor_envs.games.hex.rules import Hex
from tensor_envs.record import Record

NUMBER, SWAP = "11", "swap-pieces"
ENDS = ("resign", "forfeit")  # instead of a move


def rule_fields(text: str) -> dict[str, Any] | None:
    """Return the board's size that a text names; None if its game is another one."""
    root = sgf.root_of(text, NUMBER)
    return None if root is None else {"size": sgf.size_of(root, "11")}


def write(rules: Hex, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a game as SGF. positions: the fields before each action and after the last one."""
    root = {"GM": NUMBER, "SZ": str(rules.size)}
    if won := sgf.winner(positions[-1]):
        root["RE"] = won
    moves = [SWAP if action == rules.cells else action_to_string(rules, action) for action in game.actions]
    return sgf.write(root, moves, game.start, lambda cell: action_to_string(rules, cell))


def read(rules: Hex, text: str) -> tuple[dict[str, Any] | None, Iterator[tuple[str, str]]]:
    """Return the first position, None for the usual one, and the names and places of the moves in the main line."""
    fields, nodes = rule_fields(text), sgf.main_line(text)
    if fields is None:
        raise ValueError(f"node 0: GM must be {NUMBER}, got {sgf.one(nodes[0], 'GM', '1')}")
    if fields["size"] != rules.size:
        raise ValueError(f"node 0: size is {fields['size']}, and that of the environment is {rules.size}")
    board, player = sgf.setup_of(nodes, lambda value: [cell_of(rules, value)], rules.cells)
    start = {"board": board or [0] * rules.cells, "current_player": player} if board or player else None
    return start, _named(rules, sgf.moves_of(nodes, player))


def _named(rules: Hex, moves: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves, until a player gives up. ValueError for one that is no cell."""
    for value, place in moves:
        move = value.strip().lower()
        if move in ENDS:
            return
        try:
            action = rules.cells if move == SWAP else cell_of(rules, value)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        yield action_to_string(rules, action), place


def cell_of(rules: Hex, value: str) -> int:
    """Return the cell of a column's letter and a row's number. ValueError for others."""
    match = re.fullmatch(r"([a-z])(\d+)", value.strip().lower())
    column, row = (ord(match[1]) - ord("a"), int(match[2]) - 1) if match else (-1, -1)
    if not (0 <= column < rules.size and 0 <= row < rules.size):
        last = action_to_string(rules, rules.cells - 1)
        raise ValueError(f"a move must be a cell of a1..{last}, {SWAP}, {' or '.join(ENDS)}")
    return row * rules.size + column
