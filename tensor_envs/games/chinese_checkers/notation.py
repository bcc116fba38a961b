"""Dictionaries, names of cells and actions, and symmetries of Chinese checkers."""

from collections.abc import Iterator, Sequence
from string import ascii_lowercase
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games.chinese_checkers import star
from tensor_envs.games.chinese_checkers.rules import ChineseCheckers
from tensor_envs.games.chinese_checkers.star import BITS, CELL_AT, CELLS, GRID, NUM_WAYS, PIXELS, PLACES
from tensor_envs.rules import Symmetry, pack, unpack
from tensor_envs.rules.plain import ended

WAY_NAMES = ("up-left", "up-right", "left", "right", "down-left", "down-right")
# "down left", "down and left" and "down to the left"
SYNONYMS = ((r"(?i)\b(up|down)(?:\s+|-)(?:(?:and|to|the)\s+)*(left|right)\b", r"\1-\2"),)
END_TURN = CELLS * NUM_WAYS


def cell_name(cell: int) -> str:
    """Return the letter of a row, from the top, and the number of a cell in it, from the left (S13)."""
    row, column = PLACES[cell]
    return f"{ascii_lowercase[row]}{column + 1}"


def action_to_string(rules: ChineseCheckers, action: int) -> str:
    """Return the name of a cell and of a direction, "d1 down-right", or "end turn" (S13)."""
    cell, way = divmod(action, NUM_WAYS)
    return "end turn" if action == END_TURN else f"{cell_name(cell)} {WAY_NAMES[way]}"


def to_dict(rules: ChineseCheckers, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": list of 0 to players, "visited": list of 0 and 1, "turns": int} (S12)."""
    board = [0] * CELLS
    for player, words in enumerate(s["pieces"]):
        for bit in unpack(words, GRID.size):
            board[CELL_AT[bit]] = player + 1
    visited = unpack(s["visited"], GRID.size)
    return {"board": board, "visited": [int(bit in visited) for bit in BITS], "turns": s["turns"]}


def from_dict(rules: ChineseCheckers, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary: the inverse of `to_dict`."""
    board = nested("board", game["board"], (CELLS,), 0, rules.players)
    flags = nested("visited", game["visited"], (CELLS,), 0, 1)
    turns = integer("turns", game["turns"], 0, rules.max_turns)
    player = turns % rules.players
    for owner in range(1, rules.players + 1):
        if board.count(owner) != star.PIECES:
            raise ValueError(f"board must have {star.PIECES} pieces of {owner}, got {board.count(owner)}")
    if len(home_players(rules, board)) > 1:
        raise ValueError("board must have at most one goal that its player fills, got several")
    visited = cells_with(flags, 1)
    over = turns == rules.max_turns or winner(rules, game) is not None
    if visited and (over or not may_hop_on(board, visited, player)):
        raise ValueError(f"visited must be cells of a piece of player {player} that may hop on, or none, got {visited}")
    pieces = [words_of(cells_with(board, owner)) for owner in range(1, rules.players + 1)]
    return {"pieces": pieces, "visited": words_of(visited), "current_player": player, "turns": turns} | ended(over)


def cells_with(values: Sequence[int], value: int) -> list[int]:
    """Return the cells that have a value."""
    return [cell for cell, other in enumerate(values) if other == value]


def words_of(cells: list[int]) -> list[int]:
    """Return the words of a set of cells."""
    return pack([BITS[cell] for cell in cells], GRID.size)


def home_players(rules: ChineseCheckers, board: list[int]) -> list[int]:
    """Return the players whose pieces fill their goals."""
    return [player for player, goal in enumerate(rules.goals) if all(board[cell] == player + 1 for cell in goal)]


def winner(rules: ChineseCheckers, game: dict[str, Any]) -> int | None:
    """Return the player whose pieces fill the goal at the end of a turn, or None (S7)."""
    players = home_players(rules, game["board"])
    return players[0] if players and 1 not in game["visited"] else None


def target_of(board: list[int], visited: list[int], action: int) -> int | None:
    """Return the cell to which a piece moves, None if it cannot move in this direction (S3, S4)."""
    cell, way = divmod(action, NUM_WAYS)
    beside = CELL_AT.get(BITS[cell] + star.WAYS[way])
    if beside is None:
        return None
    if not board[beside]:
        return None if visited else beside
    beyond = CELL_AT.get(BITS[beside] + star.WAYS[way])
    return None if beyond is None or board[beyond] or beyond in visited else beyond


def may_hop_on(board: list[int], visited: list[int], player: int) -> bool:
    """Return whether a player's piece is on one of some cells, the others are empty, and it can hop to another one."""
    occupied = [cell for cell in visited if board[cell]]
    if len(visited) < 2 or len(occupied) != 1 or board[occupied[0]] != player + 1:
        return False
    return any(target_of(board, visited, NUM_WAYS * occupied[0] + way) is not None for way in range(NUM_WAYS))


def symmetries(rules: ChineseCheckers) -> Iterator[Symmetry]:
    """Yield the identity, and between two players the exchange of left and right (S14)."""
    for mirrored in (False, True)[: 1 + (rules.players == 2)]:
        actions = list[int]()
        cells = list[int]()
        bits = [*range(GRID.size)]
        pixels = [*range(star.SIDE**2)]
        for cell, (row, column) in enumerate(PLACES):
            image = cell + mirrored * (star.WIDTHS[row] - 1 - 2 * column)
            cells.append(image)
            actions += [NUM_WAYS * image + (way ^ mirrored) for way in range(NUM_WAYS)]
            bits[BITS[cell]] = BITS[image]
            pixels[PIXELS[cell]] = PIXELS[image]
        fields = dict.fromkeys(("pieces", "visited"), tuple(bits))
        state = dict.fromkeys(("board", "visited"), tuple(cells))
        yield Symmetry((*actions, END_TURN), kit.planes(tuple(pixels), rules.players + 3), state, fields)
