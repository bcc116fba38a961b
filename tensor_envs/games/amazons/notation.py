"""Dictionaries, action names and symmetries of amazons."""

from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import integer
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.stones import STONES, board_and_player, to_board, to_sets, words_of
from tensor_envs.games.amazons.rules import CHOOSE, SHOOT, Amazons
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry, pack, unpack
from tensor_envs.rules.plain import ended, legal_actions

ARROW = 2


def to_dict(rules: Amazons, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": list, "current_player": 0 or 1, "phase": 0..2, "active": square or -1} (A7)."""
    player = s["current_player"]
    arrows = unpack(s["arrows"], rules.cells)
    board = to_board(s["own"], s["other"], player, rules.cells)
    for square in arrows:
        board[square] = ARROW
    active = [*unpack(s["active"], rules.cells), -1][0]
    return {"board": board, "current_player": player, "phase": s["phase"], "active": active}


def from_dict(rules: Amazons, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. ValueError for an amazon in action that cannot act."""
    board, player = board_and_player(game, rules.cells, ARROW)
    phase = integer("phase", game["phase"], CHOOSE, SHOOT)
    active = integer("active", game["active"], -1, rules.cells - 1)
    own, other = to_sets(board, player)
    s: dict[str, Any] = {"own": own, "other": other, "arrows": words_of(board, ARROW)}
    s |= {"active": pack([active] * (active >= 0), rules.cells), "phase": phase, "current_player": player}
    can_act = legal_actions(rules, s)
    if (active < 0) != (phase == CHOOSE) or (active >= 0 and (board[active] != STONES[player] or not can_act)):
        raise ValueError(f"active must be an amazon of the player to move that can act, -1 in phase 0, got {active}")
    return s | ended(not can_act)


def action_to_string(rules: Amazons, action: int) -> str:
    """Return a column's letter and a row's number from the bottom, "d1" (A8)."""
    row, column = divmod(action, rules.size)
    return cell_name((rules.size - 1 - row) * rules.size + column, rules.size)


def symmetries(rules: Amazons) -> Iterator[Symmetry]:
    """Yield the identity and the exchange of left and right (A10)."""
    for step in (1, -1):
        cells = kit.rearranged(range(rules.size), range(rules.size)[::step])
        yield kit.of_cells(cells, 5, sets=("own", "other", "arrows", "active"))
