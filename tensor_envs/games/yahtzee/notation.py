"""Dictionaries and action names of Yahtzee."""

from typing import Any

from tensor_envs._validate import integer
from tensor_envs.games.yahtzee.rules import BOXES, DICE, SETS, SIDES, YAHTZEE, Yahtzee, bonus, total
from tensor_envs.rules import scalar
from tensor_envs.rules.plain import checked, ended, field_limits

POINTS = [{face * count for count in range(DICE + 1)} for face in range(1, SIDES + 1)]
POINTS += [{0, *range(5, 31)}, {0, *range(5, 31)}, {0, 25}, {0, 30}, {0, 40}, {0, 50}, {*range(5, 31)}]
# names in other words, and chances that are no box
SYNONYMS = (
    (r"(?i)\bre-?roll\s+(?:(?:the|my)\s+)?(?:(?:dice|die)\s+)?(?=\d)", "reroll "),
    (r"(?i)\b(?:3|three)[\s-]of[\s-]a[\s-]kind\b", "three of a kind"),
    (r"(?i)\b(?:4|four)[\s-]of[\s-]a[\s-]kind\b", "four of a kind"),
    (r"(?i)\baces\b", "ones"),
    (r"(?i)\bchance(?=\s+(?:of|to|for|at|that|and)\b)", ""),
)
# no symmetries but the identity: the order of the dice is fixed


def to_dict(rules: Yahtzee, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"dice", "rerolls", "boxes", "extras", "current_player"} for the fields of a game (Y11)."""
    return {name: s[name] for name in ("dice", "rerolls", "boxes", "extras", "current_player")}


def from_dict(rules: Yahtzee, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary: the inverse of `to_dict`."""
    fields = checked(game, field_limits(rules, "dice", "rerolls", "boxes", "extras"))
    boxes = fields["boxes"]
    extras = fields["extras"]
    player = integer("current_player", game["current_player"], 0, rules.players - 1)
    for p, row in enumerate(boxes):
        for box, points in enumerate(row):
            if points >= 0 and points not in POINTS[box]:
                raise ValueError(
                    f"boxes[{p}][{box}], {BOXES[box]}, must be -1 or one of {sorted(POINTS[box])}, got {points}"
                )
        if extras[p] > (len(BOXES) - row.count(-1) - 1 if row[YAHTZEE] == 50 else 0):
            raise ValueError(f"extras[{p}] must have a box of 50 and one for each, got {extras[p]}")
    filled = [len(BOXES) - row.count(-1) for row in boxes]
    if filled != [filled[-1] + (p < player) for p in range(rules.players)]:
        raise ValueError(f"boxes must be filled in turns, and player {player} is to move, got {filled} filled")
    over = filled[-1] == len(BOXES)
    return fields | {"dice": sorted(fields["dice"]), "current_player": player, **ended(over)}


def action_to_string(rules: Yahtzee, action: int) -> str:
    """Return the numbers of the dice that are thrown again, "reroll 1 4", or the name of a box (Y13)."""
    if action >= SETS:
        return BOXES[action - SETS]
    return "reroll " + " ".join(str(die + 1) for die in range(DICE) if action + 1 >> die & 1)


def points_of(row: list[int], extras: int) -> tuple[int, bool]:
    """Return a player's points, and whether the bonus is among them (Y6)."""
    boxes = [*map(scalar, row)]
    return int(total(boxes, scalar(extras)).value), bool(bonus(boxes).value)
