"""Dictionaries and action names of Barrage Stratego."""

from collections.abc import Iterable
from typing import Any

from tensor_envs._validate import repeated, shown
from tensor_envs.games.barrage_stratego.rules import LAKES, PLACES, SIDE, SQUARES, BarrageStratego, ends_of
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import int32
from tensor_envs.rules.plain import checked, ended, field_limits, legal_actions

FIELDS = ("squares", "moved", "shown", "placed", "back", "times", "quiet", "current_player")
# "move the scout from a2 to a9", "place the flag on a1"
SYNONYMS = ((r"(?i)\b(?:move|place)\s+(?:the\s+)?(?:[a-z]+\s+)?(?:(?:from|on|to)\s+)?(?=[a-j]\d)", ""),)
DRAW = "too many plies without a fight"
# no symmetries but the identity (B15)


def to_dict(rules: BarrageStratego, s: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the state by their names (B13)."""
    return {name: s[name] for name in FIELDS}


def from_dict(rules: BarrageStratego, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. ValueError for a position that cannot come about."""
    fields = checked(game, field_limits(rules, *FIELDS))
    check(rules, fields)
    return fields | ended(end_of(rules, fields) != "")


def check(rules: BarrageStratego, s: dict[str, Any]) -> None:
    """Raise ValueError unless a position can come about by B2, B3 and B6 to B8."""
    placed = s["placed"]
    placing = placed < 2 * len(rules.kinds)
    seen = [square_for(player, square) for player in (0, 1) for square in s["squares"][player] if square >= 0]
    for player in (0, 1):
        squares, moved, known = (s[name][player] for name in ("squares", "moved", "shown"))
        back, times = s["back"][player], s["times"][player]
        # The players place pieces in turn, Red first, and move none before all are placed.
        done = [k < (placed + 1 - player) // 2 for k in range(len(squares))]
        # Pieces that have not moved are where they were placed, and captured ones are known.
        unmoved, unknown = ([q for q, x in zip(squares, facts, strict=True) if not x] for facts in (moved, known))
        # Nothing has been recorded during the set-up.
        fresh = s["current_player"] == placed % 2 and not any([*moved, *known, times, s["quiet"]])
        for name, fact, holds in (
            ("squares", "be different and in no lake", not repeated([*LAKES, *seen])),
            ("squares", "be those placed so far", not placing or done == [q >= 0 for q in squares]),
            ("squares", "be in rows 1 to 4 before a move", max(unmoved, default=0) < PLACES),
            ("squares", "have the last mover's flag", placing or s["squares"][1 - s["current_player"]][0] >= 0),
            ("moved", "be 0 for the flag and bombs", not any(moved[: 1 + rules.bombs])),
            ("shown", "be 1 for captured pieces", placing or min(unknown, default=0) >= 0),
            ("shown", "be 0 for a flag on the board", squares[0] < 0 or not known[0]),
            ("back", "be a move where times is not 0, else -1", back >= PLACES if times else back == -1),
            ("times", "be 0 without two_squares", rules.two_squares or not times),
            ("placed", "be all pieces after a move, and Red begins", not placing or fresh),
        ):
            if not holds:
                raise ValueError(f"{name} must {fact}, for both players, got {shown(s[name])}")


def end_of(rules: BarrageStratego, s: dict[str, Any]) -> str:
    """Return why the game has ended (B9 to B11), "" if it goes on."""
    if s["placed"] < 2 * len(rules.kinds):
        return ""
    if min(row[0] for row in s["squares"]) < 0:
        return "the flag is captured"
    return "no legal move" if not legal_actions(rules, s) else DRAW if s["quiet"] == rules.quiet_plies else ""


def square_for(player: int, square: int) -> int:
    """Return a square as Red sees it, for one that a player sees, or the other way round."""
    return SQUARES - 1 - square if player else square


def squares_of(action: int, player: int) -> list[int]:
    """Return the square where a piece is placed, or the start and the end of a move, as Red sees them (B4, B5)."""
    squares = [action] if action < PLACES else [int(end.value) for end in ends_of(int32(action - PLACES))]
    return [square_for(player, square) for square in squares]


def action_to_string(rules: BarrageStratego, action: int) -> str:
    """Return the names of an action's squares, seen from the player to move: "a2", "a2a3" (B14)."""
    return "".join(cell_name(square, SIDE) for square in squares_of(action, 0))


def move_to_string(rules: BarrageStratego, action: int, s: dict[str, Any]) -> str:
    """Return the names of the squares of an action in a position, seen from Red: "a2", "j9j8"."""
    return "".join(cell_name(square, SIDE) for square in squares_of(action, s["current_player"]))


def move_pattern(names: Iterable[str]) -> str:
    """Return a pattern of actions, legal or not."""
    return "(?:[a-j](?:10|[1-9])){1,2}"
