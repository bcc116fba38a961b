"""The agents as bytes of words, four in each, so that no rule goes through the sixteen one by one.

A byte is a place: bits 0-5 are the square as the agent's player sees it (own base row 0, goal row 7), bit 6 is the
level (0 single or higher, 1 lower). Bit 7 stays clear, so bytes add without carries. A set of agents has FLAG, bit 7,
in the byte of every member. A place to compare all bytes with is written in all four (`place * EACH`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensor_envs.games.three_will.data import SIDE, SLOTS
from tensor_envs.rules import GameState, Scalar, integer, select, sum_of, union_of, where, word

IN_WORD = 4
SIDE_WORDS = SLOTS // IN_WORD  # words a player, in slot order
EACH = 0x01010101  # times a number: that number in every byte
SQUARE, LOWER, FLAG = 63 * EACH, 64 * EACH, 128 * EACH  # parts of the bytes
TO_FLAG = FLAG - SIDE * (SIDE - 1) * EACH  # added to squares it sets FLAG on row 7

AgentWords = Sequence[Scalar]  # the eight agents of a player, or a set of them


def packed(places: Sequence[int]) -> list[int]:
    """Plain numbers: places, in slot order -> words."""
    fours = [places[first : first + IN_WORD] for first in range(0, len(places), IN_WORD)]
    return [sum(place << 8 * k for k, place in enumerate(four)) for four in fours]


def unpacked(words: Sequence[int]) -> list[int]:
    return [four >> 8 * k & 127 for four in words for k in range(IN_WORD)]


def place_of(agents: AgentWords, slot: int) -> Scalar:
    """Square, plus 64 at the lower level, a word."""
    return agents[slot // IN_WORD] >> 8 * (slot % IN_WORD) & 127


def place_at(agents: AgentWords, slot: Scalar) -> Scalar:
    """The same of a computed slot."""
    return select(agents, slot >> 2) >> (slot & 3) * 8 & 127


def turned(agents: AgentWords) -> list[Scalar]:
    """A player's agents as the opponent sees them: rows and columns are 7 minus themselves."""
    return [four ^ SQUARE for four in agents]


def locked(agents: AgentWords) -> list[Scalar]:
    """Those on the goal row, as their own player sees them (G16)."""
    return [(four & SQUARE) + TO_FLAG & FLAG for four in agents]


def active(agents: AgentWords) -> list[Scalar]:
    """Those that are neither locked nor lower (F15)."""
    return [~(found | four << 1) & FLAG for found, four in zip(locked(agents), agents, strict=True)]


def count(members: AgentWords) -> Scalar:
    """How many agents of a player are in a set, an int."""
    in_bytes = sum_of(flags >> 7 for flags in members)
    in_halves = in_bytes + (in_bytes >> 16)
    return integer(in_halves + (in_halves >> 8) & 0xF)


class BoardView(NamedTuple):
    """All agents as one player sees them."""

    own: AgentWords
    other: AgentWords

    @staticmethod
    def seen_by(s: GameState, player: Scalar) -> BoardView:
        white, black = s.agents[:SIDE_WORDS], s.agents[SIDE_WORDS:]
        return BoardView(where(player == 0, white, black), turned(where(player == 0, black, white)))

    @property
    def words(self) -> list[Scalar]:
        return [*self.own, *self.other]

    def at(self, place: Scalar) -> list[Scalar]:
        """Who is at a place: the bytes that differ from it by 0, so that adding 127 does not set FLAG."""
        return [~((four ^ place) + (FLAG - EACH)) & FLAG for four in self.words]

    def holds(self, place: Scalar) -> Scalar:
        """Whether somebody is at a place."""
        return union_of(self.at(place)) != 0

    def locks(self, place: Scalar) -> Scalar:
        """Whether somebody who is locked is at a place."""
        flags = [*locked(self.own), *locked(turned(self.other))]
        return union_of(here & found for here, found in zip(self.at(place), flags, strict=True)) != 0

    def changed(self, changes: AgentWords) -> BoardView:
        words = [four ^ change for four, change in zip(self.words, changes, strict=True)]
        return BoardView(words[:SIDE_WORDS], words[SIDE_WORDS:])

    def moved(self, places: Sequence[Scalar], goals: Sequence[Scalar]) -> BoardView:
        """Who is at one of the places goes to its goal, all at the same time."""
        changes = [word(0)] * len(self.words)
        for place, goal in zip(places, goals, strict=True):
            members = self.at(place)
            changes = [c ^ (m - (m >> 7) & (place ^ goal)) for c, m in zip(changes, members, strict=True)]
        return self.changed(changes)

    def settled(self, *squares: Scalar) -> BoardView:
        """Of a locked and a free agent on one square the locked one is the lower (F24, F25, G17, G20)."""
        changes = [word(0)] * len(self.words)
        for square in squares:
            lower = square | LOWER
            wrong = self.locks(square) & self.holds(lower) & ~self.locks(lower)
            both = zip(changes, self.at(square), self.at(lower), strict=True)
            changes = [c | where(wrong, a | b, 0) for c, a, b in both]
        return self.changed([members >> 1 for members in changes])  # from FLAG to the bit of the level
