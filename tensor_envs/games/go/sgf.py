"""Smart Game Format: games of go in files."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs.games._kit import sgf
from tensor_envs.games.go.notation import KO, action_to_string, areas, to_dict
from tensor_envs.games.go.rules import Go
from tensor_envs.record import Record

NUMBER, LETTERS = "1", "abcdefghijklmnopqrs"


def rule_fields(text: str) -> dict[str, Any] | None:
    """Return the board's size and the komi that a text names; None if its game is another one."""
    root = sgf.root_of(text, NUMBER)
    if root is None:
        return None
    fields: dict[str, Any] = {"size": sgf.size_of(root, "19")}
    if "KM" in root:
        try:
            fields["komi"] = float(sgf.one(root, "KM", ""))
        except ValueError:
            raise ValueError(f"node 0: KM must be a number, got {root['KM'][0]!r}") from None
    return fields


def write(rules: Go, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a game as SGF. positions: the fields before each action and after the last one."""
    start = game.start
    if start is not None and (start["passed"] or KO in start["board"] or any(start.get("history", ()))):
        raise ValueError("start must be without a pass, a ko or past boards, which SGF cannot express")
    root = {"GM": NUMBER, "SZ": str(rules.size), "KM": f"{rules.komi:g}"}
    if won := sgf.winner(positions[-1]):
        black, white = areas(rules, to_dict(rules, positions[-1])["board"])
        root["RE"] = won + f"{abs(black - white - rules.komi):g}" * won.endswith("+")
    return sgf.write(
        root, [point_of(rules, action) for action in game.actions], game.start, lambda cell: point_of(rules, cell)
    )


def read(rules: Go, text: str) -> tuple[dict[str, Any] | None, Iterator[tuple[str, str]]]:
    """Return the first position, None for the usual one, and the names and places of the moves in the main line."""
    fields, nodes = rule_fields(text), sgf.main_line(text)
    if fields is None:
        raise ValueError(f"node 0: GM must be {NUMBER}, got {nodes[0]['GM'][0]}")
    for field, value in fields.items():
        if value != getattr(rules, field):
            raise ValueError(f"node 0: {field} is {value:g}, and that of the environment is {getattr(rules, field):g}")
    board, player = sgf.setup_of(nodes, lambda value: points_of(rules, value), rules.points)
    start: dict[str, Any] | None = None
    if board or player:
        start = {"board": board or [0] * rules.points, "current_player": player, "passed": False}
        start |= {"history": [0] * rules.superko * rules.points} if rules.superko else {}
    return start, _named(rules, sgf.moves_of(nodes, player))


def _named(rules: Go, moves: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves. ValueError for one that is no point."""
    for value, place in moves:
        if value.strip() in ("", "tt"):
            action = rules.points
        else:
            try:
                (action,) = points_of(rules, value)
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from None
        yield action_to_string(rules, action), place


def point_of(rules: Go, action: int) -> str:
    """Return the letters of a column, from the left, and a row, from the top; "" for a pass."""
    row, column = divmod(action, rules.size)
    return "" if action == rules.points else LETTERS[column] + LETTERS[rules.size - 1 - row]


def points_of(rules: Go, value: str) -> list[int]:
    """Return the points of two letters, or of a rectangle "aa:cc". ValueError for others."""
    letters = LETTERS[: rules.size]
    if not re.fullmatch(f"[{letters}]{{2}}(:[{letters}]{{2}})?", value.strip()):
        raise ValueError(f"a point must be two letters of {letters[0]}..{letters[-1]}")
    corners = [(LETTERS.index(corner[0]), LETTERS.index(corner[1])) for corner in value.strip().split(":")]
    (left, top), (right, bottom) = corners[0], corners[-1]
    rows, columns = range(top, bottom + 1), range(left, right + 1)
    return [(rules.size - 1 - row) * rules.size + column for row in rows for column in columns]
