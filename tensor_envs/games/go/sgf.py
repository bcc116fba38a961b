"""Smart Game Format: games of go in files."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs._validate import errors_at, shown
from tensor_envs.files.records import Record
from tensor_envs.games._kit import sgf
from tensor_envs.games.go.notation import KO, action_to_string, areas, to_dict
from tensor_envs.games.go.rules import MAX_PLIES_A_POINT, Go

NUMBER, LETTERS = "1", "abcdefghijklmnopqrs"
RESULT = sgf.RESULT
games = sgf.games
HUNDREDTHS = 100  # a komi from here on is written in hundredths
MAX_PASSES = 2  # that end a game


def rule_fields(text: str) -> dict[str, Any] | None:
    """Return the board's size and the komi of a text; None for a text of another game."""
    root = sgf.root_of(text, NUMBER)
    if root is None:
        return None
    fields: dict[str, Any] = {"size": sgf.size_of(root, "19")}
    if written := sgf.one(root, "KM", ""):
        fields["komi"] = _komi_of(written)
    plies = sum(len(node.get(colour, ())) for node in sgf.main_line(text) for colour in sgf.COLOURS)
    if plies >= MAX_PLIES_A_POINT * fields["size"] ** 2:
        fields["max_plies"] = plies + 1  # so that the limit does not end the game
    return fields


def _komi_of(written: str) -> float:
    """Return the komi in points of KM's value.

    Some servers write hundredths, as 650, and half of the points, in stones, as 3.75 or 375 for 7.5 points.
    """
    if not re.fullmatch(r"[-+]?(\d{1,9}([.,]\d*)?|[.,]\d+)", written):
        raise ValueError(f"node 0: KM must be a number, got {shown(written)}")
    komi = float(written.replace(",", "."))
    if abs(komi) >= HUNDREDTHS and komi.is_integer():
        komi /= 100
    return komi * 2 if komi * 2 % 1 == 0.5 else komi


def write(rules: Go, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a game as SGF. positions: the fields before each action and after the last one."""
    start = game.start
    if start is not None and (start["passed"] or KO in start["board"] or any(start.get("history", ()))):
        raise ValueError("start must be without a pass, a ko or past boards, which SGF cannot express")
    root = {"GM": NUMBER, "SZ": str(rules.size), "KM": f"{rules.komi:g}"}
    if ended := result(rules, positions[-1]):
        root[RESULT] = ended
    moves = [point_of(rules, action) for action in game.actions]
    return sgf.write(root, moves, game.start, lambda cell: point_of(rules, cell), game.notes)


def result(rules: Go, last: dict[str, Any]) -> str | None:
    """Return the result of a game by the rules, with its margin. last: the fields of its last position."""
    won = sgf.winner(last)
    if won is None or not won.endswith("+"):
        return won
    black, white = areas(rules, to_dict(rules, last)["board"])
    return won + f"{abs(black - white - rules.komi):g}"


def goes_on(rules: Go, s: dict[str, Any]) -> bool:
    """Return True: players may go on after two passes, as in a dispute about dead stones."""
    return True


def read(rules: Go, text: str) -> tuple[dict[str, Any] | None, Iterator[tuple[str, str]], dict[str, Any]]:
    """Return the first position, None for the usual one, names and places of the moves in the main line, and notes."""
    fields = rule_fields(text)
    nodes = sgf.main_line(text)
    if fields is None:
        raise ValueError(f"node 0: GM must be {NUMBER}, got {nodes[0]['GM'][0]}")
    sgf.check_same(rules, fields, "size", "komi")
    board, player = sgf.setup_of(nodes, lambda value: points_of(rules, value), rules.points)
    start: dict[str, Any] | None = None
    if board or player:
        start = {"board": board or [0] * rules.points, "current_player": player, "passed": False}
        start |= {"history": [0] * rules.superko * rules.points} if rules.superko else {}
    return start, _named(rules, sgf.moves_of(nodes, player)), {"notes": sgf.noted_of(nodes)}


def _named(rules: Go, moves: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves, but of a third pass on at the end. ValueError for one that is no point."""
    passes = list[str]()
    for value, place in moves:
        if value.strip() in ("", "tt"):
            passes.append(place)
            if len(passes) <= MAX_PASSES:
                yield action_to_string(rules, rules.points), place
            continue
        yield from ((action_to_string(rules, rules.points), late) for late in passes[MAX_PASSES:])
        passes.clear()
        with errors_at(place):
            (action,) = points_of(rules, value)
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
    rows = range(top, bottom + 1)
    columns = range(left, right + 1)
    return [(rules.size - 1 - row) * rules.size + column for row in rows for column in columns]
