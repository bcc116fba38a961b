"""Turns of backgammon as text, "13/7 8/7*", by the points of the player to move."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tensor_envs._validate import shown
from tensor_envs.games.backgammon.notation import legal
from tensor_envs.games.backgammon.rules import BAR, FACES, POINTS, SOURCES

MOVE = re.compile(r"(bar|\d{1,2})((?:/(?:off|\d{1,2})\*?)+)(?:\(([1-4])\))?", re.IGNORECASE)
NO_MOVE = ("", "cannot move", "no move", "pass")


class Side(NamedTuple):
    """The men of the player to move and of the opponent, each on the own pips 1..25."""

    own: tuple[int, ...]
    other: tuple[int, ...]

    def moved(self, start: int, end: int) -> "Side":
        """Return the men after one has been moved, and hits an opposing one that is alone; to end 0 it is borne off."""
        own = list(self.own)
        other = list(self.other)
        own[start - 1] -= 1
        if end:
            own[end - 1] += 1
            if self.hits(end):
                other[POINTS - end] -= 1
                other[BAR - 1] += 1
        return Side(tuple(own), tuple(other))

    def hits(self, end: int) -> bool:
        """Return whether a man that moves there hits."""
        return 0 < end < BAR and self.other[POINTS - end] == 1


def ends_of(action: int) -> tuple[int, int]:
    """Return the start and the end of a move, as pips; 0 is off the board."""
    start = SOURCES - action // FACES
    return start, max(0, start - action % FACES - 1)


def turn_to_string(side: Side, actions: Iterable[int]) -> str:
    """Return the moves of a turn, from the highest point on, a man's moves as one: "24/20*/15", "8/5(2)".

    Args:
        side: the men before the turn.
        actions: those of the turn; passes have no text.
    """
    hops = sorted((ends_of(action) for action in actions if action), reverse=True)
    hit = {end for _, end in hops if side.hits(end)}
    paths = list[list[int]]()
    words = list[str]()
    # From the highest point on, a hop that starts where a path ends is the same man's next one.
    for start, end in hops:
        path = next((path for path in paths if path[-1] == start), None)
        if path is None:
            paths.append(path := [start])
        path.append(end)
    for first, *middle, last in sorted(paths, reverse=True):
        ends = ""  # the first man on a point where an opposing one is hit gets the star
        for point in (*(point for point in middle if point in hit), last):
            ends += f"/{point or 'off'}{'*' * (point in hit)}"
            hit.discard(point)
        words.append(f"{'bar' if first == BAR else first}{ends}")
    # Equal moves are written once, with their number; the star of one of them is kept.
    counts = Counter(word.replace("*", "") for word in words)
    distinct = {word.replace("*", ""): word for word in reversed(words)}
    return " ".join(word + f"({counts[plain]})" * (counts[plain] > 1) for plain, word in reversed(distinct.items()))


def turn_to_actions(side: Side, dice: Sequence[int], text: str) -> list[int]:
    """Return the actions of a turn in any order that leads to its final position.

    Args:
        side: the men before the turn.
        dice: the numbers that are left, a double's four times.
        text: moves in any order; the star of a hit may be missing. "" is a turn without a move.

    Raises:
        ValueError: another text, or moves that these dice do not allow.
    """
    goal = side
    hit = set[int]()
    words = [] if text.strip().lower() in NO_MOVE else text.split()
    for word in words:
        match = MOVE.fullmatch(word)
        if match is None:
            raise ValueError(f"a move must be such as 13/7, bar/22*, 6/off or 8/5(2), got {shown(word)}")
        start = BAR if match[1].lower() == "bar" else int(match[1])
        for _ in range(int(match[3] or 1)):
            at = start
            # Each hop is played on a copy of the side, whatever the dice: the text only defines the final position.
            for end_text in match[2][1:].split("/"):
                point = end_text.rstrip("*").lower()
                end = 0 if point == "off" else int(point)
                if not BAR >= at > end >= 0:
                    raise ValueError(f"a man moves from a higher to a lower point of 24..1, got {shown(word)}")
                # A second man on the point may also have the star, as programs write it.
                hit |= {end} if goal.hits(end) else set()
                if "*" in end_text and end not in hit:
                    raise ValueError(f"no man is hit by {word}")
                goal = goal.moved(at, end)
                at = end
    # Orders and dice that lead to one position are one turn, so the first order that the rules allow is taken.
    actions = _search(side, tuple(dice), goal, set())
    if actions is None:
        raise ValueError(f"{shown(text)} is no legal turn by the dice {' '.join(map(str, dice))}")
    return actions


def _search(
    side: Side, dice: tuple[int, ...], goal: Side, visited: set[tuple[Side, tuple[int, ...]]]
) -> list[int] | None:
    """Return actions from a position to the goal: a whole turn, or else a part of one; None if there are none."""
    if not dice or not any(side.own):
        return [] if side == goal else None
    if (side, dice) in visited:
        return None
    visited.add((side, dice))
    actions = legal({"men": [[*side.own], [*side.other]], "dice": [*dice], "current_player": 0})
    if actions == [0]:
        return [0] if side == goal else None
    # first the men that must leave their points
    actions.sort(key=lambda action: goal.own[ends_of(action)[0] - 1] >= side.own[ends_of(action)[0] - 1])
    for action in actions:
        left = list(dice)
        left.remove(action % FACES + 1)
        rest = _search(side.moved(*ends_of(action)), tuple(left), goal, visited)
        if rest is not None:
            return [action, *rest]
    return [] if side == goal else None
